// HMMA of halves against products in double precision (T-170), on random fragments in the layout that PTX documents for mma.m16n8k16.
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

constexpr unsigned kLanes = 32, kRows = 16, kColumns = 8;
constexpr unsigned kA = 8, kB = 12, kC = 16, kD = 20; // registers
constexpr unsigned kWordsIn = 12, kWordsOut = 4;      // of a lane: R8..R19 and R20..R23

uint16_t half_bits(double v) { return std::bit_cast<uint16_t>(static_cast<_Float16>(v)); }
double half_value(uint32_t bits) { return static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits))); }

class Code {
  public:
    void add(Op op, Form form, std::initializer_list<std::pair<F, uint64_t>> fields) {
        const auto word = isa::assemble(isa::Arch::sm_86, op, form, fields);
        EXPECT_TRUE(word) << isa::op_name(op);
        isa::Word w = word.value_or(isa::Word{});
        w.hi |= uint64_t{7} << (110 - 64) | uint64_t{7} << (113 - 64); // no scoreboards
        words_.push_back(w);
    }
    std::span<const uint8_t> bytes() const { return {reinterpret_cast<const uint8_t*>(words_.data()), words_.size() * sizeof(isa::Word)}; }

  private:
    std::vector<isa::Word> words_;
};

// The largest difference from the product in double precision, relative to the larger of 1 and that.
double worst(uint64_t shape, unsigned inner, bool float_sums) {
    Code code; // R4:R5 the lane's place, R8.. its fragments
    constexpr uint64_t kLaneId = 0;
    code.add(Op::S2R, Form::none, {{F::dst, 6}, {F::sreg, kLaneId}});
    for (unsigned i = 0; i < 2; ++i)
        code.add(Op::MOV, Form::cbuf, {{F::dst, 2 + i}, {F::cbuf_bank, 0}, {F::cbuf_offset, 4 * i}, {F::lane_mask, 15}});
    code.add(Op::IMAD, Form::imm, {{F::dst, 4}, {F::src_a, 6}, {F::imm, 4 * (kWordsIn + kWordsOut)}, {F::src_c, 2}, {F::wide, 1}, {F::is_signed, 0}});
    for (unsigned k = 0; k < kWordsIn; ++k)
        code.add(Op::LDG, Form::reg, {{F::dst, kA + k}, {F::src_a, 4}, {F::offset, 4 * k}, {F::e, 1}, {F::mem_size_st, 4}});
    code.add(Op::HMMA, Form::reg,
             {{F::dst, kD}, {F::src_a, kA}, {F::src_b, kB}, {F::src_c, kC}, {F::hmma_shape, shape}, {F::hmma_f32, float_sums},
              {F::src_upred, isa::kPt}});
    for (unsigned k = 0; k < kWordsOut; ++k)
        code.add(Op::STG, Form::reg, {{F::src_a, 4}, {F::src_b, kD + k}, {F::offset, 4 * (kWordsIn + k)}, {F::e, 1}, {F::mem_size_st, 4}});
    code.add(Op::EXIT, Form::none, {});

    std::mt19937 random(inner + float_sums);
    std::uniform_real_distribution<double> value(-1, 1);
    double a[kRows][16], b[16][kColumns], c[kRows][kColumns];
    for (auto& row : a)
        for (double& v : row)
            v = half_value(half_bits(value(random)));
    for (auto& row : b)
        for (double& v : row)
            v = half_value(half_bits(value(random)));
    for (auto& row : c)
        for (double& v : row)
            v = half_value(half_bits(value(random)));

    IrMachine m;
    m.global.resize(4 * kLanes * (kWordsIn + kWordsOut));
    m.banks[0].resize(0x200);
    m.block = {kLanes, 1, 1};
    const uint64_t base = IrMachine::kGlobalBase;
    memcpy(m.banks[0].data(), &base, 8);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const unsigned g = lane / 4, t = lane % 4;
        uint32_t words[kWordsIn] = {};
        const auto pair = [](double low, double high) { return half_bits(low) | uint32_t{half_bits(high)} << 16; };
        for (unsigned chunk = 0; chunk < inner / 8; ++chunk) {
            const unsigned k = 8 * chunk + 2 * t;
            for (unsigned h = 0; h < 2; ++h)
                words[2 * chunk + h] = pair(a[g + 8 * h][k], a[g + 8 * h][k + 1]);
            words[kB - kA + chunk] = pair(b[k][g], b[k + 1][g]);
        }
        for (unsigned h = 0; h < 2; ++h) {
            if (!float_sums)
                words[kC - kA + h] = pair(c[g + 8 * h][2 * t], c[g + 8 * h][2 * t + 1]);
            else
                for (unsigned e = 0; e < 2; ++e)
                    words[kC - kA + 2 * h + e] = std::bit_cast<uint32_t>(static_cast<float>(c[g + 8 * h][2 * t + e]));
        }
        memcpy(m.global.data() + 4 * lane * (kWordsIn + kWordsOut), words, sizeof words);
    }
    ShaderInput input;
    input.arch = Arch::sm86;
    input.abi = &guest_abi(GuestAbiId::cuda_sm86);
    input.code = code.bytes();
    input.float_mode = FloatMode::exact;
    input.local_size = m.block;
    auto shader = lift(input);
    EXPECT_TRUE(shader) << (shader ? "" : shader.error().text());
    if (!shader)
        return INFINITY;
    const auto ran = m.run(std::move(*shader));
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().text());
    EXPECT_EQ(m.faults, "");

    double most = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned k = 0; k < 4; ++k) {
            const unsigned row = lane / 4 + 8 * (k / 2), column = 2 * (lane % 4) + k % 2;
            double want = c[row][column];
            for (unsigned i = 0; i < inner; ++i)
                want += a[row][i] * b[i][column];
            uint32_t words[kWordsOut];
            memcpy(words, m.global.data() + 4 * (lane * (kWordsIn + kWordsOut) + kWordsIn), sizeof words);
            const double got = float_sums ? static_cast<double>(std::bit_cast<float>(words[k])) : half_value(words[k / 2] >> 16 * (k % 2));
            most = std::max(most, std::fabs(got - want) / std::max(1.0, std::fabs(want)));
        }
    return most;
}

} // namespace

TEST(AmpereMatrix, HmmaIsNearTheProductInDoublePrecision) {
    constexpr uint64_t k1688 = 0, k16816 = 1; // F::hmma_shape
    EXPECT_LE(worst(k1688, 8, true), 1e-6);
    EXPECT_LE(worst(k16816, 16, true), 1e-6);
    EXPECT_LE(worst(k1688, 8, false), 0.002);
    EXPECT_LE(worst(k16816, 16, false), 0.002);
}

} // namespace dmsh::test
