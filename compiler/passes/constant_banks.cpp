// Guarantees: every constant-bank read names a binding (driver, constants, handles, uniform; B-002), with the
// highest constant byte read and whether run-time offsets occur. The base instance of vertex shaders is the
// target's own (B-008), not a driver word. A bank chosen at run time (LDC .IS/.ISL, T-043, T-133) becomes a
// switch over the banks that it can reach, never c[0]; where nothing bounds it, over all from the instruction's own
// on. T-133 asks for those that the program names elsewhere and c[1]; arrays of uniform blocks name the first one
// alone (fs_ubo_array_dynamic_block), and a bank too many costs a binding, not a wrong value.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

class BankPass {
  public:
    explicit BankPass(ShaderModule& shader) : shader_(shader), abi_(*shader.input.abi) {}

    Result<void> run() {
        llvm::Function* load = shader_.module->getFunction(intrinsic_info(Intrinsic::cbuf_load).name);
        if (!load)
            return {};
        // Users in program order, so that bindings number the same whatever the use list's order is.
        for (const auto& [call, id] : collect_calls(*shader_.main))
            if (id == Intrinsic::cbuf_load)
                if (auto r = rewrite(call); !r)
                    return r;
        return {};
    }

  private:
    std::optional<Binding> binding_of(uint32_t bank) const {
        Binding b;
        b.bank = static_cast<uint8_t>(bank);
        if (bank == abi_.driver_bank)
            b.kind = BindingKind::driver;
        else if (bank == abi_.constants_bank)
            b.kind = BindingKind::constants;
        else if (bank == abi_.handle_bank)
            b.kind = BindingKind::handles;
        else if (bank >= abi_.uniform_first && bank < abi_.uniform_first + abi_.uniform_count) {
            b.kind = BindingKind::uniform;
            b.slot = bank - abi_.uniform_first;
        } else if (bank == kPushBank && shader_.input.layout) {
            b.kind = BindingKind::push_constants;
        } else {
            return std::nullopt;
        }
        return b;
    }

    llvm::Value* emit(llvm::IRBuilder<>& b, uint32_t bank, llvm::Value* offset) {
        const Binding fresh = *binding_of(bank);
        const uint32_t index = find_or_add(shader_.interface.bindings, fresh, [&](const Binding& other) {
            return other.kind == fresh.kind && other.slot == fresh.slot;
        });
        Binding& binding = shader_.interface.bindings[index];
        if (const auto c = constant_u32(offset))
            binding.bytes_read = std::max(binding.bytes_read, *c + 4);
        else
            binding.dynamic = true;
        return dmsh::call(b, Intrinsic::ubo_load, {b.getInt32(index), offset});
    }

    Result<void> rewrite(llvm::CallInst* call) {
        llvm::Value* offset = call->getArgOperand(1);
        llvm::IRBuilder<> b(call);
        if (const auto bank = constant_u32(call->getArgOperand(0))) {
            if (!binding_of(*bank))
                return refuse(*call, LossCode::constant_bank,
                              "constant bank c[" + std::to_string(*bank) + "] is not one of the guest ABI " +
                                  std::string(abi_.name));
            const bool base_instance = *bank == abi_.driver_bank && abi_.base_instance != kNone &&
                                       constant_u32(offset) == abi_.base_instance &&
                                       shader_.input.stage == Stage::vertex;
            llvm::Value* value =
                base_instance
                    ? dmsh::call(b, Intrinsic::special,
                                 {b.getInt32(static_cast<uint32_t>(SpecialRegister::base_instance))})
                    : emit(b, *bank, offset);
            call->replaceAllUsesWith(value);
            call->eraseFromParent();
            return {};
        }
        // bank = encoded bank + upper half of the register
        const OffsetSum sum = split_offset(call->getArgOperand(0));
        OffsetSum variable = sum;
        variable.constant = 0;
        llvm::Value* step = join_offset(b, variable);
        const uint32_t most = max_value(step, shader_.module->getDataLayout());
        llvm::SmallVector<uint32_t, 16> banks; // by step; ~0 = no such bank
        const uint32_t end = abi_.uniform_first + abi_.uniform_count;
        for (uint32_t bank = sum.constant; bank < end && bank - sum.constant <= most; ++bank)
            banks.push_back(bank != abi_.driver_bank && binding_of(bank) ? bank : ~0u);
        if (banks.empty() || llvm::all_of(banks, [](uint32_t bank) { return bank == ~0u; }))
            return refuse(*call, LossCode::constant_bank,
                          "a constant bank chosen at run time reaches no bank that can be bound");
        while (banks.back() == ~0u)
            banks.pop_back();
        switch_over(call, step, static_cast<unsigned>(banks.size()),
                    [&](unsigned k, llvm::IRBuilder<>& in) -> llvm::Value* {
                        return banks[k] == ~0u ? in.getInt32(0) : emit(in, banks[k], offset);
                    });
        return {};
    }

    ShaderModule& shader_;
    const GuestAbi& abi_;
};

} // namespace

Result<void> bind_constant_banks(ShaderModule& shader) {
    return BankPass(shader).run();
}

} // namespace dmsh
