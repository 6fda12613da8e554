// Decoding on demand.
#include "compiler/lift/guest_code.h"
#include <fmt/format.h>

namespace dmsh {
namespace {

uint64_t word_at(std::span<const uint8_t> bytes, size_t offset) {
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; ++i)
        v |= uint64_t{bytes[offset + i]} << 8 * i;
    return v;
}

isa::Arch isa_arch(Arch arch) { return arch == Arch::sm53 ? isa::Arch::sm_53 : isa::Arch::sm_86; }

std::string hex_of(Arch arch, uint64_t lo, uint64_t hi) {
    return arch == Arch::sm53 ? fmt::format("{:016x}", lo) : fmt::format("{:016x} {:016x}", lo, hi);
}

} // namespace

GuestCode::GuestCode(Arch arch, std::span<const uint8_t> bytes) : arch_(arch), bytes_(bytes) {
    const size_t tail = bytes.size() % 32 / 8;
    const size_t count = arch == Arch::sm53 ? bytes.size() / 32 * 3 + (tail ? tail - 1 : 0) : bytes.size() / 16;
    decoded_.resize(count);
    state_.resize(count, untouched);
}

std::optional<uint32_t> GuestCode::position_of(int64_t pc) const {
    if (pc < 0)
        return std::nullopt;
    uint64_t position;
    if (arch_ == Arch::sm53) {
        if (pc % 8)
            return std::nullopt;
        const uint64_t slot = static_cast<uint64_t>(pc) % 32 / 8;
        position = static_cast<uint64_t>(pc) / 32 * 3 + (slot ? slot - 1 : 0);
    } else {
        if (pc % 16)
            return std::nullopt;
        position = static_cast<uint64_t>(pc) / 16;
    }
    if (position >= decoded_.size())
        return std::nullopt;
    return static_cast<uint32_t>(position);
}

const isa::Instruction* GuestCode::at(uint32_t position) {
    if (position >= decoded_.size())
        return nullptr;
    if (state_[position] == untouched) {
        const uint32_t pc = pc_of(position);
        const uint64_t lo = word_at(bytes_, pc), hi = arch_ == Arch::sm53 ? 0 : word_at(bytes_, pc + 8);
        if (const auto inst = isa::decode(isa_arch(arch_), lo, hi, pc)) {
            decoded_[position] = *inst;
            state_[position] = good;
        } else {
            state_[position] = bad;
        }
    }
    return state_[position] == good ? &decoded_[position] : nullptr;
}

Error GuestCode::error_at(uint32_t position, std::string_view what) {
    if (const isa::Instruction* inst = at(position))
        return instruction_error(arch_, *inst, what);
    const uint32_t pc = pc_of(position);
    const uint64_t lo = word_at(bytes_, pc), hi = arch_ == Arch::sm53 ? 0 : word_at(bytes_, pc + 8);
    return Error{fmt::format("{} instruction ? at 0x{:x} ({}) {}", arch_name(arch_), pc, hex_of(arch_, lo, hi), what)};
}

Error instruction_error(Arch arch, const isa::Instruction& inst, std::string_view what) {
    return Error{fmt::format("{} instruction {} at 0x{:x} ({}) {}", arch_name(arch), inst.mnemonic(), inst.pc, hex_of(arch, inst.lo, inst.hi), what)};
}

} // namespace dmsh
