// The structurizer against random graphs: the structured program visits the same nodes in the same order.
#include "compiler/emit/spirv/structurizer.h"
#include <gtest/gtest.h>
#include <random>

using namespace dmsh;

namespace {

// Which successor node v takes at its n-th execution: any fixed function will do.
uint32_t decide(uint32_t seed, uint32_t v, uint32_t visit, uint32_t count) {
    uint32_t h = seed * 0x9e3779b1u ^ v * 0x85ebca6bu ^ visit * 0xc2b2ae35u;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 12;
    return count ? h % count : 0;
}

struct Rng { // 32-bit results, whatever the library
    std::mt19937 engine;
    explicit Rng(uint32_t seed) : engine(seed) {}
    uint32_t operator()() { return static_cast<uint32_t>(engine()); }
};

constexpr size_t kSteps = 400;

std::vector<uint32_t> run_graph(const FlowGraph& g, uint32_t seed) {
    std::vector<uint32_t> trace, visits(g.nodes.size(), 0);
    for (uint32_t v = 0; trace.size() < kSteps;) {
        trace.push_back(v);
        const auto& s = g.nodes[v].succs;
        if (s.empty())
            break;
        v = s[decide(seed, v, visits[v]++, static_cast<uint32_t>(s.size()))];
    }
    return trace;
}

std::vector<uint32_t> run_program(const FlowGraph& g, const FlowProgram& p, uint32_t seed,
                                  std::string& problem) {
    std::vector<uint32_t> at(p.label_count, ~0u), selectors(p.selector_count, 0xdead),
        visits(g.nodes.size(), 0);
    for (uint32_t i = 0; i < p.ops.size(); ++i) {
        const FlowOp& o = p.ops[i];
        const auto begin = [&](uint32_t label) {
            if (at[label] != ~0u)
                problem = "label begun twice";
            at[label] = i + 1;
        };
        switch (o.kind) {
        case FlowOp::label: begin(o.a); break;
        case FlowOp::block: begin(o.a); break;
        case FlowOp::loop: begin(o.a), begin(o.c); break;
        case FlowOp::test: begin(o.c); break;
        default: break;
        }
    }
    std::vector<uint32_t> trace;
    const auto choice = [&](uint32_t v) {
        return decide(seed, v, visits[v]++, static_cast<uint32_t>(g.nodes[v].succs.size()));
    };
    size_t guard = 0;
    for (uint32_t pc = 0; trace.size() < kSteps;) {
        if (pc >= p.ops.size() || ++guard > kSteps * 200) {
            problem = "ran away";
            return trace;
        }
        const FlowOp& o = p.ops[pc];
        if (o.reset != kNoNode)
            selectors[o.reset] = 0;
        switch (o.kind) {
        case FlowOp::code:
            trace.push_back(o.node);
            if (g.nodes[o.node].succs.size() == 1) // keep the count in step with run_graph
                ++visits[o.node];
            ++pc;
            break;
        case FlowOp::label: problem = "fell into a label"; return trace;
        case FlowOp::branch: pc = at[o.a]; break;
        case FlowOp::cond: pc = at[choice(o.node) == 0 ? o.a : o.b]; break;
        case FlowOp::multi: pc = at[p.targets[o.first + choice(o.node)]]; break;
        case FlowOp::dispatch:
            if (selectors[o.a] >= o.count) {
                problem = "selector not set";
                return trace;
            }
            pc = at[p.targets[o.first + selectors[o.a]]];
            break;
        case FlowOp::block:
        case FlowOp::loop: ++pc; break;
        case FlowOp::leave:
            if (g.nodes[o.node].trivial_exit && (trace.empty() || trace.back() != o.node))
                trace.push_back(o.node);
            return trace;
        case FlowOp::unreachable: problem = "reached unreachable"; return trace;
        case FlowOp::set: selectors[o.a] = o.b, ++pc; break;
        case FlowOp::test:
            if (selectors[o.a] == 0xdead) {
                problem = "selector tested before it was set";
                return trace;
            }
            pc = selectors[o.a] == o.b ? pc + 1 : at[o.merge];
            break;
        }
    }
    return trace;
}

FlowGraph random_graph(Rng& rng, uint32_t n, bool local) {
    FlowGraph g;
    g.nodes.resize(n);
    for (uint32_t v = 0; v < n; ++v) {
        const uint32_t r = rng() % 16;
        const uint32_t count = r < 1 ? 0 : r < 7 ? 1 : r < 14 ? 2 : 3 + rng() % 3;
        for (uint32_t k = 0; k < count; ++k) {
            uint32_t t = rng() % n;
            if (local) // mostly forward, near; sometimes back
                t = rng() % 6 ? std::min(n - 1, v + 1 + rng() % 4u) : v - std::min<uint32_t>(v, rng() % 6);
            g.nodes[v].succs.push_back(t == 0 ? n - 1 : t);
        }
        g.nodes[v].weight = 1 + rng() % 30;
        g.nodes[v].trivial_exit = count == 0 && rng() % 2;
    }
    return g;
}

std::string describe(const FlowGraph& g) {
    std::string s;
    for (uint32_t v = 0; v < g.nodes.size(); ++v) {
        s += std::to_string(v) + (g.nodes[v].trivial_exit ? "!:" : ":");
        for (uint32_t t : g.nodes[v].succs)
            s += " " + std::to_string(t);
        s += "\n";
    }
    return s;
}

void check(const FlowGraph& g, uint32_t seeds) {
    auto p = structure(g);
    ASSERT_TRUE(p) << p.error().text() << "\n" << describe(g);
    for (uint32_t seed = 1; seed <= seeds; ++seed) {
        std::string problem;
        const auto got = run_program(g, *p, seed, problem);
        ASSERT_EQ(problem, "") << describe(g);
        ASSERT_EQ(got, run_graph(g, seed)) << describe(g);
    }
}

} // namespace

TEST(Structurizer, VisitsTheSameNodesOnRandomGraphs) {
    Rng rng{1};
    for (int i = 0; i < 6000; ++i) {
        check(random_graph(rng, 2 + rng() % 24, i % 4 != 0), 6);
        if (HasFatalFailure())
            return;
    }
    for (int i = 0; i < 30; ++i) {
        check(random_graph(rng, 300, true), 10);
        if (HasFatalFailure())
            return;
    }
}

// L-085: a chain of early exits to one target is one region to break out of.
TEST(Structurizer, ChainOfExitsNestsLittle) {
    for (bool common : {true, false}) {
        FlowGraph g;
        g.nodes.resize(303);
        for (uint32_t v = 0; v < 300; ++v)
            g.nodes[v].succs = {common ? 301u : 302u, v + 1};
        g.nodes[300].succs = {302};
        g.nodes[301].succs = {302};
        auto p = structure(g);
        ASSERT_TRUE(p);
        EXPECT_LE(p->depth, 4u);
        EXPECT_EQ(p->loops, 0u);
        check(g, 20);
    }
}

// L-086: as many loops come out as the graph has.
TEST(Structurizer, MakesNoLoopsOfItsOwn) {
    FlowGraph g; // two nested loops, the inner with an exit out of both
    g.nodes.resize(7);
    g.nodes[0].succs = {1};
    g.nodes[1].succs = {2};
    g.nodes[2].succs = {3, 5};
    g.nodes[3].succs = {2, 4};
    g.nodes[4].succs = {1, 6};
    g.nodes[5].succs = {6};
    auto p = structure(g);
    ASSERT_TRUE(p);
    EXPECT_EQ(p->loops, 2u);
    check(g, 50);
}

TEST(Structurizer, DeepNestingIsRefusedByName) {
    FlowGraph g; // a pile of nodes that each jump to any later one
    g.nodes.resize(2500);
    for (uint32_t v = 0; v + 1 < 2500; ++v)
        g.nodes[v].succs = v == 0 ? llvm::SmallVector<uint32_t, 2>{} : llvm::SmallVector<uint32_t, 2>{v + 1};
    for (uint32_t v = 1; v < 2500; ++v)
        g.nodes[0].succs.push_back(v);
    auto p = structure(g);
    ASSERT_FALSE(p);
    EXPECT_NE(p.error().message.find("nests deeper"), std::string::npos);
}
