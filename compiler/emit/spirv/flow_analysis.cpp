// Order, dominators (Cooper, Harvey, Kennedy), loops by union-find, and dispatchers for irreducible cycles.
#include "compiler/emit/spirv/flow_analysis.h"
#include <algorithm>
#include <llvm/ADT/ArrayRef.h>

namespace dmsh {

void FlowAnalysis::analyze(const FlowGraph& graph) {
    find_order(graph);
    find_dominators(graph);
    find_loops(graph);
}

void FlowAnalysis::find_order(const FlowGraph& graph) {
    const uint32_t n = static_cast<uint32_t>(graph.nodes.size());
    rpo.assign(n, kNoNode);
    order.clear();
    order.reserve(n);
    std::vector<std::pair<uint32_t, uint32_t>> stack;
    std::vector<bool> seen(n, false);
    stack.push_back({0, 0});
    seen[0] = true;
    while (!stack.empty()) {
        auto& [v, next] = stack.back();
        const auto& succs = graph.nodes[v].succs;
        // Successors in reverse, so that the first one comes first in the reverse post-order.
        if (next < succs.size()) {
            const uint32_t w = succs[succs.size() - 1 - next++];
            if (!seen[w]) {
                seen[w] = true;
                stack.push_back({w, 0});
            }
            continue;
        }
        order.push_back(v);
        stack.pop_back();
    }
    std::reverse(order.begin(), order.end());
    for (uint32_t i = 0; i < order.size(); ++i)
        rpo[order[i]] = i;
    pred_first_.assign(n + 1, 0);
    for (uint32_t v : order)
        for (uint32_t w : graph.nodes[v].succs)
            ++pred_first_[w + 1];
    for (uint32_t i = 0; i < n; ++i)
        pred_first_[i + 1] += pred_first_[i];
    pred_.assign(pred_first_[n], 0);
    std::vector<uint32_t> fill(pred_first_.begin(), pred_first_.end() - 1);
    for (uint32_t v : order)
        for (uint32_t w : graph.nodes[v].succs)
            pred_[fill[w]++] = v;
}

void FlowAnalysis::find_dominators(const FlowGraph& graph) {
    const uint32_t n = static_cast<uint32_t>(graph.nodes.size());
    idom.assign(n, kNoNode);
    idom[0] = 0;
    const auto meet = [&](uint32_t a, uint32_t b) {
        while (a != b) {
            while (rpo[a] > rpo[b])
                a = idom[a];
            while (rpo[b] > rpo[a])
                b = idom[b];
        }
        return a;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t v : order) {
            if (v == 0)
                continue;
            uint32_t d = kNoNode;
            for (uint32_t i = pred_first_[v]; i < pred_first_[v + 1]; ++i)
                if (idom[pred_[i]] != kNoNode)
                    d = d == kNoNode ? pred_[i] : meet(d, pred_[i]);
            if (d != idom[v]) {
                idom[v] = d;
                changed = true;
            }
        }
    }
    // Intervals: sizes bottom-up, then positions top-down.
    std::vector<uint32_t> size(n, 1), used(n, 0);
    for (uint32_t i = static_cast<uint32_t>(order.size()); i-- > 1;)
        size[idom[order[i]]] += size[order[i]];
    in_.assign(n, 0);
    out_.assign(n, 0);
    for (uint32_t v : order) {
        if (v != 0) {
            const uint32_t d = idom[v];
            in_[v] = in_[d] + 1 + used[d];
            used[d] += size[v];
        }
        out_[v] = in_[v] + size[v] - 1;
    }
}

void FlowAnalysis::find_loops(const FlowGraph& graph) {
    const uint32_t n = static_cast<uint32_t>(graph.nodes.size());
    header.assign(n, false);
    loop_of.assign(n, kNoNode);
    loop_parent.assign(n, kNoNode);
    merge_preds.assign(n, 0);
    reducible = true;
    for (uint32_t v : order) {
        uint32_t last = kNoNode;
        for (uint32_t i = pred_first_[v]; i < pred_first_[v + 1]; ++i) {
            const uint32_t p = pred_[i];
            if (rpo[p] >= rpo[v]) {
                if (dominates(v, p))
                    header[v] = true;
                else
                    reducible = false;
            } else if (p != last) { // a node's own edges lie together
                ++merge_preds[v];
            }
            last = p;
        }
    }
    if (!reducible)
        return;
    std::vector<uint32_t> rep(n);
    for (uint32_t i = 0; i < n; ++i)
        rep[i] = i;
    const auto find = [&](uint32_t v) {
        while (rep[v] != v) {
            rep[v] = rep[rep[v]];
            v = rep[v];
        }
        return v;
    };
    std::vector<uint32_t> work;
    for (uint32_t i = static_cast<uint32_t>(order.size()); i-- > 0;) {
        const uint32_t h = order[i];
        if (!header[h])
            continue;
        const auto visit_preds = [&](uint32_t v, bool latches) {
            for (uint32_t k = pred_first_[v]; k < pred_first_[v + 1]; ++k) {
                if (latches && rpo[pred_[k]] < rpo[h])
                    continue;
                const uint32_t p = find(pred_[k]);
                if (p != h && p != v)
                    work.push_back(p);
            }
        };
        visit_preds(h, true);
        while (!work.empty()) {
            const uint32_t x = work.back();
            work.pop_back();
            if (find(x) != x || x == h)
                continue;
            (header[x] ? loop_parent[x] : loop_of[x]) = h;
            rep[x] = h;
            visit_preds(x, false);
        }
        loop_of[h] = h;
    }
    (void)graph;
}

namespace {

// Strongly connected components of the part of the graph where region[v] == id, without recursion.
class Components {
  public:
    Components(const FlowGraph& g, const std::vector<uint32_t>& region, uint32_t id)
        : g_(g), region_(region), id_(id) {}

    std::vector<std::vector<uint32_t>> find(llvm::ArrayRef<uint32_t> nodes) {
        index_.assign(g_.nodes.size(), kNoNode);
        low_.assign(g_.nodes.size(), 0);
        on_stack_.assign(g_.nodes.size(), false);
        for (uint32_t v : nodes)
            if (index_[v] == kNoNode)
                walk(v);
        return std::move(result_);
    }

  private:
    void walk(uint32_t root) {
        std::vector<std::pair<uint32_t, uint32_t>> calls{{root, 0}};
        enter(root);
        while (!calls.empty()) {
            auto& [v, next] = calls.back();
            if (next < g_.nodes[v].succs.size()) {
                const uint32_t w = g_.nodes[v].succs[next++];
                if (region_[w] != id_)
                    continue;
                if (index_[w] == kNoNode) {
                    enter(w);
                    calls.push_back({w, 0});
                } else if (on_stack_[w]) {
                    low_[v] = std::min(low_[v], index_[w]);
                }
                continue;
            }
            const uint32_t done = v;
            calls.pop_back();
            if (!calls.empty())
                low_[calls.back().first] = std::min(low_[calls.back().first], low_[done]);
            if (low_[done] != index_[done])
                continue;
            std::vector<uint32_t> component;
            uint32_t w;
            do {
                w = stack_.back();
                stack_.pop_back();
                on_stack_[w] = false;
                component.push_back(w);
            } while (w != done);
            result_.push_back(std::move(component));
        }
    }
    void enter(uint32_t v) {
        index_[v] = low_[v] = counter_++;
        stack_.push_back(v);
        on_stack_[v] = true;
    }

    const FlowGraph& g_;
    const std::vector<uint32_t>& region_;
    uint32_t id_, counter_ = 0;
    std::vector<uint32_t> index_, low_, stack_;
    std::vector<bool> on_stack_;
    std::vector<std::vector<uint32_t>> result_;
};

} // namespace

void make_reducible(FlowGraph& graph, llvm::DenseMap<uint32_t, std::pair<uint32_t, uint32_t>>& setters,
                    llvm::DenseMap<uint32_t, uint32_t>& dispatchers, uint32_t& selector_count) {
    std::vector<uint32_t> region(graph.nodes.size(), 0);
    uint32_t regions = 1;
    std::vector<std::pair<uint32_t, std::vector<uint32_t>>> work(1);
    for (uint32_t v = 0; v < graph.nodes.size(); ++v)
        work[0].second.push_back(v);
    {
        FlowAnalysis a; // unreachable nodes must not count as entries
        a.analyze(graph);
        work[0].second = a.order;
        for (uint32_t v = 0; v < graph.nodes.size(); ++v)
            if (a.rpo[v] == kNoNode)
                region[v] = kNoNode;
    }
    while (!work.empty()) {
        auto [id, nodes] = std::move(work.back());
        work.pop_back();
        for (std::vector<uint32_t>& component : Components(graph, region, id).find(nodes)) {
            const auto self = [&](uint32_t v) {
                return std::find(graph.nodes[v].succs.begin(), graph.nodes[v].succs.end(), v) !=
                       graph.nodes[v].succs.end();
            };
            if (component.size() == 1 && !self(component[0]))
                continue;
            const uint32_t inner = regions++;
            for (uint32_t v : component)
                region[v] = inner;
            // Entries: targets of edges from outside the component, and the function's entry.
            std::vector<uint32_t> entries;
            for (uint32_t u = 0; u < graph.nodes.size(); ++u) {
                if (region[u] == inner || region[u] == kNoNode)
                    continue;
                for (uint32_t w : graph.nodes[u].succs)
                    if (region[w] == inner)
                        entries.push_back(w);
            }
            if (region[0] == inner)
                entries.push_back(0);
            std::sort(entries.begin(), entries.end());
            entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
            uint32_t head = entries.empty() ? component[0] : entries[0];
            if (entries.size() > 1) {
                const uint32_t selector = selector_count++;
                head = static_cast<uint32_t>(graph.nodes.size());
                graph.nodes.emplace_back();
                region.push_back(inner);
                dispatchers[head] = selector;
                graph.nodes[head].weight = 1;
                for (uint32_t e : entries)
                    graph.nodes[head].succs.push_back(e);
                const uint32_t end = head;
                for (uint32_t u = 0; u < end; ++u) {
                    if (region[u] == kNoNode)
                        continue;
                    for (size_t k = 0; k < graph.nodes[u].succs.size(); ++k) {
                        const auto it = std::find(entries.begin(), entries.end(), graph.nodes[u].succs[k]);
                        if (it == entries.end())
                            continue;
                        const uint32_t setter = static_cast<uint32_t>(graph.nodes.size());
                        graph.nodes.emplace_back();
                        graph.nodes[setter].succs.push_back(head);
                        graph.nodes[setter].weight = 1;
                        region.push_back(region[u]);
                        setters[setter] = {selector, static_cast<uint32_t>(it - entries.begin())};
                        graph.nodes[u].succs[k] = setter;
                        if (region[u] == inner)
                            component.push_back(setter);
                    }
                }
            }
            region[head] = regions++; // alone: what is left of the component is looked at again
            std::erase(component, head);
            if (!component.empty())
                work.push_back({inner, std::move(component)});
        }
    }
}

} // namespace dmsh
