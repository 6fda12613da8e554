// Guarantees: no dmsh.*.rnd operation is left; directed rounding is done by integer soft-float, bit for bit,
// in straight-line code in the call's place (tests/passes/legalize_float_test.cpp proves it against the
// host). No target offers the directions, so every legalisation runs this.
#include "compiler/passes/directed_product.h"
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/soft_float_calls.h"

namespace dmsh {

Result<void> expand_rounding(ShaderModule& shader) {
    SoftFloatCalls soft(*shader.module);
    llvm::IRBuilder<> b(*shader.context);
    const auto bits = [&](llvm::Value* v) { // of a float of any width, as i64
        return b.CreateZExt(b.CreateBitCast(v, b.getIntNTy(v->getType()->getPrimitiveSizeInBits())),
                            b.getInt64Ty());
    };
    for (const auto& [call, id] : collect_calls(*shader.main)) {
        if (id < Intrinsic::fadd_rnd || id > Intrinsic::i64_to_f64_rnd)
            continue;
        const auto a = [call = call](unsigned n) { return call->getArgOperand(n); };
        b.SetInsertPoint(call);
        const auto round = constant_u32(a(0));
        if (!round || *round > 3)
            return refuse(*call, LossCode::passes,
                          std::string(intrinsic_info(id).name) + " with an unknown rounding");
        const auto is_signed = [&] { return constant_u32(a(1)) == 1u; };
        llvm::Value* r = nullptr;
        switch (id) {
        case Intrinsic::fadd_rnd: r = soft.add(b, kSingle, *round, bits(a(1)), bits(a(2))); break;
        case Intrinsic::fmul_rnd:
            if (*round != kRoundNearest) {
                call->replaceAllUsesWith(directed_product(b, *round, a(1), a(2)));
                call->eraseFromParent();
                continue;
            }
            r = soft.mul(b, kSingle, *round, bits(a(1)), bits(a(2)));
            break;
        case Intrinsic::ffma_rnd: r = soft.fma(b, kSingle, *round, bits(a(1)), bits(a(2)), bits(a(3))); break;
        case Intrinsic::dadd_rnd: r = soft.add(b, kDouble, *round, bits(a(1)), bits(a(2))); break;
        case Intrinsic::dmul_rnd: r = soft.mul(b, kDouble, *round, bits(a(1)), bits(a(2))); break;
        case Intrinsic::dfma_rnd: r = soft.fma(b, kDouble, *round, bits(a(1)), bits(a(2)), bits(a(3))); break;
        case Intrinsic::f64_to_f32_rnd: r = soft.convert(b, kDouble, kSingle, *round, bits(a(1))); break;
        case Intrinsic::f32_to_f16_rnd: r = soft.convert(b, kSingle, kHalf, *round, bits(a(1))); break;
        case Intrinsic::i64_to_f32_rnd: r = soft.from_int(b, kSingle, *round, is_signed(), a(2)); break;
        case Intrinsic::i64_to_f64_rnd: r = soft.from_int(b, kDouble, *round, is_signed(), a(2)); break;
        default: continue;
        }
        llvm::Type* type = call->getType();
        r = b.CreateBitCast(b.CreateTrunc(r, b.getIntNTy(type->getPrimitiveSizeInBits())), type);
        call->replaceAllUsesWith(r);
        call->eraseFromParent();
    }
    soft.inline_all();
    return {};
}

} // namespace dmsh
