// The functions behind dmsh.* for a running IrMachine: memory, attributes, floats with a rounding of their own.
#include "compiler/lift/probe.h"
#include "compiler/sim/inexact.h"
#include "compiler/sim/jit/guest_bindings.h"
#include "compiler/sim/jit/ir_run.h"
#include "compiler/sim/operands.h"
#include <cstring>
#include <fmt/format.h>

namespace dmsh::sim {
namespace {

#define SITE reinterpret_cast<uintptr_t>(__builtin_return_address(0))

// ---- memory ------------------------------------------------------------------------------------------------------------

template <class T> T load(Space space, uint64_t address) {
    T v = 0;
    if (const uint8_t* p = ir_run->group.at(space, ir_run->now->local, address, sizeof v))
        std::memcpy(&v, p, sizeof v);
    else
        ir_fault(fmt::format("load of {} bytes at 0x{:x}", sizeof v, address));
    return v;
}
template <class T> void store(Space space, uint64_t address, T v) {
    if (ir_run->now->dead() && space != Space::local)
        return;
    if (uint8_t* p = ir_run->group.at(space, ir_run->now->local, address, sizeof v))
        std::memcpy(p, &v, sizeof v);
    else
        ir_fault(fmt::format("store of {} bytes at 0x{:x}", sizeof v, address));
}
// Words one by one, so that an access across a range's end does what two 32-bit ones do.
template <> uint64_t load(Space space, uint64_t address) {
    return load<uint32_t>(space, address) | uint64_t{load<uint32_t>(space, address + 4)} << 32;
}
template <> void store(Space space, uint64_t address, uint64_t v) {
    store(space, address, static_cast<uint32_t>(v));
    store(space, address + 4, static_cast<uint32_t>(v >> 32));
}

template <class T, class S> T apply(AtomicOp op, T old, T value, T comparand) {
    switch (op) {
    case AtomicOp::add: return old + value;
    case AtomicOp::smin: return static_cast<S>(value) < static_cast<S>(old) ? value : old;
    case AtomicOp::smax: return static_cast<S>(value) > static_cast<S>(old) ? value : old;
    case AtomicOp::umin: return std::min(value, old);
    case AtomicOp::umax: return std::max(value, old);
    case AtomicOp::inc: return old >= value ? 0 : old + 1;
    case AtomicOp::dec: return old == 0 || old > value ? value : old - 1;
    case AtomicOp::and_: return old & value;
    case AtomicOp::or_: return old | value;
    case AtomicOp::xor_: return old ^ value;
    case AtomicOp::exch: return value;
    case AtomicOp::cas: return old == comparand ? value : old;
    case AtomicOp::fadd_ftz: {
        const float sum = as_float(flush(static_cast<uint32_t>(old))) + as_float(flush(static_cast<uint32_t>(value)));
        return flush(bits(sum));
    }
    case AtomicOp::hadd2: {
        uint32_t r = 0;
        for (unsigned k = 0; k < 2; ++k) {
            const auto part = [&](T v) { return half_to_float(static_cast<uint16_t>(v >> 16 * k)); };
            r |= uint32_t{float_to_half(part(old) + part(value))} << 16 * k;
        }
        return r;
    }
    case AtomicOp::dadd:
        return static_cast<T>(std::bit_cast<uint64_t>(std::bit_cast<double>(uint64_t{old}) + std::bit_cast<double>(uint64_t{value})));
    }
    return old;
}
template <class T, class S> T atomic(Space space, uint64_t address, uint32_t op, T value, T comparand) {
    const T old = load<T>(space, address);
    store<T>(space, address, apply<T, S>(static_cast<AtomicOp>(op), old, value, comparand));
    return old;
}

// Raw global addresses of cuda kernels may lie in the windows of shared and local memory.
constexpr Space kGlobal = Space::generic;

uint32_t cbuf_load(uint32_t bank, uint32_t offset) { return ir_run->group.constant(bank, offset); }

template <class T> T global_load(uint64_t a) { return load<T>(kGlobal, a); }
template <class T> void global_store(uint64_t a, T v) { store<T>(kGlobal, a, v); }
uint32_t global_atomic_32(uint64_t a, uint32_t op, uint32_t v, uint32_t c) { return atomic<uint32_t, int32_t>(kGlobal, a, op, v, c); }
uint64_t global_atomic_64(uint64_t a, uint32_t op, uint64_t v, uint64_t c) { return atomic<uint64_t, int64_t>(kGlobal, a, op, v, c); }
template <class T> T shared_load(uint32_t a) { return load<T>(Space::shared, a); }
template <class T> void shared_store(uint32_t a, T v) { store<T>(Space::shared, a, v); }
uint32_t shared_atomic_32(uint32_t a, uint32_t op, uint32_t v, uint32_t c) { return atomic<uint32_t, int32_t>(Space::shared, a, op, v, c); }
uint64_t shared_atomic_64(uint32_t a, uint32_t op, uint64_t v, uint64_t c) { return atomic<uint64_t, int64_t>(Space::shared, a, op, v, c); }
template <class T> T local_load(uint32_t a) { return load<T>(Space::local, a); }
template <class T> void local_store(uint32_t a, T v) { store<T>(Space::local, a, v); }

// ---- bound memory: where a binding lies in the guest's banks ---------------------------------------------------------------

uint32_t ubo_load(uint32_t index, uint32_t offset) {
    if (ir_run->buffers->count(index))
        return load<uint32_t>(Space::global, address_of_buffer(index) + offset);
    const Binding& b = ir_binding(index);
    if (const auto bank = bound_bank(b, *ir_run->abi))
        return ir_run->group.constant(*bank, offset);
    ir_fault("constant read of binding kind " + std::string(binding_kind_name(b.kind)));
    return 0;
}

uint64_t storage_address(uint32_t index, uint32_t offset) {
    if (ir_run->buffers->count(index))
        return address_of_buffer(index) + offset;
    const Binding& b = ir_binding(index);
    const auto base = bound_storage(b, *ir_run->abi, ir_run->interface->stage, ir_constant);
    if (!base) {
        ir_fault("storage access of binding kind " + std::string(binding_kind_name(b.kind)));
        return 0;
    }
    return *base + static_cast<uint64_t>(int64_t{static_cast<int32_t>(offset)});
}

template <class T> T ssbo_load(uint32_t b, uint32_t a) { return load<T>(Space::global, storage_address(b, a)); }
template <class T> void ssbo_store(uint32_t b, uint32_t a, T v) { store<T>(Space::global, storage_address(b, a), v); }
uint32_t ssbo_atomic_32(uint32_t b, uint32_t a, uint32_t op, uint32_t v, uint32_t c) {
    return atomic<uint32_t, int32_t>(Space::global, storage_address(b, a), op, v, c);
}
uint64_t ssbo_atomic_64(uint32_t b, uint32_t a, uint32_t op, uint64_t v, uint64_t c) {
    return atomic<uint64_t, int64_t>(Space::global, storage_address(b, a), op, v, c);
}

// Addresses on the device, which the pool table gives: ranges of the launch like the guest's.
uint32_t raw_load(uint64_t a) { return load<uint32_t>(Space::global, a); }
void raw_store(uint64_t a, uint32_t v) { store<uint32_t>(Space::global, a, v); }
uint32_t raw_atomic_32(uint64_t a, uint32_t op, uint32_t v, uint32_t c) { return atomic<uint32_t, int32_t>(Space::global, a, op, v, c); }
uint64_t raw_atomic_64(uint64_t a, uint32_t op, uint64_t v, uint64_t c) { return atomic<uint64_t, int64_t>(Space::global, a, op, v, c); }

// ---- attributes ----------------------------------------------------------------------------------------------------------

constexpr uint32_t kAttributeBytes = 0x400;

Invocation& invocation() {
    static thread_local Invocation none;
    if (ir_run->now->invocation)
        return *ir_run->now->invocation;
    ir_fault("an attribute access of a compute kernel");
    return none;
}
uint32_t word_of(const AttributeWords& words, uint32_t offset) { return offset < kAttributeBytes ? words[offset / 4] : 0; }

uint32_t attr_load(uint32_t offset, uint32_t vertex) {
    const auto& in = invocation().in;
    return vertex < in.size() ? word_of(in[vertex], offset) : 0;
}
void attr_store(uint32_t offset, uint32_t value, uint32_t vertex) {
    Invocation& v = invocation();
    if (offset >= kAttributeBytes || v.dead())
        return;
    v.out[offset / 4] = value;
    v.written[offset / 4] = true;
    if (Graphics* g = ir_run->launch->graphics; g && g->stage == Stage::tess_control && vertex < g->vertices_out.size())
        g->vertices_out[vertex][offset / 4] = value;
}
uint32_t attr_load_out(uint32_t offset, uint32_t vertex) {
    const Graphics* g = ir_run->launch->graphics;
    if (g && g->stage == Stage::tess_control)
        return vertex < g->vertices_out.size() ? word_of(g->vertices_out[vertex], offset) : 0;
    return word_of(invocation().out, offset);
}
uint32_t patch_load(uint32_t offset) { return ir_run->launch->graphics ? word_of(ir_run->launch->graphics->patch, offset) : 0; }
void patch_store(uint32_t offset, uint32_t value) {
    if (ir_run->launch->graphics && offset < kAttributeBytes)
        ir_run->launch->graphics->patch[offset / 4] = value;
}
float attr_interp(uint32_t offset, uint32_t location, uint32_t shift) { return as_float(interpolate(invocation(), offset, location, shift)); }
void frag_colour(uint32_t target, uint32_t component, uint32_t value) {
    Invocation& v = invocation();
    const uint32_t k = (target * 4 + component) & 31;
    v.colour[k] = value;
    v.colours_written |= 1u << k;
}
void frag_depth(float v) { invocation().depth = std::bit_cast<uint32_t>(v); }
void frag_mask(uint32_t v) { invocation().mask = v; }
void demote() { invocation().killed = true; }
bool helper() { return invocation().dead(); }
void geom_emit(uint32_t stream) { invocation().emitted.push_back({stream, false, invocation().out}); }
void geom_cut(uint32_t stream) { invocation().emitted.push_back({stream, true, {}}); }

uint32_t special(uint32_t id) {
    const IrThread& t = *ir_run->now;
    const Invocation* v = t.invocation;
    if (const auto given = ir_run->specials->find(id); given != ir_run->specials->end())
        return given->second;
    switch (static_cast<SpecialRegister>(id)) {
    case SpecialRegister::laneid: return t.lane;
    case SpecialRegister::tid_x: return t.tid[0];
    case SpecialRegister::tid_y: return t.tid[1];
    case SpecialRegister::tid_z: return t.tid[2];
    case SpecialRegister::tid_packed: return t.tid[0] | t.tid[1] << 16 | t.tid[2] << 26;
    case SpecialRegister::ctaid_x: return ir_run->group.ctaid[0];
    case SpecialRegister::ctaid_y: return ir_run->group.ctaid[1];
    case SpecialRegister::ctaid_z: return ir_run->group.ctaid[2];
    case SpecialRegister::eqmask: return 1u << t.lane;
    case SpecialRegister::ltmask: return (1u << t.lane) - 1;
    case SpecialRegister::lemask: return (2u << t.lane) - 1;
    case SpecialRegister::gtmask: return ~((2u << t.lane) - 1);
    case SpecialRegister::gemask: return ~((1u << t.lane) - 1);
    case SpecialRegister::invocation_id: return v ? v->invocation_id : 0;
    case SpecialRegister::invocation_info: return v ? v->invocation_info : 0;
    case SpecialRegister::sample_id: return v ? v->sample_id : 0;
    case SpecialRegister::y_direction: return ir_run->launch->y_direction;
    // The driver word that the pass replaced is what the target's own base instance is.
    case SpecialRegister::base_instance: return ir_run->group.constant(ir_run->abi->driver_bank, ir_run->abi->base_instance);
    default: return 0;
    }
}
uint32_t clock_word() { return 0; } // no time passes, as in the interpreter
void membar(uint32_t) {}
void probe(uint32_t pc, uint32_t variable, uint32_t value) {
    const Trace* t = ir_run->launch->trace;
    if (t && ir_run->now->linear == t->thread && ir_run->group.ctaid == t->group && ir_run->probes->size() < 4 * t->limit)
        ir_run->probes->push_back({pc, static_cast<uint16_t>(variable), value});
}

// ---- lanes ---------------------------------------------------------------------------------------------------------------

void barrier() { ir_wait(LaneOp::barrier, SITE, {0, 0, kNoReduction, 0}); }
void barrier_part(uint32_t id, uint32_t threads) { ir_wait(LaneOp::barrier, SITE, {id & 15, threads, kNoReduction, 0}); }
void barrier_arrive(uint32_t id, uint32_t) { ++ir_run->arrived[id & 15]; }
uint32_t barrier_reduce(uint32_t mode, uint32_t id, uint32_t threads, bool v) { return ir_wait(LaneOp::barrier, SITE, {id & 15, threads, mode, v}); }
void warp_barrier() { ir_wait(LaneOp::vote_all, SITE, {true}); }
bool vote_all(bool v) { return ir_wait(LaneOp::vote_all, SITE, {v}); }
bool vote_any(bool v) { return ir_wait(LaneOp::vote_any, SITE, {v}); }
bool vote_eq(bool v) { return ir_wait(LaneOp::vote_eq, SITE, {v}); }
uint32_t ballot(bool v) { return ir_wait(LaneOp::ballot, SITE, {v}); }
uint32_t shfl(uint32_t mode, uint32_t v, uint32_t b, uint32_t c) { return ir_wait(LaneOp::shfl, SITE, {mode, v, b, c}); }
bool shfl_valid(uint32_t mode, uint32_t b, uint32_t c) { return ir_wait(LaneOp::shfl_valid, SITE, {mode, 0, b, c}); }
float fswzadd(float a, float b, uint32_t mask) {
    return as_float(ir_wait(LaneOp::fswzadd, SITE, {std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b), mask}));
}
float ddx(float a) { return as_float(ir_wait(LaneOp::ddx, SITE, {std::bit_cast<uint32_t>(a)})); }
float ddy(float a) { return as_float(ir_wait(LaneOp::ddy, SITE, {std::bit_cast<uint32_t>(a)})); }

void loop_head() {
    if (ir_run->blocks_left-- > 1)
        return;
    ir_run->endless = true;
    ir_run->fibers->stop(); // whatever loops has fibers
}

// ---- floats --------------------------------------------------------------------------------------------------------------

template <class T> T definite(T v) { // NaNs as the interpreter makes them
    if constexpr (sizeof(T) == 4)
        return as_float(bits(v));
    else
        return as_double(bits(v));
}

float ftz(float x) { return as_float(flush(std::bit_cast<uint32_t>(x))); }
float mufu(uint32_t f, float x) {
    if (static_cast<MufuOp>(f) == MufuOp::tanh) // not Maxwell's
        return definite(static_cast<float>(std::tanh(static_cast<double>(x))));
    constexpr uint64_t kSassOp[] = {0, 1, 2, 3, 4, 5, 8}; // MufuOp as F::mufu_op
    return as_float(multi_function(kSassOp[f], std::bit_cast<uint32_t>(x)));
}
uint32_t mufu64h(uint32_t f, uint32_t high) { return multi_function_64h(f == 1, high); }
bool fchk(float a, float b) { return division_needs_care(std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b)); }

template <class T> T opaque(T v) {
    volatile T x = v;
    return x;
}
template <class T> T add_rnd(uint32_t r, T a, T b) { const Rounding mode(r); return definite(opaque(opaque(a) + opaque(b))); }
template <class T> T mul_rnd(uint32_t r, T a, T b) { const Rounding mode(r); return definite(opaque(opaque(a) * opaque(b))); }
template <class T> T fma_rnd(uint32_t r, T a, T b, T c) { const Rounding mode(r); return definite(opaque(std::fma(opaque(a), opaque(b), opaque(c)))); }
float f64_to_f32_rnd(uint32_t r, double a) { const Rounding mode(r); return definite(opaque(static_cast<float>(opaque(a)))); }
template <class T> T i64_to_rnd(uint32_t r, uint32_t is_signed, uint64_t v) {
    const Rounding mode(r);
    return is_signed ? opaque(static_cast<T>(opaque(static_cast<int64_t>(v)))) : opaque(static_cast<T>(opaque(v)));
}
uint16_t f32_to_f16_rnd(uint32_t r, float a) { return float_to_half(a, r); }

// minNum and maxNum of IEEE 754-2008 with -0 below +0; both NaN: the NaN that arithmetic makes.
template <class T> T lesser(T x, T y) {
    if (x != x)
        return y != y ? definite(y) : y;
    if (y != y)
        return x;
    return x < y || (x == y && std::signbit(x)) ? x : y;
}
template <class T> T greater(T x, T y) { return -lesser<T>(-x, -y); }
template <class T> T greater_or_nan(T x, T y) { return x != x && y != y ? definite(x) : greater(x, y); }

// A half fused product rounds once: exact as a double, rounded to odd as a float on the way.
uint16_t fma_f16(uint16_t a, uint16_t b, uint16_t c) {
    const double exact = static_cast<double>(half_to_float(a)) * half_to_float(b) + static_cast<double>(half_to_float(c));
    float f = static_cast<float>(exact);
    if (exact == exact && static_cast<double>(f) != exact) {
        uint32_t w = std::bit_cast<uint32_t>(f);
        if (std::fabs(static_cast<double>(f)) > std::fabs(exact))
            --w;
        f = as_float(w | 1);
    }
    return float_to_half(f);
}

uint16_t lesser_half(uint16_t a, uint16_t b) { return float_to_half(lesser(half_to_float(a), half_to_float(b))); }
uint16_t greater_half(uint16_t a, uint16_t b) { return float_to_half(greater_or_nan(half_to_float(a), half_to_float(b))); }

} // namespace

uint32_t ir_constant(uint32_t bank, uint32_t offset) { return ir_run->group.constant(bank, offset); }
const Binding& ir_binding(uint32_t index) {
    static const Binding none;
    return index < ir_run->interface->bindings.size() ? ir_run->interface->bindings[index] : none;
}
uint32_t ir_apply_atomic(uint32_t op, uint32_t old, uint32_t value, uint32_t comparand) {
    return apply<uint32_t, int32_t>(static_cast<AtomicOp>(op), old, value, comparand);
}

const std::map<std::string, void*>& ir_host_functions() {
#define H(name, function) {name, reinterpret_cast<void*>(static_cast<decltype(&function)>(&function))}
#define HT(name, ...) {name, reinterpret_cast<void*>(&__VA_ARGS__)}
#define SPACE(space, prefix)                                                                                                                   \
    HT("dmsh." space ".load.i8", prefix##_load<uint8_t>), HT("dmsh." space ".load.i16", prefix##_load<uint16_t>),                              \
        HT("dmsh." space ".load.i32", prefix##_load<uint32_t>), HT("dmsh." space ".store.i8", prefix##_store<uint8_t>),                        \
        HT("dmsh." space ".store.i16", prefix##_store<uint16_t>), HT("dmsh." space ".store.i32", prefix##_store<uint32_t>)
    static const std::map<std::string, void*> map = [] {
    std::map<std::string, void*> m = {
        H("dmsh.cbuf.load", cbuf_load), H("dmsh.ubo.load", ubo_load),
        SPACE("global", global), SPACE("shared", shared), SPACE("local", local), SPACE("ssbo", ssbo), SPACE("generic", global),
        H("dmsh.raw.load.i32", raw_load), H("dmsh.raw.store.i32", raw_store), H("dmsh.raw.atomic.i32", raw_atomic_32),
        H("dmsh.raw.atomic.i64", raw_atomic_64),
        H("dmsh.global.atomic.i32", global_atomic_32), H("dmsh.global.atomic.i64", global_atomic_64),
        H("dmsh.shared.atomic.i32", shared_atomic_32), H("dmsh.shared.atomic.i64", shared_atomic_64),
        H("dmsh.ssbo.atomic.i32", ssbo_atomic_32), H("dmsh.ssbo.atomic.i64", ssbo_atomic_64),
        H("dmsh.attr.load", attr_load), H("dmsh.attr.store", attr_store), H("dmsh.attr.load.out", attr_load_out),
        H("dmsh.patch.load", patch_load), H("dmsh.patch.store", patch_store), H("dmsh.attr.interp", attr_interp),
        H("dmsh.frag.colour", frag_colour), H("dmsh.frag.depth", frag_depth), H("dmsh.frag.mask", frag_mask),
        H("dmsh.demote", demote), H("dmsh.helper", helper), H("dmsh.geom.emit", geom_emit), H("dmsh.geom.cut", geom_cut),
        H("dmsh.clock", clock_word), H("dmsh.membar", membar), H("dmsh.special", special), H(kProbeFunction, probe),
        H("dmsh.barrier.part", barrier_part), H("dmsh.barrier.arrive", barrier_arrive), H("dmsh.barrier.reduce", barrier_reduce),
        H("dmsh.barrier", barrier), H("dmsh.warp.barrier", warp_barrier), H("dmsh.vote.all", vote_all), H("dmsh.vote.any", vote_any), H("dmsh.vote.eq", vote_eq),
        H("dmsh.ballot", ballot), H("dmsh.shfl", shfl), H("dmsh.shfl.valid", shfl_valid), H("dmsh.fswzadd", fswzadd),
        H("dmsh.ddx", ddx), H("dmsh.ddy", ddy), H("host.loop", loop_head),
        H("dmsh.mufu", mufu), H("dmsh.mufu64h", mufu64h), H("dmsh.ftz", ftz), H("dmsh.fchk", fchk),
        HT("dmsh.fadd.rnd", add_rnd<float>), HT("dmsh.fmul.rnd", mul_rnd<float>), HT("dmsh.ffma.rnd", fma_rnd<float>),
        HT("dmsh.dadd.rnd", add_rnd<double>), HT("dmsh.dmul.rnd", mul_rnd<double>), HT("dmsh.dfma.rnd", fma_rnd<double>),
        H("dmsh.f64.to.f32.rnd", f64_to_f32_rnd), H("host.f32.to.f16.rnd", f32_to_f16_rnd),
        HT("dmsh.i64.to.f32.rnd", i64_to_rnd<float>), HT("dmsh.i64.to.f64.rnd", i64_to_rnd<double>),
        HT("host.min.f32", lesser<float>), HT("host.max.f32", greater_or_nan<float>), HT("host.min.f64", lesser<double>),
        HT("host.max.f64", greater_or_nan<double>), H("host.fma.f16", fma_f16), H("host.min.f16", lesser_half), H("host.max.f16", greater_half),
    };
    add_texture_functions(m);
    return m;
    }();
#undef H
#undef HT
#undef SPACE
    return map;
}

} // namespace dmsh::sim
