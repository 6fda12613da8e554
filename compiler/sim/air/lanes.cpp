// air.* operations across lanes: simdgroups, quads, derivatives, barriers, and what a thread asks about itself.
#include "compiler/sim/air/program.h"
#include <bit>
#include <cmath>
#include <cstring>

namespace dmsh::sim {
namespace {

constexpr uint32_t kSimdgroup = 32;

enum Lane : int {
    simd_barrier, ballot, all, any, broadcast, broadcast_first, shuffle, shuffle_xor, shuffle_up, shuffle_down, rotate_up, rotate_down,
    fill_up, fill_down, is_first, sum, product, least, most, bit_and, bit_or, bit_xor, inclusive_sum, exclusive_sum, inclusive_product,
    exclusive_product, dfdx, dfdy, fwidth, quad_coordinates,
    kQuad = 0x100, // added: among the four lanes of a quad
};
struct Row {
    const char* name; // after "simd_" or "quad_"
    Lane what;
    unsigned args;
};
constexpr Row kRows[] = {
    {"ballot", ballot, 1}, {"all", all, 1}, {"any", any, 1}, {"broadcast", broadcast, 2}, {"broadcast_first", broadcast_first, 1},
    {"shuffle", shuffle, 2}, {"shuffle_xor", shuffle_xor, 2}, {"shuffle_up", shuffle_up, 2}, {"shuffle_down", shuffle_down, 2},
    {"shuffle_rotate_up", rotate_up, 2}, {"shuffle_rotate_down", rotate_down, 2}, {"shuffle_and_fill_up", fill_up, 4},
    {"shuffle_and_fill_down", fill_down, 4}, {"is_first", is_first, 0}, {"sum", sum, 1}, {"product", product, 1}, {"min", least, 1},
    {"max", most, 1}, {"and", bit_and, 1}, {"or", bit_or, 1}, {"xor", bit_xor, 1}, {"prefix_inclusive_sum", inclusive_sum, 1},
    {"prefix_exclusive_sum", exclusive_sum, 1}, {"prefix_inclusive_product", inclusive_product, 1},
    {"prefix_exclusive_product", exclusive_product, 1},
};

void meet(const AirHostOp& op, void* const* args, void* result, uint32_t site) { air_meet(op, args, result, site); }
void group_barrier(const AirHostOp&, void* const*, void*, uint32_t) {
    AirThread* t = air_run->now;
    air_run->fibers->wait_barrier();
    air_run->now = t;
}
void discard(const AirHostOp&, void* const*, void*, uint32_t) { air_run->now->discarded = true; }
void is_helper(const AirHostOp&, void* const*, void* result, uint32_t) {
    *static_cast<uint8_t*>(result) = air_run->now->helper || air_run->now->discarded;
}
void simdgroup_size(const AirHostOp& op, void* const*, void* result, uint32_t) { air_set_word(op.result, result, 0, kSimdgroup); }
void nothing(const AirHostOp&, void* const*, void*, uint32_t) {}
void num_samples(const AirHostOp& op, void* const*, void* result, uint32_t) { air_set_word(op.result, result, 0, 1); }

// simd_vote of a ballot: of every thread that the simdgroup has, or of any.
void vote_all(const AirHostOp&, void* const* args, void* result, uint32_t) {
    uint64_t mask = 0, whole = 0;
    std::memcpy(&mask, args[0], 8);
    for (const AirThread& t : air_run->threads)
        if (t.simdgroup == air_run->now->simdgroup)
            whole |= uint64_t{1} << t.lane;
    *static_cast<uint8_t*>(result) = (mask & whole) == whole;
}
void vote_any(const AirHostOp&, void* const* args, void* result, uint32_t) {
    uint64_t mask = 0;
    std::memcpy(&mask, args[0], 8);
    *static_cast<uint8_t*>(result) = mask != 0;
}

// Interpolants: a pointer that stands for the fragment input (executor.cpp puts the parameter's number there).
void interpolate(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    uint64_t handle = 0;
    std::memcpy(&handle, args[0], 8);
    const AirProgram& program = *air_run->program;
    if (handle == 0 || handle > program.parameters.size() || !air_run->launch->inputs) {
        air_fault(op.name + ": no interpolant");
        std::memset(result, 0, op.result.bytes);
        return;
    }
    const auto place = static_cast<AirPlace>(op.which);
    std::array<int32_t, 2> where{};
    if (place == AirPlace::sample)
        where[0] = static_cast<int32_t>(air_signed(op.args[1], args[1], 0));
    else if (place == AirPlace::offset)
        for (uint32_t k = 0; k < 2; ++k) // floats of a pixel, from its centre, or integers of sixteenths
            where[k] = op.args[1].scalar == AirType::Scalar::real ? static_cast<int32_t>(std::floor(air_real(op.args[1], args[1], k) * 16))
                                                                  : static_cast<int32_t>(air_signed(op.args[1], args[1], k));
    const auto words = air_run->launch->inputs->input(program.parameters[handle - 1], air_run->now->linear, place, where);
    for (uint32_t k = 0; k < std::min(4u, op.result.count); ++k)
        air_set_real(op.result, result, k, static_cast<double>(std::bit_cast<float>(words[k])));
}

void combine(const AirHostOp& op, int what, void* into, const void* value) {
    const AirType& t = op.result;
    for (uint32_t k = 0; k < t.count; ++k) {
        if (t.scalar != AirType::Scalar::integer) {
            const double a = air_real(t, into, k), b = air_real(t, value, k);
            const double r = what == sum ? a + b : what == product ? a * b : what == least ? std::fmin(a, b) : std::fmax(a, b);
            air_set_real(t, into, k, r);
            continue;
        }
        const uint64_t a = air_word(t, into, k), b = air_word(t, value, k);
        const bool less = op.sign == 's' ? air_signed(t, into, k) < air_signed(t, value, k) : a < b;
        uint64_t r = 0;
        switch (what) {
        case sum: r = a + b; break;
        case product: r = a * b; break;
        case least: r = less ? a : b; break;
        case most: r = less ? b : a; break;
        case bit_and: r = a & b; break;
        case bit_or: r = a | b; break;
        default: r = a ^ b; break;
        }
        air_set_word(t, into, k, r);
    }
}

void unit(const AirType& t, bool is_product, void* into) {
    for (uint32_t k = 0; k < t.count; ++k)
        t.scalar == AirType::Scalar::integer ? air_set_word(t, into, k, is_product) : air_set_real(t, into, k, is_product ? 1 : 0);
}

// One operation of the lanes `by_lane` (null: not here), from `first` on.
void together(const AirHostOp& op, std::array<AirThread*, kSimdgroup>& by_lane, uint32_t first, uint32_t width) {
    const int what = op.which & ~kQuad;
    uint64_t mask = 0, votes = 0;
    AirThread* leader = nullptr;
    for (uint32_t l = first; l < first + width; ++l)
        if (AirThread* t = by_lane[l]) {
            mask |= uint64_t{1} << (l - first);
            if (!leader)
                leader = t;
            if (what == ballot || what == all || what == any)
                votes |= uint64_t{*static_cast<const uint8_t*>(t->args[0]) != 0} << (l - first);
        }
    // A copy of every operand: results may lie where operands do.
    const auto copy_from = [&](AirThread* t, int64_t lane, const void* otherwise) {
        AirThread* source = lane >= 0 && lane < width ? by_lane[first + static_cast<uint32_t>(lane)] : nullptr;
        std::memcpy(t->result, source ? source->args[0] : otherwise, op.result.bytes);
    };
    std::vector<uint8_t> running(op.result.bytes);
    switch (what) {
    case inclusive_sum:
    case exclusive_sum: unit(op.result, false, running.data()); break;
    case inclusive_product:
    case exclusive_product: unit(op.result, true, running.data()); break;
    case sum:
    case product:
    case least:
    case most:
    case bit_and:
    case bit_or:
    case bit_xor:
        for (uint32_t l = first; l < first + width; ++l)
            if (AirThread* t = by_lane[l]) {
                if (t == leader)
                    std::memcpy(running.data(), t->args[0], running.size());
                else
                    combine(op, what, running.data(), t->args[0]);
            }
        break;
    default: break;
    }
    for (uint32_t l = first; l < first + width; ++l) {
        AirThread* t = by_lane[l];
        if (!t)
            continue;
        const int64_t here = l - first;
        const auto operand = [&](unsigned i) { return air_signed(op.args[i], t->args[i], 0); };
        switch (what) {
        case ballot: air_set_word(op.result, t->result, 0, votes); break;
        case all: air_set_word(op.result, t->result, 0, votes == mask); break;
        case any: air_set_word(op.result, t->result, 0, votes != 0); break;
        case is_first: air_set_word(op.result, t->result, 0, t == leader); break;
        case broadcast:
        case shuffle: copy_from(t, operand(1), t->args[0]); break;
        case broadcast_first: std::memcpy(t->result, leader->args[0], op.result.bytes); break;
        case shuffle_xor: copy_from(t, here ^ operand(1), t->args[0]); break;
        case shuffle_up: copy_from(t, here - operand(1), t->args[0]); break;
        case shuffle_down: copy_from(t, here + operand(1), t->args[0]); break;
        case rotate_up: copy_from(t, (here - operand(1)) & (width - 1), t->args[0]); break;
        case rotate_down: copy_from(t, (here + operand(1)) & (width - 1), t->args[0]); break;
        case fill_up:
        case fill_down: {
            const int64_t modulo = std::max<int64_t>(operand(3), 1), at = here % modulo + (what == fill_up ? -operand(2) : operand(2));
            if (at >= 0 && at < modulo) {
                copy_from(t, here - here % modulo + at, t->args[0]);
            } else { // from the other value, shifted in
                AirThread* source = by_lane[first + static_cast<uint32_t>((here - here % modulo + (at + modulo) % modulo) & (width - 1))];
                std::memcpy(t->result, (source ? source : t)->args[1], op.result.bytes);
            }
            break;
        }
        case inclusive_sum:
        case inclusive_product:
            combine(op, what == inclusive_sum ? sum : product, running.data(), t->args[0]);
            std::memcpy(t->result, running.data(), running.size());
            break;
        case exclusive_sum:
        case exclusive_product:
            std::memcpy(t->result, running.data(), running.size());
            combine(op, what == exclusive_sum ? sum : product, running.data(), t->args[0]);
            break;
        case sum:
        case product:
        case least:
        case most:
        case bit_and:
        case bit_or:
        case bit_xor: std::memcpy(t->result, running.data(), running.size()); break;
        case quad_coordinates:
            for (unsigned k = 0; k < 3; ++k) {
                const auto at = [&](uint32_t lane) { return (by_lane[lane] ? by_lane[lane] : t)->coordinates[k]; };
                t->dx[k] = at(l | 1) - at(l & ~1u);
                t->dy[k] = at(l | 2) - at(l & ~2u);
            }
            break;
        case dfdx:
        case dfdy:
        case fwidth:
            for (uint32_t k = 0; k < op.result.count; ++k) {
                const auto at = [&](uint32_t lane) { return air_real(op.args[0], (by_lane[lane] ? by_lane[lane] : t)->args[0], k); };
                // Differences are rounded to the type, as a subtraction is.
                const auto x = static_cast<float>(at(l | 1) - at(l & ~1u)), y = static_cast<float>(at(l | 2) - at(l & ~2u));
                const float r = what == dfdx ? x : what == dfdy ? y : std::fabs(x) + std::fabs(y);
                air_set_real(op.result, t->result, k, static_cast<double>(r));
            }
            break;
        default: break;
        }
    }
}

} // namespace

AirHandler lane_handler(AirHostOp& op) {
    const std::string_view name = op.op;
    if (name == "wg.barrier")
        return group_barrier;
    if (name == "simdgroup.barrier") {
        op.which = simd_barrier;
        return meet;
    }
    if (name == "discard_fragment")
        return discard;
    if (name == "simd_is_helper_thread")
        return is_helper;
    if (name == "atomic.fence")
        return nothing;
    if (name == "get_simdgroup_size")
        return simdgroup_size;
    if (name == "get_num_samples")
        return num_samples;
    if (name == "simd_vote_all")
        return vote_all;
    if (name == "simd_vote_any")
        return vote_any;
    for (const auto& [text, what] : {std::pair{"dfdx", dfdx}, {"dfdy", dfdy}, {"fwidth", fwidth}})
        if (name == text) {
            op.which = what;
            return meet;
        }
    if (name.starts_with("interpolate_")) {
        const auto place = name.substr(12);
        op.which = static_cast<int>(place.starts_with("centroid") ? AirPlace::centroid
                                    : place.starts_with("sample") ? AirPlace::sample
                                    : place.starts_with("offset") ? AirPlace::offset
                                                                  : AirPlace::centre);
        return interpolate;
    }
    const bool quad = name.starts_with("quad_");
    if (quad || name.starts_with("simd_"))
        for (const Row& row : kRows)
            if (name.substr(5) == row.name && op.args.size() == row.args) {
                op.which = row.what | (quad ? kQuad : 0);
                return meet;
            }
    return nullptr;
}

void air_meet(const AirHostOp& op, void* const* args, void* result, uint32_t site) {
    AirThread* t = air_run->now;
    t->op = &op;
    t->args = args;
    t->result = result;
    air_run->fibers->wait_lanes(site);
    air_run->now = t;
}

void air_resolve(std::span<const uint32_t> threads) {
    std::array<AirThread*, kSimdgroup> by_lane{};
    const AirHostOp* op = nullptr;
    for (const uint32_t i : threads) {
        AirThread& t = air_run->threads[i];
        by_lane[t.lane] = &t;
        op = t.op;
    }
    static const AirHostOp kCoordinates = [] {
        AirHostOp o;
        o.which = quad_coordinates;
        return o;
    }();
    if (!op)
        op = &kCoordinates;
    const uint32_t width = op->which & kQuad ? 4 : kSimdgroup;
    for (uint32_t first = 0; first < kSimdgroup; first += width) {
        bool here = false;
        for (uint32_t l = first; l < first + width; ++l)
            here |= by_lane[l] != nullptr;
        if (here)
            together(*op, by_lane, first, width);
    }
}

void air_quad(const std::array<float, 3>& values, uint32_t site) {
    AirThread* t = air_run->now;
    t->dx = t->dy = {};
    if (!air_run->is_fragment())
        return;
    t->op = nullptr; // the coordinates' own operation
    t->coordinates = values;
    air_run->fibers->wait_lanes(site);
    air_run->now = t;
}

} // namespace dmsh::sim
