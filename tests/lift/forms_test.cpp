// Every form of memory, texture, surface, attribute and lane instructions: operands, registers and modifiers in the calls it lifts to.
#include "tests/lift/forms.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace dmsh::test {
namespace {

// Registers that an instruction may write: from its destinations on.
std::vector<unsigned> written(const isa::Instruction& inst) {
    std::vector<unsigned> list;
    const auto add = [&](F field, unsigned count) {
        if (inst.has(field) && inst.get(field) != isa::kRz)
            for (unsigned k = 0; k < count && inst.get(field) + k < isa::kRz; ++k)
                list.push_back(static_cast<unsigned>(inst.get(field)) + k);
    };
    add(F::dst, inst.has(F::dst2) ? 2 : 4);
    add(F::dst2, 2);
    return list;
}

Stage stage_of(Op op) {
    switch (op) {
    case Op::TEX:
    case Op::TEXS:
    case Op::TMML:
    case Op::PIXLD: return Stage::fragment;
    case Op::OUT:
    case Op::ISBERD: return Stage::geometry;
    case Op::AL2P: return Stage::vertex;
    default: return Stage::compute;
    }
}

std::string lifted_form(uint64_t word, const isa::Instruction& inst) {
    Program p;
    for (unsigned r = 0; r < kProbeRegisters; ++r)
        p.add(Op::MOV32I, Form::imm32, {{F::dst, r}, {F::imm, register_value(r)}, {F::lane_mask, 15}});
    p.raw(word);
    const std::vector<unsigned> probed = written(inst);
    for (unsigned r : probed)
        p.add(Op::STL, Form::reg, {{F::src_a, isa::kRz}, {F::src_b, r}, {F::offset, FormText::kProbe + 4 * r}, {F::mem_size_st, 4}});
    p.exit();
    ShaderInput input = p.input();
    input.stage = stage_of(inst.op());
    const std::vector<uint8_t> sph = empty_header(input.stage);
    if (input.stage != Stage::compute)
        input.sph = sph;
    auto shader = lift(input);
    if (!shader)
        return "refused: " + shader.error().message;
    const auto verified = verify_shader(*shader, false);
    EXPECT_TRUE(verified) << (verified ? "" : verified.error().text());
    return FormText(*shader).text();
}

} // namespace

TEST(Forms, EveryFormCallsWhatTheTableSays) {
    const std::filesystem::path path = DMSH_SOURCE_DIR "/tests/data/forms/maxwell.tsv";
    std::ifstream in(path);
    ASSERT_TRUE(in) << path;
    const bool update = std::getenv("DMSH_UPDATE_FORMS");
    std::string line, result;
    size_t rows = 0;
    while (std::getline(in, line)) {
        if (line.empty() || line[0] == '#') {
            result += line + '\n';
            continue;
        }
        const uint64_t word = std::stoull(line.substr(0, line.find('\t')), nullptr, 16);
        const auto inst = isa::decode(isa::Arch::sm_53, word, 0, 0);
        ASSERT_TRUE(inst) << line;
        const std::string now = fmt::format("0x{:016x}\t{}\t{}", word, isa::disassemble(*inst), lifted_form(word, *inst));
        result += now + '\n';
        ++rows;
        if (!update) {
            EXPECT_EQ(now, line);
        }
    }
    EXPECT_GE(rows, 300u);
    if (update)
        std::ofstream(path) << result;
}

} // namespace dmsh::test
