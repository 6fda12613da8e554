// GuestCode: the instructions of one program by position, decoded once and on demand.
#pragma once
#include "compiler/isa/isa.h"
#include "runtime/abi/result.h"
#include "runtime/abi/stage.h"
#include <cstdint>
#include <span>
#include <vector>

namespace dmsh {

// Positions count instructions without scheduling words: on sm53 position p is at byte (p / 3) * 32 + 8 + (p % 3) * 8.
class GuestCode {
  public:
    GuestCode(Arch arch, std::span<const uint8_t> bytes);

    uint32_t size() const { return static_cast<uint32_t>(decoded_.size()); }
    uint32_t pc_of(uint32_t position) const {
        return arch_ == Arch::sm53 ? position / 3 * 32 + 8 + position % 3 * 8 : position * 16;
    }
    // The position that byte address `pc` names, or nothing if it names none. A multiple of 32 names the group's first
    // instruction on sm53 (cuda corpus: a third of all branch targets are written so).
    std::optional<uint32_t> position_of(int64_t pc) const;

    // The instruction, or nullptr if no table row matches its bits.
    const isa::Instruction* at(uint32_t position);

    // "sm53 instruction <mnemonic> at 0x1a8 (5b00...) <what>" (T-002).
    Error error_at(uint32_t position, std::string_view what);

    Arch arch() const { return arch_; }

  private:
    enum State : uint8_t { untouched, good, bad };
    Arch arch_;
    std::span<const uint8_t> bytes_;
    std::vector<isa::Instruction> decoded_;
    std::vector<State> state_;
};

// The same sentence for an instruction at hand.
Error instruction_error(Arch arch, const isa::Instruction& inst, std::string_view what);

} // namespace dmsh
