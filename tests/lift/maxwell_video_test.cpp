// Video instructions against the PTX text (scalar video instructions: saturation, merges, second operations) on chosen values.
#include "tests/lift/evaluate.h"

namespace dmsh::test {
namespace {

enum : uint64_t { kMergeHigh = 0, kMergeLow = 1, kByte0 = 2, kByte2 = 3, kAccumulate = 4, kMin = 5, kMax = 6, kPlain = 7 };
enum : uint64_t { kB0 = 0, kB1 = 1, kB2 = 2, kH0 = 4, kH1 = 5, kWord = 6 };

using Fields = std::vector<std::pair<F, uint64_t>>;

// R0 = op(R4, R5, R6) with the given selections and modifiers.
uint32_t video(Op op, uint32_t a, uint32_t b, uint32_t c, const Fields& more) {
    Fields fields = {{F::dst, 0}, {F::src_a, 4}, {F::src_b, 5}, {F::src_c, 6}};
    fields.insert(fields.end(), more.begin(), more.end());
    uint64_t word = 0;
    for (const isa::Row& row : isa::maxwell_rows())
        if (row.op == op && row.form == Form::reg)
            if (const auto w = isa::assemble(row, std::span<const std::pair<F, uint64_t>>(fields)))
                word = w->lo;
    EXPECT_NE(word, 0u) << isa::op_name(op);
    const auto r = Evaluation().in(4, a).in(5, b).in(6, c).raw(word).run();
    return r.empty() ? 0xdead : r[0];
}

} // namespace

TEST(Video, MergesPutTheResultsLowBitsInTheirPlace) {
    const uint32_t a = 0x7a9f0517, b = 0x61f56bf4, c = 0x4e5fe978; // max(0x17, 0x6b) = 0x6b
    const auto merged = [&](uint64_t op) {
        return video(Op::VMNMX, a, b, c, {{F::video_mx, 1}, {F::video_sel_a, kB0}, {F::video_sel_b, kB1}, {F::video_op, op}});
    };
    EXPECT_EQ(merged(kMergeHigh), 0x006be978u);
    EXPECT_EQ(merged(kMergeLow), 0x4e5f006bu);
    EXPECT_EQ(merged(kByte0), 0x4e5fe96bu);
    EXPECT_EQ(merged(kByte2), 0x4e6be978u);
    EXPECT_EQ(merged(kAccumulate), c + 0x6bu);
    EXPECT_EQ(merged(kMin), 0x6bu);
    EXPECT_EQ(merged(kMax), c);
    EXPECT_EQ(merged(kPlain), 0x6bu);
}

TEST(Video, SaturationIsThatOfThePartWritten) {
    const auto sum = [](uint32_t a, uint32_t b, bool is_signed, uint64_t op) {
        return video(Op::VADD, a, b, 0x11223344, {{F::video_sel_a, kH0}, {F::video_sel_b, kH0}, {F::video_signed_a, is_signed}, {F::video_signed_b, is_signed},
                                                  {F::video_ud, is_signed}, {F::sat, 1}, {F::video_op, op}});
    };
    EXPECT_EQ(sum(0xff9c, 0xff9c, true, kByte2), 0x11803344u);     // -200 as a signed byte
    EXPECT_EQ(sum(100, 100, true, kByte0), 0x1122337fu);           // 200
    EXPECT_EQ(sum(200, 100, false, kByte0), 0x112233ffu);          // 300 as an unsigned byte
    EXPECT_EQ(sum(0x7fff, 0x7fff, true, kMergeHigh), 0x7fff3344u);
    EXPECT_EQ(sum(0xffff, 0xffff, false, kMergeLow), 0x1122ffffu);
}

TEST(Video, SecondOperationOfALeftShiftSeesTheWholeResult) {
    // A shift by 32 leaves nothing in the low word, but more than c for the maximum (goldens of px_vshl).
    EXPECT_EQ(video(Op::VSHL, 0x7c83753f, 0x230d9e93, 0x0ca71c1f, {{F::video_sel_a, kH0}, {F::video_sel_b, kWord}, {F::video_op, kMax}}), 0u);
}

TEST(Video, SaturatedShiftKeeps34Bits) { // goldens of px_vshl: 0x3f << 29 has bit 33 set and counts as negative
    const auto shift = [](uint32_t a, uint32_t b, bool is_signed, bool wrap) {
        return video(Op::VSHL, a, b, 0, {{F::video_sel_a, is_signed ? kWord : kB0}, {F::video_sel_b, is_signed ? kWord : kB1}, {F::video_signed_a, is_signed},
                                         {F::video_ud, is_signed}, {F::sat, 1}, {F::wrap, wrap}, {F::video_op, kPlain}});
    };
    EXPECT_EQ(shift(0x7c83753f, 0x230d9e93, false, true), 0u);
    EXPECT_EQ(shift(0x8c9f9d32, 0x58a1dcd7, false, true), 0u);
    EXPECT_EQ(shift(0x56b7198d, 0x8b29697c, false, true), 0x11a00u);
    EXPECT_EQ(shift(0x7c83753f, 0x230d9e93, true, false), 0x80000000u);
    EXPECT_EQ(shift(3, 4, true, false), 48u);
}

TEST(Video, MultiplyAddNegatesScalesAndSaturates) {
    const auto mad = [](uint32_t a, uint32_t b, uint32_t c, const Fields& more, bool is_signed = true) {
        Fields fields = {{F::video_sel_a, kWord}, {F::video_sel_b, kWord}, {F::video_signed_a, is_signed}, {F::video_signed_b, is_signed}};
        fields.insert(fields.end(), more.begin(), more.end());
        return video(Op::VMAD, a, b, c, fields);
    };
    EXPECT_EQ(mad(3, 5, 7, {}), 22u);
    EXPECT_EQ(mad(3, 5, 7, {{F::neg_a, 1}}), static_cast<uint32_t>(-8));
    EXPECT_EQ(mad(3, 5, 7, {{F::neg_c, 1}}), 8u);
    EXPECT_EQ(mad(3, 5, 7, {{F::neg_a, 1}, {F::neg_c, 1}}), 23u); // .PO
    EXPECT_EQ(mad(1000, 1000, 64, {{F::vmad_scale, 1}}), (1000000u + 64) >> 7);
    EXPECT_EQ(mad(static_cast<uint32_t>(-1000), 1000, 0, {{F::vmad_scale, 2}}), static_cast<uint32_t>(-31)); // rounds down
    EXPECT_EQ(mad(0x7fffffff, 3, 0, {{F::sat, 1}}), 0x7fffffffu);
    EXPECT_EQ(mad(0x80000000, 3, 0, {{F::sat, 1}}), 0x80000000u);
    EXPECT_EQ(mad(0xffffffff, 3, 0, {{F::sat, 1}}, false), 0xffffffffu);
    EXPECT_EQ(mad(0xffffffff, 0xffffffff, 0, {}, false), 1u);
}

TEST(Video, FourAbsoluteDifferences) {
    const uint32_t a = 0x3b670882, b = 0x851c6c74, c = 0x6c534ab2;
    enum : uint64_t { kAsTheyAre = 4, kA3201 = 8, kB4567 = 8 };
    const auto four = [&](const Fields& more) { return video(Op::VABSDIFF4, a, b, c, more); };
    // Goldens of px_vsimd: all bytes, their sum, bytes 2 and 0 alone, saturated signed ones.
    EXPECT_EQ(four({{F::vabs4_sel_a, kAsTheyAre}, {F::vabs4_sel_b, kAsTheyAre}, {F::vabs4_mask, 15}}), 0x4a4b640eu);
    EXPECT_EQ(four({{F::vabs4_sel_a, kAsTheyAre}, {F::vabs4_sel_b, kAsTheyAre}, {F::vabs4_mask, 15}, {F::vabs4_op, 1}}), 0x6c534bb9u);
    EXPECT_EQ(four({{F::vabs4_sel_a, kAsTheyAre}, {F::vabs4_sel_b, kAsTheyAre}, {F::vabs4_mask, 5}}), 0x6c4b4a0eu);
    EXPECT_EQ(four({{F::vabs4_sel_a, kAsTheyAre}, {F::vabs4_sel_b, kAsTheyAre}, {F::vabs4_mask, 15}, {F::vabs4_signed_a, 1}, {F::vabs4_signed_b, 1},
                    {F::sat, 1}, {F::video_sd, 1}}),
              0x7f4b647fu);
    // Lanes from the lowest: a's bytes 1, 0, 2, 3 and b's bytes 3, 2, 1, 0.
    EXPECT_EQ(four({{F::vabs4_sel_a, kA3201}, {F::vabs4_sel_b, kB4567}, {F::vabs4_mask, 15}}),
              (0x74u - 0x3b) << 24 | (0x6cu - 0x67) << 16 | (0x82u - 0x1c) << 8 | (0x85u - 0x08));
}

} // namespace dmsh::test
