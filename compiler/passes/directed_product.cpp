// A single-precision product rounded down, up or towards zero, in 32-bit integers.
#include "compiler/passes/directed_product.h"

namespace dmsh {
namespace {

using llvm::Value;

constexpr uint32_t kMagnitude = 0x7fffffffu, kSign = 0x80000000u, kInfinity = 0x7f800000u;
constexpr uint32_t kMantissaBits = 23, kBias = 127, kTopExponent = 254; // IEEE 754 binary32
constexpr uint32_t kExponentOfLeadingZeros = 9; // a subnormal with n leading zeros is 1.m * 2^(9 - n - bias)

struct Unpacked {
    Value *magnitude, *exponent, *significand; // significand: the leading one in bit 31
};

Unpacked unpack(llvm::IRBuilder<>& b, Value* word) {
    Value* magnitude = b.CreateAnd(word, kMagnitude);
    Value* exponent = b.CreateLShr(magnitude, kMantissaBits);
    Value* normal = b.CreateOr(b.CreateShl(magnitude, 31 - kMantissaBits), kSign);
    Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, magnitude, b.getFalse());
    Value* is_subnormal = b.CreateICmpEQ(exponent, b.getInt32(0));
    return {magnitude, b.CreateSelect(is_subnormal, b.CreateSub(b.getInt32(kExponentOfLeadingZeros), zeros), exponent),
            b.CreateSelect(is_subnormal, b.CreateShl(magnitude, b.CreateAnd(zeros, 31)), normal)};
}

} // namespace

Value* directed_product(llvm::IRBuilder<>& b, unsigned round, Value* x, Value* y) {
    llvm::Type* i32 = b.getInt32Ty();
    llvm::Type* i64 = b.getInt64Ty();
    Value *xw = b.CreateBitCast(x, i32), *yw = b.CreateBitCast(y, i32);
    const Unpacked p = unpack(b, xw), q = unpack(b, yw);
    Value* sign = b.CreateAnd(b.CreateXor(xw, yw), kSign);
    // The product's upper word has its leading one in bit 31 or 30; its top 24 bits are the truncated significand.
    Value* wide = b.CreateMul(b.CreateZExt(p.significand, i64), b.CreateZExt(q.significand, i64));
    Value* upper = b.CreateTrunc(b.CreateLShr(wide, 32), i32);
    Value* carry = b.CreateLShr(upper, 31);
    Value* shift = b.CreateAdd(carry, b.getInt32(30 - kMantissaBits));
    Value* top = b.CreateLShr(upper, shift);
    Value* exponent = b.CreateAdd(b.CreateAdd(b.CreateAdd(p.exponent, q.exponent), b.getInt32(-kBias)), carry);
    // Below the normal range the significand moves on to the right.
    Value* below = b.CreateICmpSLT(exponent, b.getInt32(1));
    Value* further = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateSub(b.getInt32(1), exponent), b.getInt32(31));
    Value* packed = b.CreateAdd(b.CreateShl(b.CreateSub(exponent, b.getInt32(1)), kMantissaBits), top);
    Value* r = b.CreateSelect(below, b.CreateLShr(top, further), packed);
    Value* above = b.CreateICmpSGT(exponent, b.getInt32(kTopExponent));
    r = b.CreateSelect(above, b.getInt32(kInfinity - 1), r);
    if (round != kRoundToZero) {
        const auto ones = [&](Value* n) { return b.CreateSub(b.CreateShl(b.getInt32(1), n), b.getInt32(1)); };
        Value* lost = b.CreateOr(b.CreateAnd(upper, ones(shift)), b.CreateMul(p.significand, q.significand));
        lost = b.CreateOr(lost, b.CreateSelect(below, b.CreateAnd(top, ones(further)), b.getInt32(0)));
        Value* inexact = b.CreateOr(above, b.CreateICmpNE(lost, b.getInt32(0)));
        Value* away = b.CreateICmpEQ(sign, b.getInt32(round == kRoundDown ? kSign : 0));
        r = b.CreateAdd(r, b.CreateZExt(b.CreateAnd(inexact, away), i32));
    }
    r = b.CreateOr(r, sign);
    // Zeros, infinities and NaNs need no rounding.
    const auto is_special = [&](Value* magnitude) {
        return b.CreateICmpUGE(b.CreateSub(magnitude, b.getInt32(1)), b.getInt32(kInfinity - 1));
    };
    Value* special = b.CreateOr(is_special(p.magnitude), is_special(q.magnitude));
    return b.CreateSelect(special, b.CreateFMul(x, y), b.CreateBitCast(r, x->getType()));
}

} // namespace dmsh
