// Matrix units: products of fragments spread over a warp, and the loads and transposes that make fragments (T-170, T-171). The layouts
// are those that PTX documents for mma, ldmatrix and movmatrix. Every lane gathers what its part of the result needs by shuffles.
#include "compiler/lift/ampere/functions.h"
#include "compiler/lift/ampere/lanes.h"
#include "compiler/lift/maxwell/memory.h"
#include "compiler/lift/maxwell/values.h"
#include <functional>

namespace dmsh::ampere {

using isa::F;
using maxwell::kShared;

namespace {

constexpr unsigned kQuad = 4; // lanes that hold one row of A, or one column of B

Value* lane_id(LiftContext& c) {
    return c.call(Intrinsic::special, {c.i32(static_cast<uint32_t>(SpecialRegister::laneid))});
}

uint64_t next(uint64_t r, unsigned n) {
    return r >= isa::kRz ? r : r + n;
}

// D = A * B + C with A of `halves` * 8 rows and B of 8 columns. Lane 4 g + t holds, of each chunk of the inner dimension, one register with
// A's row g (one more with row g + 8) and one with B's column g; of C and D row g (and g + 8), columns 2 t and 2 t + 1. `wide`: registers
// are pairs, as in DMMA.
struct Shape {
    unsigned halves, chunks;
    bool wide = false;
};

// Adds the product of one register of A and one of B, which hold the same places of the inner dimension, to the sum.
using Accumulate = std::function<Value*(Value* sum, Value* a, Value* b)>;

// `sums[2 h + e]` is C's row h, column e, and becomes D's.
void multiply(LiftContext& c, const Shape& shape, llvm::MutableArrayRef<Value*> sums, const Accumulate& accumulate) {
    const unsigned words = shape.wide ? 2 : 1;
    const auto gather = [&](uint64_t first, Value* lane) {
        Value* low = lane_value(c, c.reg(first), lane);
        if (!shape.wide)
            return low;
        Value* high = lane_value(c, c.reg(next(first, 1)), lane);
        return c.b.CreateOr(c.zext64(low), c.b.CreateShl(c.zext64(high), 32));
    };
    Value *lane = lane_id(c), *row = c.b.CreateAnd(lane, ~(kQuad - 1));
    Value* column = c.b.CreateShl(c.b.CreateAnd(lane, kQuad - 1), 3); // 4 * (2 t)
    for (unsigned chunk = 0; chunk < shape.chunks; ++chunk)
        for (unsigned t = 0; t < kQuad; ++t) {
            Value* b[2] = {};
            for (unsigned e = 0; e < 2; ++e)
                b[e] = gather(next(c.get(F::src_b), chunk * words), c.b.CreateOr(column, kQuad * e + t));
            for (unsigned h = 0; h < shape.halves; ++h) {
                Value* a = gather(next(c.get(F::src_a), (chunk * shape.halves + h) * words), c.b.CreateOr(row, t));
                for (unsigned e = 0; e < 2; ++e)
                    sums[2 * h + e] = accumulate(sums[2 * h + e], a, b[e]);
            }
        }
}

// The predicate of matrix instructions has one value in all code seen, true.
bool plain(LiftContext& c) {
    if (c.get(F::src_upred) == isa::kPt && !c.flag(F::src_upred_neg) && !c.has(F::sparse))
        return true;
    c.refuse(c.has(F::sparse) ? "with a sparse matrix is not implemented" : "with a predicate operand is not implemented");
    return false;
}

Value* field(LiftContext& c, Value* word, unsigned at, unsigned bits, bool is_signed) {
    Value* up = c.b.CreateShl(word, 32 - bits - at);
    return is_signed ? c.b.CreateAShr(up, 32 - bits) : c.b.CreateLShr(up, 32 - bits);
}

Value* half_to_float(LiftContext& c, Value* word, unsigned which) {
    Value* bits = c.b.CreateTrunc(which ? c.b.CreateLShr(word, 16) : word, c.b.getInt16Ty());
    return c.b.CreateFPExt(c.b.CreateBitCast(bits, c.b.getHalfTy()), c.b.getFloatTy());
}

// Two words, row by row.
llvm::SmallVector<Value*, 4> read_words(LiftContext& c, unsigned count) {
    llvm::SmallVector<Value*, 4> words;
    for (unsigned k = 0; k < count; ++k)
        words.push_back(c.reg(next(c.get(F::src_c), k)));
    return words;
}

void integer_product(LiftContext& c, const Shape& shape, bool saturate, const Accumulate& accumulate) {
    if (!plain(c))
        return;
    llvm::SmallVector<Value*, 4> sums = read_words(c, 2 * shape.halves), with = sums;
    if (saturate) // products of the widest shape stay far below 32 bits, so that one addition at the end can saturate
        for (Value*& v : sums)
            v = c.i32(0);
    multiply(c, shape, sums, accumulate);
    for (unsigned k = 0; k < sums.size(); ++k) {
        Value* v = saturate ? c.math(llvm::Intrinsic::sadd_sat, {sums[k], with[k]}) : sums[k];
        c.set_reg(next(c.get(F::dst), k), v);
    }
}

} // namespace

// Products and sums are those of floats, whatever the accumulator's format (tolerances in numerics.md); a half accumulator is rounded once.
void hmma(LiftContext& c) {
    enum Type : uint64_t { f16 = 0, bf16 = 1, tf32 = 2 }; // F::hmma_type
    constexpr unsigned kInner[3] = {8, 16, 4};           // F::hmma_shape: 1688, 16816, 1684
    constexpr uint32_t kTf32Bits = 0xffffe000;           // the rest of the float does not count
    if (!plain(c))
        return;
    const uint64_t type = c.get(F::hmma_type), inner = kInner[c.get(F::hmma_shape) % 3];
    const bool single = type == tf32, float_sums = c.flag(F::hmma_f32);
    const Shape shape{2, static_cast<unsigned>(inner / (single ? 4 : 8))};
    if (type > tf32 || shape.chunks == 0 || shape.chunks > 2 || (type != f16 && !float_sums))
        return c.refuse("with this shape is not implemented");
    llvm::SmallVector<Value*, 4> sums;
    for (Value* word : read_words(c, float_sums ? 4 : 2)) {
        if (float_sums)
            sums.push_back(c.as_float(word));
        else
            for (unsigned e = 0; e < 2; ++e)
                sums.push_back(half_to_float(c, word, e));
    }
    const bool neg_a = c.flag(F::neg_a), neg_b = c.flag(F::neg_b);
    const auto element = [&](Value* word, unsigned k) -> Value* {
        if (type == f16)
            return half_to_float(c, word, k);
        if (type == bf16)
            return c.as_float(k ? c.b.CreateAnd(word, 0xffff0000) : c.b.CreateShl(word, 16));
        return c.as_float(c.b.CreateAnd(word, kTf32Bits));
    };
    multiply(c, shape, sums, [&](Value* sum, Value* a, Value* b) {
        for (unsigned k = 0; k < (single ? 1u : 2u); ++k) {
            Value* x = maxwell::sign_modifiers(c, element(a, k), false, neg_a != neg_b);
            sum = c.math(llvm::Intrinsic::fma, {x, element(b, k), sum});
        }
        return sum;
    });
    const auto bits = [&](Value* v) {
        return c.b.CreateZExt(c.as_int(c.b.CreateFPTrunc(v, c.b.getHalfTy())), c.b.getInt32Ty());
    };
    for (unsigned h = 0; h < 2; ++h) {
        if (!float_sums) {
            Value* pair = c.b.CreateOr(bits(sums[2 * h]), c.b.CreateShl(bits(sums[2 * h + 1]), 16));
            c.set_reg(next(c.get(F::dst), h), pair);
            continue;
        }
        for (unsigned e = 0; e < 2; ++e)
            c.set_reg(next(c.get(F::dst), 2 * h + e), sums[2 * h + e]);
    }
}

void imma(LiftContext& c) {
    // F::imma_shape: 8816, ?, 8832, ?, 16816, 16832, 16864
    constexpr unsigned kInner[8] = {16, 0, 32, 0, 16, 32, 64, 0};
    constexpr unsigned kSigned = 1, kFourBits = 2; // bits of F::imma_a and imma_b
    const uint64_t which = c.get(F::imma_shape), a_type = c.get(F::imma_a), b_type = c.get(F::imma_b);
    const unsigned bits = a_type & kFourBits ? 4 : 8;
    const Shape shape{which < 4 ? 1u : 2u, kInner[which & 7] * bits / 128};
    if (shape.chunks == 0 || shape.chunks > 2 || ((a_type ^ b_type) & kFourBits))
        return c.refuse("with this shape is not implemented");
    integer_product(c, shape, c.flag(F::sat), [&](Value* sum, Value* a, Value* b) {
        for (unsigned at = 0; at < 32; at += bits)
            sum = c.b.CreateAdd(sum, c.b.CreateMul(field(c, a, at, bits, a_type & kSigned),
                                                   field(c, b, at, bits, b_type & kSigned)));
        return sum;
    });
}

// The number of ones in the exclusive or, or the and, of rows and columns of bits.
void bmma(LiftContext& c) {
    constexpr uint64_t kAnd = 2;             // F::bmma_op, 0 is XOR
    enum : uint64_t { k88128, k168128, k168256 }; // F::bmma_shape
    const uint64_t which = c.get(F::bmma_shape);
    const Shape shape{which == k88128 ? 1u : 2u, which == k168256 ? 2u : 1u};
    const bool both = c.get(F::bmma_op) == kAnd;
    integer_product(c, shape, false, [&](Value* sum, Value* a, Value* b) {
        Value* bits = both ? c.b.CreateAnd(a, b) : c.b.CreateXor(a, b);
        return c.b.CreateAdd(sum, c.math(llvm::Intrinsic::ctpop, {bits}));
    });
}

void dmma(LiftContext& c) {
    if (!plain(c))
        return;
    if (c.get(F::rnd))
        return c.refuse("with this rounding is not implemented");
    Value* sums[2] = {};
    for (unsigned e = 0; e < 2; ++e)
        sums[e] = maxwell::sign_modifiers(c, c.as_double(c.reg64(next(c.get(F::src_c), 2 * e))), c.flag(F::abs_c),
                                          c.flag(F::neg_c));
    multiply(c, {1, 1, true}, sums, [&](Value* sum, Value* a, Value* b) {
        Value* x = maxwell::sign_modifiers(c, c.as_double(a), c.flag(F::abs_a), c.flag(F::neg_a));
        Value* y = maxwell::sign_modifiers(c, c.as_double(b), c.flag(F::abs_b), c.flag(F::neg_b));
        return c.math(llvm::Intrinsic::fma, {x, y, sum});
    });
    for (unsigned e = 0; e < 2; ++e)
        c.set_reg64(next(c.get(F::dst), 2 * e), sums[e]);
}

// An 8x8 matrix of 16-bit words, two of a row in each lane, transposed.
void movm(LiftContext& c) {
    constexpr uint64_t kMt88 = 0;
    if (c.get(F::movm_shape) != kMt88)
        return c.refuse("with this shape is not implemented");
    Value *word = c.src_a(), *lane = lane_id(c), *result = nullptr;
    Value *row = c.b.CreateLShr(lane, 2), *column = c.b.CreateAnd(lane, kQuad - 1);
    Value* odd = c.b.CreateICmpNE(c.b.CreateAnd(row, 1), c.i32(0));
    for (unsigned e = 0; e < 2; ++e) { // element (g, 2 t + e) is (2 t + e, g) of the source
        Value* from = c.b.CreateOr(c.b.CreateShl(column, 3), c.b.CreateLShr(row, 1));
        Value* pair = lane_value(c, word, c.b.CreateOr(from, kQuad * e));
        Value* half = c.b.CreateSelect(odd, c.b.CreateLShr(pair, 16), c.b.CreateAnd(pair, 0xffff));
        result = e ? c.b.CreateOr(result, c.b.CreateShl(half, 16)) : half;
    }
    c.set_reg(c.get(F::dst), result);
}

// One, two or four 8x8 matrices of 16-bit words from shared memory: lanes 8 m to 8 m + 7 give the addresses of the rows of matrix m, which
// are not scaled (T-156). Rows that other lanes have stored are complete before and untouched until after (T-178).
void ldsm(LiftContext& c) {
    enum : uint64_t { kM88 = 0, kMt88 = 1 }; // F::ldsm_shape
    constexpr unsigned kCounts[4] = {1, 2, 4, 0}, kRows = 8;
    const uint64_t shape = c.get(F::ldsm_shape);
    const unsigned count = kCounts[c.get(F::ldsm_count) & 3];
    if (shape > kMt88 || count == 0)
        return c.refuse("with this shape is not implemented");
    Value *address = address_32(c), *lane = lane_id(c);
    Value *row = c.b.CreateLShr(lane, 2), *column = c.b.CreateAnd(lane, kQuad - 1);
    llvm::SmallVector<Value*, 4> results;
    c.call(Intrinsic::warp_barrier, {});
    for (unsigned m = 0; m < count; ++m) {
        if (shape == kM88) {
            Value* at = lane_value(c, address, c.b.CreateOr(row, kRows * m));
            results.push_back(c.call(kShared.load_32, {c.b.CreateAdd(at, c.b.CreateShl(column, 2))}));
            continue;
        }
        Value* word = nullptr;
        for (unsigned e = 0; e < 2; ++e) { // element (2 t + e, g)
            Value* at = lane_value(c, address, c.b.CreateOr(c.b.CreateShl(column, 1), kRows * m + e));
            Value* half = c.call(kShared.load_16, {c.b.CreateAdd(at, c.b.CreateShl(row, 1))});
            half = c.b.CreateZExt(half, c.b.getInt32Ty());
            word = e ? c.b.CreateOr(word, c.b.CreateShl(half, 16)) : half;
        }
        results.push_back(word);
    }
    c.call(Intrinsic::warp_barrier, {});
    for (unsigned m = 0; m < count; ++m)
        c.set_reg(next(c.get(F::dst), m), results[m]);
}

} // namespace dmsh::ampere
