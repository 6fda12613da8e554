// Single Maxwell instructions against their meaning, on values where mistakes show.
#include "tests/lift/evaluate.h"
#include <cmath>
#include <limits>

namespace dmsh::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = 1e-40f;

float as_float(uint32_t v) { float f; memcpy(&f, &v, 4); return f; }
uint32_t bits(float f) { uint32_t v; memcpy(&v, &f, 4); return v; }

} // namespace

TEST(Maxwell, FmnmxReturnsOtherOperandOnNaN) {
    for (uint64_t predicate : {uint64_t{7}, uint64_t{15}}) { // PT: minimum, !PT: maximum
        const std::initializer_list<std::pair<F, uint64_t>> fields = {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::src_pred, 7}, {F::src_pred_neg, predicate >> 3}};
        EXPECT_EQ(Evaluation().in(4, kNaN).in(5, 2.0f).add(Op::FMNMX, Form::reg, fields).run()[0], bits(2.0f));
        EXPECT_EQ(Evaluation().in(4, 2.0f).in(5, kNaN).add(Op::FMNMX, Form::reg, fields).run()[0], bits(2.0f));
        EXPECT_TRUE(std::isnan(as_float(Evaluation().in(4, kNaN).in(5, kNaN).add(Op::FMNMX, Form::reg, fields).run()[0])));
        EXPECT_EQ(Evaluation().in(4, 3.0f).in(5, 2.0f).add(Op::FMNMX, Form::reg, fields).run()[0], bits(predicate == 7 ? 2.0f : 3.0f));
    }
}

TEST(Maxwell, SaturationOfNaNIsZero) {
    const std::initializer_list<std::pair<F, uint64_t>> fields = {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::sat, 1}};
    EXPECT_EQ(Evaluation().in(4, kNaN).in(5, 1.0f).add(Op::FADD, Form::reg, fields).run()[0], 0u);
    EXPECT_EQ(Evaluation().in(4, 3.0f).in(5, 1.0f).add(Op::FADD, Form::reg, fields).run()[0], bits(1.0f));
    EXPECT_EQ(Evaluation().in(4, -3.0f).in(5, 1.0f).add(Op::FADD, Form::reg, fields).run()[0] & 0x7fffffff, 0u);
}

TEST(Maxwell, FlaggedComparisonsFlushDenormals) {
    constexpr uint64_t kNotEqual = 13; // NEU
    for (uint64_t ftz : {0u, 1u})
        for (float x : {kDenormal, -kDenormal, std::numeric_limits<float>::min(), 0.0f}) {
            const bool unequal = x != 0 && !(ftz && std::fabs(x) < std::numeric_limits<float>::min());
            auto r = Evaluation()
                         .in(4, x)
                         .add(Op::FSETP, Form::reg, {{F::dst_pred, 0}, {F::src_a, 4}, {F::src_b, isa::kRz}, {F::float_cmp, kNotEqual}, {F::ftz, ftz}})
                         .run();
            EXPECT_EQ(r[4] & 1, unequal) << x << " ftz " << ftz;
            r = Evaluation()
                    .in(4, x)
                    .add(Op::FSET, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, isa::kRz}, {F::float_cmp, kNotEqual}, {F::ftz, ftz}, {F::bf, 1}})
                    .run();
            EXPECT_EQ(r[0], unequal ? bits(1.0f) : 0) << x << " ftz " << ftz;
            // FCMP: only the compared operand is flushed.
            r = Evaluation()
                    .in(4, x)
                    .in(5, 7u)
                    .add(Op::FCMP, Form::reg, {{F::dst, 0}, {F::src_a, 5}, {F::src_b, isa::kRz}, {F::src_c, 4}, {F::float_cmp, kNotEqual}, {F::ftz, ftz}})
                    .run();
            EXPECT_EQ(r[0], unequal ? 7u : 0u) << x << " ftz " << ftz;
        }
}

TEST(Maxwell, FtzArithmeticIsPlainInShipAndFlushesInExact) {
    const std::initializer_list<std::pair<F, uint64_t>> fields = {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::ftz, 1}};
    EXPECT_EQ(Evaluation().in(4, kDenormal).in(5, 0.0f).add(Op::FADD, Form::reg, fields).run()[0], bits(kDenormal));
    EXPECT_EQ(Evaluation().exact().in(4, kDenormal).in(5, 0.0f).add(Op::FADD, Form::reg, fields).run()[0], 0u);
    EXPECT_EQ(Evaluation().exact().in(4, -kDenormal).in(5, -0.0f).add(Op::FADD, Form::reg, fields).run()[0], 0x80000000u);
}

TEST(Maxwell, UnorderedComparisonsHoldForNaN) {
    for (uint64_t op = 0; op < 16; ++op) {
        const auto r = Evaluation()
                           .in(4, kNaN)
                           .in(5, 1.0f)
                           .add(Op::FSETP, Form::reg, {{F::dst_pred, 0}, {F::dst_pred2, 1}, {F::src_a, 4}, {F::src_b, 5}, {F::float_cmp, op}})
                           .run();
        EXPECT_EQ(r[4] & 1, op >= 8) << op;
        EXPECT_EQ(r[4] >> 1 & 1, op < 8) << op; // the complementary predicate
    }
}

TEST(Maxwell, AdditionCarriesThroughTheConditionCode) {
    // {R1, R0} = {R5, R4} + {R7, R6}
    auto sum = [](uint64_t x, uint64_t y) {
        const auto r = Evaluation()
                           .in(4, static_cast<uint32_t>(x)).in(5, static_cast<uint32_t>(x >> 32))
                           .in(6, static_cast<uint32_t>(y)).in(7, static_cast<uint32_t>(y >> 32))
                           .add(Op::IADD, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 6}, {F::cc, 1}})
                           .add(Op::IADD, Form::reg, {{F::dst, 1}, {F::src_a, 5}, {F::src_b, 7}, {F::x, 1}})
                           .run();
        return r[0] | uint64_t{r[1]} << 32;
    };
    auto difference = [](uint64_t x, uint64_t y) {
        const auto r = Evaluation()
                           .in(4, static_cast<uint32_t>(x)).in(5, static_cast<uint32_t>(x >> 32))
                           .in(6, static_cast<uint32_t>(y)).in(7, static_cast<uint32_t>(y >> 32))
                           .add(Op::IADD, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 6}, {F::neg_b, 1}, {F::cc, 1}})
                           .add(Op::IADD, Form::reg, {{F::dst, 1}, {F::src_a, 5}, {F::src_b, 7}, {F::neg_b, 1}, {F::x, 1}})
                           .run();
        return r[0] | uint64_t{r[1]} << 32;
    };
    const uint64_t values[] = {0, 1, 0xffffffff, 0xffffffffffffffff, 0x123456789abcdef0};
    for (uint64_t x : values)
        for (uint64_t y : values) {
            EXPECT_EQ(sum(x, y), x + y) << std::hex << x << " " << y;
            EXPECT_EQ(difference(x, y), x - y) << std::hex << x << " " << y;
        }
}

TEST(Maxwell, ConditionCodeIsSetWithoutDestination) {
    // IADD RZ.CC, R4, -R5; then the signed and unsigned tests of it.
    auto test = [](uint32_t x, uint32_t y, uint64_t code) {
        return Evaluation()
                   .in(4, x)
                   .in(5, y)
                   .add(Op::IADD, Form::reg, {{F::dst, isa::kRz}, {F::src_a, 4}, {F::src_b, 5}, {F::neg_b, 1}, {F::cc, 1}})
                   .add(Op::CSETP, Form::none, {{F::dst_pred, 0}, {F::cc_test, code}})
                   .run()[4] & 1;
    };
    const uint32_t values[] = {0, 1, 5, 0x7fffffff, 0x80000000, 0xffffffff};
    for (uint32_t x : values)
        for (uint32_t y : values) {
            const auto sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
            EXPECT_EQ(test(x, y, 2), x == y);   // EQ
            EXPECT_EQ(test(x, y, 5), x != y);   // NE
            EXPECT_EQ(test(x, y, 6), sx >= sy); // GE
            EXPECT_EQ(test(x, y, 9), sx < sy);  // LTU: S ^ O
            EXPECT_EQ(test(x, y, 17), x < y);   // LO: no carry
            EXPECT_EQ(test(x, y, 22), x >= y);  // HS
            EXPECT_EQ(test(x, y, 20), x > y);   // HI
        }
}

TEST(Maxwell, ExtendedComparisonSeesBothWords) {
    for (uint64_t op = 1; op < 7; ++op)
        for (uint64_t is_signed : {0u, 1u}) {
            const uint64_t values[] = {0, 1, 0x100000000, 0x8000000000000000};
            for (uint64_t x : values)
                for (uint64_t y : values) {
                    const auto r = Evaluation()
                                       .in(4, static_cast<uint32_t>(x)).in(5, static_cast<uint32_t>(x >> 32))
                                       .in(6, static_cast<uint32_t>(y)).in(7, static_cast<uint32_t>(y >> 32))
                                       .add(Op::IADD, Form::reg, {{F::dst, isa::kRz}, {F::src_a, 4}, {F::src_b, 6}, {F::neg_b, 1}, {F::cc, 1}})
                                       .add(Op::ISETP, Form::reg, {{F::dst_pred, 0}, {F::src_a, 5}, {F::src_b, 7}, {F::x, 1}, {F::int_cmp, op}, {F::is_signed, is_signed}})
                                       .run();
                    const auto sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
                    const bool less = is_signed ? sx < sy : x < y;
                    const bool want = op == 1 ? less : op == 2 ? x == y : op == 3 ? less || x == y : op == 4 ? !less && x != y : op == 5 ? x != y : !less;
                    ASSERT_EQ(r[4] & 1, want) << op << " " << is_signed << std::hex << " " << x << " " << y;
                }
        }
}

TEST(Maxwell, ShiftsClampOrWrap) {
    for (uint32_t count : {0u, 1u, 31u, 32u, 33u, 64u, 0xffffffffu})
        for (uint64_t wrap : {0u, 1u}) {
            const uint32_t x = 0x80000001u, by = wrap ? count & 31 : count;
            auto one = [&](Op op, uint64_t is_signed) {
                auto e = Evaluation();
                e.in(4, x).in(5, count);
                if (op == Op::SHL)
                    e.add(op, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::wrap, wrap}});
                else
                    e.add(op, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::wrap, wrap}, {F::is_signed, is_signed}});
                return e.run()[0];
            };
            EXPECT_EQ(one(Op::SHL, 0), by > 31 ? 0 : x << by);
            EXPECT_EQ(one(Op::SHR, 0), by > 31 ? 0 : x >> by);
            EXPECT_EQ(one(Op::SHR, 1), static_cast<uint32_t>(static_cast<int32_t>(x) >> std::min(by, 31u)));
        }
}

TEST(Maxwell, BitFieldsEndAtTheWord) {
    auto extract = [](uint32_t x, uint32_t position, uint32_t length, uint64_t is_signed, bool immediate) {
        const uint32_t field = position | length << 8;
        auto e = Evaluation();
        e.in(4, x).in(5, field);
        if (immediate)
            e.add(Op::BFE, Form::imm, {{F::dst, 0}, {F::src_a, 4}, {F::imm, field}, {F::is_signed, is_signed}});
        else
            e.add(Op::BFE, Form::reg, {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::is_signed, is_signed}});
        return e.run()[0];
    };
    const uint32_t x = 0x89abcdef;
    for (uint32_t position : {0u, 8u, 31u, 32u})
        for (uint32_t length : {0u, 1u, 24u, 31u, 32u, 40u})
            for (uint64_t is_signed : {0u, 1u}) {
                // PTX's bfe: bits beyond the word read as the sign of the last bit, or zero.
                uint32_t want = 0;
                if (length) {
                    const uint32_t last = std::min(position + length - 1, 31u);
                    const bool sign = is_signed && (x >> last & 1);
                    for (uint32_t i = 0; i < 32; ++i) {
                        const bool bit = i < length && position + i <= 31 ? x >> (position + i) & 1 : sign;
                        want |= uint32_t{bit} << i;
                    }
                }
                EXPECT_EQ(extract(x, position, length, is_signed, false), want) << position << " " << length << " " << is_signed;
                EXPECT_EQ(extract(x, position, length, is_signed, true), want) << position << " " << length << " " << is_signed;
            }
}

TEST(Maxwell, LogicOfThreeFollowsItsTruthTable) {
    for (unsigned lut = 0; lut < 256; lut += 4) {
        auto e = Evaluation();
        e.in(4, 0xf0f0f0f0u).in(5, 0xccccccccu).in(6, 0xaaaaaaaau);
        for (unsigned i = 0; i < 4; ++i)
            e.add(Op::LOP3, Form::reg, {{F::dst, i}, {F::src_a, 4}, {F::src_b, 5}, {F::src_c, 6}, {F::lut, lut + i}});
        const auto r = e.run();
        for (unsigned i = 0; i < 4; ++i)
            ASSERT_EQ(r[i], (lut + i) * 0x01010101u) << lut + i;
    }
}

TEST(Maxwell, FloatToIntegerClampsAndNaNIsZero) {
    auto convert = [](float x, uint64_t is_signed, uint64_t width, uint64_t mode) {
        return Evaluation()
            .in(4, x)
            .add(Op::F2I, Form::reg, {{F::dst, 0}, {F::src_b, 4}, {F::fmt_int_d, width}, {F::fmt_float_s, 2}, {F::signed_d, is_signed}, {F::rnd_int, mode}})
            .run()[0];
    };
    EXPECT_EQ(convert(kNaN, 1, 2, 3), 0u);
    EXPECT_EQ(convert(3e9f, 1, 2, 3), 0x7fffffffu);
    EXPECT_EQ(convert(-3e9f, 1, 2, 3), 0x80000000u);
    EXPECT_EQ(convert(-1.0f, 0, 2, 3), 0u);
    EXPECT_EQ(convert(5e9f, 0, 2, 3), 0xffffffffu);
    EXPECT_EQ(convert(2.5f, 1, 2, 0), 2u); // nearest even
    EXPECT_EQ(convert(-2.5f, 1, 2, 1), 0xfffffffdu);
    EXPECT_EQ(convert(2.1f, 1, 2, 2), 3u);
    EXPECT_EQ(convert(40000.0f, 1, 1, 3), 0x7fffu);
    EXPECT_EQ(convert(-40000.0f, 1, 1, 3), 0xffff8000u);
}

TEST(Maxwell, PredicatedWritesKeepTheOldValue) {
    for (uint32_t x : {0u, 1u}) {
        const auto r = Evaluation()
                           .in(4, x).in(5, 11u).in(6, 22u)
                           .add(Op::ISETP, Form::reg, {{F::dst_pred, 0}, {F::src_a, 4}, {F::src_b, isa::kRz}, {F::int_cmp, 5}})
                           .add(Op::MOV, Form::reg, {{F::dst, 0}, {F::src_b, 5}, {F::lane_mask, 15}})
                           .add(Op::MOV, Form::reg, {{F::dst, 0}, {F::src_b, 6}, {F::lane_mask, 15}, {F::pred, 0}})
                           .add(Op::MOV, Form::reg, {{F::dst, 1}, {F::src_b, 6}, {F::lane_mask, 15}, {F::pred, 0}, {F::pred_neg, 1}})
                           .run();
        EXPECT_EQ(r[0], x ? 22u : 11u);
        EXPECT_EQ(r[1], x ? 0u : 22u);
    }
}

} // namespace dmsh::test
