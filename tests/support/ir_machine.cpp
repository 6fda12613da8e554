// Runs lifted IR through LLVM's ORC JIT; each thread is a fiber, and operations across lanes meet at their call sites.
#include "tests/support/ir_machine.h"
#include <cfenv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <memory>
#include <ucontext.h>

namespace dmsh::test {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

enum class LaneOp : uint8_t { none, barrier, vote_all, vote_any, vote_eq, ballot, shfl, shfl_valid, fswzadd };

struct Thread {
    ucontext_t context;
    std::vector<uint8_t> local;
    std::array<uint32_t, 3> tid{}, ctaid{};
    uint32_t lane = 0, warp = 0, linear = 0;
    bool done = false;
    LaneOp waiting = LaneOp::none;
    uintptr_t site = 0;
    std::array<uint32_t, 4> in{};
    uint32_t out = 0;
};

struct Run {
    IrMachine* machine = nullptr;
    void (*entry)() = nullptr;
    std::vector<uint8_t> shared;
    std::array<uint32_t, 16> arrived{}; // BAR.ARV, by barrier
    std::vector<Thread> threads;
    Thread* now = nullptr;
    ucontext_t scheduler;
};

Run* g = nullptr;

float as_float(uint32_t v) { float f; memcpy(&f, &v, 4); return f; }
uint32_t as_bits(float f) { uint32_t v; memcpy(&v, &f, 4); return v; }

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

void fault(const std::string& text) {
    if (g->machine->faults.size() < 400)
        g->machine->faults += text + "\n";
}

uint8_t* in_range(std::vector<uint8_t>& memory, uint64_t offset, size_t size, const char* what) {
    if (offset > memory.size() || memory.size() - offset < size) {
        fault(fmt::format("{} access of {} bytes at 0x{:x} of 0x{:x}", what, size, offset, memory.size()));
        return nullptr;
    }
    return memory.data() + offset;
}

template <class T> T load(std::vector<uint8_t>& memory, uint64_t offset, const char* what) {
    T v = 0;
    if (const uint8_t* p = in_range(memory, offset, sizeof v, what))
        memcpy(&v, p, sizeof v);
    return v;
}
template <class T> void store(std::vector<uint8_t>& memory, uint64_t offset, T v, const char* what) {
    if (uint8_t* p = in_range(memory, offset, sizeof v, what))
        memcpy(p, &v, sizeof v);
}

template <class T, class S> T atomic(std::vector<uint8_t>& memory, uint64_t offset, uint32_t op, T value, T comparand, const char* what) {
    const T old = load<T>(memory, offset, what);
    T next = old;
    switch (static_cast<AtomicOp>(op)) {
    case AtomicOp::add: next = old + value; break;
    case AtomicOp::smin: next = static_cast<S>(value) < static_cast<S>(old) ? value : old; break;
    case AtomicOp::smax: next = static_cast<S>(value) > static_cast<S>(old) ? value : old; break;
    case AtomicOp::umin: next = std::min(value, old); break;
    case AtomicOp::umax: next = std::max(value, old); break;
    case AtomicOp::inc: next = old >= value ? 0 : old + 1; break;
    case AtomicOp::dec: next = old == 0 || old > value ? value : old - 1; break;
    case AtomicOp::and_: next = old & value; break;
    case AtomicOp::or_: next = old | value; break;
    case AtomicOp::xor_: next = old ^ value; break;
    case AtomicOp::exch: next = value; break;
    case AtomicOp::cas: next = old == comparand ? value : old; break;
    case AtomicOp::fadd_ftz:
        next = as_bits(flush(flush(as_float(static_cast<uint32_t>(old))) + flush(as_float(static_cast<uint32_t>(value)))));
        break;
    case AtomicOp::hadd2: fault("hadd2 atomic"); break;
    }
    store<T>(memory, offset, next, what);
    return old;
}

uint32_t wait(LaneOp op, uintptr_t site, std::array<uint32_t, 4> in) {
    Thread* t = g->now;
    t->waiting = op;
    t->site = site;
    t->in = in;
    swapcontext(&t->context, &g->scheduler);
    return t->out;
}

#define SITE reinterpret_cast<uintptr_t>(__builtin_return_address(0))

// ---- the intrinsics -------------------------------------------------------------------------------------------------

uint32_t cbuf_load(uint32_t bank, uint32_t offset) {
    if (bank >= g->machine->banks.size()) {
        fault(fmt::format("bank {}", bank));
        return 0;
    }
    // Loads that run speculatively may name any offset: outside the bank they give zero, as on the hardware.
    const std::vector<uint8_t>& words = g->machine->banks[bank];
    return offset + uint64_t{4} <= words.size() ? load<uint32_t>(g->machine->banks[bank], offset, "constant bank") : 0;
}

template <class T> T global_load(uint64_t a) { return load<T>(g->machine->global, a - IrMachine::kGlobalBase, "global"); }
template <class T> void global_store(uint64_t a, T v) { store<T>(g->machine->global, a - IrMachine::kGlobalBase, v, "global"); }
uint32_t global_atomic_32(uint64_t a, uint32_t op, uint32_t v, uint32_t c) {
    return atomic<uint32_t, int32_t>(g->machine->global, a - IrMachine::kGlobalBase, op, v, c, "global");
}
uint64_t global_atomic_64(uint64_t a, uint32_t op, uint64_t v, uint64_t c) {
    return atomic<uint64_t, int64_t>(g->machine->global, a - IrMachine::kGlobalBase, op, v, c, "global");
}
template <class T> T shared_load(uint32_t a) { return load<T>(g->shared, a, "shared"); }
template <class T> void shared_store(uint32_t a, T v) { store<T>(g->shared, a, v, "shared"); }
uint32_t shared_atomic_32(uint32_t a, uint32_t op, uint32_t v, uint32_t c) { return atomic<uint32_t, int32_t>(g->shared, a, op, v, c, "shared"); }
uint64_t shared_atomic_64(uint32_t a, uint32_t op, uint64_t v, uint64_t c) { return atomic<uint64_t, int64_t>(g->shared, a, op, v, c, "shared"); }
template <class T> T local_load(uint32_t a) { return load<T>(g->now->local, a, "local"); }
template <class T> void local_store(uint32_t a, T v) { store<T>(g->now->local, a, v, "local"); }

// Generic addresses: windows of 16 MiB below 4 GiB whose bases stand in the driver bank (cuda), else global memory.
enum class Window { global, shared, local };
Window window_of(uint64_t a) {
    const GuestAbi& abi = *g->machine->abi;
    if (abi.shared_window_base == kNone)
        return Window::global;
    const auto in = [&](uint32_t base_offset) { return a >> 24 == load<uint32_t>(g->machine->banks[0], base_offset, "driver bank") >> 24; };
    return in(abi.shared_window_base) ? Window::shared : in(abi.local_window_base) ? Window::local : Window::global;
}
template <class T> T generic_load(uint64_t a) {
    const auto low = static_cast<uint32_t>(a & 0xffffff);
    switch (window_of(a)) {
    case Window::shared: return shared_load<T>(low);
    case Window::local: return local_load<T>(low);
    default: return global_load<T>(a);
    }
}
template <class T> void generic_store(uint64_t a, T v) {
    const auto low = static_cast<uint32_t>(a & 0xffffff);
    switch (window_of(a)) {
    case Window::shared: return shared_store<T>(low, v);
    case Window::local: return local_store<T>(low, v);
    default: return global_store<T>(a, v);
    }
}

uint32_t buffer_load(uint32_t binding, uint32_t offset) { return load<uint32_t>(g->machine->buffers[binding], offset, "buffer"); }
void buffer_store(uint32_t binding, uint32_t offset, uint32_t v) { store<uint32_t>(g->machine->buffers[binding], offset, v, "buffer"); }
uint32_t buffer_atomic(uint32_t binding, uint32_t offset, uint32_t op, uint32_t v, uint32_t c) {
    return atomic<uint32_t, int32_t>(g->machine->buffers[binding], offset, op, v, c, "buffer");
}
uint32_t raw_load(uint64_t a) { return load<uint32_t>(g->machine->global, a - IrMachine::kDeviceBase, "device"); }
void raw_store(uint64_t a, uint32_t v) { store<uint32_t>(g->machine->global, a - IrMachine::kDeviceBase, v, "device"); }
uint32_t raw_atomic_32(uint64_t a, uint32_t op, uint32_t v, uint32_t c) {
    return atomic<uint32_t, int32_t>(g->machine->global, a - IrMachine::kDeviceBase, op, v, c, "device");
}
uint64_t raw_atomic_64(uint64_t a, uint32_t op, uint64_t v, uint64_t c) {
    return atomic<uint64_t, int64_t>(g->machine->global, a - IrMachine::kDeviceBase, op, v, c, "device");
}

uint32_t attr_load(uint32_t offset, uint32_t) { return g->machine->attributes[offset]; }
void attr_store(uint32_t offset, uint32_t bits, uint32_t) { g->machine->outputs[offset] = bits; }
float attr_interp(uint32_t offset, uint32_t, uint32_t) { return as_float(g->machine->attributes[offset]); }
void frag_colour(uint32_t target, uint32_t component, uint32_t bits) { g->machine->colours[target * 4 + component] = bits; }
void frag_depth(float v) { g->machine->outputs[0xfffffffe] = as_bits(v); }
void frag_mask(uint32_t v) { g->machine->outputs[0xfffffffd] = v; }
void demote() { g->machine->demoted = true; }
bool helper() { return false; }
uint32_t clock_word() { static uint32_t t = 0; return t += 4; }
void membar(uint32_t) {}

uint32_t special(uint32_t id) {
    const Thread& t = *g->now;
    if (const auto it = g->machine->specials.find(id); it != g->machine->specials.end())
        return it->second;
    switch (static_cast<SpecialRegister>(id)) {
    case SpecialRegister::laneid: return t.lane;
    case SpecialRegister::tid_x: return t.tid[0];
    case SpecialRegister::tid_y: return t.tid[1];
    case SpecialRegister::tid_z: return t.tid[2];
    case SpecialRegister::tid_packed: return t.tid[0] | t.tid[1] << 16 | t.tid[2] << 26;
    case SpecialRegister::ctaid_x: return t.ctaid[0];
    case SpecialRegister::ctaid_y: return t.ctaid[1];
    case SpecialRegister::ctaid_z: return t.ctaid[2];
    case SpecialRegister::eqmask: return 1u << t.lane;
    case SpecialRegister::ltmask: return (1u << t.lane) - 1;
    case SpecialRegister::lemask: return (2u << t.lane) - 1;
    case SpecialRegister::gtmask: return ~((2u << t.lane) - 1);
    case SpecialRegister::gemask: return ~((1u << t.lane) - 1);
    default: return 0;
    }
}

constexpr uint32_t kNoReduction = ~0u;
void barrier() { wait(LaneOp::barrier, SITE, {0, 0, kNoReduction, 0}); }
void barrier_part(uint32_t id, uint32_t threads) { wait(LaneOp::barrier, SITE, {id & 15, threads, kNoReduction, 0}); }
void barrier_arrive(uint32_t id, uint32_t) { ++g->arrived[id & 15]; }
uint32_t barrier_reduce(uint32_t mode, uint32_t id, uint32_t threads, bool v) { return wait(LaneOp::barrier, SITE, {id & 15, threads, mode, v}); }
bool vote_all(bool v) { return wait(LaneOp::vote_all, SITE, {v}); }
bool vote_any(bool v) { return wait(LaneOp::vote_any, SITE, {v}); }
bool vote_eq(bool v) { return wait(LaneOp::vote_eq, SITE, {v}); }
uint32_t ballot(bool v) { return wait(LaneOp::ballot, SITE, {v}); }
uint32_t shfl(uint32_t mode, uint32_t v, uint32_t b, uint32_t c) { return wait(LaneOp::shfl, SITE, {mode, v, b, c}); }
bool shfl_valid(uint32_t mode, uint32_t b, uint32_t c) { return wait(LaneOp::shfl_valid, SITE, {mode, 0, b, c}); }
float fswzadd(float a, float b, uint32_t mask) { return as_float(wait(LaneOp::fswzadd, SITE, {as_bits(a), as_bits(b), mask})); }

float mufu(uint32_t f, float x) {
    const double d = x;
    switch (static_cast<MufuOp>(f)) {
    case MufuOp::cos: return static_cast<float>(std::cos(d));
    case MufuOp::sin: return static_cast<float>(std::sin(d));
    case MufuOp::ex2: return static_cast<float>(std::exp2(d));
    case MufuOp::lg2: return static_cast<float>(std::log2(d));
    case MufuOp::rcp: return static_cast<float>(1.0 / d);
    case MufuOp::rsq: return static_cast<float>(1.0 / std::sqrt(d));
    case MufuOp::sqrt: return static_cast<float>(std::sqrt(d));
    case MufuOp::tanh: return static_cast<float>(std::tanh(d));
    }
    return 0;
}
uint32_t mufu64h(uint32_t f, uint32_t high) {
    const uint64_t bits = uint64_t{high} << 32;
    double d;
    memcpy(&d, &bits, 8);
    d = f == 0 ? 1.0 / d : 1.0 / std::sqrt(d);
    uint64_t r;
    memcpy(&r, &d, 8);
    // About 20 bits are good; a small error keeps code honest that needs its Newton steps.
    return static_cast<uint32_t>(r >> 32);
}

struct Rounding {
    int before = fegetround();
    explicit Rounding(uint32_t round) { fesetround(round == 1 ? FE_DOWNWARD : round == 2 ? FE_UPWARD : round == 3 ? FE_TOWARDZERO : FE_TONEAREST); }
    ~Rounding() { fesetround(before); }
};
template <class T> T opaque(T v) { volatile T x = v; return x; }
template <class T> T add_rnd(uint32_t r, T a, T b) { const Rounding mode(r); return opaque(opaque(a) + opaque(b)); }
template <class T> T mul_rnd(uint32_t r, T a, T b) { const Rounding mode(r); return opaque(opaque(a) * opaque(b)); }
template <class T> T fma_rnd(uint32_t r, T a, T b, T c) { const Rounding mode(r); return opaque(std::fma(opaque(a), opaque(b), opaque(c))); }
float f64_to_f32_rnd(uint32_t r, double a) { const Rounding mode(r); return opaque(static_cast<float>(opaque(a))); }
template <class T> T i64_to_rnd(uint32_t r, uint32_t is_signed, uint64_t v) {
    const Rounding mode(r);
    return is_signed ? opaque(static_cast<T>(opaque(static_cast<int64_t>(v)))) : opaque(static_cast<T>(opaque(v)));
}
// Half values travel in the low 16 bits of an SSE register, as LLVM passes them.
_Float16 f32_to_f16_rnd(uint32_t r, float a) {
    const double lattice = a;
    _Float16 near = static_cast<_Float16>(a);
    const double n = static_cast<double>(near);
    if (n == lattice || std::isnan(lattice) || r == 0)
        return near;
    uint16_t bits;
    memcpy(&bits, &near, 2);
    const bool up = r == 2 || (r == 3 && a < 0), down = r == 1 || (r == 3 && a > 0);
    if (up && n < lattice)
        bits = bits & 0x8000 ? static_cast<uint16_t>(bits - 1) : static_cast<uint16_t>(bits + 1);
    if (down && n > lattice)
        bits = bits & 0x8000 ? static_cast<uint16_t>(bits + 1) : bits == 0 ? uint16_t{0x8001} : static_cast<uint16_t>(bits - 1);
    if (up && n < lattice && bits == 0x8000 - 1)
        bits = 0x8000;
    memcpy(&near, &bits, 2);
    return near;
}
bool fchk(float a, float b) {
    // Operands whose quotient needs scaling: the exponent ranges of the hardware's own test are not published; this is wide enough.
    const uint32_t ea = as_bits(a) >> 23 & 255, eb = as_bits(b) >> 23 & 255;
    return ea == 255 || eb == 255 || ea < 30 || eb == 0 || eb > 252 || int(ea) - int(eb) > 125 || int(ea) - int(eb) < -125;
}

const std::map<std::string, void*>& host_functions() {
#define H(name, function) {name, reinterpret_cast<void*>(static_cast<decltype(&function)>(&function))}
#define HT(name, ...) {name, reinterpret_cast<void*>(&__VA_ARGS__)}
    static const std::map<std::string, void*> map = {
        H("dmsh.cbuf.load", cbuf_load),
        HT("dmsh.global.load.i8", global_load<uint8_t>), HT("dmsh.global.load.i16", global_load<uint16_t>), HT("dmsh.global.load.i32", global_load<uint32_t>),
        HT("dmsh.global.store.i8", global_store<uint8_t>), HT("dmsh.global.store.i16", global_store<uint16_t>), HT("dmsh.global.store.i32", global_store<uint32_t>),
        H("dmsh.global.atomic.i32", global_atomic_32), H("dmsh.global.atomic.i64", global_atomic_64),
        HT("dmsh.shared.load.i8", shared_load<uint8_t>), HT("dmsh.shared.load.i16", shared_load<uint16_t>), HT("dmsh.shared.load.i32", shared_load<uint32_t>),
        HT("dmsh.shared.store.i8", shared_store<uint8_t>), HT("dmsh.shared.store.i16", shared_store<uint16_t>), HT("dmsh.shared.store.i32", shared_store<uint32_t>),
        H("dmsh.shared.atomic.i32", shared_atomic_32), H("dmsh.shared.atomic.i64", shared_atomic_64),
        HT("dmsh.local.load.i8", local_load<uint8_t>), HT("dmsh.local.load.i16", local_load<uint16_t>), HT("dmsh.local.load.i32", local_load<uint32_t>),
        HT("dmsh.local.store.i8", local_store<uint8_t>), HT("dmsh.local.store.i16", local_store<uint16_t>), HT("dmsh.local.store.i32", local_store<uint32_t>),
        H("dmsh.attr.load", attr_load), H("dmsh.attr.store", attr_store), H("dmsh.attr.interp", attr_interp),
        H("dmsh.frag.colour", frag_colour), H("dmsh.frag.depth", frag_depth), H("dmsh.frag.mask", frag_mask),
        H("dmsh.demote", demote), H("dmsh.helper", helper), H("dmsh.clock", clock_word), H("dmsh.membar", membar), H("dmsh.special", special),
        HT("dmsh.generic.load.i8", generic_load<uint8_t>), HT("dmsh.generic.load.i16", generic_load<uint16_t>),
        HT("dmsh.generic.load.i32", generic_load<uint32_t>), HT("dmsh.generic.store.i8", generic_store<uint8_t>),
        HT("dmsh.generic.store.i16", generic_store<uint16_t>), HT("dmsh.generic.store.i32", generic_store<uint32_t>),
        H("dmsh.ssbo.load.i32", buffer_load), H("dmsh.ssbo.store.i32", buffer_store), H("dmsh.ssbo.atomic.i32", buffer_atomic),
        H("dmsh.ubo.load", buffer_load), H("dmsh.raw.load.i32", raw_load), H("dmsh.raw.store.i32", raw_store),
        H("dmsh.raw.atomic.i32", raw_atomic_32), H("dmsh.raw.atomic.i64", raw_atomic_64),
        H("dmsh.barrier.part", barrier_part), H("dmsh.barrier.arrive", barrier_arrive), H("dmsh.barrier.reduce", barrier_reduce),
        H("dmsh.barrier", barrier), H("dmsh.vote.all", vote_all), H("dmsh.vote.any", vote_any), H("dmsh.vote.eq", vote_eq),
        H("dmsh.ballot", ballot), H("dmsh.shfl", shfl), H("dmsh.shfl.valid", shfl_valid), H("dmsh.fswzadd", fswzadd),
        H("dmsh.mufu", mufu), H("dmsh.mufu64h", mufu64h), H("dmsh.ftz", flush), H("dmsh.fchk", fchk),
        HT("dmsh.fadd.rnd", add_rnd<float>), HT("dmsh.fmul.rnd", mul_rnd<float>), HT("dmsh.ffma.rnd", fma_rnd<float>),
        HT("dmsh.dadd.rnd", add_rnd<double>), HT("dmsh.dmul.rnd", mul_rnd<double>), HT("dmsh.dfma.rnd", fma_rnd<double>),
        H("dmsh.f64.to.f32.rnd", f64_to_f32_rnd), H("dmsh.f32.to.f16.rnd", f32_to_f16_rnd),
        HT("dmsh.i64.to.f32.rnd", i64_to_rnd<float>), HT("dmsh.i64.to.f64.rnd", i64_to_rnd<double>),
    };
#undef H
#undef HT
    return map;
}

// ---- scheduling ---------------------------------------------------------------------------------------------------------

void thread_main() {
    g->entry();
    g->now->done = true;
    for (;;)
        swapcontext(&g->now->context, &g->scheduler);
}

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

void run_lane_op(std::vector<Thread*>& group) {
    uint32_t votes = 0, active = 0;
    std::array<Thread*, 32> by_lane{};
    for (Thread* t : group) {
        active |= 1u << t->lane;
        votes |= (t->in[0] & 1) << t->lane;
        by_lane[t->lane] = t;
    }
    for (Thread* t : group) {
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
            switch (t->in[2] >> 2 * (t->lane & 3) & 3) {
            case 0: t->out = as_bits(a + b); break;
            case 1: t->out = as_bits(a - b); break;
            case 2: t->out = as_bits(b - a); break;
            default: t->out = 0;
            }
            break;
        }
        default: break;
        }
    }
    for (Thread* t : group)
        t->waiting = LaneOp::none;
}

// Opens the barriers whose threads have all come; with none such the program hangs, which is a fault, and everybody goes on.
void release_barriers() {
    uint32_t alive = 0;
    std::array<std::vector<Thread*>, 16> waiting;
    for (Thread& t : g->threads)
        if (!t.done) {
            ++alive;
            waiting[t.in[0]].push_back(&t);
        }
    bool opened = false;
    for (uint32_t id = 0; id < waiting.size(); ++id) {
        if (waiting[id].empty())
            continue;
        const uint32_t needed = waiting[id].front()->in[1] ? waiting[id].front()->in[1] : alive;
        if (waiting[id].size() + g->arrived[id] < std::min(needed, alive + g->arrived[id]))
            continue;
        g->arrived[id] = 0;
        uint32_t votes = 0;
        for (const Thread* t : waiting[id])
            votes += t->in[3] & 1;
        for (Thread* t : waiting[id]) {
            const uint32_t mode = t->in[2];
            t->out = mode == 0 ? votes : mode == 1 ? votes == waiting[id].size() : votes != 0;
            t->waiting = LaneOp::none;
        }
        opened = true;
    }
    if (opened)
        return;
    fault("threads wait at different barriers for ever");
    for (Thread& t : g->threads)
        t.waiting = LaneOp::none;
}

// One workgroup to its end.
void run_group(std::vector<std::unique_ptr<uint8_t[]>>& stacks) {
    for (size_t i = 0; i < g->threads.size(); ++i) {
        Thread& t = g->threads[i];
        getcontext(&t.context);
        t.context.uc_stack.ss_sp = stacks[i].get();
        t.context.uc_stack.ss_size = kStackBytes;
        t.context.uc_link = nullptr;
        makecontext(&t.context, thread_main, 0);
    }
    for (;;) {
        bool alive = false;
        for (Thread& t : g->threads)
            if (!t.done && t.waiting == LaneOp::none) {
                g->now = &t;
                swapcontext(&g->scheduler, &t.context);
            }
        // Warps with lanes at a lane operation: the earliest call site goes first.
        std::map<uint32_t, std::vector<Thread*>> warps;
        for (Thread& t : g->threads)
            if (!t.done) {
                alive = true;
                if (t.waiting != LaneOp::barrier)
                    warps[t.warp].push_back(&t);
            }
        if (!alive)
            return;
        if (warps.empty()) {
            release_barriers();
            continue;
        }
        for (auto& [warp, lanes] : warps) {
            uintptr_t site = ~uintptr_t{0};
            for (Thread* t : lanes)
                site = std::min(site, t->site);
            std::vector<Thread*> group;
            for (Thread* t : lanes)
                if (t->site == site)
                    group.push_back(t);
            run_lane_op(group);
        }
    }
}

std::string text_of(llvm::Error e) { return llvm::toString(std::move(e)); }

} // namespace

Result<void> IrMachine::run(ShaderModule shader) {
    static const bool init = [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        return true;
    }();
    (void)init;
    abi = shader.input.abi;
    auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
    if (!builder)
        return Error{text_of(builder.takeError())};
    builder->setCodeGenOptLevel(llvm::CodeGenOpt::None);
    auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*builder)).create();
    if (!jit)
        return Error{text_of(jit.takeError())};
    llvm::orc::SymbolMap symbols;
    for (const llvm::Function& f : *shader.module) {
        if (!f.isDeclaration() || !f.getName().startswith("dmsh."))
            continue;
        const auto it = host_functions().find(f.getName().str());
        if (it == host_functions().end())
            return Error{"the machine has no " + f.getName().str()};
        symbols[(*jit)->mangleAndIntern(f.getName())] =
            llvm::JITEvaluatedSymbol(llvm::pointerToJITTargetAddress(it->second), llvm::JITSymbolFlags::Exported);
    }
    auto& library = (*jit)->getMainJITDylib();
    if (auto e = library.define(llvm::orc::absoluteSymbols(symbols)))
        return Error{text_of(std::move(e))};
    auto generator = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
    if (!generator)
        return Error{text_of(generator.takeError())};
    library.addGenerator(std::move(*generator));
    shader.module->setDataLayout((*jit)->getDataLayout());
    const std::string entry_name = shader.main->getName().str() == "main" ? "dmsh_main" : shader.main->getName().str();
    shader.main->setName(entry_name);
    shader.main->setLinkage(llvm::GlobalValue::ExternalLinkage);
    if (auto e = (*jit)->addIRModule(llvm::orc::ThreadSafeModule(std::move(shader.module), std::move(shader.context))))
        return Error{text_of(std::move(e))};
    auto symbol = (*jit)->lookup(entry_name);
    if (!symbol)
        return Error{text_of(symbol.takeError())};

    Run state;
    state.machine = this;
    state.entry = symbol->toPtr<void()>();
    g = &state;
    const uint32_t count = block[0] * block[1] * block[2];
    std::vector<std::unique_ptr<uint8_t[]>> stacks;
    for (uint32_t i = 0; i < count; ++i)
        stacks.emplace_back(new uint8_t[kStackBytes]);
    for (uint32_t z = 0; z < grid[2]; ++z)
        for (uint32_t y = 0; y < grid[1]; ++y)
            for (uint32_t x = 0; x < grid[0]; ++x) {
                state.shared.assign(shared_bytes, 0);
                state.threads.clear();
                state.threads.resize(count);
                for (uint32_t i = 0; i < count; ++i) {
                    Thread& t = state.threads[i];
                    t.linear = i;
                    t.lane = i % 32;
                    t.warp = i / 32;
                    t.tid = {i % block[0], i / block[0] % block[1], i / (block[0] * block[1])};
                    t.ctaid = {x, y, z};
                    t.local.assign(local_bytes, 0);
                }
                run_group(stacks);
            }
    g = nullptr;
    return {};
}

} // namespace dmsh::test
