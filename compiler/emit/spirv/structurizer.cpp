// The structurizer: dominators, loops, placement, a tree of nested constructs, and its linear form.
#include "compiler/emit/spirv/structurizer.h"
#include "compiler/emit/spirv/flow_analysis.h"
#include <algorithm>
#include <llvm/ADT/ArrayRef.h>

namespace dmsh {
namespace {

// Conditionals that meet at the end of the enclosing piece nest this deep before they become breaks. Where
// more paths than kManyPaths meet, they break at once, so that depth does not grow with their number.
constexpr int kTailDepth = 3;
constexpr uint32_t kManyPaths = 5;
// SPIR-V allows 1023 nested constructs; recursion here stays far below that.
constexpr uint32_t kMaxDepth = 900;
// Code that leaves a loop and is at most this long stays where it is when the loop has another way out.
constexpr uint64_t kSmallExit = 16;
constexpr uint64_t kConvergentWeight = 1000;

constexpr uint32_t kContinueBit = 0x80000000u; // flow target: next iteration of the loop with this header
constexpr uint32_t kNoSeq = 0xffffffffu;

// How a piece of the tree ends.
enum class End : uint8_t { none, go, leave };

struct Stmt {
    enum Kind : uint8_t { code, cond, multi, loop, block } kind;
    uint32_t node;          // code, cond, multi: the node; loop: header; block: the node after it
    uint32_t next = kNoSeq; // following statement
    uint32_t body[2] = {kNoSeq,
                        kNoSeq}; // cond: arms by successor (kNoSeq: falls to what follows); loop, block: body
    uint32_t first = 0, count = 0; // multi: (successor node, sequence) pairs
    bool breakable = false;        // block: needs a construct of its own
};

struct Seq {
    uint32_t first = kNoSeq, last = kNoSeq;
    End end = End::none;
    uint32_t target = kNoNode; // go: flow target; leave: node
};

struct Built {
    uint32_t seq;
    bool uses_fall;
};

class Structurizer {
  public:
    explicit Structurizer(const FlowGraph& graph) : g_(graph) {}

    Result<FlowProgram> run() {
        if (g_.nodes.empty())
            return Error{"structurizer: a function without blocks"};
        a_.analyze(g_);
        if (!a_.reducible) {
            make_reducible(g_, setters_, dispatchers_, out_.selector_count);
            a_ = {};
            a_.analyze(g_);
            if (!a_.reducible)
                return Error{"structurizer: irreducible control flow left after dispatching"};
            out_.merges_paths = true;
        }
        place();
        const uint32_t root = build(0, 0, kNoNode, false, 0).seq;
        if (too_deep_)
            return Error{"structurizer: control flow nests deeper than " + std::to_string(kMaxDepth)};
        mark(root, kNoNode, nullptr, 0);
        out_.ops.reserve(a_.order.size() * 3);
        if (emit(root, kNoNode, 0))
            op(FlowOp::unreachable);
        if (too_deep_)
            return Error{"structurizer: control flow nests deeper than " + std::to_string(kMaxDepth)};
        if (failed_)
            return Error{"structurizer: a target of a branch is not enclosing it"};
        return std::move(out_);
    }

  private:
    // ---- placement
    // ------------------------------------------------------------------------------------------------
    bool is_exit(uint32_t v) const { return g_.nodes[v].trivial_exit && g_.nodes[v].succs.empty() && v != 0; }
    bool is_back(uint32_t from, uint32_t to) const { return a_.dominates(to, from); }
    bool inlined(uint32_t v) const { return inline_[v]; }

    void place() {
        const uint32_t n = static_cast<uint32_t>(g_.nodes.size());
        inline_.assign(n, false);
        inner_.assign(n, {});
        outer_.assign(n, {});
        weight_.assign(n, 0);
        lifted_to_.assign(n, kNoNode);
        for (uint32_t i = static_cast<uint32_t>(a_.order.size()); i-- > 0;) {
            const uint32_t v = a_.order[i];
            weight_[v] += g_.nodes[v].weight + (g_.nodes[v].convergent ? kConvergentWeight : 0);
            if (v != 0)
                weight_[a_.idom[v]] += weight_[v];
        }
        place_exits();
        for (uint32_t v : a_.order) {
            if (v == 0 || is_exit(v))
                continue;
            const uint32_t x = a_.idom[v];
            if (a_.merge_preds[v] < 2) {
                if (lifted_to_[v] == kNoNode)
                    inline_[v] = true;
                else
                    outer_[lifted_to_[v]].push_back(v);
                continue;
            }
            uint32_t parent = kNoNode;
            for (uint32_t l = a_.loop_of[x]; l != kNoNode && !a_.in_loop(v, l); l = a_.loop_parent[l])
                parent = l;
            (parent == kNoNode ? inner_[x] : outer_[parent]).push_back(v);
        }
    }

    // Which nodes that only one edge out of a loop reaches are placed after the loop: without a merge node to
    // go on from, the heaviest; with one, those too heavy to repeat the wait of other lanes inside.
    void place_exits() {
        const uint32_t n = static_cast<uint32_t>(g_.nodes.size());
        std::vector<bool> has_merge(n, false);
        std::vector<llvm::SmallVector<uint32_t, 2>> candidates(n);
        for (uint32_t u : a_.order) {
            if (a_.loop_of[u] == kNoNode)
                continue;
            for (uint32_t w : g_.nodes[u].succs) {
                if (is_exit(w) || is_back(u, w))
                    continue;
                const uint32_t l = a_.loop_of[u];
                if (a_.in_loop(w, l))
                    continue;
                if (a_.merge_preds[w] < 2) {
                    candidates[l].push_back(w);
                    continue;
                }
                for (uint32_t m = l; m != kNoNode && !a_.in_loop(w, m); m = a_.loop_parent[m])
                    has_merge[m] = true;
            }
        }
        for (uint32_t i = static_cast<uint32_t>(a_.order.size()); i-- > 0;) { // inner loops first
            const uint32_t h = a_.order[i];
            if (candidates[h].empty())
                continue;
            const uint32_t hint = g_.nodes[h].merge_hint;
            uint32_t best = kNoNode;
            for (uint32_t w : candidates[h])
                if (best == kNoNode || w == hint || (best != hint && weight_[w] > weight_[best]))
                    best = w;
            for (uint32_t w : candidates[h]) {
                if ((has_merge[h] || w != best) && weight_[w] <= kSmallExit)
                    continue;
                lifted_to_[w] = h;
                const uint32_t p = a_.loop_parent[h];
                if (p != kNoNode && !a_.in_loop(w, p))
                    candidates[p].push_back(w);
            }
        }
    }

    // ---- the tree
    // -------------------------------------------------------------------------------------------------
    uint32_t new_seq() {
        seqs_.emplace_back();
        return static_cast<uint32_t>(seqs_.size() - 1);
    }
    uint32_t append(uint32_t seq, Stmt s) {
        const uint32_t id = static_cast<uint32_t>(stmts_.size());
        stmts_.push_back(s);
        if (seqs_[seq].last == kNoSeq)
            seqs_[seq].first = id;
        else
            stmts_[seqs_[seq].last].next = id;
        seqs_[seq].last = id;
        return id;
    }
    void concat(uint32_t seq, uint32_t tail) {
        const Seq& t = seqs_[tail];
        if (t.first != kNoSeq) {
            if (seqs_[seq].last == kNoSeq)
                seqs_[seq].first = t.first;
            else
                stmts_[seqs_[seq].last].next = t.first;
            seqs_[seq].last = t.last;
        }
        seqs_[seq].end = t.end;
        seqs_[seq].target = t.target;
    }

    // Flow target of the edge x -> t, which is not inlined.
    uint32_t target_of(uint32_t x, uint32_t t) const { return is_back(x, t) ? t | kContinueBit : t; }
    bool leaf(uint32_t x, uint32_t t) const { return is_exit(t) || is_back(x, t) || !inlined(t); }

    // Ends `seq` with the edge x -> t. Returns whether that is the fall target.
    bool end_with(uint32_t seq, uint32_t x, uint32_t t, uint32_t fall) {
        Seq& s = seqs_[seq];
        if (is_exit(t)) {
            s.end = End::leave;
            s.target = t;
            return false;
        }
        s.end = End::go;
        s.target = target_of(x, t);
        return s.target == fall;
    }

    int tail_depth(uint32_t fall) const {
        if (fall & kContinueBit)
            return 1;
        return a_.merge_preds[fall] >= kManyPaths ? 0 : kTailDepth;
    }

    Built arm(uint32_t x, uint32_t t, int depth, uint32_t fall, uint32_t level) {
        if (!leaf(x, t))
            return build(t, depth, fall, false, level);
        const uint32_t s = new_seq();
        return {s, end_with(s, x, t, fall)};
    }

    // The code from node v on, up to its leaves. `fall` is where its end leads by itself; `depth` counts
    // conditionals nested at the tail; `opened`: the nodes that follow v are being placed by the caller
    // already.
    Built build(uint32_t v, int depth, uint32_t fall, bool opened, uint32_t level) {
        const uint32_t seq = new_seq();
        if (level > kMaxDepth) {
            too_deep_ = true;
            return {seq, false};
        }
        bool uses = false;
        uint32_t cur = v;
        for (;; opened = false) {
            if (a_.header[cur] && !opened && loop_open_ != cur) {
                const auto& after = outer_[cur];
                const uint32_t loop_seq = after.empty() ? seq : new_seq();
                loop_open_ = cur;
                const uint32_t body = build(cur, 0, cur | kContinueBit, false, level + 1).seq;
                append(loop_seq, {Stmt::loop, cur, kNoSeq, {body, kNoSeq}});
                if (after.empty())
                    return {seq, true};
                cur = wrap(seq, loop_seq, after, depth, level);
                continue;
            }
            loop_open_ = kNoNode;
            if (!inner_[cur].empty() && !opened) {
                const auto& after = inner_[cur];
                const uint32_t head = build(cur, 0, after[0], true, level + 1).seq;
                cur = wrap(seq, head, after, depth, level);
                continue;
            }
            append(seq, {Stmt::code, cur});
            const auto& succs = g_.nodes[cur].succs;
            if (succs.empty()) {
                seqs_[seq].end = End::leave;
                seqs_[seq].target = cur;
                return {seq, uses};
            }
            const bool same =
                std::all_of(succs.begin(), succs.end(), [&](uint32_t s) { return s == succs[0]; });
            if (same) {
                if (leaf(cur, succs[0]))
                    return {seq, end_with(seq, cur, succs[0], fall) || uses};
                cur = succs[0];
                continue;
            }
            if (succs.size() > 2 || dispatcher_of(cur) != kNoNode) {
                Stmt s{Stmt::multi, cur};
                llvm::SmallVector<std::pair<uint32_t, uint32_t>, 8> arms;
                llvm::SmallVector<uint32_t, 8> distinct(succs.begin(), succs.end());
                std::sort(distinct.begin(), distinct.end());
                distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
                for (uint32_t t : distinct) {
                    const Built b = arm(cur, t, 0, fall, level + 1);
                    uses |= b.uses_fall;
                    arms.push_back({t, b.seq});
                }
                s.first = static_cast<uint32_t>(arms_.size());
                s.count = static_cast<uint32_t>(arms.size());
                arms_.insert(arms_.end(), arms.begin(), arms.end());
                append(seq, s);
                return {seq, uses};
            }
            // Two ways: the lighter arm nests; the other goes on behind it unless both meet at the end of
            // this piece.
            const uint64_t w0 = leaf(cur, succs[0]) ? 0 : weight_[succs[0]];
            const uint64_t w1 = leaf(cur, succs[1]) ? 0 : weight_[succs[1]];
            unsigned small = w0 <= w1 ? 0 : 1;
            if (w0 == 0 && w1 == 0 && fall != kNoNode && !is_exit(succs[0]) &&
                target_of(cur, succs[0]) == fall)
                small = 1; // two plain exits: the one that is no tail becomes the break
            const uint32_t big = succs[1 - small];
            const Built nested = arm(cur, succs[small], depth + 1, fall, level + 1);
            Stmt s{Stmt::cond, cur};
            s.body[small] = nested.seq;
            if (nested.uses_fall && depth < tail_depth(fall)) {
                const Built other = arm(cur, big, depth + 1, fall, level + 1);
                s.body[1 - small] = other.seq;
                append(seq, s);
                return {seq, true};
            }
            append(seq, s);
            if (leaf(cur, big))
                return {seq, end_with(seq, cur, big, fall) || uses};
            cur = big;
        }
    }

    // Puts `head` into blocks that end where the nodes `after` begin, appends them to `seq`, and returns the
    // last of `after`, which goes on in `seq`.
    uint32_t wrap(uint32_t seq, uint32_t head, llvm::ArrayRef<uint32_t> after, int depth, uint32_t level) {
        for (size_t i = 0; i + 1 < after.size(); ++i) {
            const uint32_t t = new_seq();
            append(t, {Stmt::block, after[i], kNoSeq, {head, kNoSeq}});
            // Deep piles of blocks are as deep in the output.
            const Built b = build(after[i], depth, after[i + 1], false, level + 1);
            concat(t, b.seq);
            head = t;
        }
        append(seq, {Stmt::block, after.back(), kNoSeq, {head, kNoSeq}});
        return after.back();
    }

    // Where falling out of statement `st` of piece `s` leads, if to a flow target at all.
    static uint32_t after_of(const Stmt& st, const Seq& s, uint32_t fall) {
        if (st.next != kNoSeq || s.end == End::leave)
            return kNoNode;
        return s.end == End::go ? s.target : fall;
    }

    // ---- which blocks need a construct to break out of
    // ----------------------------------------------------------------
    struct LoopScope {
        const LoopScope* outer;
        uint32_t header;
        uint32_t fall;
        uint32_t block_level; // blocks opened when the loop began
    };

    void mark_go(uint32_t target, uint32_t fall, const LoopScope* loop) {
        if (target == fall)
            return;
        for (; loop; loop = loop->outer) {
            if (target & kContinueBit) {
                if (loop->header == (target & ~kContinueBit))
                    return;
            } else if (target == loop->fall) {
                return;
            } else if (block_level_[target] > loop->block_level) {
                break;
            }
        }
        if (!(target & kContinueBit) && block_stmt_[target] != kNoSeq)
            stmts_[block_stmt_[target]].breakable = true;
    }

    void mark(uint32_t seq, uint32_t fall, const LoopScope* loop, uint32_t level) {
        if (block_stmt_.empty()) {
            block_stmt_.assign(g_.nodes.size(), kNoSeq);
            block_level_.assign(g_.nodes.size(), 0);
        }
        const Seq s = seqs_[seq];
        for (uint32_t i = s.first; i != kNoSeq; i = stmts_[i].next) {
            const Stmt st = stmts_[i];
            const uint32_t after = after_of(st, s, fall);
            switch (st.kind) {
            case Stmt::code: break;
            case Stmt::cond:
                for (uint32_t b : st.body)
                    if (b != kNoSeq)
                        mark(b, after, loop, level);
                break;
            case Stmt::multi:
                for (uint32_t k = 0; k < st.count; ++k)
                    mark(arms_[st.first + k].second, after, loop, level);
                break;
            case Stmt::loop: {
                const LoopScope scope{loop, st.node, after, level};
                mark(st.body[0], st.node | kContinueBit, &scope, level);
                break;
            }
            case Stmt::block:
                block_stmt_[st.node] = i;
                block_level_[st.node] = level + 1;
                mark(st.body[0], st.node, loop, level + 1);
                break;
            }
        }
        if (s.end == End::go)
            mark_go(s.target, fall, loop);
    }

    // ---- the linear form
    // ------------------------------------------------------------------------------------------
    struct Construct {
        bool is_loop;
        uint32_t header; // loops
        uint32_t fall;   // flow target that its merge leads to by itself (kNoNode: none)
        uint32_t merge;  // label
        uint32_t cont;   // loops: label
        uint32_t open_op;
        uint32_t selector = kNoNode;
        uint32_t falls = 0, continues = 0;
        llvm::SmallVector<uint32_t, 2> pending =
            {}; // flow targets that go on after the merge, by selector value - 1
    };

    FlowOp& op(FlowOp::Kind kind) {
        out_.ops.emplace_back();
        out_.ops.back().kind = kind;
        return out_.ops.back();
    }
    uint32_t new_label() { return out_.label_count++; }
    void begin(uint32_t label) { op(FlowOp::label).a = label; }
    void branch(uint32_t label) { op(FlowOp::branch).a = label; }

    // Branches to a flow target that is not the tail of the current piece.
    void go(uint32_t target) {
        Construct* sw = nullptr;
        Construct* loop = nullptr;
        size_t loop_index = 0;
        for (size_t i = constructs_.size(); i-- > 0 && !loop;) {
            if (constructs_[i].is_loop) {
                loop = &constructs_[i];
                loop_index = i;
            } else if (!sw) {
                sw = &constructs_[i];
            }
        }
        if (loop && target == (loop->header | kContinueBit)) {
            ++loop->continues;
            return branch(loop->cont);
        }
        for (Construct* c : {sw, loop})
            if (c && c->fall == target) {
                ++c->falls;
                return branch(c->merge);
            }
        // Not directly: leave through the loop if the target lies outside it, else through the innermost
        // block.
        bool inside = false;
        if (!(target & kContinueBit))
            for (size_t i = loop ? loop_index + 1 : 0; i < constructs_.size(); ++i)
                inside |= constructs_[i].fall == target;
        Construct* via = inside || !loop ? sw : loop;
        if (!via) {
            failed_ = true;
            op(FlowOp::unreachable);
            return;
        }
        auto it = std::find(via->pending.begin(), via->pending.end(), target);
        const uint32_t value = static_cast<uint32_t>(it - via->pending.begin()) + 1;
        if (it == via->pending.end())
            via->pending.push_back(target);
        if (via->selector == kNoNode)
            via->selector = out_.selector_count++;
        FlowOp& s = op(FlowOp::set);
        s.a = via->selector;
        s.b = value;
        branch(via->merge);
    }

    // Ends the innermost construct: begins its merge and passes pending exits on. Returns whether its end is
    // reached.
    bool close() {
        Construct c = std::move(constructs_.back());
        constructs_.pop_back();
        begin(c.merge);
        if (c.pending.empty()) {
            if (!c.falls)
                op(FlowOp::unreachable);
            return c.falls;
        }
        if (c.falls)
            out_.ops[c.open_op].reset = c.selector;
        if (c.falls || c.pending.size() > 1)
            out_.merges_paths = true;
        for (size_t i = 0; i < c.pending.size(); ++i) {
            if (!c.falls && i + 1 == c.pending.size()) {
                go(c.pending[i]);
                return false;
            }
            const uint32_t rest = new_label();
            FlowOp& t = op(FlowOp::test);
            t.a = c.selector;
            t.b = static_cast<uint32_t>(i) + 1;
            const uint32_t then = new_label();
            out_.ops.back().c = then;
            out_.ops.back().merge = rest;
            go(c.pending[i]);
            begin(rest);
        }
        return true;
    }

    // An arm that does nothing but fall needs no block of its own.
    bool plain_fall(uint32_t seq, uint32_t fall) const {
        const Seq& s = seqs_[seq];
        return s.first == kNoSeq && s.end == End::go && s.target == fall && fall != kNoNode;
    }

    // Emits a piece; returns whether its end is reached, with the current block left open there.
    bool emit(uint32_t seq, uint32_t fall, uint32_t depth) {
        out_.depth = std::max(out_.depth, depth);
        if (depth > kMaxDepth) {
            too_deep_ = true;
            return false;
        }
        const Seq s = seqs_[seq];
        for (uint32_t i = s.first; i != kNoSeq; i = stmts_[i].next) {
            const Stmt st = stmts_[i];
            const uint32_t after = after_of(st, s, fall);
            bool open = true;
            switch (st.kind) {
            case Stmt::code: emit_code(st.node); break;
            case Stmt::cond: open = emit_cond(st, after, depth); break;
            case Stmt::multi: open = emit_multi(st, after, depth); break;
            case Stmt::loop: open = emit_loop(st, after, depth); break;
            case Stmt::block:
                if (!st.breakable) {
                    open = emit(st.body[0], st.node, depth);
                } else {
                    const uint32_t body = new_label(), merge = new_label();
                    constructs_.push_back({false, kNoNode, st.node, merge, 0, index()});
                    FlowOp& o = op(FlowOp::block);
                    o.a = body;
                    o.merge = merge;
                    if (emit(st.body[0], st.node, depth + 1)) {
                        ++constructs_.back().falls;
                        branch(merge);
                    }
                    open = close();
                }
                break;
            }
            if (!open) {
                if (st.next != kNoSeq)
                    failed_ = true;
                return false;
            }
        }
        switch (s.end) {
        case End::none: return true;
        case End::leave: op(FlowOp::leave).node = s.target; return false;
        case End::go:
            if (s.target == fall)
                return true;
            go(s.target);
            return false;
        }
        return false;
    }

    uint32_t index() const { return static_cast<uint32_t>(out_.ops.size()); }

    void emit_code(uint32_t node) {
        const auto set = setters_.find(node);
        if (set != setters_.end()) {
            FlowOp& o = op(FlowOp::set);
            o.a = set->second.first;
            o.b = set->second.second;
        } else if (dispatcher_of(node) == kNoNode) {
            op(FlowOp::code).node = node;
        }
    }

    bool emit_cond(const Stmt& st, uint32_t after, uint32_t depth) {
        const uint32_t merge = new_label();
        const uint32_t at = index();
        op(FlowOp::cond).node = st.node;
        uint32_t targets[2], reached = 0;
        for (unsigned k = 0; k < 2; ++k)
            targets[k] = st.body[k] == kNoSeq || plain_fall(st.body[k], after) ? merge : new_label();
        out_.ops[at].a = targets[0];
        out_.ops[at].b = targets[1];
        out_.ops[at].merge = merge;
        for (unsigned k = 0; k < 2; ++k) {
            if (targets[k] == merge) {
                ++reached;
                continue;
            }
            begin(targets[k]);
            if (emit(st.body[k], after, depth + 1)) {
                ++reached;
                branch(merge);
            }
        }
        begin(merge);
        if (!reached)
            op(FlowOp::unreachable);
        return reached;
    }

    bool emit_multi(const Stmt& st, uint32_t after, uint32_t depth) {
        const uint32_t merge = new_label();
        constructs_.push_back({false, kNoNode, after, merge, 0, index()});
        const uint32_t selector = dispatcher_of(st.node);
        const auto& succs = g_.nodes[st.node].succs;
        const uint32_t first = static_cast<uint32_t>(out_.targets.size());
        const uint32_t first_label = out_.label_count;
        out_.label_count += st.count;
        for (uint32_t t : succs) {
            uint32_t k = 0;
            while (arms_[st.first + k].first != t)
                ++k;
            const bool plain = plain_fall(arms_[st.first + k].second, after);
            out_.targets.push_back(plain ? merge : first_label + k);
        }
        FlowOp& o = op(selector == kNoNode ? FlowOp::multi : FlowOp::dispatch);
        o.node = st.node;
        o.a = selector;
        o.first = first;
        o.count = static_cast<uint32_t>(succs.size());
        o.merge = merge;
        for (uint32_t k = 0; k < st.count; ++k) {
            const uint32_t body = arms_[st.first + k].second;
            if (plain_fall(body, after)) {
                ++constructs_.back().falls;
                continue;
            }
            begin(first_label + k);
            if (emit(body, after, depth + 1)) {
                ++constructs_.back().falls;
                branch(merge);
            }
        }
        return close();
    }

    bool emit_loop(const Stmt& st, uint32_t after, uint32_t depth) {
        const uint32_t header = new_label(), cont = new_label(), body = new_label(), merge = new_label();
        ++out_.loops;
        constructs_.push_back({true, st.node, after, merge, cont, index()});
        FlowOp& o = op(FlowOp::loop);
        o.node = st.node;
        o.a = header;
        o.b = cont;
        o.c = body;
        o.merge = merge;
        if (emit(st.body[0], st.node | kContinueBit, depth + 1))
            branch(cont);
        begin(cont);
        branch(header);
        return close();
    }

    uint32_t dispatcher_of(uint32_t node) const {
        const auto it = dispatchers_.find(node);
        return it == dispatchers_.end() ? kNoNode : it->second;
    }

    FlowGraph g_;
    FlowAnalysis a_;
    llvm::DenseMap<uint32_t, std::pair<uint32_t, uint32_t>> setters_; // node -> selector, value
    llvm::DenseMap<uint32_t, uint32_t> dispatchers_;                  // node -> selector
    std::vector<bool> inline_;
    std::vector<llvm::SmallVector<uint32_t, 2>> inner_, outer_;
    std::vector<uint64_t> weight_;
    std::vector<uint32_t> lifted_to_;
    std::vector<Stmt> stmts_;
    std::vector<Seq> seqs_;
    std::vector<std::pair<uint32_t, uint32_t>> arms_;
    std::vector<uint32_t> block_stmt_, block_level_;
    std::vector<Construct> constructs_;
    uint32_t loop_open_ = kNoNode;
    bool too_deep_ = false, failed_ = false;
    FlowProgram out_;
};

} // namespace

Result<FlowProgram> structure(const FlowGraph& graph) {
    return Structurizer(graph).run();
}

FlowDominance::FlowDominance(const FlowProgram& program, uint32_t node_count) {
    // Blocks: 0 is the entry, label l is block l + 1.
    const uint32_t n = program.label_count + 1;
    FlowGraph graph;
    graph.nodes.resize(n);
    block_of_node_.assign(node_count, kNoNode);
    order_in_block_.assign(node_count, 0);
    uint32_t block = 0, order = 0;
    const auto edge = [&](uint32_t label) { graph.nodes[block].succs.push_back(label + 1); };
    for (const FlowOp& o : program.ops) {
        switch (o.kind) {
        case FlowOp::code:
            if (o.node < node_count) {
                block_of_node_[o.node] = block;
                order_in_block_[o.node] = order++;
            }
            break;
        case FlowOp::label: block = o.a + 1; break;
        case FlowOp::branch: edge(o.a); break;
        case FlowOp::cond: edge(o.a), edge(o.b); break;
        case FlowOp::multi:
        case FlowOp::dispatch:
            for (uint32_t i = 0; i < o.count; ++i)
                edge(program.targets[o.first + i]);
            break;
        case FlowOp::block: edge(o.a), block = o.a + 1; break;
        case FlowOp::loop: edge(o.a), block = o.a + 1, edge(o.c), block = o.c + 1; break;
        case FlowOp::test: edge(o.c), edge(o.merge), block = o.c + 1; break;
        case FlowOp::leave:
        case FlowOp::unreachable:
        case FlowOp::set: break;
        }
    }
    FlowAnalysis a;
    a.analyze(graph);
    idom_ = a.idom;
    depth_.assign(n, 0);
    for (uint32_t v : a.order)
        if (v != 0)
            depth_[v] = depth_[idom_[v]] + 1;
}

bool FlowDominance::dominates(uint32_t def_node, uint32_t use_node) const {
    const uint32_t d = block_of_node_[def_node];
    uint32_t u = block_of_node_[use_node];
    if (d == kNoNode || u == kNoNode)
        return false;
    if (d == u)
        return order_in_block_[def_node] <= order_in_block_[use_node];
    while (depth_[u] > depth_[d])
        u = idom_[u];
    return u == d;
}

} // namespace dmsh
