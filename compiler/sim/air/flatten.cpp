// Function constants get their values; the entry and all that it calls become one function.
#include "compiler/sim/air/program.h"
#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace dmsh::sim {
namespace {

constexpr unsigned kMaxInlined = 4096; // calls; recursion would have no end

// The constant of a type from numbers; missing ones are zero.
llvm::Constant* constant_of(llvm::Type* type, const std::vector<double>& values, size_t at = 0) {
    if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
        llvm::SmallVector<llvm::Constant*, 4> parts;
        for (unsigned k = 0; k < v->getNumElements(); ++k)
            parts.push_back(constant_of(v->getElementType(), values, k));
        return llvm::ConstantVector::get(parts);
    }
    const double number = at < values.size() ? values[at] : 0;
    if (type->isIntegerTy())
        return llvm::ConstantInt::get(type, number < 0 ? static_cast<uint64_t>(static_cast<int64_t>(number)) : static_cast<uint64_t>(number), true);
    if (type->isFloatingPointTy())
        return llvm::ConstantFP::get(type, number);
    return llvm::Constant::getNullValue(type);
}

// Gives the constants that !air.function_constants lists their values. The globals that have one go into `defined`.
void set_constants(llvm::Module& m, const AirConstants& constants, std::set<const llvm::Value*>& defined) {
    const llvm::NamedMDNode* list = m.getNamedMetadata("air.function_constants");
    for (unsigned i = 0; list && i < list->getNumOperands(); ++i) {
        const llvm::MDNode* row = list->getOperand(i);
        const auto* value = row->getNumOperands() ? llvm::dyn_cast_or_null<llvm::ConstantAsMetadata>(row->getOperand(0).get()) : nullptr;
        auto* global = value ? llvm::dyn_cast<llvm::GlobalVariable>(value->getValue()->stripPointerCasts()) : nullptr;
        if (!global)
            continue;
        auto given = constants.find(std::string(md_string(md_operand(*row, 2)).value_or("")));
        if (given == constants.end())
            given = constants.find(std::to_string(md_int(md_operand(*row, 3)).value_or(0)));
        if (given == constants.end())
            continue;
        global->setInitializer(constant_of(global->getValueType(), given->second));
        defined.insert(global);
    }
}

// Constructors of the module become one function; whatever else makes no code goes.
llvm::Function* constructors(llvm::Module& m) {
    llvm::LLVMContext& c = m.getContext();
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c), false);
    auto* all = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "dmsh_constructors", m);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(c, "entry", all));
    if (llvm::GlobalVariable* list = m.getGlobalVariable("llvm.global_ctors")) {
        if (list->hasInitializer())
            if (const auto* rows = llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer()))
                for (const llvm::Use& row : rows->operands())
                    if (const auto* fields = llvm::dyn_cast<llvm::ConstantStruct>(row.get()); fields && fields->getNumOperands() > 1)
                        if (auto* f = llvm::dyn_cast<llvm::Function>(fields->getOperand(1)->stripPointerCasts()); f && f->arg_empty())
                            b.CreateCall(f->getFunctionType(), f);
        list->eraseFromParent();
    }
    b.CreateRetVoid();
    return all;
}

Result<void> inline_all(llvm::Function& f) {
    for (unsigned n = 0;; ++n) {
        llvm::CallBase* next = nullptr;
        for (llvm::Instruction& i : llvm::instructions(f)) {
            auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
            if (!call)
                continue;
            if (call->isInlineAsm())
                return Error{"inline assembly"};
            const llvm::Function* callee = call->getCalledFunction();
            if (!callee)
                return Error{"a call through a pointer"};
            if (!callee->isDeclaration()) {
                next = call;
                break;
            }
        }
        if (!next)
            return {};
        if (n >= kMaxInlined || next->getCalledFunction() == &f)
            return Error{"recursion"};
        llvm::InlineFunctionInfo info;
        if (const auto r = llvm::InlineFunction(*next, info); !r.isSuccess())
            return Error{fmt::format("{} cannot be inlined: {}", next->getCalledFunction()->getName().str(), r.getFailureReason())};
    }
}

} // namespace

Result<llvm::Function*> flatten_module(llvm::Module& m, llvm::Function& entry, const AirConstants& constants) {
    std::set<const llvm::Value*> defined;
    set_constants(m, constants, defined);
    for (const char* list : {"llvm.used", "llvm.compiler.used"})
        if (llvm::GlobalVariable* used = m.getGlobalVariable(list))
            used->eraseFromParent();
    llvm::Function* all = constructors(m);
    if (auto r = inline_all(entry); !r)
        return r.error();
    if (auto r = inline_all(*all); !r)
        return r.error();
    // Metadata holds no uses; functions that nobody calls any more go.
    for (bool changed = true; changed;) {
        changed = false;
        for (llvm::Function& f : llvm::make_early_inc_range(m)) {
            f.removeDeadConstantUsers();
            if (&f != &entry && &f != all && f.use_empty()) {
                f.eraseFromParent();
                changed = true;
            }
        }
    }
    for (llvm::GlobalVariable& g : m.globals()) {
        g.setSection("");
        g.setExternallyInitialized(false);
        g.setConstant(false);
        g.setLinkage(llvm::GlobalValue::InternalLinkage);
        g.setVisibility(llvm::GlobalValue::DefaultVisibility);
        if (!g.hasInitializer() || llvm::isa<llvm::UndefValue>(g.getInitializer()))
            g.setInitializer(llvm::Constant::getNullValue(g.getValueType()));
    }
    // Questions about constants have their answers now.
    for (llvm::Function* f : {&entry, all})
        for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(*f))) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
            if (!call || !call->getCalledFunction() || call->getCalledFunction()->getName() != "air.is_function_constant_defined")
                continue;
            const bool answer = defined.count(call->getArgOperand(0)->stripPointerCasts()) != 0;
            call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), answer));
            call->eraseFromParent();
        }
    return all;
}

} // namespace dmsh::sim
