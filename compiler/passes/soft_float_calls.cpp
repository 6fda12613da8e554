// Builds the soft-float functions: SoftFloat run over words that emit IR.
#include "compiler/passes/soft_float_calls.h"
#include <fmt/format.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace dmsh {
namespace {

struct IrBool {
    llvm::IRBuilder<>* b;
    llvm::Value* v;
    IrBool operator&(IrBool o) const { return {b, b->CreateAnd(v, o.v)}; }
    IrBool operator|(IrBool o) const { return {b, b->CreateOr(v, o.v)}; }
    IrBool operator!() const { return {b, b->CreateNot(v)}; }
    IrBool operator==(IrBool o) const { return {b, b->CreateNot(b->CreateXor(v, o.v))}; }
};

struct IrWord {
    llvm::IRBuilder<>* b;
    llvm::Value* v;
    IrWord constant(uint64_t c) const { return {b, b->getInt64(c)}; }
#define DMSH_WORD_OP(op, make)                                                                               \
    IrWord operator op(IrWord o) const {                                                                     \
        return {b, b->make(v, o.v)};                                                                         \
    }                                                                                                        \
    IrWord operator op(uint64_t c) const {                                                                   \
        return *this op constant(c);                                                                         \
    }
    DMSH_WORD_OP(+, CreateAdd)
    DMSH_WORD_OP(-, CreateSub)
    DMSH_WORD_OP(*, CreateMul)
    DMSH_WORD_OP(&, CreateAnd)
    DMSH_WORD_OP(|, CreateOr)
    DMSH_WORD_OP(<<, CreateShl)
    DMSH_WORD_OP(>>, CreateLShr)
#undef DMSH_WORD_OP
#define DMSH_WORD_TEST(op, make)                                                                             \
    IrBool operator op(IrWord o) const {                                                                     \
        return {b, b->make(v, o.v)};                                                                         \
    }                                                                                                        \
    IrBool operator op(uint64_t c) const {                                                                   \
        return *this op constant(c);                                                                         \
    }
    DMSH_WORD_TEST(==, CreateICmpEQ)
    DMSH_WORD_TEST(!=, CreateICmpNE)
    DMSH_WORD_TEST(<, CreateICmpULT)
#undef DMSH_WORD_TEST
};

struct IrOps {
    using Word = IrWord;
    using Bool = IrBool;
    llvm::IRBuilder<>& b;
    IrWord word(uint64_t c) { return {&b, b.getInt64(c)}; }
    template <class T>
    T select(IrBool c, T x, T y) {
        return {&b, b.CreateSelect(c.v, x.v, y.v)};
    }
    IrWord clz(IrWord w) { return {&b, b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, w.v, b.getFalse())}; }
};

std::string tag(const FloatFormat& f) {
    return fmt::format("f{}", f.bits());
}

} // namespace

template <class Body>
llvm::Value* SoftFloatCalls::call(llvm::IRBuilder<>& b, const std::string& name, bool boolean,
                                  llvm::ArrayRef<llvm::Value*> operands, Body body) {
    const std::string full = "soft." + name;
    llvm::Function* f = module_.getFunction(full);
    if (!f) {
        llvm::LLVMContext& c = module_.getContext();
        llvm::Type* word = llvm::Type::getInt64Ty(c);
        const llvm::SmallVector<llvm::Type*, 3> params(operands.size(), word);
        auto* type = llvm::FunctionType::get(boolean ? llvm::Type::getInt1Ty(c) : word, params, false);
        f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, full, module_);
        for (const auto kind :
             {llvm::Attribute::NoUnwind, llvm::Attribute::ReadNone, llvm::Attribute::WillReturn})
            f->addFnAttr(kind);
        llvm::IRBuilder<> in(llvm::BasicBlock::Create(c, "entry", f));
        IrOps ops{in};
        SoftFloat<IrOps> soft(ops);
        std::vector<IrWord> words;
        for (llvm::Argument& a : f->args())
            words.push_back({&in, &a});
        in.CreateRet(body(soft, words));
        made_.push_back(f);
    }
    return b.CreateCall(f, operands);
}

llvm::Value* SoftFloatCalls::add(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round, llvm::Value* x,
                                 llvm::Value* y) {
    return call(b, fmt::format("add.{}.{}", tag(f), round), false, {x, y},
                [&](auto& s, auto& w) { return s.add(f, round, w[0], w[1]).v; });
}
llvm::Value* SoftFloatCalls::mul(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round, llvm::Value* x,
                                 llvm::Value* y) {
    return call(b, fmt::format("mul.{}.{}", tag(f), round), false, {x, y},
                [&](auto& s, auto& w) { return s.mul(f, round, w[0], w[1]).v; });
}
llvm::Value* SoftFloatCalls::fma(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round, llvm::Value* x,
                                 llvm::Value* y, llvm::Value* z) {
    return call(b, fmt::format("fma.{}.{}", tag(f), round), false, {x, y, z},
                [&](auto& s, auto& w) { return s.fma(f, round, w[0], w[1], w[2]).v; });
}
llvm::Value* SoftFloatCalls::convert(llvm::IRBuilder<>& b, const FloatFormat& from, const FloatFormat& to,
                                     unsigned round, llvm::Value* x) {
    return call(b, fmt::format("convert.{}.{}.{}", tag(from), tag(to), round), false, {x},
                [&](auto& s, auto& w) { return s.convert(from, to, round, w[0]).v; });
}
llvm::Value* SoftFloatCalls::from_int(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round,
                                      bool is_signed, llvm::Value* v) {
    return call(b, fmt::format("from_int.{}.{}.{}", is_signed ? "s" : "u", tag(f), round), false, {v},
                [&](auto& s, auto& w) { return s.from_int(f, round, is_signed, w[0]).v; });
}
llvm::Value* SoftFloatCalls::to_int(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned bits, bool is_signed,
                                    llvm::Value* x) {
    return call(b, fmt::format("to_int.{}{}.{}", is_signed ? "s" : "u", bits, tag(f)), false, {x},
                [&](auto& s, auto& w) { return s.to_int(f, bits, is_signed, w[0]).v; });
}
llvm::Value* SoftFloatCalls::round_to_integral(llvm::IRBuilder<>& b, const FloatFormat& f, unsigned round,
                                               llvm::Value* x) {
    return call(b, fmt::format("integral.{}.{}", tag(f), round), false, {x},
                [&](auto& s, auto& w) { return s.round_to_integral(f, round, w[0]).v; });
}
llvm::Value* SoftFloatCalls::equal(llvm::IRBuilder<>& b, const FloatFormat& f, llvm::Value* x,
                                   llvm::Value* y) {
    return call(b, "equal." + tag(f), true, {x, y},
                [&](auto& s, auto& w) { return s.equal(f, w[0], w[1]).v; });
}
llvm::Value* SoftFloatCalls::less(llvm::IRBuilder<>& b, const FloatFormat& f, llvm::Value* x,
                                  llvm::Value* y) {
    return call(b, "less." + tag(f), true, {x, y}, [&](auto& s, auto& w) { return s.less(f, w[0], w[1]).v; });
}
llvm::Value* SoftFloatCalls::is_nan(llvm::IRBuilder<>& b, const FloatFormat& f, llvm::Value* x) {
    return b.CreateICmpUGT(b.CreateAnd(x, f.magnitude()), b.getInt64(f.infinity()));
}

void SoftFloatCalls::inline_all() {
    for (llvm::Function* f : made_) {
        llvm::SmallVector<llvm::CallInst*, 8> calls;
        for (llvm::User* u : f->users())
            if (auto* c = llvm::dyn_cast<llvm::CallInst>(u))
                calls.push_back(c);
        for (llvm::CallInst* c : calls) {
            llvm::InlineFunctionInfo info;
            llvm::InlineFunction(*c, info);
        }
        f->eraseFromParent();
    }
    made_.clear();
}

} // namespace dmsh
