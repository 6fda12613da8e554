// Bodies of air.* functions: arithmetic, conversions and memory atomics in IR, the rest as calls of the host.
#include "compiler/sim/air/program.h"
#include <fmt/format.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace dmsh::sim {
namespace {

// "air.atomic.global.add.u.i32" without "air.".
llvm::StringRef operation(const llvm::Function& f) {
    llvm::StringRef name = f.getName();
    name.consume_front("air.");
    return name;
}

struct IntrinsicRow {
    const char* name;
    llvm::Intrinsic::ID id;
    unsigned operands;
};
// Float and integer operations that are one LLVM intrinsic for every type.
constexpr IntrinsicRow kIntrinsics[] = {
    {"floor", llvm::Intrinsic::floor, 1}, {"ceil", llvm::Intrinsic::ceil, 1}, {"trunc", llvm::Intrinsic::trunc, 1},
    {"rint", llvm::Intrinsic::rint, 1},   {"round", llvm::Intrinsic::round, 1}, {"fabs", llvm::Intrinsic::fabs, 1},
    {"popcount", llvm::Intrinsic::ctpop, 1}, {"reverse_bits", llvm::Intrinsic::bitreverse, 1}, {"copysign", llvm::Intrinsic::copysign, 2},
};

class Body {
  public:
    explicit Body(llvm::Function& f) : f_(f), b_(f.getContext()), type_(f.getReturnType()) {}

    // Gives the function a body; false: this file has none for its name, and the function is unchanged.
    bool define() {
        auto* block = llvm::BasicBlock::Create(f_.getContext(), "entry");
        b_.SetInsertPoint(block);
        for (llvm::Argument& a : f_.args())
            args_.push_back(&a);
        // The block belongs to the function while code is made: intrinsics are declared in its module.
        block->insertInto(&f_);
        llvm::Value* result = value();
        if (!result) {
            f_.deleteBody();
            return false;
        }
        if (type_->isVoidTy())
            b_.CreateRetVoid();
        else
            b_.CreateRet(result);
        f_.setLinkage(llvm::GlobalValue::InternalLinkage);
        return true;
    }

  private:
    llvm::Value* nothing() { return llvm::UndefValue::get(b_.getInt1Ty()); } // void functions: there is a body
    llvm::Value* arg(unsigned i) { return args_[i]; }
    llvm::Value* real(llvm::Type* t, double v) { return llvm::ConstantFP::get(t, v); }

    // A host function of ir_host_functions on scalars, element by element.
    llvm::Value* host(const char* name, llvm::ArrayRef<llvm::Value*> operands) {
        if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(operands[0]->getType())) {
            llvm::Value* all = llvm::UndefValue::get(v);
            for (unsigned k = 0; k < v->getNumElements(); ++k) {
                llvm::SmallVector<llvm::Value*, 3> one;
                for (llvm::Value* o : operands)
                    one.push_back(b_.CreateExtractElement(o, k));
                all = b_.CreateInsertElement(all, host(name, one), k);
            }
            return all;
        }
        llvm::Type* t = operands[0]->getType();
        const bool half = t->isHalfTy();
        llvm::SmallVector<llvm::Value*, 3> passed;
        for (llvm::Value* o : operands)
            passed.push_back(half ? b_.CreateBitCast(o, b_.getInt16Ty()) : o);
        llvm::Type* pass_type = half ? static_cast<llvm::Type*>(b_.getInt16Ty()) : t;
        const llvm::SmallVector<llvm::Type*, 3> types(passed.size(), pass_type);
        auto callee = f_.getParent()->getOrInsertFunction(fmt::format("host.{}.{}", name, half ? "f16" : "f32"),
                                                          llvm::FunctionType::get(pass_type, types, false));
        llvm::Value* r = b_.CreateCall(callee, passed);
        return half ? b_.CreateBitCast(r, t) : r;
    }
    llvm::Value* least(llvm::Value* a, llvm::Value* b) { return host("min", {a, b}); }
    llvm::Value* most(llvm::Value* a, llvm::Value* b) { return host("max", {a, b}); }
    llvm::Value* integer(bool lesser, bool is_signed, llvm::Value* a, llvm::Value* b) {
        return b_.CreateBinaryIntrinsic(lesser ? (is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin)
                                               : (is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax),
                                        a, b);
    }

    // Twice the width, for products and averages.
    llvm::Value* widen(llvm::Value* v, bool is_signed) {
        llvm::Type* wide = v->getType()->getWithNewBitWidth(2 * v->getType()->getScalarSizeInBits());
        return is_signed ? b_.CreateSExt(v, wide) : b_.CreateZExt(v, wide);
    }
    llvm::Value* narrow(llvm::Value* v) { return b_.CreateTrunc(v, type_); }

    llvm::Value* value() {
        llvm::StringRef name = operation(f_);
        auto [op, rest] = name.split('.');
        op.consume_front("fast_");
        for (const IntrinsicRow& row : kIntrinsics)
            if (op == row.name && f_.arg_size() == row.operands && type_->isFPOrFPVectorTy() == arg(0)->getType()->isFPOrFPVectorTy() && !is_brain())
                return row.operands == 1 ? b_.CreateUnaryIntrinsic(row.id, arg(0)) : b_.CreateBinaryIntrinsic(row.id, arg(0), arg(1));
        if (op == "atomic")
            return atomic(rest);
        if (op == "convert")
            return convert(rest);
        if (op == "simdgroup" || op == "wg")
            return nullptr; // barriers: the host
        if (f_.arg_size() == 0)
            return nullptr;
        const bool reals = arg(0)->getType()->isFPOrFPVectorTy();
        if (reals && !is_brain() && type_ == arg(0)->getType())
            if (llvm::Value* v = floats(op))
                return v;
        if (!reals && arg(0)->getType()->isIntOrIntVectorTy())
            return integers(op, rest.startswith("s."));
        if (op == "dot" && reals) {
            // From the first component to the last; Metal leaves the order open.
            llvm::Value* sum = nullptr;
            llvm::Value* product = b_.CreateFMul(arg(0), arg(1));
            for (unsigned k = 0; k < llvm::cast<llvm::FixedVectorType>(arg(0)->getType())->getNumElements(); ++k) {
                llvm::Value* one = b_.CreateExtractElement(product, k);
                sum = sum ? b_.CreateFAdd(sum, one) : one;
            }
            return sum;
        }
        return nullptr;
    }

    bool is_brain() const {
        return type_->getScalarType()->isBFloatTy() || (f_.arg_size() && f_.getArg(0)->getType()->getScalarType()->isBFloatTy());
    }

    llvm::Value* floats(llvm::StringRef op) {
        if (f_.arg_size() == 1) {
            llvm::Value* x = arg(0);
            if (op == "saturate") // NaN gives 0
                return least(most(x, real(type_, 0)), real(type_, 1));
            if (op == "fract") {
                llvm::Value* f = b_.CreateFSub(x, b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x));
                const double below_one = type_->getScalarType()->isHalfTy() ? 0.99951171875 : 0.999999940395355224609375;
                return least(f, real(type_, below_one));
            }
            if (op == "sign") {
                llvm::Value *zero = real(type_, 0), *one = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, real(type_, 1), x);
                llvm::Value* keeps = b_.CreateFCmpOEQ(x, zero); // zeros keep their sign
                return b_.CreateSelect(keeps, x, b_.CreateSelect(b_.CreateFCmpUNO(x, x), zero, one));
            }
        }
        if (f_.arg_size() == 2) {
            if (op == "fmin")
                return least(arg(0), arg(1));
            if (op == "fmax")
                return most(arg(0), arg(1));
            if (op == "fdim")
                return b_.CreateSelect(b_.CreateFCmpOLE(arg(0), arg(1)), real(type_, 0), b_.CreateFSub(arg(0), arg(1)));
        }
        if (f_.arg_size() == 3) {
            llvm::Value *x = arg(0), *y = arg(1), *z = arg(2);
            if (op == "fma")
                return type_->getScalarType()->isHalfTy() ? host("fma", {x, y, z}) : b_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {x, y, z});
            if (op == "clamp")
                return least(most(x, y), z);
            if (op == "mix")
                return b_.CreateFAdd(x, b_.CreateFMul(b_.CreateFSub(y, x), z));
            if (op == "fmin3")
                return least(least(x, y), z);
            if (op == "fmax3")
                return most(most(x, y), z);
            if (op == "fmedian3")
                return most(least(x, y), least(most(x, y), z));
            if (op == "smoothstep") {
                llvm::Value* t = b_.CreateFDiv(b_.CreateFSub(z, x), b_.CreateFSub(y, x));
                t = least(most(t, real(type_, 0)), real(type_, 1));
                return b_.CreateFMul(b_.CreateFMul(t, t), b_.CreateFSub(real(type_, 3), b_.CreateFMul(real(type_, 2), t)));
            }
        }
        return nullptr;
    }

    llvm::Value* integers(llvm::StringRef op, bool is_signed) {
        llvm::Value* x = arg(0);
        if (op == "any" && type_->isIntegerTy(1))
            return b_.CreateOrReduce(x);
        if (op == "all" && type_->isIntegerTy(1))
            return b_.CreateAndReduce(x);
        if (op == "clz" || op == "ctz")
            return b_.CreateBinaryIntrinsic(op == "clz" ? llvm::Intrinsic::ctlz : llvm::Intrinsic::cttz, x, b_.getFalse());
        if (op == "abs")
            return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse());
        if (op == "normalize_function_constant_predicate")
            return b_.CreateZExt(b_.CreateICmpNE(x, llvm::ConstantInt::get(x->getType(), 0)), type_);
        if (f_.arg_size() == 2 && type_ == x->getType()) {
            llvm::Value* y = arg(1);
            if (op == "min" || op == "max")
                return integer(op == "min", is_signed, x, y);
            if (op == "mul_hi")
                return narrow(b_.CreateLShr(b_.CreateMul(widen(x, is_signed), widen(y, is_signed)), type_->getScalarSizeInBits()));
            if (op == "add_sat")
                return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::uadd_sat, x, y);
            if (op == "sub_sat")
                return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::usub_sat, x, y);
            if (op == "abs_diff")
                return b_.CreateSub(integer(false, is_signed, x, y), integer(true, is_signed, x, y));
            if (op == "hadd" || op == "rhadd") {
                llvm::Value* sum = b_.CreateAdd(widen(x, is_signed), widen(y, is_signed));
                if (op == "rhadd")
                    sum = b_.CreateAdd(sum, llvm::ConstantInt::get(sum->getType(), 1));
                return narrow(is_signed ? b_.CreateAShr(sum, 1) : b_.CreateLShr(sum, 1));
            }
            if (op == "rotate")
                return b_.CreateIntrinsic(llvm::Intrinsic::fshl, {type_}, {x, x, y});
        }
        if (f_.arg_size() == 3) {
            llvm::Value *y = arg(1), *z = arg(2);
            if (type_ == x->getType() && type_ == y->getType() && type_ == z->getType()) {
                if (op == "clamp")
                    return integer(true, is_signed, integer(false, is_signed, x, y), z);
                if (op == "min3" || op == "max3")
                    return integer(op == "min3", is_signed, integer(op == "min3", is_signed, x, y), z);
                if (op == "median3")
                    return integer(false, is_signed, integer(true, is_signed, x, y), integer(true, is_signed, integer(false, is_signed, x, y), z));
                if (op == "mad_hi")
                    return b_.CreateAdd(narrow(b_.CreateLShr(b_.CreateMul(widen(x, is_signed), widen(y, is_signed)), type_->getScalarSizeInBits())), z);
            }
            if (op == "extract_bits") // (x, offset, bits)
                return field(x, count(y), count(z), is_signed);
        }
        if (f_.arg_size() == 4 && op == "insert_bits") { // (base, insert, offset, bits)
            llvm::Value *offset = count(arg(2)), *bits = count(arg(3));
            llvm::Value* mask = b_.CreateShl(low_mask(bits), offset);
            return b_.CreateOr(b_.CreateAnd(x, b_.CreateNot(mask)), b_.CreateAnd(b_.CreateShl(arg(1), offset), mask));
        }
        return nullptr;
    }
    // A scalar count as the type of the result.
    llvm::Value* count(llvm::Value* n) {
        llvm::Value* v = b_.CreateZExtOrTrunc(n, n->getType()->isVectorTy() ? type_ : type_->getScalarType());
        if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type_); vector && !n->getType()->isVectorTy())
            v = b_.CreateVectorSplat(vector->getNumElements(), v);
        return v;
    }
    llvm::Value* low_mask(llvm::Value* bits) {
        llvm::Value* width = llvm::ConstantInt::get(type_, type_->getScalarSizeInBits());
        llvm::Value* ones = llvm::Constant::getAllOnesValue(type_);
        llvm::Value* shifted = b_.CreateLShr(ones, b_.CreateSub(width, bits));
        return b_.CreateSelect(b_.CreateICmpEQ(bits, llvm::ConstantInt::get(type_, 0)), llvm::Constant::getNullValue(type_), shifted);
    }
    llvm::Value* field(llvm::Value* x, llvm::Value* offset, llvm::Value* bits, bool is_signed) {
        llvm::Value* width = llvm::ConstantInt::get(type_, type_->getScalarSizeInBits());
        llvm::Value *zero = llvm::Constant::getNullValue(type_), *none = b_.CreateICmpEQ(bits, zero);
        llvm::Value* up = b_.CreateSub(b_.CreateSub(width, offset), bits);
        llvm::Value* down = b_.CreateSelect(none, zero, b_.CreateSub(width, bits));
        llvm::Value* high = b_.CreateShl(x, b_.CreateSelect(none, zero, up));
        return b_.CreateSelect(none, zero, is_signed ? b_.CreateAShr(high, down) : b_.CreateLShr(high, down));
    }

    // <to kind>.<to type>.<from kind>.<from type>[.rounding]
    llvm::Value* convert(llvm::StringRef rest) {
        llvm::SmallVector<llvm::StringRef, 5> parts;
        rest.split(parts, '.');
        if (parts.size() < 4 || f_.arg_size() != 1 || (parts.size() > 4 && parts[4] != "rte"))
            return nullptr;
        llvm::Value* v = arg(0);
        const bool to_float = parts[0] == "f", from_float = parts[2] == "f", from_signed = parts[2] == "s";
        if (is_brain())
            return brain(v);
        if (to_float && from_float)
            return v->getType() == type_ ? v : b_.CreateFPCast(v, type_);
        if (to_float)
            return from_signed ? b_.CreateSIToFP(v, type_) : b_.CreateUIToFP(v, type_);
        if (from_float) {
            if (type_->getScalarType()->isIntegerTy(1))
                return b_.CreateFCmpUNE(v, real(v->getType(), 0));
            return b_.CreateIntrinsic(parts[0] == "s" ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat, {type_, v->getType()}, {v});
        }
        if (type_->getScalarType()->isIntegerTy(1))
            return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
        return from_signed ? b_.CreateSExtOrTrunc(v, type_) : b_.CreateZExtOrTrunc(v, type_);
    }
    // Brain floats are the upper half of a float's bits; LLVM has no code for them here.
    llvm::Value* brain(llvm::Value* v) {
        const auto same_shape = [&](llvm::Type* scalar) {
            auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type_);
            return vector ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(scalar, vector->getNumElements())) : scalar;
        };
        llvm::Type *i16 = same_shape(b_.getInt16Ty()), *i32 = same_shape(b_.getInt32Ty()), *f32 = same_shape(b_.getFloatTy());
        if (v->getType()->getScalarType()->isBFloatTy()) {
            llvm::Value* f = b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(b_.CreateBitCast(v, i16), i32), 16), f32);
            return type_->isFPOrFPVectorTy() ? b_.CreateFPCast(f, type_) : nullptr;
        }
        if (!v->getType()->isFPOrFPVectorTy())
            return nullptr;
        llvm::Value* f = b_.CreateFPCast(v, f32);
        llvm::Value* w = b_.CreateBitCast(f, i32);
        llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(w, 16), 1);
        llvm::Value* rounded = b_.CreateAdd(w, b_.CreateAdd(odd, llvm::ConstantInt::get(i32, 0x7fff)));
        llvm::Value* nan = b_.CreateOr(w, llvm::ConstantInt::get(i32, 0x400000));
        llvm::Value* chosen = b_.CreateSelect(b_.CreateFCmpUNO(f, f), nan, rounded);
        return b_.CreateBitCast(b_.CreateTrunc(b_.CreateLShr(chosen, 16), i16), type_);
    }

    // Threads run one at a time between meeting points: plain loads and stores are atomic.
    llvm::Value* atomic(llvm::StringRef rest) {
        if (!rest.consume_front("global.") && !rest.consume_front("local."))
            return nullptr;
        const bool is_signed = rest.contains(".s.");
        const llvm::StringRef verb = rest.split('.').first;
        llvm::Value* p = arg(0);
        if (verb == "store") {
            b_.CreateStore(arg(1), p);
            return nothing();
        }
        llvm::Type* type = llvm::cast<llvm::PointerType>(p->getType())->getNonOpaquePointerElementType();
        llvm::Value* old = b_.CreateLoad(type, p);
        if (verb == "load")
            return old;
        if (verb == "cmpxchg") {
            llvm::Value* expected = b_.CreateLoad(type, arg(1));
            llvm::Type* bits = b_.getIntNTy(type->getScalarSizeInBits());
            llvm::Value* equal = b_.CreateICmpEQ(b_.CreateBitCast(old, bits), b_.CreateBitCast(expected, bits));
            b_.CreateStore(b_.CreateSelect(equal, arg(2), old), p);
            b_.CreateStore(old, arg(1));
            return old;
        }
        if (f_.arg_size() < 2)
            return nullptr;
        llvm::Value *v = arg(1), *fresh = nullptr;
        const bool is_real = type->isFloatingPointTy();
        if (verb == "xchg")
            fresh = v;
        else if (verb == "add")
            fresh = is_real ? b_.CreateFAdd(old, v) : b_.CreateAdd(old, v);
        else if (verb == "sub")
            fresh = is_real ? b_.CreateFSub(old, v) : b_.CreateSub(old, v);
        else if (verb == "and" && !is_real)
            fresh = b_.CreateAnd(old, v);
        else if (verb == "or" && !is_real)
            fresh = b_.CreateOr(old, v);
        else if (verb == "xor" && !is_real)
            fresh = b_.CreateXor(old, v);
        else if ((verb == "min" || verb == "max") && !is_real)
            fresh = integer(verb == "min", is_signed, old, v);
        if (!fresh)
            return nullptr;
        b_.CreateStore(fresh, p);
        return type_->isVoidTy() ? nothing() : old;
    }

    llvm::Function& f_;
    llvm::IRBuilder<> b_;
    llvm::Type* type_;
    llvm::SmallVector<llvm::Value*, 8> args_;
};

// Takes the name apart for the host: what comes before the first part that is a sign or a type.
void read_name(AirHostOp& op) {
    llvm::StringRef rest = llvm::StringRef(op.name).drop_front(4);
    const auto digits = [](llvm::StringRef s) { return !s.empty() && s.find_first_not_of("0123456789") == s.npos; };
    const auto is_type = [&](llvm::StringRef s) { // "f32", "v4i32", "p1i8", "bf16"
        if (s.consume_front("p"))
            s = s.drop_while([](char c) { return c >= '0' && c <= '9'; });
        if (s.consume_front("v"))
            s = s.drop_while([](char c) { return c >= '0' && c <= '9'; });
        return (s.consume_front("bf") || s.consume_front("f") || s.consume_front("i")) && digits(s);
    };
    std::string base;
    while (!rest.empty()) {
        const auto [part, after] = rest.split('.');
        if (part == "s" || part == "u")
            op.sign = part[0];
        else if (!is_type(part))
            base += (base.empty() ? "" : ".") + part.str();
        else if (op.sign)
            break;
        rest = after;
    }
    if (base.starts_with("fast_"))
        base.erase(0, 5);
    op.op = base;
}

// A function that puts its operands into memory and calls the handler.
llvm::Function* host_call(llvm::Function& f, const AirHostOp& op, unsigned number) {
    llvm::Module& m = *f.getParent();
    llvm::LLVMContext& c = m.getContext();
    llvm::Type *i32 = llvm::Type::getInt32Ty(c), *i64 = llvm::Type::getInt64Ty(c);
    llvm::PointerType* bytes = llvm::Type::getInt8PtrTy(c);
    llvm::SmallVector<llvm::Type*, 12> types;
    for (const llvm::Argument& a : f.args())
        types.push_back(a.getType());
    types.push_back(i32);
    auto* thunk = llvm::Function::Create(llvm::FunctionType::get(f.getReturnType(), types, false), llvm::GlobalValue::InternalLinkage,
                                         fmt::format("dmsh.host.{}", number), m);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(c, "entry", thunk));
    const auto as_bytes = [&](llvm::Value* p) { return b.CreateBitCast(p, bytes); };
    auto* list = b.CreateAlloca(llvm::ArrayType::get(bytes, std::max<size_t>(f.arg_size(), 1)));
    llvm::Value* result = f.getReturnType()->isVoidTy() ? nullptr : b.CreateAlloca(f.getReturnType());
    for (unsigned i = 0; i < f.arg_size(); ++i) {
        // A lone bit takes a byte.
        llvm::Value* v = thunk->getArg(i);
        if (v->getType()->isIntegerTy(1))
            v = b.CreateZExt(v, b.getInt8Ty());
        auto* place = b.CreateAlloca(v->getType());
        b.CreateStore(v, place);
        b.CreateStore(as_bytes(place), b.CreateConstInBoundsGEP2_32(list->getAllocatedType(), list, 0, i));
    }
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c), {i64, bytes->getPointerTo(), bytes, i32}, false);
    llvm::Value* handler = b.CreateIntToPtr(llvm::ConstantInt::get(i64, reinterpret_cast<uintptr_t>(op.handler)), type->getPointerTo());
    b.CreateCall(type, handler,
                 {llvm::ConstantInt::get(i64, reinterpret_cast<uintptr_t>(&op)), b.CreateConstInBoundsGEP2_32(list->getAllocatedType(), list, 0, 0),
                  result ? as_bytes(result) : llvm::ConstantPointerNull::get(bytes), thunk->getArg(static_cast<unsigned>(f.arg_size()))});
    if (result)
        b.CreateRet(b.CreateLoad(f.getReturnType(), result));
    else
        b.CreateRetVoid();
    return thunk;
}

// LLVM has no code that passes brain floats to functions: bodies that take or give them go where they are called.
Result<void> inline_brain_floats(llvm::Function& f) {
    bool brain = f.getReturnType()->getScalarType()->isBFloatTy();
    for (const llvm::Argument& a : f.args())
        brain |= a.getType()->getScalarType()->isBFloatTy();
    if (!brain)
        return {};
    for (llvm::User* u : llvm::make_early_inc_range(f.users()))
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(u); call && call->getCalledFunction() == &f) {
            llvm::InlineFunctionInfo info;
            if (!llvm::InlineFunction(*call, info).isSuccess())
                return Error{f.getName().str() + " cannot be inlined"};
        }
    if (f.use_empty())
        f.eraseFromParent();
    return {};
}

} // namespace

Result<void> define_air_functions(llvm::Module& m, llvm::Function& entry, AirProgram& program) {
    // Numbers of the calls, in reverse post-order: the order in which lanes that parted come together again.
    std::map<const llvm::CallInst*, uint32_t> sites;
    uint32_t site = 0;
    llvm::ReversePostOrderTraversal<llvm::Function*> order(&entry);
    for (llvm::BasicBlock* block : order)
        for (llvm::Instruction& i : *block)
            if (auto* call = llvm::dyn_cast<llvm::CallInst>(&i))
                sites[call] = site++;
    std::vector<llvm::Function*> declared;
    for (llvm::Function& f : m)
        if (f.isDeclaration() && !f.use_empty() && !f.isIntrinsic())
            declared.push_back(&f);
    for (llvm::Function* f : declared) {
        if (f->getName().startswith("host."))
            continue;
        if (!f->getName().startswith("air."))
            return Error{f->getName().str() + " is not in the module"};
        if (Body(*f).define()) {
            if (auto r = inline_brain_floats(*f); !r)
                return r;
            continue;
        }
        auto op = std::make_unique<AirHostOp>();
        op->name = f->getName().str();
        read_name(*op);
        for (const llvm::Argument& a : f->args())
            op->args.push_back(air_type(a.getType(), m.getDataLayout()));
        llvm::Type* result = f->getReturnType();
        if (auto* s = llvm::dyn_cast<llvm::StructType>(result); s && s->getNumElements() == 2) {
            op->residency = static_cast<uint32_t>(m.getDataLayout().getStructLayout(s)->getElementOffset(1));
            result = s->getElementType(0);
        }
        if (!result->isVoidTy())
            op->result = air_type(result, m.getDataLayout());
        for (const auto find : {math_handler, lane_handler, texture_handler})
            if (!op->handler)
                op->handler = find(*op);
        if (!op->handler)
            return Error{op->name + " is not executed"};
        llvm::Function* thunk = host_call(*f, *op, static_cast<unsigned>(program.ops.size()));
        program.ops.push_back(std::move(op));
        std::vector<llvm::CallInst*> calls;
        for (llvm::User* u : f->users())
            if (auto* call = llvm::dyn_cast<llvm::CallInst>(u); call && call->getCalledFunction() == f)
                calls.push_back(call);
        if (calls.size() != f->getNumUses())
            return Error{f->getName().str() + " is used otherwise than by calls"};
        for (llvm::CallInst* call : calls) {
            llvm::SmallVector<llvm::Value*, 12> operands(call->args());
            const auto it = sites.find(call);
            operands.push_back(llvm::ConstantInt::get(llvm::Type::getInt32Ty(m.getContext()), it == sites.end() ? 0 : it->second));
            llvm::IRBuilder<> b(call);
            call->replaceAllUsesWith(b.CreateCall(thunk, operands));
            call->eraseFromParent();
        }
    }
    return {};
}

} // namespace dmsh::sim
