// Guarantees: no dmsh.*.rnd operation is left; directed rounding is done by integer soft-float, bit for bit
// (tests/passes/soft_float_test.cpp proves the text against the machine). No target offers the directions, so
// every legalisation runs this.
#include "compiler/passes/expand_rounding.h"
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

// The word of soft_float.h as IR; constants fold in the builder.
struct IrMachine {
    llvm::IRBuilderBase& b;

    struct Bool {
        llvm::IRBuilderBase* b;
        llvm::Value* v;
        friend Bool operator&(Bool x, Bool y) { return {x.b, x.b->CreateAnd(x.v, y.v)}; }
        friend Bool operator|(Bool x, Bool y) { return {x.b, x.b->CreateOr(x.v, y.v)}; }
        friend Bool operator!(Bool x) { return {x.b, x.b->CreateNot(x.v)}; }
    };
    struct Word {
        llvm::IRBuilderBase* b;
        llvm::Value* v;
        friend Word operator+(Word x, Word y) { return {x.b, x.b->CreateAdd(x.v, y.v)}; }
        friend Word operator-(Word x, Word y) { return {x.b, x.b->CreateSub(x.v, y.v)}; }
        friend Word operator*(Word x, Word y) { return {x.b, x.b->CreateMul(x.v, y.v)}; }
        friend Word operator&(Word x, Word y) { return {x.b, x.b->CreateAnd(x.v, y.v)}; }
        friend Word operator|(Word x, Word y) { return {x.b, x.b->CreateOr(x.v, y.v)}; }
        friend Word operator^(Word x, Word y) { return {x.b, x.b->CreateXor(x.v, y.v)}; }
    };

    Word k(uint64_t v) { return {&b, b.getInt64(v)}; }
    Word shl(Word x, Word n) { return {&b, b.CreateShl(x.v, n.v)}; }
    Word lshr(Word x, Word n) { return {&b, b.CreateLShr(x.v, n.v)}; }
    Bool ult(Word x, Word y) { return {&b, b.CreateICmpULT(x.v, y.v)}; }
    Bool eq(Word x, Word y) { return {&b, b.CreateICmpEQ(x.v, y.v)}; }
    Word select(Bool c, Word t, Word f) { return {&b, b.CreateSelect(c.v, t.v, f.v)}; }
    Word clz(Word x) { return {&b, b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x.v, b.getFalse())}; }

    Word in(FloatFormat f, llvm::Value* x) {
        return {&b, b.CreateZExt(b.CreateBitCast(x, b.getIntNTy(f.width)), b.getInt64Ty())};
    }
    llvm::Value* out(FloatFormat f, Word x) {
        llvm::Type* type = f.width == 16 ? b.getHalfTy() : f.width == 32 ? b.getFloatTy() : b.getDoubleTy();
        return b.CreateBitCast(b.CreateTrunc(x.v, b.getIntNTy(f.width)), type);
    }
};

} // namespace

llvm::Value* soft_fma(llvm::IRBuilderBase& b, FloatFormat f, Round mode, llvm::Value* x, llvm::Value* y,
                      llvm::Value* z) {
    IrMachine m{b};
    return m.out(f, SoftFloat<IrMachine>(m).fma(f, mode, m.in(f, x), m.in(f, y), m.in(f, z)));
}
llvm::Value* soft_add(llvm::IRBuilderBase& b, FloatFormat f, Round mode, llvm::Value* x, llvm::Value* y) {
    IrMachine m{b};
    return m.out(f, SoftFloat<IrMachine>(m).add(f, mode, m.in(f, x), m.in(f, y)));
}
llvm::Value* soft_mul(llvm::IRBuilderBase& b, FloatFormat f, Round mode, llvm::Value* x, llvm::Value* y) {
    IrMachine m{b};
    return m.out(f, SoftFloat<IrMachine>(m).mul(f, mode, m.in(f, x), m.in(f, y)));
}
llvm::Value* soft_convert(llvm::IRBuilderBase& b, FloatFormat from, FloatFormat to, Round mode,
                          llvm::Value* x) {
    IrMachine m{b};
    return m.out(to, SoftFloat<IrMachine>(m).convert(from, to, mode, m.in(from, x)));
}
llvm::Value* soft_from_integer(llvm::IRBuilderBase& b, FloatFormat to, Round mode, bool is_signed,
                               llvm::Value* x) {
    IrMachine m{b};
    return m.out(to, SoftFloat<IrMachine>(m).from_integer(to, mode, is_signed, {&b, x}));
}

Result<void> expand_rounding(ShaderModule& shader) {
    for (const auto& [call, id] : collect_calls(*shader.main)) {
        if (id < Intrinsic::fadd_rnd || id > Intrinsic::i64_to_f64_rnd)
            continue;
        const auto a = [call = call](unsigned n) { return call->getArgOperand(n); };
        llvm::IRBuilder<> b(call);
        const auto code = constant_u32(a(0));
        if (!code || *code > 3)
            return refuse(*call, LossCode::passes,
                          std::string(intrinsic_info(id).name) + " with an unknown rounding");
        const auto mode = static_cast<Round>(*code);
        const auto is_signed = [&] { return constant_u32(a(1)) == 1u; };
        llvm::Value* r = nullptr;
        switch (id) {
        case Intrinsic::fadd_rnd: r = soft_add(b, kBinary32, mode, a(1), a(2)); break;
        case Intrinsic::fmul_rnd: r = soft_mul(b, kBinary32, mode, a(1), a(2)); break;
        case Intrinsic::ffma_rnd: r = soft_fma(b, kBinary32, mode, a(1), a(2), a(3)); break;
        case Intrinsic::dadd_rnd: r = soft_add(b, kBinary64, mode, a(1), a(2)); break;
        case Intrinsic::dmul_rnd: r = soft_mul(b, kBinary64, mode, a(1), a(2)); break;
        case Intrinsic::dfma_rnd: r = soft_fma(b, kBinary64, mode, a(1), a(2), a(3)); break;
        case Intrinsic::f64_to_f32_rnd: r = soft_convert(b, kBinary64, kBinary32, mode, a(1)); break;
        case Intrinsic::f32_to_f16_rnd: r = soft_convert(b, kBinary32, kBinary16, mode, a(1)); break;
        case Intrinsic::i64_to_f32_rnd: r = soft_from_integer(b, kBinary32, mode, is_signed(), a(2)); break;
        case Intrinsic::i64_to_f64_rnd: r = soft_from_integer(b, kBinary64, mode, is_signed(), a(2)); break;
        default: continue;
        }
        call->replaceAllUsesWith(r);
        call->eraseFromParent();
    }
    return {};
}

} // namespace dmsh
