// LiftContext: what a mnemonic's function works with: operands in, registers out, an IR builder in between.
#pragma once
#include "compiler/isa/isa.h"
#include "compiler/lift/intrinsics.h"
#include "compiler/lift/shader_module.h"
#include "compiler/lift/ssa_builder.h"
#include "compiler/lift/stage_facts.h"
#include <tuple>

namespace dmsh {

using llvm::Value;

// Bits 110..112 of an sm_86 word that name no scoreboard.
constexpr uint8_t kNoBarrier = 7;

class LiftContext {
  public:
    LiftContext(ShaderModule& shader, const StageFacts& facts, SsaBuilder& ssa);

    // ---- registers. Values are i32; the same bits as float, half pair, i64 or double on request. RZ reads 0 and drops writes.
    Value* reg(uint64_t r);
    Value* reg_float(uint64_t r) { return as_float(reg(r)); }
    Value* reg64(uint64_t r);                     // pair r (low), r + 1 (high); RZ: 0
    Value* reg_double(uint64_t r) { return as_double(reg64(r)); }
    void set_reg(uint64_t r, Value* value);       // i32, float, or half-pair bits as i32
    void set_reg64(uint64_t r, Value* value);     // i64 or double
    // ---- predicates (i1). PT reads true and drops writes.
    Value* predicate(uint64_t p, bool negated = false);
    void set_predicate(uint64_t p, Value* value);
    // ---- uniform registers and predicates (sm_86): URZ reads 0, UPT true. Instructions of the uniform datapath reach them through
    // reg() and predicate() as well.
    Value* ureg(uint64_t r);
    Value* ureg64(uint64_t r) { return r >= isa::kUrz ? i64(0) : pair(ureg(r), ureg(r + 1)); }
    void set_ureg(uint64_t r, Value* value);
    Value* upredicate(uint64_t p, bool negated = false);
    void set_upredicate(uint64_t p, Value* value);
    // ---- condition code flags (i1)
    Value* flag(Variable which) { return ssa_.read(block_, which); }
    // The result of the last BAR.RED (i32).
    Value* barrier_result() { return ssa_.read(block_, kBarrierResult); }
    void set_barrier_result(Value* value) { write(kBarrierResult, value); }
    void set_flag(Variable which, Value* value) { write(which, value); }
    // Z and S of an integer result, C and O as given (null: cleared).
    void set_integer_flags(Value* result, Value* carry = nullptr, Value* overflow = nullptr, Value* lower_zero = nullptr);
    // Some instruction of the program reads the overflow flag.
    bool overflow_wanted() const { return flags_read_ & 8; }
    // Z and S of a float result: both set for NaN; C and O cleared.
    void set_float_flags(Value* result);
    // The 5-bit test of the condition code as i1.
    Value* condition_code(uint64_t test);

    // ---- operands of the instruction at hand, without modifiers
    Value* src_a() { return reg(inst_->get(isa::F::src_a)); }
    Value* src_b();   // register, constant bank, or immediate, as the form says
    Value* src_c();   // register, constant bank (reg_cbuf), immediate (reg_imm)
    Value* src_b64(); // pair, two bank words, or the double of an immediate
    Value* src_c64();
    Value* src_b_float() { return as_float(src_b()); }
    Value* src_c_float() { return as_float(src_c()); }
    Value* cbuf(uint64_t bank, uint64_t offset);
    Value* src_predicate() { return predicate(get(isa::F::src_pred), flag(isa::F::src_pred_neg)); }

    uint64_t get(isa::F field) const { return inst_->get(field); }
    bool flag(isa::F field) const { return inst_->flag(field); }
    bool has(isa::F field) const { return inst_->has(field); }
    const isa::Instruction& inst() const { return *inst_; }
    const StageFacts& facts() const { return facts_; }

    // ---- values
    Value* i1(bool v) { return llvm::ConstantInt::getBool(b.getContext(), v); }
    Value* i32(uint32_t v) { return b.getInt32(v); }
    Value* i64(uint64_t v) { return b.getInt64(v); }
    Value* f32(double v) { return llvm::ConstantFP::get(b.getFloatTy(), v); }
    Value* f64(double v) { return llvm::ConstantFP::get(b.getDoubleTy(), v); }
    Value* as_int(Value* v);    // float, half or double to the integer of the same bits
    Value* as_float(Value* v);  // i32 to float
    Value* as_double(Value* v); // i64 to double
    Value* zext64(Value* v) { return b.CreateZExt(v, b.getInt64Ty()); }
    Value* sext64(Value* v) { return b.CreateSExt(v, b.getInt64Ty()); }
    Value* low32(Value* v) { return b.CreateTrunc(v, b.getInt32Ty()); }
    Value* high32(Value* v) { return b.CreateTrunc(b.CreateLShr(v, 32), b.getInt32Ty()); }
    Value* bool_to_int(Value* v, uint32_t if_true) { return b.CreateSelect(v, i32(if_true), i32(0)); }
    // llvm.* with one overloaded type, that of the first operand.
    Value* math(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> operands);
    // The declaration of llvm.* for the given overloaded types (a second one only for conversions).
    llvm::Function* math_function(llvm::Intrinsic::ID id, llvm::Type* type, llvm::Type* second = nullptr);
    // dmsh.*; calls that are not pure carry `!dmsh.pc`, the instruction's address.
    llvm::CallInst* call(Intrinsic id, llvm::ArrayRef<Value*> operands);

    // Stops the lift after this instruction: "sm53 instruction X at 0x.. (..) <what>". The first call counts.
    void refuse(std::string_view what = "is not implemented");
    bool refused() const { return error_.has_value(); }

    ShaderModule& shader;
    const ShaderInput& input;
    llvm::IRBuilder<> b;

    bool exact() const { return input.float_mode == FloatMode::exact; }

  private:
    friend class Lifter;
    void write(Variable v, Value* value);
    Value* pair(Value* low, Value* high);
    uint64_t zero_register() const { return uniform_ ? isa::kUrz : isa::kRz; }
    Value* read_predicate(Variable first, uint64_t p, bool negated);

    // A register write that an instruction left to a scoreboard (T-103); `guard` as at issue (T-142).
    struct Deferred {
        Variable variable;
        uint8_t barrier;
        bool in_region; // the value lies in a block that its guard alone reaches
        Value* value;
        Value* guard;
    };
    // Carries out the deferred writes of the barriers in `mask`, oldest first.
    void commit(uint32_t mask);

    const StageFacts& facts_;
    SsaBuilder& ssa_;
    SsaBuilder::Block block_ = 0;
    const isa::Instruction* inst_ = nullptr;
    bool uniform_ = false;      // the instruction runs in the uniform datapath
    uint8_t barrier_ = kNoBarrier; // scoreboard that the instruction's writes wait for
    bool in_region_ = false;
    std::vector<Deferred> deferred_;
    Value* guard_ = nullptr; // pure instructions under a guard: writes select between new and old by it
    llvm::MDNode* pc_node_ = nullptr;
    uint32_t pc_of_node_ = ~0u;
    unsigned pc_kind_ = 0;
    uint8_t flags_read_ = 0xf; // bit 0 Z, 1 S, 2 C, 3 O: some instruction of the program reads it
    std::vector<std::tuple<llvm::Intrinsic::ID, llvm::Type*, llvm::Type*, llvm::Function*>> math_;
    std::optional<Error> error_;
    std::array<llvm::Function*, static_cast<size_t>(Intrinsic::count)> functions_{};
};

// How an instruction's effects may be guarded: `pure` ones run always and select what they write; `branch` ones get a block of their
// own; `flow` is done by control-flow recovery; `refused` is known and not implemented.
enum class LiftKind : uint8_t { missing, pure, branch, flow, refused };

struct LiftEntry {
    LiftKind kind = LiftKind::missing;
    void (*function)(LiftContext&) = nullptr;
};

} // namespace dmsh
