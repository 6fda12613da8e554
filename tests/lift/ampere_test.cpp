// Single Ampere mnemonics and the scoreboards, held to values worked out from the rules T-1xx and from PTX.
#include "compiler/isa/isa.h"
#include "compiler/lift/lifter.h"
#include "tests/support/ir_machine.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace dmsh::test {
namespace {

using isa::F;
using isa::Form;
using isa::Op;
using Fields = std::initializer_list<std::pair<F, uint64_t>>;

uint32_t bits(float v) {
    return std::bit_cast<uint32_t>(v);
}

constexpr unsigned kNone7 = 7; // no scoreboard

// The program loads R4..R11 from c[0][0x10..0x2c], clears R0..R3, runs the given instructions, and stores R0..R3
// and P0..P6 (as bits).
class Trial {
  public:
    Trial& in(unsigned r, uint32_t value) {
        inputs_[r - 4] = value;
        return *this;
    }
    // `barrier`: scoreboard that the results arrive with. `waits`: mask of those waited for before.
    Trial& add(Op op, Form form, Fields fields, unsigned barrier = kNone7, unsigned waits = 0) {
        auto word = isa::assemble(isa::Arch::sm_86, op, form, fields);
        EXPECT_TRUE(word) << isa::op_name(op);
        return add(word, barrier, waits);
    }
    // MUFU of a float; the table's first row is the one of halves.
    Trial& mufu(uint64_t function, Fields fields, unsigned barrier = kNone7) {
        std::vector<std::pair<F, uint64_t>> all(fields);
        all.push_back({F::mufu86_op, function});
        for (const isa::Row& row : isa::ampere_rows())
            if (row.op == Op::MUFU && row.form == Form::reg && !row.has(F::mufu_f16))
                return add(isa::assemble(row, all), barrier, 0);
        ADD_FAILURE() << "no row";
        return *this;
    }
    Trial& add(std::optional<isa::Word> word, unsigned barrier, unsigned waits) {
        isa::Word w = word.value_or(isa::Word{});
        w.hi |= uint64_t{barrier} << (110 - 64) | uint64_t{7} << (113 - 64) | uint64_t{waits} << (116 - 64);
        body_.push_back(w);
        return *this;
    }
    Trial& move(unsigned d, unsigned s, unsigned waits = 0) {
        return add(Op::MOV, Form::reg, {{F::dst, d}, {F::src_b, s}, {F::lane_mask, 15}}, kNone7, waits);
    }
    Trial& move_from_uniform(unsigned d, unsigned s) {
        return add(Op::MOV, Form::ureg, {{F::dst, d}, {F::src_b, s}, {F::lane_mask, 15}});
    }
    // P[p] = R[r] != 0
    Trial& test(unsigned p, unsigned r) {
        return add(Op::ISETP, Form::reg,
                   {{F::dst_pred, p}, {F::src_a, r}, {F::src_b, isa::kRz}, {F::int_cmp, 5}, {F::bop, 0}});
    }

    std::vector<uint32_t> go() {
        std::vector<isa::Word> body = std::move(body_);
        body_.clear();
        for (unsigned i = 0; i < 8; ++i)
            add(Op::MOV, Form::cbuf,
                {{F::dst, 4 + i}, {F::cbuf_bank, 0}, {F::cbuf_offset, 0x10 + 4 * i}, {F::lane_mask, 15}});
        for (unsigned i = 0; i < 4; ++i)
            move(i, isa::kRz);
        body_.insert(body_.end(), body.begin(), body.end());
        add(Op::P2R, Form::imm, {{F::dst, 12}, {F::src_a, isa::kRz}, {F::imm, 0x7f}}, kNone7, 0x3f);
        for (unsigned i = 0; i < 2; ++i)
            add(Op::MOV, Form::cbuf,
                {{F::dst, 14 + i}, {F::cbuf_bank, 0}, {F::cbuf_offset, 4 * i}, {F::lane_mask, 15}});
        for (unsigned i = 0; i < 5; ++i)
            add(Op::STG, Form::reg,
                {{F::src_a, 14}, {F::src_b, i < 4 ? i : 12}, {F::offset, 4 * i}, {F::e, 1},
                 {F::mem_size_st, 4}});
        add(Op::EXIT, Form::none, {});
        ShaderInput input;
        input.arch = Arch::sm86;
        input.abi = &guest_abi(GuestAbiId::cuda_sm86);
        input.code = {reinterpret_cast<const uint8_t*>(body_.data()), body_.size() * sizeof(isa::Word)};
        input.float_mode = FloatMode::exact;
        input.shared_bytes = 1024;
        auto shader = lift(input);
        if (!shader) {
            error = shader.error().message;
            return std::vector<uint32_t>(5);
        }
        const auto verified = verify_shader(*shader, false);
        EXPECT_TRUE(verified) << (verified ? "" : verified.error().text());
        IrMachine m;
        m.global.resize(64);
        m.shared_bytes = 1024;
        m.banks[0].resize(0x200);
        const uint64_t base = IrMachine::kGlobalBase;
        memcpy(m.banks[0].data(), &base, 8);
        memcpy(m.banks[0].data() + 0x10, inputs_, sizeof inputs_);
        const auto ran = m.run(std::move(*shader));
        EXPECT_TRUE(ran) << (ran ? "" : ran.error().text());
        std::vector<uint32_t> out(5);
        memcpy(out.data(), m.global.data(), 20);
        return out;
    }
    std::string error;

  private:
    static_assert(sizeof(isa::Word) == 16);
    uint32_t inputs_[8] = {};
    std::vector<isa::Word> body_;
};

Trial& reciprocal(Trial& run, unsigned d, unsigned s, unsigned barrier, unsigned predicate = 7, bool negated = false) {
    constexpr uint64_t kRcp = 4;
    return run.mufu(kRcp, {{F::dst, d}, {F::src_b, s}, {F::pred, predicate}, {F::pred_neg, negated}}, barrier);
}

} // namespace

// T-103: what reads the register before the wait sees the old value.
TEST(AmpereScoreboard, OldValueUntilWaitedFor) {
    Trial run;
    run.in(4, 5).in(5, bits(4.0f)).move(0, 4);
    reciprocal(run, 0, 5, 0);
    run.move(1, 0).move(2, 0, 1);
    const auto r = run.go();
    EXPECT_EQ(r[1], 5u);
    EXPECT_EQ(r[2], bits(0.25f));
    EXPECT_EQ(r[0], bits(0.25f));
}

TEST(AmpereScoreboard, OnlyTheBarrierThatIsWaitedFor) {
    Trial run;
    run.in(4, 5).in(5, bits(4.0f)).in(6, bits(2.0f)).move(0, 4).move(1, 4);
    reciprocal(run, 0, 5, 0);
    reciprocal(run, 1, 6, 3);
    run.move(2, 0, 1u << 3).move(3, 1);
    const auto r = run.go();
    EXPECT_EQ(r[2], 5u);
    EXPECT_EQ(r[3], bits(0.5f));
}

// T-142: the guard counts as it was when the instruction was issued, for selects and for blocks alike.
TEST(AmpereScoreboard, GuardAtIssue) {
    for (const uint32_t guard : {0u, 1u}) {
        Trial run;
        run.in(4, guard).in(5, bits(4.0f)).in(6, 77).in(7, guard ^ 1).move(0, 6).test(0, 4);
        reciprocal(run, 0, 5, 0, 0);
        run.test(0, 7).move(1, 0, 1);
        EXPECT_EQ(run.go()[1], guard ? bits(0.25f) : 77u);

        Trial load;
        load.in(4, guard).in(5, 1234).in(6, 77).in(7, guard ^ 1).move(0, 6).test(0, 4);
        load.add(Op::STS, Form::reg, {{F::src_a, isa::kRz}, {F::src_b, 5}, {F::mem_size_st, 4}});
        load.add(Op::LDS, Form::reg, {{F::dst, 0}, {F::src_a, isa::kRz}, {F::mem_size_st, 4}, {F::pred, 0}}, 2);
        load.test(0, 7).move(2, 0).move(1, 0, 1u << 2);
        const auto r = load.go();
        EXPECT_EQ(r[2], 77u);
        EXPECT_EQ(r[1], guard ? 1234u : 77u);
    }
}

TEST(AmpereScoreboard, TwoPendingWritesToOneRegister) {
    for (const uint32_t guard : {0u, 1u}) {
        Trial run;
        run.in(4, guard).in(5, bits(4.0f)).in(6, bits(8.0f)).test(0, 4);
        reciprocal(run, 0, 5, 0, 0);
        reciprocal(run, 0, 6, 1, 0, true);
        run.move(1, 0, 3);
        EXPECT_EQ(run.go()[1], bits(guard ? 0.25f : 0.125f));
    }
}

// T-113: any mask of uniform predicates.
TEST(AmpereUniform, Up2urTakesAnyMask) {
    for (const uint32_t mask : {1u, 8u, 0x40u, 0x7fu}) {
        Trial run;
        run.in(4, 0x5a);
        run.add(Op::R2UR, Form::none, {{F::dst, 4}, {F::src_a, 4}});
        run.add(Op::UR2UP, Form::imm, {{F::src_a, 4}, {F::imm, 0x7f}});
        run.add(Op::UP2UR, Form::imm, {{F::dst, 5}, {F::src_a, isa::kUrz}, {F::imm, mask}});
        run.move_from_uniform(0, 5);
        EXPECT_EQ(run.go()[0], 0x5a & mask) << std::hex << mask;
    }
}

// T-145: VOTEU writes the uniform predicate, and leaves the lane predicate of the same number alone.
TEST(AmpereUniform, VoteuWritesTheUniformPredicate) {
    Trial run;
    run.in(4, 1).in(5, 0).test(1, 4).test(2, 5);
    run.add(Op::VOTEU, Form::none,
            {{F::dst, isa::kUrz}, {F::dst_upred, 2}, {F::src_pred, 1}, {F::vote_mode, 1}});
    run.add(Op::UP2UR, Form::imm, {{F::dst, 5}, {F::src_a, isa::kUrz}, {F::imm, 4}});
    run.move_from_uniform(0, 5);
    const auto r = run.go();
    EXPECT_EQ(r[0], 4u);
    EXPECT_EQ(r[4] & 6, 2u);
}

// T-134, T-135: the pair that is added, its carry out, and the carry in.
TEST(AmpereInteger, ImadHighAndCarries) {
    std::mt19937 random(1);
    for (int i = 0; i < 64; ++i) {
        const uint32_t a = random(), b = random(), low = random(), high = random();
        const uint64_t c = uint64_t{high} << 32 | low;
        const unsigned __int128 sum = static_cast<unsigned __int128>(uint64_t{a} * b) + c;
        Trial run;
        run.in(4, a).in(5, b).in(6, low).in(7, high);
        run.add(Op::IMAD, Form::reg,
                {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::src_c, 6}, {F::hi, 1}, {F::is_signed, 0},
                 {F::dst_pred, 0}});
        run.add(Op::IMAD, Form::reg,
                {{F::dst, 2}, {F::src_a, 4}, {F::src_b, 5}, {F::src_c, 6}, {F::wide, 1}, {F::is_signed, 0},
                 {F::dst_pred, 1}});
        run.add(Op::IMAD, Form::reg,
                {{F::dst, 1}, {F::src_a, 4}, {F::src_b, 5}, {F::src_c, 6}, {F::neg_c, 1}, {F::x, 1},
                 {F::src_pred, 0}});
        const auto r = run.go();
        const auto carry = static_cast<uint32_t>(sum >> 64);
        EXPECT_EQ(r[0], static_cast<uint32_t>(sum >> 32));
        EXPECT_EQ(r[2], static_cast<uint32_t>(sum));
        EXPECT_EQ(r[3], static_cast<uint32_t>(sum >> 32));
        EXPECT_EQ(r[4] & 3, carry * 3);
        EXPECT_EQ(r[1], a * b + ~low + carry);
    }
}

// A 64-bit subtraction in two IADD3: no borrow is a carry, also where nothing is subtracted.
TEST(AmpereInteger, SubtractionCarries) {
    for (const auto& [x, y] : std::initializer_list<std::pair<uint64_t, uint64_t>>{
             {5, 3}, {3, 5}, {0x100000000, 1}, {0, 0}, {7, 0}, {0xffffffff00000000, 0x00000000ffffffff}}) {
        Trial run;
        run.in(4, static_cast<uint32_t>(x)).in(5, static_cast<uint32_t>(x >> 32));
        run.in(6, static_cast<uint32_t>(y)).in(7, static_cast<uint32_t>(y >> 32));
        run.add(Op::IADD3, Form::reg,
                {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 6}, {F::neg_b, 1}, {F::src_c, isa::kRz}, {F::dst_pred, 0}});
        run.add(Op::IADD3, Form::reg,
                {{F::dst, 1}, {F::src_a, 5}, {F::src_b, 7}, {F::neg_b, 1}, {F::src_c, isa::kRz}, {F::x, 1},
                 {F::src_pred, 0}, {F::src_pred2, 7}, {F::src_pred2_neg, 1}});
        const auto r = run.go();
        EXPECT_EQ(uint64_t{r[1]} << 32 | r[0], x - y);
    }
}

// PTX's shf: clamp takes min(n, 32), wrap n mod 32.
TEST(AmpereInteger, FunnelShifts) {
    const uint32_t low = 0x89abcdef, high = 0x01234567;
    const uint64_t whole = uint64_t{high} << 32 | low;
    for (const uint32_t n : {0u, 1u, 7u, 31u, 32u, 33u, 64u, 100u})
        for (const bool wrap : {false, true}) {
            const uint32_t k = wrap ? n & 31 : std::min(n, 32u);
            for (const bool immediate : {false, true}) {
                Trial run;
                run.in(4, low).in(5, n).in(6, high);
                const auto shift = [&](unsigned d, bool right, bool upper) {
                    if (immediate)
                        run.add(Op::SHF, Form::imm,
                                {{F::dst, d}, {F::src_a, 4}, {F::imm, n}, {F::src_c, 6}, {F::shf86_type, 3},
                                 {F::wrap, wrap}, {F::shf_right, right}, {F::hi, upper}});
                    else
                        run.add(Op::SHF, Form::reg,
                                {{F::dst, d}, {F::src_a, 4}, {F::src_b, 5}, {F::src_c, 6}, {F::shf86_type, 3},
                                 {F::wrap, wrap}, {F::shf_right, right}, {F::hi, upper}});
                };
                shift(0, false, true);
                shift(1, true, false);
                const auto r = run.go();
                EXPECT_EQ(r[0], static_cast<uint32_t>((whole << k) >> 32)) << n << wrap << immediate;
                EXPECT_EQ(r[1], static_cast<uint32_t>(whole >> k)) << n << wrap << immediate;
            }
        }
}

// T-141
TEST(AmpereInteger, Bmsk) {
    for (const auto& [a, b, want] : std::initializer_list<std::array<uint32_t, 3>>{
             {0, 0, 0}, {4, 8, 0xff0}, {0, 32, 0xffffffff}, {28, 8, 0xf0000000}, {32, 4, 0}, {3, 99, 0xfffffff8}}) {
        Trial run;
        run.in(4, a).in(5, b).add(Op::BMSK, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}});
        EXPECT_EQ(run.go()[0], want) << a << " " << b;
    }
}

// T-139
TEST(AmpereConversion, F2ip) {
    const auto convert = [](float a, float b, uint64_t round) {
        Trial run;
        run.in(4, bits(a)).in(5, bits(b));
        run.add(Op::F2IP, Form::reg,
                {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::src_c, isa::kRz}, {F::f2ip_d, 0},
                 {F::f2ip_rnd, round}, {F::ntz, 1}});
        return run.go()[0];
    };
    constexpr uint64_t kNearest = 0, kTruncate = 3;
    EXPECT_EQ(convert(300.0f, 2.5f, kNearest), 0xff02u);
    EXPECT_EQ(convert(-1.0f, 3.5f, kNearest), 0x0004u);
    EXPECT_EQ(convert(NAN, 3.9f, kTruncate), 0x0003u);
    EXPECT_EQ(convert(254.9f, 0.0f, kTruncate), 0xfe00u);
}

// T-130: both halves, the absolute value, high half of the result zero.
TEST(AmpereFloat, MufuOfHalves) {
    const auto root = [](uint64_t part, bool absolute) {
        Trial run;
        run.in(4, 0x4400c400); // 4.0, -4.0
        run.add(Op::MUFU, Form::reg,
                {{F::dst, 0}, {F::src_b, 4}, {F::mufu_f16, 1}, {F::mufu86_op, 8}, {F::hpart_b, part},
                 {F::abs_b, absolute}});
        return run.go()[0];
    };
    EXPECT_EQ(root(1, false), 0x4000u);
    EXPECT_EQ(root(0, true), 0x4000u);
}

// T-107: the argument counts turns.
TEST(AmpereFloat, SineCountsTurns) {
    Trial run;
    constexpr uint64_t kSin = 1;
    run.in(4, bits(0.25f)).mufu(kSin, {{F::dst, 0}, {F::src_b, 4}});
    EXPECT_NEAR(std::bit_cast<float>(run.go()[0]), 1.0f, 1e-6f);
}

// T-108
TEST(AmpereFloat, FmzMakesZeroOfZeroTimesAnything) {
    for (const float other : {INFINITY, NAN}) {
        Trial run;
        run.in(4, bits(0.0f)).in(5, bits(other)).in(6, bits(3.0f));
        run.add(Op::FMUL, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::fmz, 2}, {F::scale86, 4}});
        run.add(Op::FFMA, Form::reg, {{F::dst, 1}, {F::src_a, 4}, {F::src_b, 5}, {F::src_c, 6}, {F::fmz, 2}});
        const auto r = run.go();
        EXPECT_EQ(r[0], 0u);
        EXPECT_EQ(r[1], bits(3.0f));
    }
}

// The factor belongs to the product: an operand times four would overflow first.
TEST(AmpereFloat, FmulScalesTheProduct) {
    constexpr uint64_t kTimes4 = 6, kHalf = 3;
    Trial run;
    run.in(4, 0x7f7fffff).in(5, 0).in(6, bits(3.0f)).in(7, bits(5.0f));
    run.add(Op::FMUL, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::scale86, kTimes4}});
    run.add(Op::FMUL, Form::reg, {{F::dst, 1}, {F::src_a, 6}, {F::src_b, 7}, {F::scale86, kHalf}});
    const auto r = run.go();
    EXPECT_EQ(r[0], 0u);
    EXPECT_EQ(r[1], bits(7.5f));
}

// T-150
TEST(AmpereFloat, ComparisonsFlush) {
    for (const bool ftz : {false, true}) {
        Trial run;
        run.in(4, 1); // the smallest denormal
        run.add(Op::FSETP, Form::reg,
                {{F::dst_pred, 0}, {F::src_a, 4}, {F::src_b, isa::kRz}, {F::float_cmp, 13}, {F::bop, 0},
                 {F::ftz, ftz}});
        EXPECT_EQ(run.go()[4] & 1, ftz ? 0u : 1u);
    }
}

// T-137: the immediate is the second source, its sign bits are value bits.
TEST(AmpereHalf, Immediates) {
    Trial run;
    run.in(4, 0x40003c00).move(0, 4); // 2.0, 1.0
    run.add(Op::HADD2, Form::imm, {{F::dst, 1}, {F::src_a, 4}, {F::imm, 0xbc00c000}});
    EXPECT_EQ(run.go()[1], 0x3c00bc00u); // 2 - 1, 1 - 2
}

// T-138: the high lane takes b's low half, the low lane b's high half negated.
TEST(AmpereHalf, Rotation) {
    Trial run;
    run.in(4, 0x3c003c00).in(5, 0x40004200).in(6, 0); // a = (1, 1); b = (3, 2)
    run.add(Op::HFMA2, Form::reg,
            {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::hsel86_b, 4}, {F::src_c, 6}, {F::h2_f32, 0}});
    EXPECT_EQ(run.go()[0], 0x4200c000u);
}

// T-155: the register is scaled, whatever the access's size.
TEST(AmpereMemory, SharedStrides) {
    constexpr uint32_t kBytes[4] = {1, 4, 8, 16};
    for (uint64_t stride = 0; stride < 4; ++stride)
        for (const uint64_t size : {4u, 5u, 6u}) {
            const uint32_t index = stride == 0 ? 16 : 4;
            Trial run;
            run.in(4, index).in(5, 0xabcd);
            for (unsigned k = 0; k < 4; ++k)
                run.add(Op::STS, Form::reg,
                        {{F::src_a, isa::kRz}, {F::src_b, 5}, {F::offset, index * kBytes[stride] + 4 * k},
                         {F::mem_size_st, 4}});
            run.add(Op::LDS, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::mem_size_st, size}, {F::mem_stride, stride}});
            const auto r = run.go();
            EXPECT_EQ(r[0], 0xabcdu) << stride << " " << size;
            if (size == 6) {
                EXPECT_EQ(r[3], 0xabcdu) << stride;
            }
        }
}

// T-110: the address is read before any word of the result is written.
TEST(AmpereMemory, VectorLoadOverItsAddress) {
    Trial run;
    run.in(4, 0x40).in(5, 11).in(6, 22).in(7, 33);
    for (unsigned k = 0; k < 3; ++k)
        run.add(Op::STS, Form::reg, {{F::src_a, isa::kRz}, {F::src_b, 5 + k}, {F::offset, 0x40 + 4 * k}, {F::mem_size_st, 4}});
    run.move(0, 4).add(Op::LDS, Form::reg, {{F::dst, 0}, {F::src_a, 0}, {F::mem_size_st, 6}});
    const auto r = run.go();
    EXPECT_EQ(r[0], 11u);
    EXPECT_EQ(r[1], 22u);
    EXPECT_EQ(r[2], 33u);
}

} // namespace dmsh::test
