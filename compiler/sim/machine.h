// The SASS interpreter: lanes, warps, workgroups and memory of a Maxwell SM, written for reading, not for speed.
//
// It is the written-down meaning of each instruction, made without LLVM and without the lifter, so that the two can be
// held against each other. Floats follow docs/numerics.md in exact mode: .FTZ flushes operands and results, MUFU is
// correctly rounded with flushed denormals, a NaN that arithmetic makes is 0x7fffffff.
#pragma once
#include "compiler/isa/isa.h"
#include "runtime/abi/result.h"
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dmsh::sim {

constexpr unsigned kLanes = 32;

// A piece of global memory: `bytes` lies at guest address `address`.
struct GlobalRange {
    uint64_t address = 0;
    std::span<uint8_t> bytes;
};

// One grid of a compute kernel.
struct Launch {
    std::span<const uint8_t> code; // from the first instruction group
    std::array<std::span<const uint8_t>, 32> banks{}; // constant banks; reads past the end give 0
    std::vector<GlobalRange> global;
    std::array<uint32_t, 3> block{1, 1, 1};
    std::array<uint32_t, 3> grid{1, 1, 1};
    uint32_t shared_bytes = 0;
    uint32_t local_bytes = 0;          // scratch per thread
    uint32_t shared_window = 0x01;     // generic addresses: bits 24..31 of the low word name the window
    uint32_t local_window = 0x02;
    uint64_t max_steps = 200'000'000;  // instructions times groups, then the launch stops with an error
};

// Kinds of the reconvergence stack's entries.
enum class Token : uint8_t { ssy, pbk, pcnt, pret, call };

struct StackEntry {
    Token token;
    uint32_t position; // where SYNC, BRK, CONT, RET goes on
};

struct Lane {
    std::array<uint32_t, 256> r{}; // r[255] is RZ and stays 0
    uint8_t p = 0x80;              // bit i = P[i]; bit 7 is PT
    bool z = false, s = false, c = false, o = false; // condition code
    bool live = false;
    bool waits = false; // at a barrier
    uint32_t position = 0;
    std::vector<StackEntry> stack;
    std::vector<uint8_t> local;
    std::array<uint32_t, 3> tid{};

    void set(uint32_t reg, uint32_t value) {
        if (reg != isa::kRz)
            r[reg] = value;
    }
    uint64_t pair(uint32_t reg) const { // RZ pairs read as 0
        return reg == isa::kRz ? 0 : r[reg] | uint64_t{r[reg + 1]} << 32;
    }
    void set_pair(uint32_t reg, uint64_t value) {
        set(reg, static_cast<uint32_t>(value));
        if (reg != isa::kRz)
            set(reg + 1, static_cast<uint32_t>(value >> 32));
    }
    bool pred(uint32_t index, bool negated = false) const { return ((p >> index & 1) != 0) != negated; }
    void set_pred(uint32_t index, bool value) {
        if (index != isa::kPt)
            p = static_cast<uint8_t>((p & ~(1u << index)) | uint32_t{value} << index);
    }
    void set_flags(bool zero, bool sign, bool carry, bool overflow) { z = zero, s = sign, c = carry, o = overflow; }
};

// State of the running workgroup that instructions can reach.
struct Group {
    const Launch* launch = nullptr;
    std::array<uint32_t, 3> ctaid{};
    std::vector<uint8_t> shared;
    // Reduction of the barrier in progress and of the last one.
    uint32_t red_count = 0, red_and = 1, red_or = 0;
    uint32_t result_count = 0, result_and = 0, result_or = 0;
    std::vector<GlobalRange> ranges; // by address
    size_t last_range = 0;

    uint32_t constant(uint32_t bank, uint32_t offset) const;
    // Pointer to `size` bytes, or nullptr when no range holds them all.
    uint8_t* at(uint64_t address, uint32_t size);
};

// Executes one instruction for one lane whose guard holds. Answers nothing, or what is not supported.
using Answer = const char*;
inline constexpr Answer kOk = nullptr;
inline constexpr char kNotMineText[] = "is not implemented"; // an array: one address in all files
inline constexpr Answer kNotMine = kNotMineText;             // the family does not have this mnemonic

// Families of lane operations, asked in turn.
Answer float_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer double_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer half_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer integer_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer convert_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer predicate_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer memory_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer special_op(Lane& lane, const isa::Instruction& i, Group& group, unsigned lane_id);

// Operations across the lanes of `mask` (those that execute, guard included).
Answer warp_op(std::span<Lane> warp, uint32_t active, uint32_t mask, const isa::Instruction& i);

// Does the 5-bit condition-code test hold?
bool condition_holds(const Lane& lane, uint32_t test);

// Runs the whole grid, workgroup after workgroup. An error names the instruction, its address and its bits.
Result<void> run(const Launch& launch);

} // namespace dmsh::sim
