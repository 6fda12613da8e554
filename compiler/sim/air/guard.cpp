// What keeps a running function inside its memory and its time.
#include "compiler/sim/air/program.h"
#include "compiler/sim/jit/ir_run.h"
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>

namespace dmsh::sim {
namespace {

extern "C" uint8_t* dmsh_air_at(uint8_t* p, uint64_t bytes, uint32_t writes_space) { return air_at(p, bytes, writes_space); }
extern "C" void dmsh_air_loop() {
    if (air_run->loops_left-- > 1)
        return;
    air_run->loops_left = 1;
    air_run->fibers->stop();
}

// The object of a private access at a constant place inside it.
bool surely_inside(const llvm::Value* pointer, uint64_t bytes, const llvm::DataLayout& layout) {
    llvm::APInt offset(64, 0);
    const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
    const auto* object = llvm::dyn_cast<llvm::AllocaInst>(base);
    if (!object || object->isArrayAllocation())
        return false;
    const uint64_t size = layout.getTypeAllocSize(object->getAllocatedType()).getFixedSize();
    return offset.isNonNegative() && bytes <= size && offset.getZExtValue() <= size - bytes;
}

class Guard {
  public:
    explicit Guard(llvm::Module& m) : m_(m), layout_(m.getDataLayout()) {
        llvm::LLVMContext& c = m.getContext();
        bytes_ = llvm::Type::getInt8PtrTy(c);
        i32_ = llvm::Type::getInt32Ty(c);
        i64_ = llvm::Type::getInt64Ty(c);
        at_ = llvm::FunctionType::get(bytes_, {bytes_, i64_, i32_}, false);
        loop_ = llvm::FunctionType::get(llvm::Type::getVoidTy(c), false);
    }

    // The pointer after the check, to be used instead. `writes_space`: 0 reads, else 1 + address space.
    llvm::Value* checked(llvm::IRBuilder<>& b, llvm::Value* pointer, llvm::Value* bytes, bool writes) {
        const unsigned space = llvm::cast<llvm::PointerType>(pointer->getType())->getAddressSpace();
        llvm::Value* f = b.CreateIntToPtr(llvm::ConstantInt::get(i64_, reinterpret_cast<uintptr_t>(&dmsh_air_at)), at_->getPointerTo());
        llvm::Value* plain = space ? b.CreateAddrSpaceCast(pointer, bytes_) : b.CreateBitCast(pointer, bytes_);
        llvm::Value* r = b.CreateCall(at_, f, {plain, b.CreateZExtOrTrunc(bytes, i64_), llvm::ConstantInt::get(i32_, writes ? 1 + space : 0)});
        return space ? b.CreateAddrSpaceCast(r, pointer->getType()) : b.CreateBitCast(r, pointer->getType());
    }

    void access(llvm::Instruction* i, unsigned operand, llvm::Type* type, bool writes) {
        llvm::Value* pointer = i->getOperand(operand);
        const uint64_t bytes = layout_.getTypeStoreSize(type).getFixedSize();
        if (surely_inside(pointer, bytes, layout_))
            return;
        llvm::IRBuilder<> b(i);
        i->setOperand(operand, checked(b, pointer, llvm::ConstantInt::get(i64_, bytes), writes));
    }

    void instruction(llvm::Instruction& i) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
            access(load, 0, load->getType(), false);
            load->setAlignment(llvm::Align(1));
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
            access(store, 1, store->getValueOperand()->getType(), true);
            store->setAlignment(llvm::Align(1));
        } else if (auto* rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) {
            access(rmw, 0, rmw->getValOperand()->getType(), true);
        } else if (auto* cas = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) {
            access(cas, 0, cas->getNewValOperand()->getType(), true);
        } else if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&i)) {
            llvm::IRBuilder<> b(copy);
            copy->setArgOperand(0, checked(b, copy->getRawDest(), copy->getLength(), true));
            copy->setArgOperand(1, checked(b, copy->getRawSource(), copy->getLength(), false));
            copy->setDestAlignment(llvm::Align(1));
            copy->setSourceAlignment(llvm::Align(1));
        } else if (auto* set = llvm::dyn_cast<llvm::MemSetInst>(&i)) {
            llvm::IRBuilder<> b(set);
            set->setArgOperand(0, checked(b, set->getRawDest(), set->getLength(), true));
            set->setDestAlignment(llvm::Align(1));
        }
    }

    void function(llvm::Function& f) {
        f.setAttributes({});
        ir_definite_nans(f); // Metal leaves the bits open; the guest's make moves of them comparable
        std::vector<llvm::Instruction*> all;
        for (llvm::Instruction& i : llvm::instructions(f))
            all.push_back(&i);
        for (llvm::Instruction* i : all) {
            if (llvm::isa<llvm::FPMathOperator>(i))
                i->copyFastMathFlags(llvm::FastMathFlags()); // setFastMathFlags would add to those that are there
            if (auto* call = llvm::dyn_cast<llvm::CallInst>(i); call && !llvm::isa<llvm::IntrinsicInst>(call))
                call->setAttributes({});
            if (!f.getName().startswith("dmsh.host."))
                instruction(*i);
        }
        // A block that a later one, or it itself, goes to is a loop's head.
        llvm::DenseSet<const llvm::BasicBlock*> seen;
        llvm::DenseSet<llvm::BasicBlock*> heads;
        for (llvm::BasicBlock& block : f) {
            seen.insert(&block);
            for (llvm::BasicBlock* next : llvm::successors(&block))
                if (seen.count(next))
                    heads.insert(next);
        }
        for (llvm::BasicBlock& head : f)
            if (heads.count(&head)) {
                llvm::IRBuilder<> b(&*head.getFirstInsertionPt());
                b.CreateCall(loop_, b.CreateIntToPtr(llvm::ConstantInt::get(i64_, reinterpret_cast<uintptr_t>(&dmsh_air_loop)), loop_->getPointerTo()));
            }
    }

  private:
    llvm::Module& m_;
    const llvm::DataLayout& layout_;
    llvm::PointerType* bytes_;
    llvm::Type *i32_, *i64_;
    llvm::FunctionType *at_, *loop_;
};

} // namespace

void guard_module(llvm::Module& m) {
    Guard guard(m);
    for (llvm::Function& f : m)
        if (!f.isDeclaration())
            guard.function(f);
}

} // namespace dmsh::sim
