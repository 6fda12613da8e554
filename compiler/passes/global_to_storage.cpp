// Guarantees: every raw global access has become an access of a storage buffer (or, for reads, of a uniform
// buffer of the compute table) with a 32-bit byte offset, as far as its address is based on one; the bindings are in the interface with their
// written and atomic flags (B-010). How: the high half of the 64-bit address names the words that may be
// bases (their low halves lie 4 bytes before); the low half is then a sum in which exactly one term is such a
// base (T-011), followed through additions, phis, selects and loop increments. Several candidates, or a table
// row chosen at run time, become a switch over the buffers. Keeps, where the guest ABI has memory pools: accesses whose address has no
// base, an ambiguous one, or may be written through a uniform buffer's; raw_memory takes those. Other ABIs refuse them.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include <llvm/ADT/SetVector.h>

namespace dmsh {
namespace {

using llvm::BinaryOperator;
using llvm::Instruction;
using llvm::Value;

// One buffer, or a run of table rows of which `row` picks one at run time.
struct Base {
    Binding binding;      // of the first row
    uint32_t rows = 1;    // candidates
    Value* row = nullptr; // i32 row number counted from the first; null if rows == 1
    bool driver = false;  // comes from the driver bank (T-011)
};

constexpr uint64_t kNullPage = 0x1000;
constexpr unsigned kMaxDepth =
    1000; // operations between an access and its base; hostile chains must not exhaust the stack
constexpr unsigned kMaxRounds = 16; // of the fixed point; loops nested that deep carry no pointers

bool is_global(Intrinsic id) {
    return id >= Intrinsic::global_load_8 && id <= Intrinsic::global_atomic_64;
}
bool is_load(Intrinsic id) {
    return id >= Intrinsic::global_load_8 && id <= Intrinsic::global_load_32;
}

// `zext lo | zext hi << 32` in either order, also as an addition.
void split_halves(Value* address, Value*& low, Value*& high) {
    low = address;
    high = nullptr;
    auto* join = llvm::dyn_cast<BinaryOperator>(address);
    if (!join || (join->getOpcode() != Instruction::Or && join->getOpcode() != Instruction::Add))
        return;
    for (unsigned k : {0u, 1u}) {
        auto* shl = llvm::dyn_cast<BinaryOperator>(join->getOperand(k));
        if (!shl || shl->getOpcode() != Instruction::Shl)
            continue;
        const auto* amount = llvm::dyn_cast<llvm::ConstantInt>(shl->getOperand(1));
        auto* zext = llvm::dyn_cast<llvm::ZExtInst>(shl->getOperand(0));
        if (amount && amount->getZExtValue() == 32 && zext && zext->getSrcTy()->isIntegerTy(32)) {
            low = join->getOperand(1 - k);
            high = zext->getOperand(0);
            return;
        }
    }
}

// Operations through which a pointer's high half keeps its base; carries (comparisons, shifts, overflow bits)
// are none of them.
bool is_sum(Instruction* inst) {
    if (auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(inst))
        return extract->getIndices()[0] == 0;
    if (auto* ii = llvm::dyn_cast<llvm::IntrinsicInst>(inst))
        return ii->getIntrinsicID() == llvm::Intrinsic::uadd_with_overflow;
    return inst->getOpcode() == Instruction::Add || inst->getOpcode() == Instruction::Sub ||
           llvm::isa<llvm::PHINode>(inst) || llvm::isa<llvm::SelectInst>(inst) ||
           llvm::isa<llvm::CastInst>(inst);
}

// Registers that nothing wrote read as zero, so a zero among a phi's inputs is no pointer and no objection.
bool is_no_pointer(Value* v) {
    const auto* c = llvm::dyn_cast<llvm::Constant>(v);
    return c && (llvm::isa<llvm::UndefValue>(c) || c->isNullValue());
}

struct DepthGuard {
    explicit DepthGuard(unsigned& d) : depth(d) { ++depth; }
    ~DepthGuard() { --depth; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;
    unsigned& depth;
};

class StoragePass {
  public:
    explicit StoragePass(ShaderModule& shader)
        : shader_(shader), abi_(*shader.input.abi), i32_(llvm::Type::getInt32Ty(*shader.context)) {}
    Result<void> run();

  private:
    void collect_bases(Value* address);
    void add_base(llvm::CallInst* high_word);
    void propagate();
    uint64_t operand_mask(Value* v) const;
    uint64_t sum_mask(Instruction* sum) const;
    uint64_t mask_of(Instruction* inst) const;
    int base_side(Instruction* sum) const;
    Value* offset_of(Value* v);
    Value* candidate_of(Value* v);
    Value* low32(llvm::IRBuilder<>& b, Value* v);
    Result<void> rewrite(llvm::CallInst* call, Intrinsic id);
    bool from_unknown_driver_word(Value* address) const;
    Value* emit(llvm::IRBuilder<>& b, llvm::CallInst* call, Intrinsic id, const Binding& binding,
                Value* offset);
    uint32_t binding_index(const Binding& fresh);

    ShaderModule& shader_;
    const GuestAbi& abi_;
    llvm::Type* i32_;
    std::vector<Base> bases_;
    llvm::DenseMap<Value*, uint32_t> base_word_; // low word's cbuf_load -> index into bases_
    llvm::DenseSet<const Value*> base_high_;     // high words of bases
    llvm::DenseMap<Value*, uint64_t> masks_;     // which bases a value may point into
    llvm::DenseMap<Value*, Value*> offsets_;     // pointer-like value -> its offset from the base
    llvm::DenseMap<Value*, Value*>
        candidates_; // pointer-like value -> number of its buffer among all candidates
    llvm::DenseSet<Value*> seen_high_;
    unsigned depth_ = 0;
    bool too_deep_ = false;
    std::vector<uint32_t> first_candidate_;
    std::vector<Binding> candidate_bindings_;
};

// Registers the base whose high word is `high_word` when the guest ABI says what it is.
void StoragePass::add_base(llvm::CallInst* high_word) {
    const auto bank = constant_u32(high_word->getArgOperand(0));
    if (!bank)
        return;
    OffsetSum at = split_offset(high_word->getArgOperand(1));
    at.constant -= 4;
    const bool in_driver = *bank == abi_.driver_bank;
    Base base;
    base.driver = in_driver;
    base.binding.bank = static_cast<uint8_t>(*bank);
    base.binding.offset = at.constant;
    const BankTable& storage = abi_.storage[static_cast<unsigned>(shader_.input.stage)];
    const bool compute = shader_.input.stage == Stage::compute;
    uint32_t rows = 1, stride = 0;
    if (const auto row = in_driver ? storage.entry(at.constant) : std::nullopt) {
        base.binding.kind = BindingKind::storage;
        base.binding.slot = *row;
        rows = storage.count - *row;
        stride = storage.stride;
    } else if (const auto entry =
                   in_driver && compute ? abi_.compute_uniforms.entry(at.constant) : std::nullopt) {
        base.binding.kind = BindingKind::uniform;
        base.binding.slot = *entry;
        base.binding.bank = static_cast<uint8_t>(abi_.uniform_first + *entry);
        base.binding.offset = 0;
        rows = abi_.compute_uniforms.count - *entry;
        stride = abi_.compute_uniforms.stride;
    } else if ((in_driver && abi_.parameters.base != kNone && at.constant >= abi_.parameters.base &&
                at.constant < abi_.parameters.end() && at.constant % 8 == 0) ||
               (*bank >= abi_.uniform_first && *bank < abi_.uniform_first + abi_.uniform_count &&
                at.constant % 8 == 0)) {
        base.binding.kind = BindingKind::storage_in_bank;
        base.binding.slot = at.constant;
    } else {
        return;
    }
    // Find the low half: a load of the same bank at the same place, 4 bytes before.
    for (llvm::User* user : high_word->getCalledFunction()->users()) {
        auto* low = llvm::dyn_cast<llvm::CallInst>(user);
        if (!low || constant_u32(low->getArgOperand(0)) != bank || base_word_.count(low))
            continue;
        const OffsetSum low_at = split_offset(low->getArgOperand(1));
        if (low_at.constant != at.constant || low_at.terms != at.terms)
            continue;
        Base found = base;
        if (!at.terms.empty()) {
            if (!stride)
                return; // an array of addresses in a uniform buffer: no table that bounds it
            llvm::IRBuilder<> b(low);
            OffsetSum variable = low_at;
            variable.constant = 0;
            const unsigned shift = llvm::Log2_32(stride);
            Value* row = nullptr;
            if (variable.terms.size() == 1)
                if (auto* shl = llvm::dyn_cast<BinaryOperator>(variable.terms[0]);
                    shl && shl->getOpcode() == Instruction::Shl && constant_u32(shl->getOperand(1)) == shift)
                    row = shl->getOperand(0);
            if (!row)
                row = b.CreateLShr(join_offset(b, variable), shift);
            found.row = row;
            const uint32_t most = max_value(row, shader_.module->getDataLayout());
            found.rows = most < rows ? most + 1 : rows;
        }
        if (bases_.size() == 64)
            return; // masks are 64 bits; what is left over is refused as untraceable
        base_word_[low] = static_cast<uint32_t>(bases_.size());
        base_high_.insert(high_word);
        bases_.push_back(found);
    }
}

// Walks the high half of an address down to the constant-bank words in it.
void StoragePass::collect_bases(Value* address) {
    llvm::SetVector<Value*> work;
    const auto push = [&](Value* v) {
        if (seen_high_.insert(v).second)
            work.insert(v);
    };
    // 64-bit part: sums, phis and selects of whole addresses.
    llvm::SetVector<Value*> wide;
    wide.insert(address);
    for (size_t i = 0; i < wide.size() && i < 512; ++i) {
        Value *low, *high;
        split_halves(wide[i], low, high);
        if (high) {
            push(high);
            continue;
        }
        if (auto* inst = llvm::dyn_cast<Instruction>(wide[i]))
            if (llvm::isa<BinaryOperator>(inst) || llvm::isa<llvm::PHINode>(inst) ||
                llvm::isa<llvm::SelectInst>(inst))
                for (Value* operand : inst->operands())
                    if (operand->getType()->isIntegerTy(64))
                        wide.insert(operand);
    }
    for (size_t i = 0; i < work.size() && i < 4096; ++i) {
        auto* inst = llvm::dyn_cast<Instruction>(work[i]);
        if (!inst)
            continue;
        if (intrinsic_of(*inst) == Intrinsic::cbuf_load)
            add_base(llvm::cast<llvm::CallInst>(inst));
        else if (is_sum(inst))
            for (Value* operand : inst->operands())
                if (!llvm::isa<llvm::Constant>(operand) && !llvm::isa<llvm::BasicBlock>(operand))
                    push(operand);
    }
}

uint64_t StoragePass::operand_mask(Value* v) const {
    const auto it = masks_.find(v);
    return it == masks_.end() ? 0 : it->second;
}

uint64_t StoragePass::sum_mask(Instruction* sum) const {
    const int side = base_side(sum);
    return side < 0 ? operand_mask(sum->getOperand(0)) | operand_mask(sum->getOperand(1))
                    : operand_mask(sum->getOperand(static_cast<unsigned>(side)));
}

uint64_t StoragePass::mask_of(Instruction* inst) const {
    if (const auto it = base_word_.find(inst); it != base_word_.end())
        return uint64_t{1} << it->second;
    switch (inst->getOpcode()) {
    case Instruction::Add: return sum_mask(inst);
    case Instruction::Or: return operand_mask(inst->getOperand(0)) | operand_mask(inst->getOperand(1));
    case Instruction::Sub: return operand_mask(inst->getOperand(0));
    case Instruction::ZExt:
    case Instruction::SExt:
    case Instruction::Trunc:
        return inst->getOperand(0)->getType()->getIntegerBitWidth() >= 32 ? operand_mask(inst->getOperand(0))
                                                                          : 0;
    case Instruction::PHI: {
        uint64_t m = 0;
        for (Value* in : llvm::cast<llvm::PHINode>(inst)->incoming_values())
            m |= operand_mask(in);
        return m;
    }
    case Instruction::Select: return operand_mask(inst->getOperand(1)) | operand_mask(inst->getOperand(2));
    case Instruction::ExtractValue: {
        // Sum of llvm.uadd.with.overflow
        auto* extract = llvm::cast<llvm::ExtractValueInst>(inst);
        auto* ii = llvm::dyn_cast<llvm::IntrinsicInst>(extract->getAggregateOperand());
        if (ii && ii->getIntrinsicID() == llvm::Intrinsic::uadd_with_overflow &&
            extract->getIndices()[0] == 0)
            return sum_mask(ii);
        return 0;
    }
    default: return 0;
    }
}

// Least fixed point of "may point into" over the function; a handful of rounds at most, loops add one each.
void StoragePass::propagate() {
    bool changed = true;
    for (unsigned round = 0; changed && round < kMaxRounds; ++round) {
        changed = false;
        for (llvm::BasicBlock& block : *shader_.main)
            for (Instruction& inst : block) {
                if (!inst.getType()->isIntegerTy())
                    continue;
                const uint64_t m = mask_of(&inst);
                if (m && operand_mask(&inst) != m) {
                    masks_[&inst] = m;
                    changed = true;
                }
            }
    }
}

// Which operand of a two-operand sum is the pointer: 0 or 1, or -1 if that is ambiguous.
int StoragePass::base_side(Instruction* sum) const {
    const uint64_t a = operand_mask(sum->getOperand(0)), b = operand_mask(sum->getOperand(1));
    if (!b)
        return 0;
    if (!a)
        return 1;
    // T-011: of two constant-bank words the driver segment's is the base.
    const auto all_driver = [&](uint64_t m) {
        for (size_t i = 0; i < bases_.size(); ++i)
            if (m >> i & 1 && !bases_[i].driver)
                return false;
        return true;
    };
    if (all_driver(a) != all_driver(b))
        return all_driver(a) ? 0 : 1;
    return -1;
}

Value* StoragePass::low32(llvm::IRBuilder<>& b, Value* v) {
    if (v->getType() == i32_)
        return v;
    if (auto* ext = llvm::dyn_cast<llvm::CastInst>(v);
        ext && (llvm::isa<llvm::ZExtInst>(ext) || llvm::isa<llvm::SExtInst>(ext)) && ext->getSrcTy() == i32_)
        return ext->getOperand(0);
    return b.CreateZExtOrTrunc(v, i32_);
}

// The i32 offset of pointer-like `v` from its base; null if the shape is not followed.
Value* StoragePass::offset_of(Value* v) {
    if (!operand_mask(v))
        return nullptr;
    if (const auto it = offsets_.find(v); it != offsets_.end())
        return it->second;
    if (depth_ >= kMaxDepth)
        return nullptr;
    const DepthGuard guard(depth_);
    auto* inst = llvm::cast<Instruction>(v);
    llvm::IRBuilder<> b(inst);
    Value* result = nullptr;
    if (base_word_.count(inst)) {
        result = b.getInt32(0);
    } else if (auto* phi = llvm::dyn_cast<llvm::PHINode>(inst)) {
        auto* mine = llvm::PHINode::Create(i32_, phi->getNumIncomingValues(), "", phi);
        offsets_[v] = mine;
        for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k) {
            Value* in = phi->getIncomingValue(k);
            Value* offset = is_no_pointer(in) ? b.getInt32(0) : offset_of(in);
            if (!offset) // the phi stays behind, unused, and dies with the shader
                offset = llvm::UndefValue::get(i32_), offsets_[v] = nullptr;
            mine->addIncoming(offset, phi->getIncomingBlock(k));
        }
        return offsets_[v];
    } else if (auto* select = llvm::dyn_cast<llvm::SelectInst>(inst)) {
        Value* t = is_no_pointer(select->getTrueValue()) ? b.getInt32(0) : offset_of(select->getTrueValue());
        Value* f =
            is_no_pointer(select->getFalseValue()) ? b.getInt32(0) : offset_of(select->getFalseValue());
        if (t && f)
            result = b.CreateSelect(select->getCondition(), t, f);
    } else if (llvm::isa<llvm::CastInst>(inst)) {
        result = offset_of(inst->getOperand(0));
    } else if (inst->getOpcode() == Instruction::Or) {
        Value *low, *high;
        split_halves(inst, low, high);
        if (high)
            result = offset_of(low);
    } else if (inst->getOpcode() == Instruction::Sub) {
        if (!operand_mask(inst->getOperand(1)))
            if (Value* x = offset_of(inst->getOperand(0)))
                result = b.CreateSub(x, low32(b, inst->getOperand(1)));
    } else {
        // Add, or the sum of an addition with carry out.
        Instruction* sum = inst;
        if (auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(inst))
            sum = llvm::cast<Instruction>(extract->getAggregateOperand());
        const int side = base_side(sum);
        if (side >= 0) {
            Value* other = sum->getOperand(1 - static_cast<unsigned>(side));
            Value* x = offset_of(sum->getOperand(static_cast<unsigned>(side)));
            if (x && sum->getType()->isIntegerTy(64) && llvm::isa<BinaryOperator>(other) &&
                llvm::cast<BinaryOperator>(other)->getOpcode() == Instruction::Shl &&
                constant_u32(llvm::cast<BinaryOperator>(other)->getOperand(1)) == 32u)
                result = x;
            else if (x) {
                auto* c = llvm::dyn_cast<llvm::ConstantInt>(x);
                result = c && c->isZero() ? low32(b, other) : b.CreateAdd(x, low32(b, other));
            }
        }
    }
    return offsets_[v] = result;
}

// The number of the buffer that `v` points into, counted over candidate_bindings_.
Value* StoragePass::candidate_of(Value* v) {
    if (const auto it = candidates_.find(v); it != candidates_.end())
        return it->second;
    if (is_no_pointer(v))
        return llvm::ConstantInt::get(i32_, 0);
    if (depth_ >= kMaxDepth) {
        too_deep_ = true;
        return llvm::ConstantInt::get(i32_, 0);
    }
    const DepthGuard guard(depth_);
    auto* inst = llvm::cast<Instruction>(v);
    llvm::IRBuilder<> b(inst);
    Value* result = nullptr;
    if (const auto it = base_word_.find(inst); it != base_word_.end()) {
        const Base& base = bases_[it->second];
        result = b.getInt32(first_candidate_[it->second]);
        if (base.row) {
            // Rows past the table do not exist; the last one stands for them.
            llvm::Value* last = b.getInt32(base.rows - 1);
            Value* row = b.CreateSelect(b.CreateICmpULT(base.row, last), base.row, last);
            result = b.CreateAdd(row, result);
        }
    } else if (auto* phi = llvm::dyn_cast<llvm::PHINode>(inst)) {
        auto* mine = llvm::PHINode::Create(i32_, phi->getNumIncomingValues(), "", phi);
        candidates_[v] = mine;
        for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k)
            mine->addIncoming(candidate_of(phi->getIncomingValue(k)), phi->getIncomingBlock(k));
        return mine;
    } else if (auto* select = llvm::dyn_cast<llvm::SelectInst>(inst)) {
        result = b.CreateSelect(select->getCondition(), candidate_of(select->getTrueValue()),
                                candidate_of(select->getFalseValue()));
    } else if (llvm::isa<llvm::CastInst>(inst) || inst->getOpcode() == Instruction::Sub) {
        result = candidate_of(inst->getOperand(0));
    } else if (inst->getOpcode() == Instruction::Or) {
        Value *low, *high;
        split_halves(inst, low, high);
        result = candidate_of(low);
    } else {
        Instruction* sum = inst;
        if (auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(inst))
            sum = llvm::cast<Instruction>(extract->getAggregateOperand());
        result = candidate_of(sum->getOperand(static_cast<unsigned>(base_side(sum))));
    }
    return candidates_[v] = result;
}

uint32_t StoragePass::binding_index(const Binding& fresh) {
    return find_or_add(shader_.interface.bindings, fresh, [&](const Binding& b) {
        return b.kind == fresh.kind && b.slot == fresh.slot && b.bank == fresh.bank &&
               b.offset == fresh.offset;
    });
}

Value* StoragePass::emit(llvm::IRBuilder<>& b, llvm::CallInst* call, Intrinsic id, const Binding& fresh,
                         Value* offset) {
    const uint32_t index = binding_index(fresh);
    Binding& binding = shader_.interface.bindings[index];
    Value* place = b.getInt32(index);
    if (fresh.kind == BindingKind::uniform) {
        // Words only: narrower loads are cut out of them.
        if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(offset)) {
            binding.bytes_read =
                std::max(binding.bytes_read, (static_cast<uint32_t>(c->getZExtValue()) & ~3u) + 4);
        } else {
            binding.dynamic = true;
        }
        if (id == Intrinsic::global_load_32)
            return dmsh::call(b, Intrinsic::ubo_load, {place, offset});
        Value* word = dmsh::call(b, Intrinsic::ubo_load, {place, b.CreateAnd(offset, ~3u)});
        Value* part = b.CreateLShr(word, b.CreateShl(b.CreateAnd(offset, 3), 3));
        return b.CreateTrunc(part, call->getType());
    }
    binding.written |= !is_load(id);
    binding.atomic |= id == Intrinsic::global_atomic_32 || id == Intrinsic::global_atomic_64;
    // The dictionary lists the bound forms in the order of the raw ones.
    const auto bound =
        static_cast<Intrinsic>(static_cast<unsigned>(id) - static_cast<unsigned>(Intrinsic::global_load_8) +
                               static_cast<unsigned>(Intrinsic::ssbo_load_8));
    llvm::SmallVector<Value*, 6> operands{place, offset};
    for (unsigned k = 1; k < call->arg_size(); ++k)
        operands.push_back(call->getArgOperand(k));
    return dmsh::call(b, bound, operands);
}

// Is the address made of a word of the driver's constants that is in no table? The runtime fills no such word (B-003), so a look-up by its
// value would be a guess.
bool StoragePass::from_unknown_driver_word(Value* address) const {
    constexpr size_t kMostVisited = 256;
    llvm::SetVector<Value*> work;
    work.insert(address);
    for (size_t i = 0; i < work.size() && i < kMostVisited; ++i) {
        auto* inst = llvm::dyn_cast<Instruction>(work[i]);
        if (!inst)
            continue;
        if (intrinsic_of(*inst) == Intrinsic::cbuf_load) {
            if (constant_u32(inst->getOperand(0)) == abi_.driver_bank && !base_word_.count(inst) && !base_high_.count(inst))
                return true;
        } else if (is_sum(inst) || inst->getOpcode() == Instruction::Or || inst->getOpcode() == Instruction::Shl) {
            for (Value* operand : inst->operands())
                if (llvm::isa<Instruction>(operand))
                    work.insert(operand);
        }
    }
    return false;
}

Result<void> StoragePass::rewrite(llvm::CallInst* call, Intrinsic id) {
    Value* address = call->getArgOperand(0);
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(address); constant && constant->getValue().ult(kNullPage)) {
        // Only code that never runs has such an address (registers that nothing wrote read as zero). Outside of any memory
        // pool loads give zero and stores vanish (B-060).
        if (!call->getType()->isVoidTy())
            call->replaceAllUsesWith(llvm::Constant::getNullValue(call->getType()));
        call->eraseFromParent();
        return {};
    }
    const uint64_t mask = operand_mask(address);
    Value* offset = mask ? offset_of(address) : nullptr;
    if (!offset && abi_.memory_pools && !from_unknown_driver_word(address))
        return {};
    if (!offset)
        return refuse(
            *call, LossCode::storage,
            std::string("the address of ") + intrinsic_info(id).name +
                (mask ? " has an ambiguous base" : " is based on no buffer that the guest ABI knows"));
    // Which base remains after the sums have chosen their sides.
    llvm::SmallVector<Binding, 16> candidates;
    const bool single = (mask & (mask - 1)) == 0 && bases_[llvm::countTrailingZeros(mask)].rows == 1;
    if (single) {
        candidates.push_back(bases_[llvm::countTrailingZeros(mask)].binding);
    } else {
        candidates.assign(candidate_bindings_.begin(), candidate_bindings_.end());
    }
    if (!is_load(id))
        for (const Binding& b : candidates)
            if (b.kind == BindingKind::uniform && single) {
                if (abi_.memory_pools)
                    return {};
                return refuse(*call, LossCode::storage,
                              "a store to uniform buffer " + std::to_string(b.slot) + " is not implemented");
            }
    if (single) {
        llvm::IRBuilder<> b(call);
        Value* bound = emit(b, call, id, candidates[0], offset);
        if (!call->getType()->isVoidTy())
            call->replaceAllUsesWith(bound);
        call->eraseFromParent();
        return {};
    }
    // Only the candidates of this access's bases take part: number them anew, by table.
    Value* number = candidate_of(address);
    if (too_deep_ && abi_.memory_pools)
        return {};
    if (too_deep_)
        return refuse(*call, LossCode::storage,
                      std::string("the address of ") + intrinsic_info(id).name + " is too far from its base");
    llvm::SmallVector<uint32_t, 16> used;
    for (size_t i = 0; i < bases_.size(); ++i)
        if (mask >> i & 1)
            for (uint32_t r = 0; r < bases_[i].rows; ++r)
                used.push_back(first_candidate_[i] + r);
    llvm::IRBuilder<> b(call);
    if (used.back() - used.front() + 1 == used.size()) {
        if (used.front())
            number = b.CreateSub(number, b.getInt32(used.front()));
    } else {
        Value* dense = b.getInt32(static_cast<uint32_t>(used.size() - 1));
        for (size_t k = 0; k + 1 < used.size(); ++k)
            dense = b.CreateSelect(b.CreateICmpEQ(number, b.getInt32(used[k])),
                                   b.getInt32(static_cast<uint32_t>(k)), dense);
        number = dense;
    }
    for (const uint32_t k : used)
        if (!is_load(id) && candidates[k].kind == BindingKind::uniform) {
            if (abi_.memory_pools)
                return {};
            return refuse(*call, LossCode::storage, "a store to a uniform buffer is not implemented");
        }
    switch_over(call, number, static_cast<unsigned>(used.size()), [&](unsigned k, llvm::IRBuilder<>& in) {
        return emit(in, call, id, candidates[used[k]], offset);
    });
    return {};
}

Result<void> StoragePass::run() {
    const auto calls = collect_calls(*shader_.main);
    bool any = false;
    for (const auto& [call, id] : calls)
        if (is_global(id)) {
            collect_bases(call->getArgOperand(0));
            any = true;
        }
    if (!any)
        return {};
    for (const Base& base : bases_) {
        first_candidate_.push_back(static_cast<uint32_t>(candidate_bindings_.size()));
        for (uint32_t r = 0; r < base.rows; ++r) {
            Binding row = base.binding;
            row.slot += r;
            if (row.kind == BindingKind::uniform)
                row.bank = static_cast<uint8_t>(row.bank + r);
            else if (base.rows > 1)
                row.offset += r * abi_.storage[static_cast<unsigned>(shader_.input.stage)].stride;
            candidate_bindings_.push_back(row);
        }
    }
    propagate();
    for (const auto& [call, id] : calls)
        if (is_global(id))
            if (auto r = rewrite(call, id); !r)
                return r;
    return {};
}

} // namespace

Result<void> global_to_storage(ShaderModule& shader) {
    return StoragePass(shader).run();
}

} // namespace dmsh
