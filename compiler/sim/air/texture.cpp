// air.* texture functions over the reference sampler.
#include "compiler/sim/air/program.h"
#include "compiler/sim/machine.h"
#include "compiler/sim/operands.h"
#include <bit>
#include <cmath>
#include <cstring>

namespace dmsh::sim {
namespace {

// What a name says of its class: "texture_2d_ms_array".
struct Class {
    bool depth = false, arrayed = false, multisampled = false;
    ImageDim dim = ImageDim::d2;
    explicit Class(std::string_view op) {
        depth = op.find("depth_") != op.npos && op.find("get_depth_texture") == op.npos;
        arrayed = op.ends_with("_array") || op.find("_array_grad") != op.npos;
        multisampled = op.find("_ms") != op.npos;
        dim = op.find("_cube") != op.npos ? ImageDim::cube : op.find("_3d") != op.npos ? ImageDim::d3 : op.find("buffer") != op.npos ? ImageDim::buffer
              : op.find("_1d") != op.npos                                                ? ImageDim::d1
                                                                                         : ImageDim::d2;
    }
};

// Reads operands one after another.
struct Operands {
    const AirHostOp& op;
    void* const* args;
    size_t at = 0;

    bool more() const { return at < op.args.size(); }
    const AirType& type() const { return op.args[at]; }
    bool next_is_bit() const { return more() && type().bits == 1 && type().count == 1; }
    bool next_is_real() const { return more() && type().scalar != AirType::Scalar::integer; }
    bool next_is_pointer() const { return more() && type().bits == 64 && type().count == 1 && type().scalar == AirType::Scalar::integer; }
    const void* pointer() {
        const void* p = nullptr;
        std::memcpy(&p, args[at++], sizeof p);
        return p;
    }
    std::array<float, 3> reals() {
        std::array<float, 3> r{};
        for (uint32_t k = 0; k < std::min(3u, type().count); ++k)
            r[k] = static_cast<float>(air_real(type(), args[at], k));
        ++at;
        return r;
    }
    std::array<int32_t, 3> integers() {
        std::array<int32_t, 3> r{};
        for (uint32_t k = 0; k < std::min(3u, type().count); ++k)
            r[k] = static_cast<int32_t>(air_signed(type(), args[at], k));
        ++at;
        return r;
    }
    float real() { return reals()[0]; }
    // Positions and counts are unsigned, also where they are short.
    uint32_t natural() {
        const auto w = static_cast<uint32_t>(air_word(type(), args[at], 0));
        ++at;
        return w;
    }
    std::array<int32_t, 3> naturals() {
        std::array<int32_t, 3> r{};
        for (uint32_t k = 0; k < std::min(3u, type().count); ++k)
            r[k] = static_cast<int32_t>(static_cast<uint32_t>(air_word(type(), args[at], k)));
        ++at;
        return r;
    }
};

Texture* texture_of(const void* handle, const AirHostOp& op) {
    const AirLaunch& launch = *air_run->launch;
    if (launch.texture_handles.count(handle))
        return static_cast<Texture*>(const_cast<void*>(handle));
    for (const auto& [slot, texture] : launch.textures)
        if (texture == handle)
            return texture;
    air_fault(op.name + ": no texture");
    return nullptr;
}
const AirSampler* sampler_of(const void* handle, const AirHostOp& op) {
    if (const auto it = air_run->samplers.find(handle); it != air_run->samplers.end())
        return &it->second;
    air_fault(op.name + ": no sampler");
    return nullptr;
}

void give_texel(const AirHostOp& op, const Texel& t, void* result) {
    const bool real = op.result.scalar != AirType::Scalar::integer;
    for (uint32_t k = 0; k < std::min(4u, op.result.count); ++k)
        real ? air_set_real(op.result, result, k, static_cast<double>(std::bit_cast<float>(t[k]))) : air_set_word(op.result, result, k, t[k]);
    if (op.residency)
        static_cast<uint8_t*>(result)[op.residency] = 0; // bit 0 set: not resident
}

// Lookup operands that all sampling operations share, up to the reference value.
struct Sampling {
    const Texture* texture = nullptr;
    AirSampler sampler;
    Lookup where;
    bool whole = false; // there is a texture and a sampler
};
Sampling begin_sampling(Operands& in, const Class& c, bool compares) {
    Sampling s;
    s.texture = texture_of(in.pointer(), in.op);
    if (const AirSampler* sampler = sampler_of(in.pointer(), in.op)) {
        s.sampler = *sampler;
        s.whole = s.texture != nullptr;
    }
    if (c.depth)
        ++in.at; // always 1
    s.where.at = in.reals();
    if (s.whole && s.sampler.pixels) {
        s.where.at[0] /= static_cast<float>(s.texture->width);
        s.where.at[1] /= static_cast<float>(s.texture->height);
    }
    if (c.arrayed)
        s.where.layer = in.natural();
    if (compares) {
        s.where.compares = true;
        s.where.reference = in.real();
    }
    return s;
}
// i1 has_offset, offset: absent for cubes.
void read_offset(Operands& in, const Class& c, Sampling& s) {
    if (c.dim == ImageDim::cube)
        return;
    const bool has = in.natural() != 0;
    const auto offset = in.integers();
    if (has)
        s.where.offset = offset;
}

void sample_op(const AirHostOp& op, void* const* args, void* result, uint32_t site) {
    const Class c(op.op);
    const bool grad = op.op.ends_with("_grad"), compares = op.op.starts_with("sample_compare");
    Operands in{op, args};
    Sampling s = begin_sampling(in, c, compares);
    float lod = 0, least = -1000;
    if (grad) {
        const auto dx = in.reals(), dy = in.reals();
        if (in.next_is_real())
            least = in.real();
        read_offset(in, c, s);
        if (s.whole)
            lod = level_of_detail(*s.texture, s.where.at, dx, dy);
    } else {
        read_offset(in, c, s);
        const bool explicit_lod = in.more() && in.natural() != 0;
        const float given = in.more() ? in.real() : 0;
        if (in.next_is_real())
            least = in.real();
        if (explicit_lod) {
            lod = given;
        } else {
            air_quad(s.where.at, site);
            const AirThread& t = *air_run->now;
            if (s.whole)
                lod = implicit_level(*s.texture, s.where.at, t.dx, t.dy, air_run->is_fragment() ? Stage::fragment : Stage::compute) + given;
        }
    }
    if (!s.whole)
        return give_texel(op, {}, result);
    if (least > 0)
        lod = std::max(lod, least - s.sampler.lod_bias);
    give_texel(op, sample(*s.texture, s.sampler, s.where, lod), result);
}

void gather_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    const Class c(op.op);
    Operands in{op, args};
    Sampling s = begin_sampling(in, c, op.op.starts_with("gather_compare"));
    read_offset(in, c, s);
    // Component, then a zero; depth classes have the zero alone.
    const uint32_t component = !c.depth && in.more() ? in.natural() : 0;
    const std::array<int32_t, 2> offset{s.where.offset[0], s.where.offset[1]};
    s.where.offset = {};
    give_texel(op, s.whole ? gather(*s.texture, s.sampler, s.where, component, {offset, offset, offset, offset}) : Texel{}, result);
}

void lod_op(const AirHostOp& op, void* const* args, void* result, uint32_t site) {
    const Class c(op.op);
    Operands in{op, args};
    Sampling s = begin_sampling(in, Class("texture_2d"), false); // no layer, no depth word
    air_quad(s.where.at, site);
    const AirThread& t = *air_run->now;
    float lod = 0;
    if (s.whole) {
        lod = implicit_level(*s.texture, s.where.at, t.dx, t.dy, air_run->is_fragment() ? Stage::fragment : Stage::compute);
        lod = op.op.find("unclamped") != op.op.npos ? lod + s.sampler.lod_bias : clamped_level(*s.texture, s.sampler, lod);
    }
    air_set_real(op.result, result, 0, static_cast<double>(lod));
}

// Position, face and layer of a texel.
struct Place {
    std::array<int32_t, 3> at{};
    uint32_t slice = 0;
};
Place read_place(Operands& in, const Class& c) {
    Place p;
    p.at = in.naturals();
    if (c.dim == ImageDim::cube)
        p.slice = in.natural();
    if (c.arrayed)
        p.slice = (c.dim == ImageDim::cube ? 6 * in.natural() + p.slice : in.natural());
    return p;
}

void read_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    const Class c(op.op);
    Operands in{op, args};
    const Texture* t = texture_of(in.pointer(), op);
    const bool by_sampler = in.next_is_pointer(); // AIR 2.8
    if (by_sampler)
        ++in.at;
    if (c.depth)
        ++in.at;
    Place p = read_place(in, c);
    if (by_sampler && in.more() && in.type().count > 1) {
        const auto offset = in.integers();
        for (unsigned k = 0; k < 3; ++k)
            p.at[k] += offset[k];
    }
    // What is left: lod or sample, then the access.
    const uint32_t number = in.at + 1 < op.args.size() ? in.natural() : 0;
    if (!t)
        return give_texel(op, {}, result);
    const uint8_t* texel = t->at(c.multisampled ? 0 : number, p.at[0], c.dim == ImageDim::d1 || c.dim == ImageDim::buffer ? 0 : p.at[1],
                                 t->dim == ImageDim::d3 ? p.at[2] : p.slice, c.multisampled ? number : 0);
    give_texel(op, texel ? decode_texel(t->format, texel) : Texel{}, result);
}

void write_op(const AirHostOp& op, void* const* args, void*, uint32_t) {
    const Class c(op.op);
    Operands in{op, args};
    Texture* t = texture_of(in.pointer(), op);
    const Place p = read_place(in, c);
    Texel value{};
    for (uint32_t k = 0; k < std::min(4u, in.type().count); ++k)
        value[k] = in.next_is_real() ? std::bit_cast<uint32_t>(static_cast<float>(air_real(in.type(), args[in.at], k)))
                                     : static_cast<uint32_t>(air_signed(in.type(), args[in.at], k));
    ++in.at;
    const uint32_t lod = in.at + 1 < op.args.size() ? in.natural() : 0;
    if (!t || air_run->now->helper)
        return;
    if (uint8_t* texel = t->at(lod, p.at[0], c.dim == ImageDim::d1 || c.dim == ImageDim::buffer ? 0 : p.at[1], t->dim == ImageDim::d3 ? p.at[2] : p.slice))
        encode_texel(t->format, value, texel);
}

enum Query : int { width, height, depth_size, mip_levels, array_size, samples };
void query_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    Operands in{op, args};
    const Texture* t = texture_of(in.pointer(), op);
    const uint32_t lod = in.more() ? in.natural() : 0;
    uint32_t v = 0;
    if (t && lod < 32)
        switch (op.which) {
        case width: v = t->width_at(lod); break;
        case height: v = t->dim == ImageDim::d1 ? 1 : t->height_at(lod); break;
        case depth_size: v = t->depth_at(lod); break;
        case mip_levels: v = static_cast<uint32_t>(t->levels.size()); break;
        case array_size: v = t->dim == ImageDim::cube ? t->layers / 6 : t->layers; break;
        default: v = t->samples; break;
        }
    air_set_word(op.result, result, 0, v);
}

enum Atomic : int { add, sub, bit_and, bit_or, bit_xor, least, most, exchange, load, store, cas };
void atomic_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    const Class c(op.op);
    Operands in{op, args};
    Texture* t = texture_of(in.pointer(), op);
    std::array<int32_t, 3> value{};
    if (op.which == store)
        value = in.naturals();
    const Place p = read_place(in, c);
    if (op.which != store && op.which != load && !in.next_is_pointer() && in.more() && in.type().count > 1 && in.type().count < 4)
        ++in.at; // AIR 2.8: an offset, which is zero where we read it
    uint8_t* expected = nullptr;
    if (op.which == cas)
        expected = static_cast<uint8_t*>(const_cast<void*>(in.pointer()));
    if (op.which != store && op.which != load)
        value = in.naturals();
    uint8_t* texel = t ? t->at(0, p.at[0], c.dim == ImageDim::d1 || c.dim == ImageDim::buffer ? 0 : p.at[1], t->dim == ImageDim::d3 ? p.at[2] : p.slice) : nullptr;
    if (t && t->format.bytes() != 4) {
        air_fault(op.name + ": a texture of texels that are not 32 bits");
        texel = nullptr;
    }
    uint32_t old = 0;
    if (texel)
        std::memcpy(&old, texel, 4);
    const auto v = static_cast<uint32_t>(value[0]);
    const bool less = op.sign == 's' ? static_cast<int32_t>(old) < static_cast<int32_t>(v) : old < v;
    uint32_t fresh = old;
    switch (op.which) {
    case add: fresh = old + v; break;
    case sub: fresh = old - v; break;
    case bit_and: fresh = old & v; break;
    case bit_or: fresh = old | v; break;
    case bit_xor: fresh = old ^ v; break;
    case least: fresh = less ? old : v; break;
    case most: fresh = less ? v : old; break;
    case exchange:
    case store: fresh = v; break;
    default: break;
    }
    if (op.which == cas) {
        uint32_t comparand = 0;
        uint8_t* place = air_at(expected, 4, 1);
        std::memcpy(&comparand, place, 4);
        std::memcpy(place, &old, 4);
        if (old == comparand)
            fresh = v;
        *static_cast<uint8_t*>(result) = old == comparand;
    } else if (op.which != store) {
        give_texel(op, {old, 0, 0, 0}, result);
    }
    if (texel && !air_run->now->helper)
        std::memcpy(texel, &fresh, 4);
}

void nothing(const AirHostOp&, void* const*, void*, uint32_t) {}
void null_handle(const AirHostOp& op, void* const*, void* result, uint32_t) { std::memset(result, 0, op.result.bytes); }
void is_null(const AirHostOp& op, void* const* args, void* result, uint32_t) { *static_cast<uint8_t*>(result) = air_word(op.args[0], args[0], 0) == 0; }

} // namespace

AirHandler texture_handler(AirHostOp& op) {
    const std::string_view name = op.op;
    const auto of_class = [&](std::string_view rest) { return rest.starts_with("texture_") || rest.starts_with("depth_"); };
    const auto pointers = [&](size_t n) { // the first n operands are handles
        for (size_t i = 0; i < n; ++i)
            if (i >= op.args.size() || op.args[i].bits != 64 || op.args[i].count != 1)
                return false;
        return true;
    };
    struct Row {
        std::string_view prefix;
        AirHandler handler;
        int which;
        size_t handles, operands; // at least
    };
    static constexpr Row kTable[] = {
        {"sample_compare_", sample_op, 0, 2, 4}, {"sample_", sample_op, 0, 2, 4}, {"gather_compare_", gather_op, 0, 2, 4}, {"gather_", gather_op, 0, 2, 3},
        {"calculate_clamped_lod_", lod_op, 0, 2, 3}, {"calculate_unclamped_lod_", lod_op, 0, 2, 3},
        {"read_", read_op, 0, 1, 3}, {"write_", write_op, 0, 1, 4},
        {"get_width_", query_op, width, 1, 1}, {"get_height_", query_op, height, 1, 1}, {"get_depth_", query_op, depth_size, 1, 1},
        {"get_num_mip_levels_", query_op, mip_levels, 1, 1}, {"get_array_size_", query_op, array_size, 1, 1},
        {"get_num_samples_", query_op, samples, 1, 1},
        {"atomic_fetch_add_explicit_", atomic_op, add, 1, 5}, {"atomic_fetch_sub_explicit_", atomic_op, sub, 1, 5},
        {"atomic_fetch_and_explicit_", atomic_op, bit_and, 1, 5}, {"atomic_fetch_or_explicit_", atomic_op, bit_or, 1, 5},
        {"atomic_fetch_xor_explicit_", atomic_op, bit_xor, 1, 5}, {"atomic_fetch_min_explicit_", atomic_op, least, 1, 5},
        {"atomic_fetch_max_explicit_", atomic_op, most, 1, 5}, {"atomic_exchange_explicit_", atomic_op, exchange, 1, 5},
        {"atomic_load_explicit_", atomic_op, load, 1, 4}, {"atomic_store_explicit_", atomic_op, store, 1, 5},
        {"atomic_compare_exchange_weak_explicit_", atomic_op, cas, 1, 7}, {"fence_", nothing, 0, 1, 1}, {"get_null_", null_handle, 0, 0, 0},
        {"is_null_", is_null, 0, 1, 1},
    };
    if (name == "get_read_sampler")
        return null_handle;
    for (const Row& row : kTable)
        if (name.starts_with(row.prefix) && pointers(row.handles) && op.args.size() >= row.operands &&
            (of_class(name.substr(row.prefix.size())) || row.handler == null_handle || row.handler == is_null)) {
            op.which = row.which;
            return row.handler;
        }
    return nullptr;
}

} // namespace dmsh::sim
