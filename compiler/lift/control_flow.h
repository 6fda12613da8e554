// Control-flow recovery: a graph of blocks from branches, the reconvergence stack's instructions, calls and jump tables.
#pragma once
#include "compiler/lift/guest_code.h"
#include "compiler/lift/shader_module.h"
#include <string>
#include <vector>

namespace dmsh {

enum class FlowEnd : uint8_t {
    jump,   // successors[0]
    branch, // condition ? successors[0] : successors[1]
    table,  // BRX: by the value of `table_register`
    exit,   // the invocation ends; stage outputs are written
    never,  // cannot be reached
};

// Taken if all hold: the guard predicate (7 = PT), the condition code (15 = T), and on sm_86 a second lane predicate and a uniform one.
struct FlowCondition {
    uint8_t predicate = 7;
    bool negated = false;
    uint8_t condition_code = 15;
    uint8_t predicate2 = 7;
    bool negated2 = false;
    uint8_t uniform = 7;
    bool uniform_negated = false;
};

struct TableCase {
    uint32_t value; // of the register
    uint32_t index; // of the entry in the table
    uint32_t block;
};

// Entries of the abstract reconvergence stack.
enum class StackKind : uint8_t { root, ssy, pbk, pcnt, pret, call };

struct StackEntry {
    uint32_t parent = 0;
    StackKind kind = StackKind::root;
    uint32_t target = 0; // position that SYNC, BRK, CONT or RET goes to
    uint32_t callee = 0; // call: position of the function
    uint32_t depth = 0;
};

// One block: positions [first, last) are lifted in order; the instruction at `last` (if `end_is_instruction`) is the flow
// instruction whose effect is said by `end`, `condition` and the successors.
struct FlowBlock {
    uint32_t first = 0, last = 0;
    uint32_t stack = 0; // entry of FlowGraph::stacks at the block's start
    FlowEnd end = FlowEnd::never;
    FlowCondition condition;
    uint32_t merge_pc = kNone; // address where the branch's sides meet again, as the code says (SSY, PBK, PCNT, PRET)
    uint32_t predecessors = 0; // edges into the block
    std::vector<uint32_t> successors;
    // Tables only.
    uint32_t table_register = 0;
    bool table_uniform = false; // the register is a uniform one
    uint32_t table_offset = 0; // byte offset of entry 0 in the constants bank
    std::vector<TableCase> cases;
};

struct FlowGraph {
    std::vector<FlowBlock> blocks; // 0 is the entry
    std::vector<uint32_t> order;   // reverse post-order of the blocks
    std::vector<StackEntry> stacks; // 0 is the empty stack

    // A readable listing, one line per block.
    std::string text(const GuestCode& code) const;
};

// Every block is keyed by (position, reconvergence stack), which makes the targets of SYNC, BRK, CONT and RET static and inlines
// calls. `constants` is the bank that BRX tables live in, numbered `constants_bank`. Refuses recursion, unknown targets, and programs
// that grow past 16 blocks per instruction.
Result<FlowGraph> recover_control_flow(GuestCode& code, std::span<const uint8_t> constants, uint8_t constants_bank);

} // namespace dmsh
