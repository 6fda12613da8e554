// The sm_86 tables against NVIDIA's disassembler: machine-made encodings, compiled kernels, graphics shaders;
// round trips.
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "compiler/isa/isa.h"
#include "tests/isa/corpus.h"
#include "tests/isa/score.h"

namespace dmsh::isa {
namespace {

TEST(AmpereDecode, Word) {
    // IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]
    std::optional<Instruction> move = decode(Arch::sm_86, 0x00000a00ff017624, 0x000fc400078e00ff, 0);
    ASSERT_TRUE(move);
    EXPECT_EQ(move->op(), Op::IMAD);
    EXPECT_EQ(move->form(), Form::reg_cbuf);
    EXPECT_EQ(move->get(F::pred), kPt);
    EXPECT_EQ(move->get(F::dst), 1u);
    EXPECT_EQ(move->get(F::src_a), kRz);
    EXPECT_EQ(move->get(F::cbuf_offset), 0x28u);
    EXPECT_EQ(disassemble(*move), "IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]");
    // LDG.E R2, [R4.64+0x4], with a memory descriptor
    std::optional<Instruction> load = decode(Arch::sm_86, 0x0000040404027981, 0x000ee8000c1e1900, 0);
    ASSERT_TRUE(load);
    EXPECT_EQ(load->get_signed(F::offset), 4);
    EXPECT_TRUE(load->flag(F::mem_desc));
    EXPECT_EQ(load->get(F::src_pred), kPt);
}

TEST(AmpereDecode, UnknownBitsRefused) {
    uint64_t exit_lo = 0x794d, exit_hi = 0x000fea0003800000;
    EXPECT_TRUE(decode_ampere(exit_lo, exit_hi));
    EXPECT_FALSE(decode_ampere(exit_lo | uint64_t(1) << 50, exit_hi));
    EXPECT_TRUE(decode_ampere(exit_lo | uint64_t(1) << 50, exit_hi, true));
    EXPECT_FALSE(decode_ampere(0, 0));
}

TEST(AmpereDisassembler, SampledOracle) {
    std::vector<Sample> samples = read_samples(DMSH_SOURCE_DIR "/tests/data/isa/sm_86.tsv");
    ASSERT_GT(samples.size(), 1000u);
    Score result = score(Arch::sm_86, samples);
    EXPECT_EQ(result.differ, 0u);
    EXPECT_EQ(result.wrongly_taken, 0u);
}

TEST(AmpereDisassembler, FullOracle) {
    std::vector<Sample> samples = read_samples(corpus() / "cuda/oracle.sm_86.tsv.zst");
    if (samples.empty())
        GTEST_SKIP() << "no corpus at " << corpus();
    Score result = score(Arch::sm_86, samples);
    EXPECT_GE(result.share(), kAmpereShare);
    EXPECT_LE(result.wrongly_taken, kAmpereWronglyTaken);
}

TEST(AmpereDisassembler, EncodingsOfCompiledKernels) {
    std::vector<Sample> samples = read_samples(corpus() / "cuda/encodings.sm_86.tsv");
    if (samples.empty())
        GTEST_SKIP() << "no corpus at " << corpus();
    Score result = score(Arch::sm_86, samples);
    EXPECT_GE(result.share(), 99.0);
}

// Texts of a listing by address; labels and notes cut off.
std::map<uint32_t, std::string> read_listing(const std::filesystem::path& path) {
    std::map<uint32_t, std::string> texts;
    std::vector<uint8_t> listing = read_file(path);
    std::string_view rest(reinterpret_cast<const char*>(listing.data()), listing.size());
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        size_t close = line.find("*/");
        if (!line.starts_with("/*") || close == line.npos)
            continue;
        std::string text(line.substr(close + 2));
        text.erase(0, text.find_first_not_of(' '));
        text.resize(std::min({text.find(" (*"), text.find(';'), text.size()}));
        while (text.ends_with(' '))
            text.pop_back();
        texts[uint32_t(std::strtoul(std::string(line.substr(2)).c_str(), nullptr, 16))] = text;
    }
    return texts;
}

struct ListingScore {
    size_t files = 0, lines = 0, differ = 0, refused = 0;
};

void compare_listing(const std::filesystem::path& binary, const std::filesystem::path& listing, size_t header,
                     ListingScore& result) {
    std::vector<uint8_t> file = read_file(binary);
    std::span<const uint8_t> code(file);
    code = code.subspan(std::min(header, code.size()));
    std::map<uint32_t, std::string> texts = read_listing(listing);
    ProgramWords words(Arch::sm_86, code);
    uint64_t lo, hi;
    uint32_t pc, control;
    ++result.files;
    while (words.next(lo, hi, pc, control)) {
        if (lo == 0 && hi == 0)
            continue; // padding
        ++result.lines;
        std::optional<Instruction> instruction = decode(Arch::sm_86, lo, hi, pc);
        auto expected = texts.find(pc);
        std::string want = expected == texts.end() ? "" : expected->second;
        if (!instruction) {
            if (result.refused++ < 10)
                std::cout << binary.filename() << " " << std::hex << pc << std::dec << " refused: " << want
                          << "\n";
            continue;
        }
        if (want.empty() || want.find("32@") != want.npos)
            continue;
        std::string have = disassemble(*instruction);
        if (size_t label = want.find("`("); label != want.npos) {
            want.resize(label);
            have.resize(std::min(have.size(), label));
        }
        if (want != have && result.differ++ < 10)
            std::cout << binary.filename() << " " << std::hex << pc << std::dec << "\n  want " << want
                      << "\n  have " << have << "\n";
    }
}

TEST(AmpereDisassembler, GraphicsShaders) {
    std::filesystem::path folder = corpus() / "ampere-gfx";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "no corpus at " << corpus();
    ListingScore result;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".dis")
            continue;
        std::string name = entry.path().stem().string();
        bool compute = std::filesystem::exists(folder / (name + ".glsl.comp")) || name == "c_dot4";
        compare_listing(folder / (name + ".bin"), entry.path(), compute ? 0 : 0x80, result);
    }
    std::cout << result.files << " shaders, " << result.lines << " instructions\n";
    EXPECT_EQ(result.differ, 0u);
    EXPECT_EQ(result.refused, 0u);
}

TEST(AmpereDecode, VendorGraphicsProgramsDecodeWhole) {
    std::filesystem::path folder = corpus() / "nvidia-glslc";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "no corpus at " << corpus();
    ListingScore result;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().filename().string().ends_with(".ampere.bin"))
            compare_listing(entry.path(), "", 0x80, result);
    std::cout << result.files << " programs, " << result.lines << " instructions\n";
    EXPECT_EQ(result.refused, 0u);
}

TEST(AmpereDisassembler, ListingsOfCompiledKernels) {
    std::filesystem::path folder = corpus() / "cuda";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << "no corpus at " << corpus();
    ListingScore result;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::string name = entry.path().filename().string();
        if (!name.ends_with(".86.dis") && !name.ends_with(".86b.dis"))
            continue;
        std::filesystem::path binary = entry.path();
        compare_listing(binary.replace_extension(".bin"), entry.path(), 0, result);
    }
    std::cout << result.files << " listings, " << result.lines << " instructions, " << result.differ
              << " differ, " << result.refused << " refused\n";
    EXPECT_LE(result.differ + result.refused, result.lines / 500);
}

TEST(AmpereDecode, RandomWordsNeverFail) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 300000; ++i) {
        uint64_t lo = random(), hi = random();
        if (i % 2)
            hi &= 0x000fffff00ffffff; // more words with a meaning
        std::optional<Instruction> instruction = decode(Arch::sm_86, lo, hi, uint32_t(random()), true);
        if (!instruction)
            continue;
        EXPECT_EQ(disassemble(*instruction).find('<'), std::string::npos) << disassemble(*instruction);
        (void)instruction->target();
    }
}

} // namespace
} // namespace dmsh::isa
