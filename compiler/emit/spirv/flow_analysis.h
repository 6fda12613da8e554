// Facts about a control-flow graph that the structurizer stands on: order, dominators, loops, reducibility.
#pragma once
#include "compiler/emit/spirv/structurizer.h"
#include <llvm/ADT/DenseMap.h>

namespace dmsh {

struct FlowAnalysis {
    std::vector<uint32_t> order;       // reachable nodes in reverse post-order
    std::vector<uint32_t> rpo;         // position of each node, kNoNode if unreachable
    std::vector<uint32_t> idom;        // immediate dominator
    std::vector<uint32_t> merge_preds; // distinct predecessors by forward edges
    std::vector<bool> header;          // of a natural loop
    std::vector<uint32_t> loop_of;     // header of the innermost loop (a header's own loop), kNoNode: none
    std::vector<uint32_t> loop_parent; // of headers: header of the loop around
    bool reducible = true;

    void analyze(const FlowGraph& graph);
    bool dominates(uint32_t a, uint32_t b) const { return in_[a] <= in_[b] && out_[b] <= out_[a]; }
    bool in_loop(uint32_t node, uint32_t head) const {
        for (uint32_t l = loop_of[node]; l != kNoNode; l = loop_parent[l])
            if (l == head)
                return true;
        return false;
    }

  private:
    void find_order(const FlowGraph& graph);
    void find_dominators(const FlowGraph& graph);
    void find_loops(const FlowGraph& graph);
    std::vector<uint32_t> pred_first_, pred_; // compressed predecessor lists
    std::vector<uint32_t> in_, out_;          // dominator tree intervals
};

// Gives every cycle with several entries a dispatcher node: its entries' edges set a selector and go to the
// dispatcher, which branches by it. New nodes: setters (node -> selector, value) and dispatchers (node ->
// selector).
void make_reducible(FlowGraph& graph, llvm::DenseMap<uint32_t, std::pair<uint32_t, uint32_t>>& setters,
                    llvm::DenseMap<uint32_t, uint32_t>& dispatchers, uint32_t& selector_count);

} // namespace dmsh
