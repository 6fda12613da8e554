// Runs workgroups: which lanes execute together, branches, the reconvergence stack, barriers.
#include "compiler/sim/operands.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace dmsh::sim {
namespace {

constexpr uint32_t kNoPosition = ~0u;

// Position of a byte address: on sm_53 three instructions stand behind each scheduling word.
uint32_t position_of(int64_t pc) {
    if (pc < 0 || pc % 8 != 0)
        return kNoPosition;
    const uint32_t slot = static_cast<uint32_t>(pc % 32 / 8);
    return static_cast<uint32_t>(pc / 32) * 3 + (slot ? slot - 1 : 0);
}

// Instructions that push onto the reconvergence stack have no guard: their bits 16..19 are 0, which would name P0.
bool guarded(Op op) {
    switch (op) {
    case Op::SSY:
    case Op::PBK:
    case Op::PCNT:
    case Op::PRET:
    case Op::PEXIT:
    case Op::PLONGJMP:
    case Op::CAL:
    case Op::JCAL: return false;
    default: return true;
    }
}

class Runner {
  public:
    explicit Runner(const Launch& launch) : launch_(launch) {
        isa::ProgramWords words(isa::Arch::sm_53, launch.code);
        uint64_t lo = 0, hi = 0;
        uint32_t pc = 0, control = 0;
        while (words.next(lo, hi, pc, control)) {
            Instruction i;
            i.row = isa::decode_maxwell(lo);
            i.lo = lo;
            i.pc = pc;
            program_.push_back(i);
        }
        group_.launch = &launch;
        group_.sort_ranges();
        threads_ = launch.graphics ? static_cast<uint32_t>(launch.graphics->invocations.size())
                                   : launch.block[0] * launch.block[1] * launch.block[2];
    }

    Result<void> grid() {
        if (threads_ == 0 || threads_ > 1024)
            return Error{"a workgroup has 1 to 1024 threads"};
        if (launch_.graphics)
            return workgroup();
        for (uint32_t z = 0; z < launch_.grid[2]; ++z)
            for (uint32_t y = 0; y < launch_.grid[1]; ++y)
                for (uint32_t x = 0; x < launch_.grid[0]; ++x) {
                    group_.ctaid = {x, y, z};
                    if (auto r = workgroup(); !r)
                        return r;
                }
        return {};
    }

  private:
    Error fault(const Instruction& i, const std::string& what) const {
        char hex[20];
        std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(i.lo));
        char at[16];
        std::snprintf(at, sizeof at, "0x%x", i.pc);
        return Error{"sm53 instruction " + std::string(i.row ? i.mnemonic() : "?") + " at " + at + " (" + hex + ") " + what};
    }

    Result<void> workgroup() {
        group_.shared.assign(launch_.shared_bytes, 0);
        group_.barriers = {};
        lanes_.assign((threads_ + kLanes - 1) / kLanes * kLanes, Lane{});
        for (uint32_t t = 0; t < threads_; ++t) {
            Lane& l = lanes_[t];
            l.live = true;
            l.id = t % kLanes;
            if (launch_.graphics)
                l.invocation = &launch_.graphics->invocations[t];
            l.tid = {t % launch_.block[0], t / launch_.block[0] % launch_.block[1], t / launch_.block[0] / launch_.block[1]};
            l.local.assign(launch_.local_bytes, 0);
        }
        for (bool any = true; any;) {
            any = false;
            for (size_t first = 0; first < lanes_.size(); first += kLanes) {
                auto ran = warp(std::span(lanes_).subspan(first, kLanes));
                if (!ran)
                    return ran.error();
                any = any || *ran;
            }
            if (const auto freed = release_barriers(); !freed)
                return freed.error();
            else
                any = any || *freed;
        }
        return {};
    }

    // Nothing runs any more: lanes at barriers that all have reached go on. Answers whether any did; none although some wait is an error.
    Result<bool> release_barriers() {
        uint32_t living = 0;
        bool waiting = false, freed = false;
        for (const Lane& l : lanes_) {
            living += l.live;
            waiting = waiting || (l.live && l.waits);
        }
        for (uint8_t id = 0; id < group_.barriers.size(); ++id) {
            Group::Barrier& b = group_.barriers[id];
            if (b.arrived == 0 || b.arrived < (b.awaited ? b.awaited : living))
                continue;
            for (Lane& l : lanes_)
                if (l.live && l.waits && l.barrier == id) {
                    l.waits = false;
                    l.reduced = b.count;
                    l.reduced_predicate = b.reduces_and ? b.all : b.any;
                    freed = true;
                }
            b = {};
        }
        if (waiting && !freed)
            return Error{"threads wait at a barrier that the others never reach"};
        return freed;
    }

    // BAR: number and count as immediates or in registers; both in one register are packed, the count from bit 16 on.
    Answer arrive(Lane& l, const Instruction& i) {
        enum : uint64_t { sync = 0, arv = 1, red = 2 };
        const uint64_t mode = i.get(F::bar_mode);
        if (mode > red)
            return "is BAR.SCAN";
        const bool id_in_register = !i.has(F::bar_id), count_in_register = !i.has(F::bar_count);
        const uint32_t id = id_in_register ? reg(l, i, F::src_a) : static_cast<uint32_t>(i.get(F::bar_id));
        uint32_t count = count_in_register ? reg(l, i, F::src_b) : static_cast<uint32_t>(i.get(F::bar_count));
        if (id_in_register && count_in_register && i.get(F::src_b) != isa::kRz)
            count >>= 16;
        Group::Barrier& b = group_.barriers[id & 15];
        ++b.arrived;
        b.awaited = count & 0xfff;
        if (mode == red) {
            const bool p = source_pred(l, i);
            b.count += p;
            b.all = b.all && p;
            b.any = b.any || p;
            b.reduces_and = i.get(F::bar_red) == 1;
        }
        if (mode != arv) {
            l.waits = true;
            l.barrier = static_cast<uint8_t>(id & 15);
        }
        return kOk;
    }

    // Runs a warp until its lanes have exited or wait. Answers whether anything ran.
    Result<bool> warp(std::span<Lane> warp) {
        bool ran = false;
        for (;;) {
            // The deepest stack first, then the lowest address: lanes meet where the hardware's stack makes them meet.
            uint32_t best = kNoPosition;
            size_t depth = 0;
            for (const Lane& l : warp) {
                if (!l.live || l.waits)
                    continue;
                if (best == kNoPosition || l.stack.size() > depth || (l.stack.size() == depth && l.position < best)) {
                    best = l.position;
                    depth = l.stack.size();
                }
            }
            if (best == kNoPosition)
                return ran;
            ran = true;
            if (best >= program_.size())
                return Error{"execution left the program"};
            const Instruction& i = program_[best];
            if (!i.row)
                return fault(i, "is unknown");
            if (++steps_ > launch_.max_steps)
                return fault(i, "was reached after too many steps");
            uint32_t active = 0, mask = 0;
            for (unsigned n = 0; n < kLanes; ++n) {
                Lane& l = warp[n];
                if (!l.live || l.waits || l.position != best || l.stack.size() != depth)
                    continue;
                active |= 1u << n;
                if (!guarded(i.op()) || l.pred(static_cast<uint32_t>(i.get(F::pred)), i.flag(F::pred_neg)))
                    mask |= 1u << n;
            }
            Lane* const traced = traced_lane(warp, active);
            const Registers before = traced ? registers(*traced) : Registers{};
            if (const Answer a = step(warp, active, mask, i); a != kOk)
                return fault(i, a);
            if (traced)
                record(before, *traced, i.pc, mask >> (traced - warp.data()) & 1);
        }
    }

    // Registers, predicates and flags of a lane as a trace counts them.
    using Registers = std::array<uint32_t, 266>;
    static Registers registers(const Lane& l) {
        Registers v{};
        std::copy_n(l.r.begin(), kTracePredicates, v.begin());
        for (unsigned k = 0; k < 7; ++k)
            v[kTracePredicates + k] = l.p >> k & 1;
        const bool flags[] = {l.z, l.s, l.c, l.o};
        std::copy_n(flags, 4, v.begin() + kTraceFlags);
        return v;
    }
    Lane* traced_lane(std::span<Lane> warp, uint32_t active) {
        const Trace* t = launch_.trace;
        if (!t || t->group != group_.ctaid || t->steps.size() >= t->limit)
            return nullptr;
        const size_t first = static_cast<size_t>(warp.data() - lanes_.data());
        return t->thread >= first && t->thread < first + kLanes && active >> (t->thread - first) & 1 ? &warp[t->thread - first] : nullptr;
    }
    void record(const Registers& before, const Lane& l, uint32_t pc, bool executed) {
        const Registers after = registers(l);
        TraceStep s{pc, executed, {}};
        for (uint16_t v = 0; v < after.size(); ++v)
            if (after[v] != before[v])
                s.writes.emplace_back(v, after[v]);
        launch_.trace->steps.push_back(std::move(s));
    }

    Answer step(std::span<Lane> warp, uint32_t active, uint32_t mask, const Instruction& i) {
        for (unsigned n = 0; n < kLanes; ++n)
            if (active >> n & 1)
                ++warp[n].position;
        // Flow first: it changes positions.
        bool is_flow = true;
        for (unsigned n = 0; n < kLanes && is_flow; ++n)
            if (mask >> n & 1) {
                const Answer a = flow(warp[n], i);
                is_flow = a != kNotMine;
                if (is_flow && a != kOk)
                    return a;
            }
        if (is_flow)
            return kOk;
        if (const Answer a = warp_op(warp, active, mask, i); a != kNotMine)
            return a;
        if (const Answer a = texture_op(warp, mask, i, group_); a != kNotMine)
            return a;
        for (unsigned n = 0; n < kLanes; ++n)
            if (mask >> n & 1)
                if (const Answer a = lane(warp[n], i, n); a != kOk)
                    return a;
        return kOk;
    }

    Answer lane(Lane& l, const Instruction& i, unsigned n) {
        for (const auto family : {float_op, integer_op, convert_op, predicate_op, memory_op, stage_op, double_op, half_op, video_op, surface_op})
            if (const Answer a = family(l, i, group_); a != kNotMine)
                return a;
        return special_op(l, i, group_, n);
    }

    static Answer push(Lane& l, Token token, int64_t target) {
        const uint32_t p = position_of(target);
        if (p == kNoPosition)
            return "has a target outside the program";
        if (l.stack.size() >= 256)
            return "overflows the stack";
        l.stack.push_back({token, p});
        return kOk;
    }
    // Drops entries down to the nearest of `token`, which is where execution goes on.
    static Answer pop(Lane& l, Token token, Token other) {
        while (!l.stack.empty()) {
            const StackEntry e = l.stack.back();
            l.stack.pop_back();
            if (e.token == token || e.token == other) {
                l.position = e.position;
                return kOk;
            }
        }
        return "finds no entry on the stack";
    }
    static Answer jump(Lane& l, int64_t target) {
        l.position = position_of(target);
        return l.position == kNoPosition ? "has a target outside the program" : kOk;
    }

    Answer flow(Lane& l, const Instruction& i) {
        const Op op = i.op();
        const bool holds = !i.has(F::cc_test) || condition_holds(l, static_cast<uint32_t>(i.get(F::cc_test)));
        switch (op) {
        case Op::BRA:
            if (i.form() != Form::none)
                return "takes its target from a constant bank";
            return holds ? jump(l, i.target()) : kOk;
        case Op::JMP:
            if (i.form() != Form::none)
                return "takes its target from a constant bank";
            return holds ? jump(l, i.target()) : kOk;
        case Op::BRX:
            if (i.form() != Form::reg)
                return "takes its target from a constant bank";
            // Relative to the word behind it, be that a scheduling word.
            return holds ? jump(l, static_cast<int64_t>(static_cast<int32_t>(reg(l, i, F::src_a))) + i.get_signed(F::offset) + i.pc + 8) : kOk;
        case Op::JMX:
            if (i.form() != Form::reg)
                return "takes its target from a constant bank";
            return holds ? jump(l, static_cast<int64_t>(static_cast<int32_t>(reg(l, i, F::src_a))) + i.get_signed(F::offset)) : kOk;
        case Op::SSY: return i.form() == Form::none ? push(l, Token::ssy, i.target()) : "takes its target from a constant bank";
        case Op::PBK: return i.form() == Form::none ? push(l, Token::pbk, i.target()) : "takes its target from a constant bank";
        case Op::PCNT: return i.form() == Form::none ? push(l, Token::pcnt, i.target()) : "takes its target from a constant bank";
        case Op::PRET: return i.form() == Form::none ? push(l, Token::pret, i.target()) : "takes its target from a constant bank";
        case Op::CAL:
        case Op::JCAL:
            if (i.form() != Form::none)
                return "takes its target from a constant bank";
            if (l.stack.size() >= 256)
                return "overflows the stack";
            l.stack.push_back({Token::call, l.position});
            return jump(l, i.target());
        case Op::SYNC: return holds ? pop(l, Token::ssy, Token::ssy) : kOk;
        case Op::BRK: return holds ? pop(l, Token::pbk, Token::pbk) : kOk;
        case Op::CONT: return holds ? pop(l, Token::pcnt, Token::pcnt) : kOk;
        case Op::RET: return holds ? pop(l, Token::call, Token::pret) : kOk;
        case Op::EXIT:
            // FCSM_TR is never taken (T-050); condition_holds says so.
            if (holds) {
                l.live = false;
                if (l.invocation && launch_.graphics->stage == Stage::fragment)
                    finish_fragment(l, *launch_.graphics);
            }
            return kOk;
        case Op::BAR: return arrive(l, i);
        default: return kNotMine;
        }
    }

    const Launch& launch_;
    std::vector<Instruction> program_;
    std::vector<Lane> lanes_;
    Group group_;
    uint32_t threads_ = 0;
    uint64_t steps_ = 0;
};

} // namespace

uint32_t Group::constant(uint32_t bank, uint32_t offset) const {
    if (bank >= launch->banks.size())
        return 0;
    const std::span<const uint8_t> b = launch->banks[bank];
    uint32_t v = 0;
    if (uint64_t{offset} + 4 <= b.size())
        std::memcpy(&v, b.data() + offset, 4);
    return v;
}

void Group::sort_ranges() {
    ranges_ = launch->global;
    std::sort(ranges_.begin(), ranges_.end(), [](const GlobalRange& a, const GlobalRange& b) { return a.address < b.address; });
}

uint8_t* Group::at(Space space, std::vector<uint8_t>& local, uint64_t address, uint32_t size) {
    const auto within = [&](std::vector<uint8_t>& v, uint64_t a) -> uint8_t* {
        return a <= v.size() && size <= v.size() - a ? v.data() + a : nullptr;
    };
    if (space == Space::shared)
        return within(shared, address);
    if (space == Space::local)
        return within(local, address);
    if (space == Space::generic) {
        if (address >> 24 == launch->shared_window)
            return within(shared, address & 0xffffff);
        if (address >> 24 == launch->local_window)
            return within(local, address & 0xffffff);
    }
    const auto inside = [&](const GlobalRange& r) {
        return address >= r.address && address - r.address <= r.bytes.size() && size <= r.bytes.size() - (address - r.address);
    };
    if (last_range_ < ranges_.size() && inside(ranges_[last_range_]))
        return ranges_[last_range_].bytes.data() + (address - ranges_[last_range_].address);
    for (size_t k = 0; k < ranges_.size(); ++k)
        if (inside(ranges_[k])) {
            last_range_ = k;
            return ranges_[k].bytes.data() + (address - ranges_[k].address);
        }
    return nullptr;
}

bool condition_holds(const Lane& l, uint32_t test) {
    const bool z = l.z, s = l.s, c = l.c, o = l.o;
    switch (test) {
    case 0: return false;              // F
    case 1: return (s && !z) != o;     // LT
    case 2: return z && !s;            // EQ
    case 3: return s != (z || o);      // LE
    case 4: return (!s != o) && !z;    // GT
    case 5: return !z;                 // NE
    case 6: return s == o;             // GE
    case 7: return !(s && z);          // NUM
    case 8: return s && z;             // NAN
    case 9: return s != o;             // LTU
    case 10: return z;                 // EQU
    case 11: return (s != o) || z;     // LEU
    case 12: return !s != (z || o);    // GTU
    case 13: return s || !z;           // NEU
    case 14: return (!s != o) || z;    // GEU
    case 15: return true;              // T
    case 16: return !o;                // OFF
    case 17: return !c;                // LO
    case 18: return !s;                // SFF
    case 19: return z || !c;           // LS
    case 20: return c && !z;           // HI
    case 21: return s;                 // SFT
    case 22: return c;                 // HS
    case 23: return o;                 // OFT
    case 30: return s || z;            // RLE
    case 31: return !s && !z;          // RGT
    default: return false;             // CSM_*, FCSM_*: the condition state machine is never set here
    }
}

Result<void> run(const Launch& launch) { return Runner(launch).grid(); }

} // namespace dmsh::sim
