// Structured control flow out of any control-flow graph: an analysis that plans SPIR-V's constructs block by
// block.
//
// Method: every node is placed below its immediate dominator (nested blocks that end where a merge node
// begins, loops around headers), so no code is ever copied. Nodes that a loop's exits reach are placed after
// the loop. An exit that the nesting cannot express directly leaves through the nearest construct and names
// its target in a selector, which is tested after that construct. Irreducible cycles get a dispatcher node in
// front of their entries. Time is linear in the graph but for the walks over nested loops.
#pragma once
#include "runtime/abi/result.h"
#include <cstdint>
#include <llvm/ADT/SmallVector.h>
#include <vector>

namespace dmsh {

constexpr uint32_t kNoNode = 0xffffffffu;

// The graph to structure. Node 0 is the entry.
struct FlowGraph {
    struct Node {
        llvm::SmallVector<uint32_t, 2> succs; // none: the node leaves the function
        bool trivial_exit = false;            // leaves and has no code: every edge to it may leave by itself
        bool convergent = false;              // holds operations that depend on which lanes are active
        uint32_t weight = 1;                  // instructions
        uint32_t merge_hint = kNoNode; // where lanes that diverge at this node's end meet again, if known
    };
    std::vector<Node> nodes;
};

// One step of the structured program. Labels are small numbers from 0; each is begun by exactly one step that
// says so.
struct FlowOp {
    enum Kind : uint8_t {
        code,   // the node's instructions, without its terminator
        label,  // begin block a
        branch, // to a
        cond,   // two-way branch on the node's condition: a for successor 0, b for successor 1; merge
        multi,  // branch by the node's successor index: targets[first + i] for successor i; merge
        block,  // begin a breakable block: a is its first label (begun by this step); merge
        loop,   // begin a loop: a header (begun by this step), b continue target, c body label (begun); merge
        leave,  // leave the function as node does
        unreachable, // never executed
        set,         // selector a = b
        test,        // selector a equals b: to c (begun by this step), else merge (not begun)
        dispatch,    // branch by the value i of selector a: targets[first + i], count of them; merge
    };
    Kind kind = code;
    uint32_t node = kNoNode;
    uint32_t a = 0, b = 0, c = 0;
    uint32_t merge = 0;
    uint32_t first = 0, count = 0;
    uint32_t reset = kNoNode; // cond, multi, block, loop, dispatch: selector set to 0 before the step
};

struct FlowProgram {
    std::vector<FlowOp> ops;
    std::vector<uint32_t> targets;
    uint32_t label_count = 0;
    uint32_t selector_count = 0; // each starts undefined
    uint32_t loops = 0;
    uint32_t depth = 0; // deepest nesting of constructs
    // Where values may reach fewer uses than in the graph: true if paths merge that the graph keeps apart.
    bool merges_paths = false;
};

// Plans the graph. Refuses only graphs that nest deeper than SPIR-V's limits.
Result<FlowProgram> structure(const FlowGraph& graph);

// For programs with merges_paths: whether the code of node `def` is executed before that of `use` on every
// path.
class FlowDominance {
  public:
    FlowDominance(const FlowProgram& program, uint32_t node_count);
    bool dominates(uint32_t def_node, uint32_t use_node) const;

  private:
    std::vector<uint32_t> block_of_node_, order_in_block_, idom_, depth_;
};

} // namespace dmsh
