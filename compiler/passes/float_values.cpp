// Guarantees: no web of phis and selects carries floats as integers where that costs more bitcasts than it saves: registers have no
// type, so lifted code merges all values as i32. Keeps: every bit; a merged value is never computed with, only moved.
#include "compiler/lift/intrinsics.h"
#include "compiler/passes/passes.h"
#include <llvm/IR/IRBuilder.h>

namespace dmsh {
namespace {

using llvm::Instruction;
using llvm::Value;

bool merges(const Value* v) {
    return v->getType()->isIntegerTy(32) && llvm::isa<llvm::PHINode, llvm::SelectInst>(v);
}

unsigned first_data_operand(const Instruction& i) {
    return llvm::isa<llvm::SelectInst>(i) ? 1 : 0;
}

bool is_float_cast(const Value* v) {
    const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(v);
    return cast && cast->getType()->isFloatTy() && cast->getSrcTy()->isIntegerTy(32);
}
const llvm::BitCastInst* cast_of_float(const Value* v) {
    const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(v);
    return cast && cast->getType()->isIntegerTy(32) && cast->getSrcTy()->isFloatTy() ? cast : nullptr;
}

// Outputs are floats more often than not, and their emitters cast.
bool is_output(const llvm::Use& use) {
    const auto id = intrinsic_of(*llvm::cast<Instruction>(use.getUser()));
    return id && ((*id == Intrinsic::attr_store && use.getOperandNo() == 1) || (*id == Intrinsic::frag_colour && use.getOperandNo() == 2));
}

class Web {
  public:
    explicit Web(Instruction* first, llvm::DenseSet<const Value*>& seen) {
        seen.insert(first);
        members_.push_back(first);
        for (size_t k = 0; k < members_.size(); ++k) { // grows
            Instruction* m = members_[k];
            bool other_use = false;
            for (const llvm::Use& use : m->uses()) {
                auto* user = llvm::cast<Instruction>(use.getUser());
                if (merges(user) && use.getOperandNo() >= first_data_operand(*user))
                    add(user, seen);
                else if (is_float_cast(user) || is_output(use))
                    ++gain_;
                else
                    other_use = true;
            }
            loss_ += other_use;
            for (unsigned o = first_data_operand(*m); o < m->getNumOperands(); ++o) {
                Value* v = m->getOperand(o);
                if (merges(v))
                    add(llvm::cast<Instruction>(v), seen);
                else if (const auto* cast = cast_of_float(v))
                    gain_ += cast->hasOneUse();
                else
                    loss_ += !llvm::isa<llvm::Constant>(v);
            }
        }
    }

    bool pays() const { return gain_ > loss_; }

    void convert() {
        llvm::Type* real = llvm::Type::getFloatTy(members_[0]->getContext());
        llvm::DenseMap<const Value*, Instruction*> to;
        for (Instruction* m : members_) {
            llvm::IRBuilder<> b(m);
            if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(m))
                to[m] = b.CreatePHI(real, phi->getNumIncomingValues());
            else
                to[m] = llvm::SelectInst::Create(m->getOperand(0), llvm::UndefValue::get(real), llvm::UndefValue::get(real), "", m);
        }
        const auto as_float = [&](Value* v, Instruction* before) -> Value* {
            if (const auto it = to.find(v); it != to.end())
                return it->second;
            if (const auto* cast = cast_of_float(v))
                return cast->getOperand(0);
            if (llvm::isa<llvm::UndefValue>(v))
                return llvm::UndefValue::get(real);
            return llvm::IRBuilder<>(before).CreateBitCast(v, real);
        };
        for (Instruction* m : members_) {
            if (auto* phi = llvm::dyn_cast<llvm::PHINode>(m)) {
                auto* made = llvm::cast<llvm::PHINode>(to[m]);
                for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k) {
                    // One value per block, also where a block comes twice.
                    llvm::BasicBlock* from = phi->getIncomingBlock(k);
                    const int before = made->getBasicBlockIndex(from);
                    made->addIncoming(before >= 0 ? made->getIncomingValue(static_cast<unsigned>(before))
                                                  : as_float(phi->getIncomingValue(k), from->getTerminator()),
                                      from);
                }
            } else {
                to[m]->setOperand(1, as_float(m->getOperand(1), to[m]));
                to[m]->setOperand(2, as_float(m->getOperand(2), to[m]));
            }
        }
        for (Instruction* m : members_) {
            llvm::SmallVector<Instruction*, 4> casts;
            bool others = false;
            for (llvm::User* user : m->users()) {
                if (is_float_cast(user))
                    casts.push_back(llvm::cast<Instruction>(user));
                else
                    others = others || !to.count(user);
            }
            for (Instruction* cast : casts) {
                cast->replaceAllUsesWith(to[m]);
                cast->eraseFromParent();
            }
            if (!others)
                continue;
            Instruction* at = llvm::isa<llvm::PHINode>(m) ? &*m->getParent()->getFirstInsertionPt() : m;
            Value* word = llvm::IRBuilder<>(at).CreateBitCast(to[m], m->getType());
            m->replaceUsesWithIf(word, [&](llvm::Use& u) { return !to.count(u.getUser()); });
        }
        for (Instruction* m : members_)
            m->dropAllReferences();
        for (Instruction* m : members_) {
            m->replaceAllUsesWith(llvm::UndefValue::get(m->getType()));
            m->eraseFromParent();
        }
    }

  private:
    void add(Instruction* i, llvm::DenseSet<const Value*>& seen) {
        if (seen.insert(i).second)
            members_.push_back(i);
    }

    llvm::SmallVector<Instruction*, 8> members_;
    unsigned gain_ = 0, loss_ = 0;
};

} // namespace

Result<void> float_values(ShaderModule& shader) {
    llvm::DenseSet<const Value*> seen;
    std::vector<Web> webs;
    for (llvm::BasicBlock& block : *shader.main)
        for (Instruction& inst : block)
            if (merges(&inst) && !seen.count(&inst))
                if (Web web(&inst, seen); web.pays())
                    webs.push_back(std::move(web));
    for (Web& web : webs)
        web.convert();
    return {};
}

} // namespace dmsh
