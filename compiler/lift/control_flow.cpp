// Recovery of the control-flow graph by abstract interpretation of the reconvergence stack.
#include "compiler/lift/control_flow.h"
#include "compiler/lift/maxwell/flow_fields.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace dmsh {
namespace {

using maxwell::FlowKind;

constexpr uint32_t kMaxStackDepth = 256;
constexpr unsigned kMaxTableRounds = 64;
constexpr uint32_t kMaxTableEntries = 4096;

// What a program may grow to by being keyed by stack: far above anything compiled, low enough for hostile bits.
constexpr uint64_t kMaxBlocks = 1u << 17;
uint64_t block_limit(const GuestCode& code) { return std::min<uint64_t>(16ull * code.size() + 4096, kMaxBlocks); }
uint64_t position_limit(const GuestCode& code) { return 16ull * code.size() + 65536; }

struct Table {
    uint32_t offset = 0; // of entry 0
    uint32_t limit = kMaxTableEntries; // entries that the index can reach
    bool found = false;
    bool pointers = false; // function pointers in local memory: no table, `values` are code addresses
    std::vector<std::pair<uint32_t, uint32_t>> entries; // table index, target position
    std::vector<uint32_t> values;                       // by entry
};

class Recovery {
  public:
    Recovery(GuestCode& code, std::span<const uint8_t> constants, uint8_t bank)
        : code_(code), constants_(constants), bank_(bank) {}

    Result<FlowGraph> run() {
        for (unsigned round = 0;; ++round) {
            if (round > kMaxTableRounds)
                return Error{"jump tables lead to jump tables without an end"};
            find_leaders();
            if (auto r = build(); !r)
                return r.error();
            if (pending_.empty())
                break;
            for (uint32_t block : pending_)
                if (auto r = find_table(block); !r)
                    return r.error();
            read_tables();
        }
        for (const auto& [position, table] : tables_)
            if (table.entries.empty())
                return code_.error_at(position, "has an empty jump table");
        order();
        for (FlowBlock& b : graph_.blocks)
            for (uint32_t s : b.successors)
                ++graph_.blocks[s].predecessors;
        return std::move(graph_);
    }

  private:
    // Marks every position that something may jump to, without looking at the stack: a superset of the block starts.
    void find_leaders() {
        leader_.assign(code_.size() + 1, false);
        std::vector<bool> seen(code_.size(), false);
        std::vector<uint32_t> work{0};
        auto jump_to = [&](std::optional<uint32_t> p) {
            if (p && *p < code_.size()) {
                leader_[*p] = true;
                if (!seen[*p])
                    work.push_back(*p);
            }
        };
        while (!work.empty()) {
            uint32_t p = work.back();
            work.pop_back();
            for (; p < code_.size() && !seen[p]; ++p) {
                seen[p] = true;
                const isa::Instruction* inst = code_.at(p);
                if (!inst)
                    break;
                const FlowKind kind = maxwell::flow_kind(*inst);
                if (kind == FlowKind::none)
                    continue;
                if (maxwell::flow_target_is_static(kind))
                    jump_to(code_.position_of(inst->target()));
                if (kind == FlowKind::brx)
                    if (auto it = tables_.find(p); it != tables_.end())
                        for (const auto& [index, target] : it->second.entries)
                            jump_to(target);
                if (maxwell::flow_pushes(kind))
                    continue;
                leader_[p + 1] = true;
                if (kind != FlowKind::cal && !maxwell::flow_is_conditional(*inst))
                    break;
            }
        }
    }

    uint32_t push(uint32_t stack, StackKind kind, uint32_t target, uint32_t callee) {
        const uint64_t key = uint64_t{stack} << 32 | target;
        auto& bucket = stack_ids_[key * 8 + static_cast<unsigned>(kind)];
        for (uint32_t id : bucket)
            if (graph_.stacks[id].kind == kind && graph_.stacks[id].parent == stack && graph_.stacks[id].target == target &&
                graph_.stacks[id].callee == callee)
                return id;
        const auto id = static_cast<uint32_t>(graph_.stacks.size());
        graph_.stacks.push_back({stack, kind, target, callee, graph_.stacks[stack].depth + 1});
        bucket.push_back(id);
        return id;
    }

    uint32_t block_for(uint32_t position, uint32_t stack) {
        const auto [it, fresh] = block_ids_.try_emplace(uint64_t{position} << 32 | stack, static_cast<uint32_t>(graph_.blocks.size()));
        if (fresh) {
            FlowBlock& b = graph_.blocks.emplace_back();
            b.first = b.last = position;
            b.stack = stack;
            work_.push_back(it->second);
        }
        return it->second;
    }

    uint32_t exit_block(uint32_t position, uint32_t stack) {
        FlowBlock& b = graph_.blocks.emplace_back();
        b.first = b.last = position;
        b.stack = stack;
        b.end = FlowEnd::exit;
        return static_cast<uint32_t>(graph_.blocks.size() - 1);
    }

    // The entry that SYNC, BRK, CONT or RET takes, or 0. Entries above it are dropped, but never a call's.
    uint32_t find_entry(uint32_t stack, FlowKind kind) const {
        for (uint32_t s = stack; s; s = graph_.stacks[s].parent) {
            const StackKind k = graph_.stacks[s].kind;
            const bool frame = k == StackKind::pret || k == StackKind::call;
            switch (kind) {
            case FlowKind::sync: return k == StackKind::ssy ? s : 0;
            case FlowKind::brk:
                if (k == StackKind::pbk)
                    return s;
                break;
            case FlowKind::cont:
                if (k == StackKind::pcnt)
                    return s;
                break;
            default:
                if (frame)
                    return s;
                continue;
            }
            if (frame)
                return 0;
        }
        return 0;
    }

    Result<void> build() {
        graph_ = {};
        predecessors_.clear();
        graph_.stacks.emplace_back();
        block_ids_.clear();
        stack_ids_.clear();
        pending_.clear();
        work_.clear();
        positions_ = 0;
        block_for(0, 0);
        while (!work_.empty()) {
            const uint32_t id = work_.back();
            work_.pop_back();
            if (auto r = build_block(id); !r)
                return r;
            if (graph_.blocks.size() > block_limit(code_) || positions_ > position_limit(code_))
                return Error{fmt::format("control flow grows past {} blocks: not a program that a compiler made", block_limit(code_))};
        }
        return {};
    }

    Result<void> build_block(uint32_t id) {
        uint32_t p = graph_.blocks[id].first;
        uint32_t stack = graph_.blocks[id].stack;
        for (const uint32_t start = p;; ++p) {
            if (p >= code_.size())
                return Error{fmt::format("{} code runs past its end at 0x{:x}", arch_name(code_.arch()), code_.pc_of(p))};
            if (p != start && leader_[p]) {
                finish(id, p, FlowEnd::jump, {}, {block_for(p, stack)});
                return {};
            }
            ++positions_;
            const isa::Instruction* inst = code_.at(p);
            if (!inst)
                return code_.error_at(p, "is not implemented");
            const FlowKind kind = maxwell::flow_kind(*inst);
            if (kind == FlowKind::none)
                continue;
            if (kind == FlowKind::refused)
                return code_.error_at(p, "is not implemented");
            const FlowCondition condition = maxwell::flow_condition(*inst);
            if (maxwell::never_taken(condition))
                continue;
            if (!maxwell::condition_code_known(condition.condition_code))
                return code_.error_at(p, "with this condition code is not implemented");
            const bool always = !maxwell::flow_is_conditional(*inst);
            std::optional<uint32_t> target;
            if (maxwell::flow_target_is_static(kind)) {
                target = code_.position_of(inst->target());
                if (!target || maxwell::flow_target_in_bank(*inst))
                    return code_.error_at(p, "has no target in the program");
            }
            if (maxwell::flow_pushes(kind)) {
                if (graph_.stacks[stack].depth >= kMaxStackDepth)
                    return code_.error_at(p, "grows the reconvergence stack without an end");
                stack = push(stack, maxwell::pushed_kind(kind), *target, 0);
                continue;
            }
            return end_block(id, p, stack, *inst, kind, condition, always, target);
        }
    }

    Result<void> end_block(uint32_t id, uint32_t p, uint32_t stack, const isa::Instruction& inst, FlowKind kind,
                           const FlowCondition& condition, bool always, std::optional<uint32_t> target) {
        uint32_t taken = 0;
        switch (kind) {
        case FlowKind::exit:
            if (always) {
                finish(id, p, FlowEnd::exit, {}, {});
                return {};
            }
            taken = exit_block(p, stack);
            break;
        case FlowKind::bra:
            taken = block_for(*target, stack);
            break;
        case FlowKind::cal: {
            for (uint32_t s = stack; s; s = graph_.stacks[s].parent)
                if (graph_.stacks[s].kind == StackKind::call && graph_.stacks[s].callee == *target)
                    return code_.error_at(p, "is a recursive call");
            if (graph_.stacks[stack].depth >= kMaxStackDepth)
                return code_.error_at(p, "grows the reconvergence stack without an end");
            taken = block_for(*target, push(stack, StackKind::call, p + 1, *target));
            break;
        }
        case FlowKind::brx: {
            if (!always)
                return code_.error_at(p, "with a condition is not implemented");
            if (maxwell::flow_target_in_bank(inst))
                return code_.error_at(p, "through a constant bank is not implemented");
            const auto it = tables_.find(p);
            finish(id, p, FlowEnd::table, {}, {});
            if (it == tables_.end() || !tables_read_) {
                pending_.push_back(id);
                return {};
            }
            FlowBlock* b = &graph_.blocks[id];
            b->table_register = maxwell::brx_register(inst);
            b->table_uniform = maxwell::brx_uniform(inst);
            b->table_offset = it->second.offset;
            positions_ += it->second.entries.size();
            std::unordered_set<uint32_t> listed;
            for (size_t i = 0; i < it->second.entries.size(); ++i) {
                const auto [index, to] = it->second.entries[i];
                const uint32_t block = block_for(to, stack);
                b = &graph_.blocks[id];
                b->cases.push_back({it->second.values[i], index, block});
                if (listed.insert(block).second) {
                    b->successors.push_back(block);
                    predecessors_[block].push_back(id);
                }
            }
            return {};
        }
        default: { // sync, brk, cont, ret
            const uint32_t entry = find_entry(stack, kind);
            if (!entry)
                return code_.error_at(p, "finds no target on the reconvergence stack");
            const StackEntry e = graph_.stacks[entry];
            taken = block_for(e.target, e.parent);
            break;
        }
        }
        if (always)
            finish(id, p, FlowEnd::jump, {}, {taken});
        else
            finish(id, p, FlowEnd::branch, condition, {taken, block_for(p + 1, stack)});
        if (stack)
            graph_.blocks[id].merge_pc = code_.pc_of(graph_.stacks[stack].target);
        return {};
    }

    void finish(uint32_t id, uint32_t last, FlowEnd end, FlowCondition condition, std::vector<uint32_t> successors) {
        if (end == FlowEnd::branch && successors[0] == successors[1]) {
            end = FlowEnd::jump;
            successors.pop_back();
        }
        FlowBlock& b = graph_.blocks[id];
        b.last = last;
        b.end = end;
        b.condition = condition;
        b.successors = std::move(successors);
        for (uint32_t s : b.successors)
            predecessors_[s].push_back(id);
    }

    // ---- BRX tables -----------------------------------------------------------------------------------------------

    // The one instruction that every way back from `position` in `block` meets first among those that write `reg`; or nullptr.
    const isa::Instruction* reaching_write(uint32_t block, uint32_t position, uint32_t reg, uint32_t* found_block, uint32_t* found_position) {
        const isa::Instruction* found = nullptr;
        std::vector<std::pair<uint32_t, uint32_t>> work{{block, position}};
        std::vector<uint32_t> seen;
        while (!work.empty()) {
            auto [b, p] = work.back();
            work.pop_back();
            bool here = false;
            while (p > graph_.blocks[b].first) {
                const isa::Instruction* inst = code_.at(--p);
                if (++searched_ > position_limit(code_))
                    return nullptr; // a search that long is no compiler's table
                if (!inst || !maxwell::writes_register(*inst, reg, uniform_search_))
                    continue;
                if (found && found != inst)
                    return nullptr;
                found = inst;
                *found_block = b;
                *found_position = p;
                here = true;
                break;
            }
            if (here)
                continue;
            const auto it = predecessors_.find(b);
            if (b == 0 || it == predecessors_.end())
                return nullptr;
            for (uint32_t q : it->second)
                if (std::find(seen.begin(), seen.end(), q) == seen.end()) {
                    if (seen.size() > 256)
                        return nullptr;
                    seen.push_back(q);
                    work.push_back({q, graph_.blocks[q].last});
                }
        }
        return found;
    }

    Result<void> find_table(uint32_t block) {
        const uint32_t p = graph_.blocks[block].last;
        const isa::Instruction& brx = *code_.at(p);
        Table table;
        uniform_search_ = maxwell::brx_uniform(brx);
        uint32_t b = block, q = p;
        const isa::Instruction* load = reaching_write(block, p, maxwell::brx_register(brx), &b, &q);
        if (load && maxwell::loads_local_word(*load)) {
            table.found = table.pointers = true;
            tables_[p] = std::move(table);
            return {};
        }
        const auto where = load ? maxwell::table_load(*load) : std::nullopt;
        if (!where || where->bank != bank_)
            return code_.error_at(p, "has no jump table that can be found");
        table.offset = where->offset;
        // The index is shifted left by 2, and limited before or after that.
        uint32_t reg = where->index_register;
        uint32_t scale = 4;
        for (unsigned step = 0; step < 4; ++step) {
            const isa::Instruction* inst = reaching_write(b, q, reg, &b, &q);
            if (!inst)
                break;
            if (const auto limit = maxwell::index_limit(*inst)) {
                table.limit = std::min<uint64_t>(table.limit, uint64_t{*limit} / scale + 1);
                break;
            }
            const auto shift = maxwell::shifted_index(*inst);
            if (!shift || scale >> shift->amount == 0)
                break;
            scale >>= shift->amount;
            reg = shift->source;
        }
        table.found = true;
        tables_[p] = std::move(table);
        return {};
    }

    std::optional<uint32_t> constant_word(uint64_t offset) const {
        if (offset % 4 || offset + 4 > constants_.size())
            return std::nullopt;
        uint32_t v = 0;
        for (unsigned i = 0; i < 4; ++i)
            v |= uint32_t{constants_[offset + i]} << 8 * i;
        return v;
    }

    // A table ends at its limit, at the next table, and at the first word that is no address of an instruction (T-121);
    // zeros are filler (T-122).
    void read_tables() {
        std::set<uint32_t> starts;
        for (const auto& [p, t] : tables_)
            if (!t.pointers)
                starts.insert(t.offset);
        for (auto& [p, t] : tables_) {
            t.entries.clear();
            t.values.clear();
            const int64_t base = maxwell::brx_base(*code_.at(p));
            if (t.pointers) {
                read_pointers(t, base);
                continue;
            }
            const auto next = starts.upper_bound(t.offset);
            for (uint32_t i = 0; i < t.limit; ++i) {
                const uint32_t at = t.offset + 4 * i;
                if (next != starts.end() && at >= *next)
                    break;
                const auto word = constant_word(at);
                if (!word)
                    break;
                if (*word == 0)
                    continue;
                const auto target = code_.position_of(base + int64_t{static_cast<int32_t>(*word)});
                if (!target || !code_.at(*target))
                    break;
                t.entries.push_back({i, *target});
                t.values.push_back(*word);
            }
        }
        tables_read_ = true;
    }

    // Where a pointer that comes out of local memory can lead: to the instructions whose addresses the program puts into registers that it
    // stores there.
    void read_pointers(Table& t, int64_t base) {
        std::array<bool, 256> stored{};
        for (uint32_t p = 0; p < code_.size(); ++p)
            if (const isa::Instruction* inst = code_.at(p))
                if (const auto range = maxwell::stored_registers(*inst))
                    for (uint32_t r = range->first; r < std::min(range->first + range->count, uint32_t{isa::kRz}); ++r)
                        stored[r] = true;
        std::set<uint32_t> listed;
        for (uint32_t p = 0; p < code_.size() && t.entries.size() < kMaxTableEntries; ++p) {
            const isa::Instruction* inst = code_.at(p);
            const auto constant = inst ? maxwell::register_constant(*inst) : std::nullopt;
            if (!constant || constant->reg >= stored.size() || !stored[constant->reg] || !listed.insert(constant->value).second)
                continue;
            const auto target = code_.position_of(base + int64_t{static_cast<int32_t>(constant->value)});
            if (!target || !code_.at(*target))
                continue;
            t.entries.push_back({static_cast<uint32_t>(t.entries.size()), *target});
            t.values.push_back(constant->value);
        }
    }

    // ---- order ------------------------------------------------------------------------------------------------------

    void order() {
        std::vector<uint8_t> state(graph_.blocks.size(), 0);
        std::vector<std::pair<uint32_t, uint32_t>> path{{0, 0}};
        state[0] = 1;
        while (!path.empty()) {
            auto& [b, next] = path.back();
            const auto& successors = graph_.blocks[b].successors;
            if (next < successors.size()) {
                // The taken side is walked first and so comes after the side that falls through.
                const uint32_t s = successors[next++];
                if (!state[s]) {
                    state[s] = 1;
                    path.push_back({s, 0});
                }
            } else {
                graph_.order.push_back(b);
                path.pop_back();
            }
        }
        std::reverse(graph_.order.begin(), graph_.order.end());
    }

    GuestCode& code_;
    std::span<const uint8_t> constants_;
    uint8_t bank_;
    FlowGraph graph_;
    std::vector<bool> leader_;
    std::unordered_map<uint64_t, uint32_t> block_ids_;
    std::unordered_map<uint64_t, std::vector<uint32_t>> stack_ids_;
    std::unordered_map<uint32_t, std::vector<uint32_t>> predecessors_;
    std::vector<uint32_t> work_, pending_;
    uint64_t positions_ = 0, searched_ = 0;
    std::unordered_map<uint32_t, Table> tables_; // by position of the BRX
    bool tables_read_ = false;
    bool uniform_search_ = false; // reaching_write() looks at uniform registers
};

const char* stack_kind_name(StackKind k) {
    switch (k) {
    case StackKind::root: return "";
    case StackKind::ssy: return "SSY";
    case StackKind::pbk: return "PBK";
    case StackKind::pcnt: return "PCNT";
    case StackKind::pret: return "PRET";
    case StackKind::call: return "CAL";
    }
    return "";
}

} // namespace

Result<FlowGraph> recover_control_flow(GuestCode& code, std::span<const uint8_t> constants, uint8_t constants_bank) {
    if (code.size() == 0)
        return Error{"the program has no instructions"};
    return Recovery(code, constants, constants_bank).run();
}

std::string FlowGraph::text(const GuestCode& code) const {
    std::string s;
    for (uint32_t id : order) {
        const FlowBlock& b = blocks[id];
        s += fmt::format("b{}: [0x{:x}, 0x{:x})", id, code.pc_of(b.first), code.pc_of(b.last));
        std::string stack;
        for (uint32_t e = b.stack; e; e = stacks[e].parent)
            stack = fmt::format(" {} 0x{:x}", stack_kind_name(stacks[e].kind), code.pc_of(stacks[e].target)) + stack;
        if (!stack.empty())
            s += " stack" + stack;
        switch (b.end) {
        case FlowEnd::jump: s += fmt::format(" -> b{}", b.successors[0]); break;
        case FlowEnd::branch:
            s += fmt::format(" {}P{}", b.condition.negated ? "!" : "", b.condition.predicate);
            if (b.condition.condition_code != 15)
                s += fmt::format(" cc {}", b.condition.condition_code);
            if (b.condition.predicate2 != isa::kPt || b.condition.negated2)
                s += fmt::format(" {}P{}", b.condition.negated2 ? "!" : "", b.condition.predicate2);
            if (b.condition.uniform != isa::kPt || b.condition.uniform_negated)
                s += fmt::format(" {}UP{}", b.condition.uniform_negated ? "!" : "", b.condition.uniform);
            s += fmt::format(" -> b{} else b{}", b.successors[0], b.successors[1]);
            break;
        case FlowEnd::table:
            s += fmt::format(" {}{} of table 0x{:x} ->", b.table_uniform ? "UR" : "R", b.table_register, b.table_offset);
            for (const TableCase& c : b.cases)
                s += fmt::format(" {}: b{}", c.index, c.block);
            break;
        case FlowEnd::exit: s += " exit"; break;
        case FlowEnd::never: s += " never"; break;
        }
        if (b.merge_pc != kNone)
            s += fmt::format(" merge 0x{:x}", b.merge_pc);
        s += '\n';
    }
    return s;
}

} // namespace dmsh
