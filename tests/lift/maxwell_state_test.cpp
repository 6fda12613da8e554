// Instructions that touch the machine's state: predicates and flags as bits, kills, barriers, special registers, pixel state.
#include "tests/lift/evaluate.h"
#include <cmath>
#include <llvm/IR/InstIterator.h>

namespace dmsh::test {
namespace {

// A program of which only the machine's state after the run matters.
IrMachine run(Program& p, std::array<uint32_t, 3> block = {1, 1, 1}, Stage stage = Stage::compute) {
    ShaderInput input = p.input();
    input.stage = stage;
    const std::vector<uint8_t> sph = empty_header(stage);
    if (stage != Stage::compute)
        input.sph = sph;
    input.local_size = block;
    input.shared_bytes = 0x30;
    auto shader = lift(input);
    EXPECT_TRUE(shader) << (shader ? "" : shader.error().text());
    IrMachine m;
    m.block = block;
    m.shared_bytes = 0x30;
    m.global.resize(4 * block[0]);
    m.banks[0].resize(0x700);
    const uint64_t base = IrMachine::kGlobalBase;
    memcpy(m.banks[0].data(), &base, 8);
    if (shader) {
        const auto ran = m.run(*std::move(shader));
        EXPECT_TRUE(ran) << (ran ? "" : ran.error().text());
        EXPECT_EQ(m.faults, "");
    }
    return m;
}

std::string refusal(Program& p) {
    auto shader = lift(p.input());
    return shader ? "lifts" : shader.error().message;
}

// Stores R0 to word R1 of global memory and ends.
void store_and_exit(Program& p) {
    p.add(Op::SHL, Form::imm, {{F::dst, 2}, {F::src_a, 1}, {F::imm, 2}});
    p.add(Op::IADD, Form::cbuf, {{F::dst, 2}, {F::src_a, 2}, {F::cbuf_bank, 0}, {F::cbuf_offset, 0}});
    p.add(Op::MOV, Form::cbuf, {{F::dst, 3}, {F::cbuf_bank, 0}, {F::cbuf_offset, 4}, {F::lane_mask, 15}});
    p.add(Op::STG, Form::reg, {{F::src_a, 2}, {F::src_b, 0}, {F::e, 1}, {F::mem_size_st, 4}});
    p.exit();
}

uint32_t word(const IrMachine& m, size_t k) {
    uint32_t v = 0;
    memcpy(&v, m.global.data() + 4 * k, 4);
    return v;
}

constexpr uint32_t kTidX = 33;

} // namespace

TEST(Maxwell, PredicatesAndRegistersTradeBitsUnderARegisterMask) {
    for (uint32_t mask : {0u, 5u, 0x7fu, 0xffu}) {
        const auto r = Evaluation()
                           .in(4, 0x12345678u)
                           .in(5, mask)
                           .add(Op::R2P, Form::imm, {{F::src_a, 4}, {F::imm, 0x7f}})
                           .add(Op::P2R, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::byte_a, 1}})
                           .run();
        const uint32_t placed = (mask & 0x7f) << 8;
        EXPECT_EQ(r.at(0), (0x12345678u & ~placed) | ((0x78u << 8) & placed)) << mask;
        const auto s = Evaluation()
                           .in(4, 0xffffffffu)
                           .in(5, mask)
                           .add(Op::R2P, Form::imm, {{F::src_a, isa::kRz}, {F::imm, 0x7f}})
                           .add(Op::R2P, Form::reg, {{F::src_a, 4}, {F::src_b, 5}})
                           .run();
        EXPECT_EQ(s.at(4) & 15, mask & 15) << mask;
    }
}

TEST(Maxwell, KilTestsItsGuardAndTheConditionCode) {
    enum : uint64_t { kEqual = 2, kNotEqual = 5, kNever = 0, kFcsmTr = 28 };
    for (uint32_t value : {0u, 1u})
        for (uint64_t test : {uint64_t{kEqual}, uint64_t{kNotEqual}, uint64_t{kNever}, uint64_t{kFcsmTr}}) {
            Program p;
            p.add(Op::MOV32I, Form::imm32, {{F::dst, 0}, {F::imm, value}, {F::lane_mask, 15}});
            p.add(Op::IADD, Form::imm, {{F::dst, isa::kRz}, {F::src_a, 0}, {F::imm, 0}, {F::cc, 1}});
            p.add(Op::KIL, Form::none, {{F::cc_test, test}});
            p.exit();
            EXPECT_EQ(run(p, {1, 1, 1}, Stage::fragment).demoted, (test == kEqual && value == 0) || (test == kNotEqual && value == 1)) << value << " " << test;
        }
}

TEST(Maxwell, ReductionsAtBarriersCountTheGroup) {
    enum : uint64_t { kReduce = 2 };
    for (uint64_t op : {0u, 1u, 2u}) { // POPC, AND, OR of "thread < 40" over 64 threads
        Program p;
        p.add(Op::S2R, Form::none, {{F::dst, 1}, {F::sreg, kTidX}});
        p.add(Op::ISETP, Form::imm, {{F::dst_pred, 0}, {F::src_a, 1}, {F::imm, 40}, {F::int_cmp, 1}});
        p.add(Op::BAR, Form::imm, {{F::bar_id, 0}, {F::bar_count, 0}, {F::bar_mode, kReduce}, {F::bar_red, op}, {F::src_pred, 0}});
        p.add(Op::B2R, Form::none, {{F::dst, 0}, {F::dst_pred, 1}, {F::b2r_result, 1}});
        store_and_exit(p);
        const IrMachine m = run(p, {64, 1, 1});
        for (size_t k = 0; k < 64; ++k)
            EXPECT_EQ(word(m, k), op == 0 ? 40u : op == 1 ? 0u : 1u) << op << " " << k;
    }
}

TEST(Maxwell, BarriersOfSomeThreadsKeepTheirForm) {
    enum : uint64_t { kSync = 0, kArrive = 1 };
    // Warp 0 arrives at barrier 7 and goes on; warp 1 waits there for both.
    Program p;
    p.add(Op::S2R, Form::none, {{F::dst, 1}, {F::sreg, kTidX}});
    p.add(Op::ISETP, Form::imm, {{F::dst_pred, 0}, {F::src_a, 1}, {F::imm, 32}, {F::int_cmp, 1}});
    p.add(Op::BAR, Form::imm, {{F::pred, 0}, {F::bar_id, 7}, {F::bar_count, 64}, {F::bar_mode, kArrive}});
    p.add(Op::BAR, Form::imm, {{F::pred, 0}, {F::pred_neg, 1}, {F::bar_id, 7}, {F::bar_count, 64}, {F::bar_mode, kSync}});
    p.add(Op::MOV32I, Form::imm32, {{F::dst, 0}, {F::imm, 9}, {F::lane_mask, 15}});
    store_and_exit(p);
    const IrMachine m = run(p, {64, 1, 1});
    EXPECT_EQ(word(m, 0), 9u);
    EXPECT_EQ(word(m, 63), 9u);
}

TEST(Maxwell, SpecialRegistersThatAreFixed) {
    const std::pair<uint32_t, uint32_t> cases[] = {{2, 2u << 20}, {4, 0}, {50, 0x30}, {81, 0}, {83, 0}}; // VIRTCFG, PM0, SMEMSZ, high clocks
    for (const auto& [number, value] : cases) {
        Program p;
        p.add(Op::S2R, Form::none, {{F::dst, 0}, {F::sreg, number}});
        p.add(Op::MOV, Form::reg, {{F::dst, 1}, {F::src_b, isa::kRz}, {F::lane_mask, 15}});
        store_and_exit(p);
        EXPECT_EQ(word(run(p), 0), value) << number;
    }
    Program p;
    p.add(Op::S2R, Form::none, {{F::dst, 0}, {F::sreg, 22}});
    p.exit();
    EXPECT_NE(refusal(p).find("S2R"), std::string::npos); // T-002: named
    EXPECT_NE(refusal(p).find("special register is not implemented"), std::string::npos);
}

TEST(YDirection, IsTheWordThatTheRuntimeFills) { // T-030
    const float up = -1.0f;
    Program p;
    p.add(Op::S2R, Form::none, {{F::dst, 0}, {F::sreg, 18}});
    p.add(Op::MOV, Form::reg, {{F::dst, 1}, {F::src_b, isa::kRz}, {F::lane_mask, 15}});
    store_and_exit(p);
    auto shader = lift(p.input());
    ASSERT_TRUE(shader);
    IrMachine m;
    m.global.resize(4);
    m.banks[0].resize(0x700);
    const uint64_t base = IrMachine::kGlobalBase;
    memcpy(m.banks[0].data(), &base, 8);
    memcpy(m.banks[0].data() + guest_abi(GuestAbiId::nvn).y_direction, &up, 4);
    ASSERT_TRUE(m.run(*std::move(shader)));
    EXPECT_EQ(word(m, 0), 0xbf800000u);
}

TEST(Pixld, IndexCountAndCoverage) { // T-031, B-009
    const std::vector<uint8_t> sph = empty_header(Stage::fragment);
    const auto read = [&](uint64_t mode, IrMachine& m) -> std::optional<uint32_t> {
        Program p;
        p.add(Op::PIXLD, Form::reg, {{F::dst, 0}, {F::src_a, isa::kRz}, {F::pixld_mode, mode}});
        p.add(Op::MOV, Form::reg, {{F::dst, 1}, {F::src_b, isa::kRz}, {F::lane_mask, 15}});
        store_and_exit(p);
        ShaderInput input = p.input();
        input.stage = Stage::fragment;
        input.sph = sph;
        auto shader = lift(input);
        if (!shader)
            return std::nullopt;
        EXPECT_EQ(shader->interface.per_sample, mode == 5);
        m.global.resize(4);
        m.banks[0].resize(0x700);
        const uint64_t base = IrMachine::kGlobalBase;
        memcpy(m.banks[0].data(), &base, 8);
        EXPECT_TRUE(m.run(*std::move(shader)));
        return word(m, 0);
    };
    for (uint32_t k = 0; k < 4; ++k) {
        IrMachine index, count, mask;
        index.specials[static_cast<uint32_t>(SpecialRegister::sample_id)] = k;
        EXPECT_EQ(read(5, index), k);
        count.banks[0].resize(0x700);
        memcpy(count.banks[0].data() + guest_abi(GuestAbiId::nvn).sample_row + 4, &k, 4);
        EXPECT_EQ(read(0, count), 1u << k);
        mask.specials[static_cast<uint32_t>(SpecialRegister::sample_mask_in)] = 5 + k;
        EXPECT_EQ(read(1, mask), 5 + k);
    }
    for (uint64_t mode : {2u, 3u, 4u}) {
        IrMachine m;
        EXPECT_FALSE(read(mode, m)) << mode;
    }
}

TEST(Maxwell, TrapsEndTheThread) {
    Program p;
    p.add(Op::MOV32I, Form::imm32, {{F::dst, 0}, {F::imm, 9}, {F::lane_mask, 15}});
    p.raw(0xe3a00000001000c0); // BPT.TRAP 0x1, as trap_assert of the cuda corpus has it
    store_and_exit(p);
    EXPECT_EQ(word(run(p), 0), 0u);
}

TEST(MufuTrig, RangeReductionAndSineTogetherAreTheSine) { // T-024
    enum : uint64_t { kCos = 0, kSin = 1, kSinCos = 0 };
    for (float x : {0.0f, 0.5f, -2.0f, 10.0f})
        for (uint64_t op : {uint64_t{kCos}, uint64_t{kSin}}) {
            const auto r = Evaluation()
                               .in(4, x)
                               .add(Op::RRO, Form::reg, {{F::dst, 0}, {F::src_b, 4}, {F::rro_op, kSinCos}})
                               .add(Op::MUFU, Form::none, {{F::dst, 0}, {F::src_a, 0}, {F::mufu_op, op}})
                               .run();
            float f;
            memcpy(&f, r.data(), 4);
            EXPECT_NEAR(f, op == kSin ? std::sin(x) : std::cos(x), 1e-6) << x;
        }
}

TEST(RedF32, LanesAddIntoOneWordAndDenormalsFlush) { // T-041
    enum : uint64_t { kAdd = 0, kF32 = 3 };
    for (float operand : {1.0f, 1e-40f}) {
        uint32_t bits;
        memcpy(&bits, &operand, 4);
        Program p;
        p.add(Op::MOV32I, Form::imm32, {{F::dst, 4}, {F::imm, bits}, {F::lane_mask, 15}});
        for (unsigned k = 0; k < 2; ++k)
            p.add(Op::MOV, Form::cbuf, {{F::dst, 2 + k}, {F::cbuf_bank, 0}, {F::cbuf_offset, 4 * k}, {F::lane_mask, 15}});
        p.add(Op::RED, Form::reg, {{F::src_a, 2}, {F::src_b, 4}, {F::e, 1}, {F::red_op, kAdd}, {F::atom_type, kF32}});
        p.exit();
        float sum;
        const uint32_t result = word(run(p, {32, 1, 1}), 0);
        memcpy(&sum, &result, 4);
        EXPECT_EQ(sum, operand == 1.0f ? 32.0f : 0.0f);
    }
    Program half;
    half.add(Op::RED, Form::reg, {{F::src_a, 2}, {F::src_b, 4}, {F::e, 1}, {F::red_op, kAdd}, {F::atom_type, 4}});
    half.exit();
    EXPECT_NE(refusal(half).find("RED"), std::string::npos); // F16x2 has not been met
}

TEST(Suatom, FormsWithoutAnImageMeaningAreRefused) { // T-040
    enum : uint64_t { kIgnore = 0, kTrap = 2, kU32 = 0, kU64 = 2, kF32 = 3, kF16x2 = 4, kS64 = 5 };
    const auto text = [](uint64_t bounds, uint64_t type) {
        Program p;
        p.add(Op::SUATOM, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 8}, {F::surf_dim, 3}, {F::surf_clamp, bounds}, {F::tex_handle, 0x48},
                                      {F::atoms_op, 0}, {F::suatom_type, type}, {F::surf_raw, 1}});
        p.exit();
        return refusal(p);
    };
    EXPECT_EQ(text(kIgnore, kU32), "lifts");
    for (const auto& [bounds, type] : {std::pair<uint64_t, uint64_t>{kTrap, kU32}, {kIgnore, kU64}, {kIgnore, kF32}, {kIgnore, kF16x2}, {kIgnore, kS64}})
        EXPECT_NE(text(bounds, type).find("SUATOM"), std::string::npos) << bounds << " " << type;
}

TEST(GeoInstr, StreamsAndVertexHandles) { // T-033
    const std::vector<uint8_t> sph = empty_header(Stage::geometry);
    Program p;
    p.add(Op::MOV32I, Form::imm32, {{F::dst, 4}, {F::imm, 2}, {F::lane_mask, 15}});
    p.add(Op::ISBERD, Form::reg, {{F::dst, 5}, {F::src_a, 4}});
    p.add(Op::ALD, Form::reg, {{F::dst, 6}, {F::src_a, isa::kRz}, {F::attr_offset, 0x80}, {F::src_c, 5}});
    p.add(Op::AST, Form::reg, {{F::src_b, 6}, {F::src_a, isa::kRz}, {F::attr_offset, 0x80}});
    p.add(Op::OUT, Form::reg, {{F::dst, 0}, {F::src_a, isa::kRz}, {F::src_b, isa::kRz}, {F::out_op, 3}});
    p.exit();
    ShaderInput input = p.input();
    input.stage = Stage::geometry;
    input.sph = sph;
    auto shader = lift(input);
    ASSERT_TRUE(shader) << shader.error().text();
    std::string calls;
    for (const llvm::Instruction& inst : llvm::instructions(*shader->main))
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&inst)) {
            calls += call->getCalledFunction()->getName().str();
            for (const llvm::Use& a : call->args())
                if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(a))
                    calls += " " + std::to_string(k->getZExtValue());
            calls += "; ";
        }
    EXPECT_EQ(calls, "dmsh.attr.load 128 2; dmsh.attr.store 128 0; dmsh.geom.emit 0; dmsh.geom.cut 0; ");
}

} // namespace dmsh::test
