// What one instruction lifts to, as a line of text: the dmsh.* calls it makes, in order, then what its registers receive.
#pragma once
#include "compiler/lift/intrinsics.h"
#include "tests/lift/assemble.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace dmsh::test {

// Registers hold numbers that say which they are, far enough apart that displacements show; what is made of them folds while lifting.
constexpr uint32_t kFirstHigh = 0x4100, kFirstLow = 0x4000, kProbeRegisters = 62;
constexpr uint32_t register_value(uint32_t r) { return (kFirstHigh + r) << 16 | (kFirstLow + r); }

class FormText {
  public:
    explicit FormText(const ShaderModule& shader) : shader_(shader) {}

    // Stores to local memory stand for what the register of that number holds.
    std::string text() {
        std::string calls, registers;
        for (const llvm::BasicBlock& block : *shader_.main)
            for (const llvm::Instruction& inst : block) {
                const auto id = intrinsic_of(inst);
                if (!id)
                    continue;
                const auto& call = llvm::cast<llvm::CallInst>(inst);
                if (*id == Intrinsic::local_store_32 && probe(call)) {
                    const auto r = llvm::cast<llvm::ConstantInt>(call.getArgOperand(0))->getZExtValue() / 4 - kProbe / 4;
                    const std::string now = value(call.getArgOperand(1)), own = fmt::format("R{}", r);
                    if (now != own)
                        registers += " " + own + "=" + now;
                    continue;
                }
                number_[&call] = static_cast<unsigned>(number_.size());
                calls += fmt::format("{}{}(", calls.empty() ? "" : " ", std::string_view(intrinsic_info(*id).name).substr(5)); // without dmsh.
                for (unsigned k = 0; k < call.arg_size(); ++k)
                    calls += (k ? "," : "") + value(call.getArgOperand(k));
                calls += ")";
            }
        return calls + (registers.empty() ? "" : " ->" + registers);
    }
    static constexpr uint32_t kProbe = 0x8000; // local address of R0's probe

  private:
    static bool probe(const llvm::CallInst& call) {
        const auto* at = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
        return at && at->getZExtValue() >= kProbe && at->getZExtValue() < kProbe + 4 * kProbeRegisters + 64;
    }
    // A register's content with a displacement, half of one, or one shifted right; else the number.
    static std::string word(uint32_t v) {
        const uint32_t near = (v - register_value(0) + 0x8000) >> 16;
        if (near < kProbeRegisters)
            if (const auto extra = static_cast<int32_t>(v - register_value(near)); extra > -0x2000 && extra < 0x2000)
                return extra ? fmt::format("R{}{:+}", near, extra) : fmt::format("R{}", near);
        for (uint32_t r = 0; r < kProbeRegisters; ++r) {
            if (v == kFirstLow + r || v == kFirstHigh + r)
                return fmt::format("R{}.{}", r, v == kFirstLow + r ? "low" : "high");
            for (unsigned shift = 1; shift < 5; ++shift)
                if (v == register_value(r) >> shift)
                    return fmt::format("R{}>>{}", r, shift);
        }
        return v > 0xffff ? fmt::format("0x{:x}", v) : std::to_string(v);
    }
    std::string value(const llvm::Value* v) {
        if (const auto* i = llvm::dyn_cast<llvm::ConstantInt>(v)) {
            const uint64_t bits = i->getZExtValue();
            if (i->getBitWidth() == 64 && bits >> 32)
                return word(static_cast<uint32_t>(bits >> 32)) + ":" + word(static_cast<uint32_t>(bits));
            return word(static_cast<uint32_t>(bits));
        }
        if (const auto* f = llvm::dyn_cast<llvm::ConstantFP>(v))
            return word(static_cast<uint32_t>(f->getValueAPF().bitcastToAPInt().getZExtValue()));
        if (const auto* c = llvm::dyn_cast<llvm::Constant>(v)) {
            if (c->isNullValue())
                return "0";
            std::string list;
            for (unsigned k = 0; c->getAggregateElement(k); ++k)
                list += (k ? " " : "") + value(c->getAggregateElement(k));
            return list.empty() ? "?" : "<" + list + ">";
        }
        const auto* inst = llvm::cast<llvm::Instruction>(v);
        if (const auto it = number_.find(inst); it != number_.end())
            return fmt::format("#{}", it->second);
        if (llvm::isa<llvm::BitCastInst>(inst))
            return value(inst->getOperand(0));
        if (llvm::isa<llvm::ExtractElementInst>(inst))
            return value(inst->getOperand(0)) + "[" + value(inst->getOperand(1)) + "]";
        const auto* ii = llvm::dyn_cast<llvm::IntrinsicInst>(inst);
        std::string name = ii ? llvm::Intrinsic::getBaseName(ii->getIntrinsicID()).drop_front(5).str() : inst->getOpcodeName();
        if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(inst); cast && cast->getType()->isIntegerTy())
            name += std::to_string(cast->getType()->getIntegerBitWidth());
        std::string list;
        for (unsigned k = 0; k < (ii ? ii->arg_size() : inst->getNumOperands()); ++k)
            list += (k ? "," : "") + value(inst->getOperand(k));
        return name + "(" + list + ")";
    }

    const ShaderModule& shader_;
    std::map<const llvm::Value*, unsigned> number_;
};

} // namespace dmsh::test
