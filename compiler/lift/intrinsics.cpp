// Declarations and call building for the dmsh.* dictionary.
#include "compiler/lift/intrinsics.h"
#include <llvm/ADT/StringMap.h>

namespace dmsh {
namespace {

constexpr IntrinsicInfo kInfo[] = {
#define DMSH_INTRINSIC(e, name, result, operands, cls, meaning) {name, #result[0], operands, IntrinsicClass::cls, meaning},
#include "compiler/lift/intrinsics.def"
};

llvm::Type* type_of(llvm::LLVMContext& c, char code) {
    switch (code) {
    case 'v': return llvm::Type::getVoidTy(c);
    case 'b': return llvm::Type::getInt1Ty(c);
    case 'B': return llvm::Type::getInt8Ty(c);
    case 'H': return llvm::Type::getInt16Ty(c);
    case 'i': return llvm::Type::getInt32Ty(c);
    case 'l': return llvm::Type::getInt64Ty(c);
    case 'h': return llvm::Type::getHalfTy(c);
    case 'f': return llvm::Type::getFloatTy(c);
    case 'd': return llvm::Type::getDoubleTy(c);
    case 'F': return llvm::FixedVectorType::get(llvm::Type::getFloatTy(c), 4);
    case 'I': return llvm::FixedVectorType::get(llvm::Type::getInt32Ty(c), 4);
    }
    llvm_unreachable("type letter of intrinsics.def");
}

const llvm::StringMap<Intrinsic>& by_name() {
    static const llvm::StringMap<Intrinsic> map = [] {
        llvm::StringMap<Intrinsic> m;
        for (unsigned i = 0; i < static_cast<unsigned>(Intrinsic::count); ++i)
            m[kInfo[i].name] = static_cast<Intrinsic>(i);
        return m;
    }();
    return map;
}

} // namespace

const IntrinsicInfo& intrinsic_info(Intrinsic id) { return kInfo[static_cast<unsigned>(id)]; }

llvm::Function* declare(llvm::Module& module, Intrinsic id) {
    const IntrinsicInfo& info = intrinsic_info(id);
    if (llvm::Function* f = module.getFunction(info.name))
        return f;
    llvm::LLVMContext& c = module.getContext();
    llvm::SmallVector<llvm::Type*, 16> params;
    for (const char* p = info.operands; *p; ++p)
        params.push_back(type_of(c, *p));
    auto* type = llvm::FunctionType::get(type_of(c, info.result), params, false);
    auto* f = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, info.name, module);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr(llvm::Attribute::WillReturn);
    switch (info.cls) {
    case IntrinsicClass::pure: f->addFnAttr(llvm::Attribute::ReadNone); break;
    case IntrinsicClass::read:
        f->addFnAttr(llvm::Attribute::ReadOnly);
        f->addFnAttr(llvm::Attribute::InaccessibleMemOnly);
        break;
    case IntrinsicClass::effect: f->addFnAttr(llvm::Attribute::InaccessibleMemOnly); break;
    case IntrinsicClass::lanes:
        f->addFnAttr(llvm::Attribute::InaccessibleMemOnly);
        f->addFnAttr(llvm::Attribute::Convergent);
        break;
    }
    return f;
}

llvm::CallInst* call(llvm::IRBuilderBase& b, Intrinsic id, llvm::ArrayRef<llvm::Value*> operands) {
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    return b.CreateCall(declare(module, id), operands);
}

std::optional<Intrinsic> intrinsic_of(const llvm::Instruction& inst) {
    const auto* c = llvm::dyn_cast<llvm::CallInst>(&inst);
    if (!c)
        return std::nullopt;
    const llvm::Function* f = c->getCalledFunction();
    if (!f || !f->getName().startswith("dmsh."))
        return std::nullopt;
    const auto it = by_name().find(f->getName());
    if (it == by_name().end())
        return std::nullopt;
    return it->second;
}

} // namespace dmsh
