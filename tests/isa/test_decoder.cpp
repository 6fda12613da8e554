// The encoding tables are sound, and every instruction of the shader corpora decodes.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "compiler/isa/isa.h"
#include "tests/isa/corpus.h"

namespace dmsh::isa {
namespace {

TEST(Isa, TablesAreSound) {
    EXPECT_TRUE(table_faults().empty());
    for (const std::string& fault : table_faults())
        std::cout << fault << "\n";
    EXPECT_GT(maxwell_rows().size(), 300u);
}

TEST(MaxwellDecode, Fields) {
    // @P3 BFE.U32 R2.CC, R4, c[0x0][0x1418]
    std::optional<Instruction> bfe = decode(Arch::sm_53, 0x4c00800050630402, 0, 8);
    ASSERT_TRUE(bfe);
    EXPECT_EQ(bfe->op(), Op::BFE);
    EXPECT_EQ(bfe->form(), Form::cbuf);
    EXPECT_EQ(bfe->get(F::pred), 3u);
    EXPECT_EQ(bfe->get(F::dst), 2u);
    EXPECT_EQ(bfe->get(F::src_a), 4u);
    EXPECT_EQ(bfe->get(F::cbuf_bank), 0u);
    EXPECT_EQ(bfe->get(F::cbuf_offset), 0x1418u);
    EXPECT_TRUE(bfe->flag(F::cc));
    EXPECT_FALSE(bfe->flag(F::is_signed));
    // LOP.AND.X.T R30, R0, -0x7fefb
    std::optional<Instruction> lop = decode(Arch::sm_53, 0x394718001057001e, 0, 8);
    ASSERT_TRUE(lop);
    EXPECT_EQ(lop->get_signed(F::imm), -0x7fefb);
    EXPECT_EQ(lop->imm32(), uint32_t(-0x7fefb));
    EXPECT_TRUE(lop->flag(F::x));
    // RRO.SINCOS R0, -2.0234375.NEG.ABS: the 20 bits are the upper bits of a float
    std::optional<Instruction> rro = decode(Arch::sm_53, 0x3992204001870000, 0, 8);
    ASSERT_TRUE(rro);
    EXPECT_EQ(rro->imm32(), 0xc0018000u);
    // SSY 0x1d8 at 0xc8 - 8
    std::optional<Instruction> ssy = decode(Arch::sm_53, 0xe290000010800000, 0, 0xc8);
    ASSERT_TRUE(ssy);
    EXPECT_EQ(ssy->target(), 0x1d8);
}

TEST(MaxwellDecode, Groups) {
    // Three instructions behind each scheduling word, counted from the exact start.
    std::vector<uint8_t> code(64 + 16);
    ProgramWords words(Arch::sm_53, code);
    std::vector<uint32_t> seen;
    uint64_t lo, hi;
    uint32_t pc, control;
    while (words.next(lo, hi, pc, control))
        seen.push_back(pc);
    EXPECT_EQ(seen, (std::vector<uint32_t>{8, 16, 24, 40, 48, 56, 72}));
    EXPECT_EQ(first_instruction(Arch::sm_53, 64), 72u);
    EXPECT_EQ(first_instruction(Arch::sm_86, 64), 64u);
}

TEST(MaxwellDecode, UnknownBitsRefused) {
    uint64_t exit = 0xe30000000007000f;
    EXPECT_TRUE(decode_maxwell(exit));
    EXPECT_FALSE(decode_maxwell(exit | uint64_t(1) << 40));
    EXPECT_TRUE(decode_maxwell(exit | uint64_t(1) << 40, true));
    EXPECT_FALSE(decode_maxwell(0));
}

TEST(MaxwellDecode, ShaderCorporaDecodeWhole) {
    if (!std::filesystem::exists(corpus()))
        GTEST_SKIP() << "no corpus at " << corpus();
    size_t files = 0, instructions = 0;
    for (const char* folder : {"maxwell-gfx", "nvidia-glslc", "cuda"}) {
        for (const auto& entry : std::filesystem::directory_iterator(corpus() / folder)) {
            std::string name = entry.path().filename().string();
            bool cuda = std::string_view(folder) == "cuda";
            std::string_view ending = cuda                                         ? ".53.bin"
                                      : std::string_view(folder) == "nvidia-glslc" ? ".maxwell.bin"
                                                                                   : ".bin";
            if (name.size() < ending.size() || name.substr(name.size() - ending.size()) != ending)
                continue;
            if (name.find(".c1.bin") != name.npos)
                continue;
            bool compute = cuda || std::filesystem::exists(entry.path().parent_path() /
                                                           (entry.path().stem().string() + ".glsl.comp"));
            std::vector<uint8_t> file = read_file(entry.path());
            std::span<const uint8_t> code(file);
            if (!compute)
                code = code.subspan(std::min<size_t>(code.size(), 0x50));
            std::optional<DecodeFault> fault;
            std::vector<Instruction> program = decode_program(Arch::sm_53, code, &fault);
            EXPECT_FALSE(program.empty()) << name;
            if (fault) { // only zero padding, behind the program's last branch to itself
                EXPECT_EQ(fault->lo, 0u)
                    << name << " at " << std::hex << fault->pc << ": " << fault->lo << " " << fault->why;
                EXPECT_TRUE(std::string_view(folder) == "nvidia-glslc") << name;
            }
            ++files;
            instructions += program.size();
        }
    }
    std::cout << files << " programs, " << instructions << " instructions\n";
}

} // namespace
} // namespace dmsh::isa
