// The lanes of a running IrMachine: fibers that meet at operations across lanes.
#include "compiler/sim/jit/ir_run.h"
#include <bit>

namespace dmsh::sim {
namespace {

float as_float(uint32_t v) { return std::bit_cast<float>(v); }
uint32_t as_bits(float f) { return f != f ? 0x7fffffffu : std::bit_cast<uint32_t>(f); }

// The source lane of a shuffle and whether it is in range; `c` holds the clamp in bits 0..4 and the segment mask in bits 8..12.
std::pair<uint32_t, bool> shuffle_source(uint32_t lane, uint32_t mode, uint32_t b, uint32_t c) {
    const uint32_t mask = c >> 8 & 31, clamp = c & 31;
    const uint32_t low = lane & mask, high = low | (clamp & ~mask);
    b &= 31;
    int32_t j = 0;
    bool ok = false;
    switch (mode) {
    case 0: j = static_cast<int32_t>(low | (b & ~mask)); ok = j <= static_cast<int32_t>(high); break;
    case 1: j = static_cast<int32_t>(lane) - static_cast<int32_t>(b); ok = j >= static_cast<int32_t>(high); break;
    case 2: j = static_cast<int32_t>(lane + b); ok = j <= static_cast<int32_t>(high); break;
    default: j = static_cast<int32_t>(lane ^ b); ok = j <= static_cast<int32_t>(high); break;
    }
    return {ok ? static_cast<uint32_t>(j) : lane, ok};
}

void run_lane_op(std::vector<IrThread*>& group) {
    uint32_t votes = 0, active = 0;
    std::array<IrThread*, kLanes> by_lane{};
    for (IrThread* t : group) {
        active |= 1u << t->lane;
        votes |= (t->in[0] & 1) << t->lane;
        by_lane[t->lane] = t;
    }
    const auto of = [&](const IrThread* t, uint32_t lane) { return by_lane[lane] ? as_float(by_lane[lane]->in[0]) : as_float(t->in[0]); };
    for (IrThread* t : group) {
        switch (t->waiting) {
        case LaneOp::vote_all: t->out = votes == active; break;
        case LaneOp::vote_any: t->out = votes != 0; break;
        case LaneOp::vote_eq: t->out = votes == 0 || votes == active; break;
        case LaneOp::ballot: t->out = votes; break;
        case LaneOp::shfl: {
            const auto [source, ok] = shuffle_source(t->lane, t->in[0], t->in[2], t->in[3]);
            t->out = (by_lane[source] ? by_lane[source] : t)->in[1];
            break;
        }
        case LaneOp::shfl_valid: t->out = shuffle_source(t->lane, t->in[0], t->in[2], t->in[3]).second; break;
        case LaneOp::fswzadd: {
            const float a = as_float(t->in[0]), b = as_float(t->in[1]);
            switch (t->in[2] >> (6 - 2 * (t->lane & 3)) & 3) {
            case 0: t->out = as_bits(a + b); break;
            case 1: t->out = as_bits(b - a); break;
            case 2: t->out = as_bits(a - b); break;
            default: t->out = as_bits(b); break;
            }
            break;
        }
        case LaneOp::quad:
            for (unsigned k = 0; k < 3; ++k) {
                const auto at = [&](uint32_t lane) { return as_float((by_lane[lane] ? by_lane[lane] : t)->in[k]); };
                t->dx[k] = at(t->lane | 1) - at(t->lane & ~1u);
                t->dy[k] = at(t->lane | 2) - at(t->lane & ~2u);
            }
            break;
        case LaneOp::ddx: t->out = as_bits(of(t, t->lane | 1) - of(t, t->lane & ~1u)); break;
        case LaneOp::ddy: t->out = as_bits(of(t, t->lane | 2) - of(t, t->lane & ~2u)); break;
        default: break;
        }
    }
    for (IrThread* t : group)
        t->waiting = LaneOp::none;
}

// Opens the barriers whose threads have all come, of the threads that are left and wait at one; with none such the program hangs, which is
// a fault, and everybody goes on.
void release_barriers(std::span<const uint32_t> left) {
    IrRun& g = *ir_run;
    const auto alive = static_cast<uint32_t>(left.size());
    std::array<std::vector<IrThread*>, 16> waiting;
    for (const uint32_t i : left)
        waiting[g.threads[i].in[0]].push_back(&g.threads[i]);
    bool opened = false;
    for (uint32_t id = 0; id < waiting.size(); ++id) {
        if (waiting[id].empty())
            continue;
        const uint32_t needed = waiting[id].front()->in[1] ? waiting[id].front()->in[1] : alive;
        if (waiting[id].size() + g.arrived[id] < std::min(needed, alive + g.arrived[id]))
            continue;
        g.arrived[id] = 0;
        uint32_t votes = 0;
        for (const IrThread* t : waiting[id])
            votes += t->in[3] & 1;
        for (IrThread* t : waiting[id]) {
            const uint32_t mode = t->in[2];
            t->out = mode == 0 ? votes : mode == 1 ? votes == waiting[id].size() : votes != 0;
            g.fibers->open(t->linear);
        }
        opened = true;
    }
    if (opened)
        return;
    ir_fault("threads wait at different barriers for ever");
    for (const uint32_t i : left)
        g.fibers->open(i);
}

} // namespace

thread_local IrRun* ir_run = nullptr;

void ir_fault(const std::string& text) {
    if (ir_run->faults->size() < 400)
        *ir_run->faults += text + "\n";
}

uint32_t ir_wait(LaneOp op, uintptr_t site, std::array<uint32_t, 4> in) {
    IrThread* t = ir_run->now;
    t->waiting = op;
    t->in = in;
    if (op == LaneOp::barrier)
        ir_run->fibers->wait_barrier();
    else
        ir_run->fibers->wait_lanes(site);
    ir_run->now = t;
    return t->out;
}

void ir_run_group() {
    IrRun& g = *ir_run;
    const auto body = [&](uint32_t i) {
        g.now = &g.threads[i];
        g.entry();
    };
    if (!g.fibers) {
        for (uint32_t i = 0; i < g.threads.size(); ++i)
            body(i);
        return;
    }
    std::vector<IrThread*> lanes;
    g.fibers->run(static_cast<uint32_t>(g.threads.size()), body, [&](std::span<const uint32_t> met) {
        lanes.clear();
        for (const uint32_t i : met)
            lanes.push_back(&g.threads[i]);
        run_lane_op(lanes);
    }, release_barriers);
}

} // namespace dmsh::sim
