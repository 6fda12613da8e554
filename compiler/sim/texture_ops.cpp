// Texture look-ups. Operands stand in lists of registers: a holds [layer], coordinates; b holds [handle of the .B forms], [level or bias],
// [offsets], [sample], [reference]. TXD: a holds [handle], coordinates, [layer and offsets]; b the changes per pixel, x before y for each
// coordinate. The short forms TEXS, TLDS and TLD4S spread one list over a and b.
#include "compiler/sim/operands.h"
#include "compiler/sim/texture/texture_set.h"
#include <algorithm>

namespace dmsh::sim {
namespace {

enum class Level : uint8_t { implicit, zero, bias, given };

struct Request {
    ImageDim dim = ImageDim::d2;
    bool arrayed = false, multisampled = false, fetches = false;
    uint32_t handle = 0;
    Lookup where;
    std::array<int32_t, 3> texel{}; // fetches
    Level level = Level::implicit;
    float lod = 0;
    int32_t fetch_level = 0;
    uint32_t sample = 0;
    std::array<float, 3> dx{}, dy{}; // implicit level: from the quad; TXD: given
    bool gradients = false;
    bool gathers = false;
    uint32_t component = 0;
    std::array<std::array<int32_t, 2>, 4> offsets{};
};

// Reads an operand's registers one after another; a list that begins with RZ is all zeros.
class List {
  public:
    List(const Lane& l, uint64_t first) : l_(l), next_(static_cast<uint32_t>(first)) {}
    uint32_t word() {
        const uint32_t v = l_.r[next_];
        if (next_ != isa::kRz)
            ++next_;
        return v;
    }
    float number() { return as_float(word()); }

  private:
    const Lane& l_;
    uint32_t next_;
};

int32_t signed_field(uint32_t word, unsigned at, unsigned bits) { return static_cast<int32_t>(word << (32 - bits - at)) >> (32 - bits); }
void four_bit_offsets(Request& q, uint32_t word) {
    for (unsigned k = 0; k < 3; ++k)
        q.where.offset[k] = signed_field(word, 4 * k, 4);
}

unsigned coordinates(ImageDim dim) { return dim == ImageDim::d1 ? 1 : dim == ImageDim::d2 ? 2 : 3; }

Answer read_dim(const Instruction& i, Request& q) {
    constexpr ImageDim dims[] = {ImageDim::d1, ImageDim::d2, ImageDim::d3, ImageDim::cube};
    const uint64_t dim = i.get(F::tex_dim);
    q.dim = dims[dim >> 1];
    q.arrayed = dim & 1;
    return q.dim == ImageDim::d3 && q.arrayed ? "is of an array of 3D textures" : kOk;
}

uint32_t bound_handle(const Instruction& i, const Group& g) { return g.constant(g.launch->handle_bank, static_cast<uint32_t>(i.get(F::tex_handle)) * 4); }

void read_coordinates(Request& q, List& a) {
    if (q.arrayed)
        q.where.layer = a.word() & 0xffff;
    for (unsigned k = 0; k < coordinates(q.dim); ++k)
        if (q.fetches)
            q.texel[k] = static_cast<int32_t>(a.word());
        else
            q.where.at[k] = a.number();
}

// TEX and TMML (which has neither level, offsets nor reference).
Answer read_tex(const Lane& l, const Instruction& i, const Group& g, Request& q) {
    if (const Answer a = read_dim(i, q); a != kOk)
        return a;
    if (i.get(F::tex_lod) > 3 || i.flag(F::tex_lc))
        return "has a level-of-detail mode that is not modelled";
    List a(l, i.get(F::src_a)), b(l, i.get(F::src_b));
    read_coordinates(q, a);
    q.handle = i.has(F::bindless) ? b.word() : bound_handle(i, g);
    constexpr Level levels[] = {Level::implicit, Level::zero, Level::bias, Level::given};
    q.level = levels[i.get(F::tex_lod) & 3];
    if (q.level == Level::bias || q.level == Level::given)
        q.lod = b.number();
    if (i.flag(F::aoffi))
        four_bit_offsets(q, b.word());
    q.where.compares = i.flag(F::dc);
    if (q.where.compares)
        q.where.reference = b.number();
    return kOk;
}

Answer read_texs(const Lane& l, const Instruction& i, const Group& g, Request& q) {
    q.handle = bound_handle(i, g);
    List a(l, i.get(F::src_a)), b(l, i.get(F::src_b));
    const auto even = [&](F f) { return i.get(f) == isa::kRz || i.get(f) % 2 == 0; };
    const uint64_t mode = i.get(F::texs_mode);
    if (mode > 13)
        return "has an unknown mode";
    // By mode: what the list holds.
    constexpr Level levels[] = {Level::zero,     Level::implicit, Level::zero, Level::given, Level::implicit, Level::given,    Level::zero,
                                Level::implicit, Level::zero,     Level::zero, Level::implicit, Level::zero,  Level::implicit, Level::given};
    q.level = levels[mode];
    q.where.compares = (mode >= 4 && mode <= 6) || mode == 9;
    q.arrayed = mode >= 7 && mode <= 9;
    q.dim = mode == 0 ? ImageDim::d1 : mode < 10 ? ImageDim::d2 : mode < 12 ? ImageDim::d3 : ImageDim::cube;
    const bool pair_a = mode >= 3, pair_b = mode == 5 || mode == 9 || mode == 13;
    if ((pair_a && !even(F::src_a)) || (pair_b && !even(F::src_b)))
        return "has a register pair at an odd number";
    auto& at = q.where.at;
    switch (mode) {
    case 0: at[0] = a.number(); break;
    case 1:
    case 2: at = {a.number(), b.number(), 0}; break;
    case 3:
        at[0] = a.number(), at[1] = a.number();
        q.lod = b.number();
        break;
    case 4:
    case 6:
        at[0] = a.number(), at[1] = a.number();
        q.where.reference = b.number();
        break;
    case 5:
        at[0] = a.number(), at[1] = a.number();
        q.lod = b.number(), q.where.reference = b.number();
        break;
    case 7:
    case 8:
    case 9:
        q.where.layer = a.word() & 0xffff;
        at[0] = a.number(), at[1] = b.number();
        if (mode == 9)
            q.where.reference = b.number();
        break;
    default:
        at[0] = a.number(), at[1] = a.number(), at[2] = b.number();
        if (mode == 13)
            q.lod = b.number();
        break;
    }
    return kOk;
}

Answer read_tld(const Lane& l, const Instruction& i, const Group& g, Request& q) {
    if (const Answer a = read_dim(i, q); a != kOk)
        return a;
    if (q.dim == ImageDim::cube || i.flag(F::tld_cl))
        return "fetches from a cube or clamps the level";
    q.fetches = true;
    q.multisampled = i.flag(F::ms);
    List a(l, i.get(F::src_a)), b(l, i.get(F::src_b));
    read_coordinates(q, a);
    q.handle = i.has(F::bindless) ? b.word() : bound_handle(i, g);
    if (i.get(F::tld_lod) == 1)
        q.fetch_level = static_cast<int32_t>(b.word());
    if (i.flag(F::aoffi))
        four_bit_offsets(q, b.word());
    if (q.multisampled)
        q.sample = b.word();
    return kOk;
}

Answer read_tlds(const Lane& l, const Instruction& i, const Group& g, Request& q) {
    q.fetches = true;
    q.handle = bound_handle(i, g);
    List a(l, i.get(F::src_a)), b(l, i.get(F::src_b));
    const auto even = [&](F f) { return i.get(f) == isa::kRz || i.get(f) % 2 == 0; };
    const uint64_t mode = i.get(F::tlds_mode);
    const bool pair_a = (mode >= 4 && mode <= 7) || mode == 12, pair_b = mode == 8 || mode == 12;
    if ((pair_a && !even(F::src_a)) || (pair_b && !even(F::src_b)))
        return "has a register pair at an odd number";
    const auto coordinate = [](List& list) { return static_cast<int32_t>(list.word()); };
    auto& at = q.texel;
    switch (mode) {
    case 0:
    case 1:
        q.dim = ImageDim::d1;
        at[0] = coordinate(a);
        if (mode == 1)
            q.fetch_level = coordinate(b);
        return kOk;
    case 2: at = {coordinate(a), coordinate(b), 0}; return kOk;
    case 4:
    case 5:
    case 6:
    case 12:
        at[0] = coordinate(a), at[1] = coordinate(a);
        if (mode == 5 || mode == 12)
            q.fetch_level = coordinate(b);
        if (mode == 4 || mode == 12)
            four_bit_offsets(q, b.word());
        q.multisampled = mode == 6;
        if (q.multisampled)
            q.sample = b.word();
        return kOk;
    case 7:
        q.dim = ImageDim::d3;
        at[0] = coordinate(a), at[1] = coordinate(a), at[2] = coordinate(b);
        return kOk;
    case 8: // the layer alone in a; x and y in b
        q.arrayed = true;
        q.where.layer = a.word() & 0xffff;
        at[0] = coordinate(b), at[1] = coordinate(b);
        return kOk;
    default: return "has an unknown mode";
    }
}

void gather_offset(Request& q, uint32_t word) { // six bits each at bits 0, 8
    for (auto& o : q.offsets)
        o = {signed_field(word, 0, 6), signed_field(word, 8, 6)};
}

Answer read_tld4(const Lane& l, const Instruction& i, const Group& g, Request& q) {
    if (const Answer a = read_dim(i, q); a != kOk)
        return a;
    const uint64_t mode = i.get(F::tld4_offset);
    if ((q.dim != ImageDim::d2 && q.dim != ImageDim::cube) || mode > 2)
        return "gathers from a shape that has no quads";
    q.gathers = true;
    q.component = static_cast<uint32_t>(i.get(F::tld4_comp));
    List a(l, i.get(F::src_a)), b(l, i.get(F::src_b));
    read_coordinates(q, a);
    q.handle = i.has(F::bindless) ? b.word() : bound_handle(i, g);
    if (mode == 1)
        gather_offset(q, b.word());
    if (mode == 2) {
        const uint32_t words[2] = {b.word(), b.word()};
        for (unsigned k = 0; k < 4; ++k)
            q.offsets[k] = {signed_field(words[k / 2], 16 * (k % 2), 8), signed_field(words[k / 2], 16 * (k % 2) + 8, 8)};
    }
    q.where.compares = i.flag(F::dc);
    if (q.where.compares)
        q.where.reference = b.number();
    return kOk;
}

Answer read_tld4s(const Lane& l, const Instruction& i, const Group& g, Request& q) {
    q.gathers = true;
    q.handle = bound_handle(i, g);
    q.component = static_cast<uint32_t>(i.get(F::tld4_comp));
    q.where.compares = i.flag(F::dc);
    const bool offset = i.flag(F::aoffi);
    List a(l, i.get(F::src_a)), b(l, i.get(F::src_b));
    if (((offset || q.where.compares) && i.get(F::src_a) != isa::kRz && i.get(F::src_a) % 2) ||
        (offset && q.where.compares && i.get(F::src_b) != isa::kRz && i.get(F::src_b) % 2))
        return "has a register pair at an odd number";
    q.where.at[0] = a.number();
    q.where.at[1] = offset || q.where.compares ? a.number() : b.number();
    if (offset)
        gather_offset(q, b.word());
    if (q.where.compares)
        q.where.reference = b.number();
    return kOk;
}

Answer read_txd(const Lane& l, const Instruction& i, const Group& g, Request& q) {
    if (const Answer a = read_dim(i, q); a != kOk)
        return a;
    if (coordinates(q.dim) > 2 || i.flag(F::tex_lc))
        return "has three coordinates or clamps the level";
    List a(l, i.get(F::src_a)), b(l, i.get(F::src_b));
    q.handle = i.has(F::bindless) ? a.word() : bound_handle(i, g);
    q.gradients = true;
    for (unsigned k = 0; k < coordinates(q.dim); ++k)
        q.where.at[k] = a.number();
    if (q.arrayed || i.flag(F::aoffi)) {
        const uint32_t word = a.word();
        if (q.arrayed)
            q.where.layer = word & 0xffff;
        if (i.flag(F::aoffi))
            four_bit_offsets(q, word >> 16);
    }
    for (unsigned k = 0; k < coordinates(q.dim); ++k)
        q.dx[k] = b.number(), q.dy[k] = b.number();
    return kOk;
}

Answer read(const Lane& l, const Instruction& i, const Group& g, Request& q) {
    if (i.has(F::dst_pred) && i.get(F::dst_pred) != isa::kPt)
        return "writes a residency predicate";
    switch (i.op()) {
    case Op::TEX:
    case Op::TMML: return read_tex(l, i, g, q);
    case Op::TEXS: return read_texs(l, i, g, q);
    case Op::TLD: return read_tld(l, i, g, q);
    case Op::TLDS: return read_tlds(l, i, g, q);
    case Op::TLD4: return read_tld4(l, i, g, q);
    case Op::TLD4S: return read_tld4s(l, i, g, q);
    default: return read_txd(l, i, g, q);
    }
}

// The result registers: components of a mask in a row; short forms: an order, pairs in dst and dst2, or packed halves.
void deliver_masked(Lane& l, const Instruction& i, const Texel& t, bool compares) {
    uint32_t dst = static_cast<uint32_t>(i.get(F::dst));
    for (unsigned k = 0; k < 4; ++k) {
        if (!(i.get(F::tex_mask) >> k & 1))
            continue;
        l.set(dst, !compares ? t[k] : k == 3 ? 0x3f800000u : t[0]);
        if (dst != isa::kRz)
            ++dst;
    }
}
Answer deliver_short(Lane& l, const Instruction& i, const Texel& t, bool compares, bool halves, bool all) {
    static constexpr uint8_t small[8][2] = {{0, 9}, {1, 9}, {2, 9}, {3, 9}, {0, 1}, {0, 3}, {1, 3}, {2, 3}};
    static constexpr uint8_t large[5][4] = {{0, 1, 2, 9}, {0, 1, 3, 9}, {0, 2, 3, 9}, {1, 2, 3, 9}, {0, 1, 2, 3}};
    const bool one_register = i.get(F::dst2) == isa::kRz;
    const uint64_t mask = i.get(F::texs_mask);
    std::vector<uint32_t> values;
    const auto take = [&](std::span<const uint8_t> order) {
        for (const uint8_t k : order)
            if (k < 4)
                values.push_back(!compares ? t[k] : k == 3 ? 0x3f800000u : t[0]);
    };
    if (all)
        values.assign(t.begin(), t.begin() + (one_register ? 2 : 4));
    else if (one_register)
        take(small[mask & 7]);
    else if (mask > 4)
        return "has an unknown component mask";
    else
        take(large[mask]);
    const uint32_t dst[2] = {static_cast<uint32_t>(i.get(F::dst)), static_cast<uint32_t>(i.get(F::dst2))};
    if (halves) {
        for (size_t k = 0; k < values.size(); k += 2) {
            uint32_t word = float_to_half(as_float(values[k]));
            if (k + 1 < values.size())
                word |= uint32_t{float_to_half(as_float(values[k + 1]))} << 16;
            l.set(dst[k / 2], word);
        }
        return kOk;
    }
    for (size_t k = 0; k < values.size(); ++k)
        l.set(dst[k / 2] == isa::kRz ? isa::kRz : dst[k / 2] + static_cast<uint32_t>(k % 2), values[k]);
    return kOk;
}

Answer query(Lane& l, const Instruction& i, Group& g) {
    if (i.get(F::txq_query) != 1)
        return "asks for something other than the dimension";
    List a(l, i.get(F::src_a));
    const uint32_t handle = i.has(F::bindless) ? a.word() : bound_handle(i, g);
    const auto size = g.launch->textures->size(handle, a.word());
    deliver_masked(l, i, {size[0], size[1], size[2], size[3]}, false);
    return kOk;
}

// TMML: the computed level, signed, then the level that is read, unsigned, in 1/256.
Answer level_query(Lane& l, const Instruction& i, const Texture& t, const Sampler& s, float lod) {
    if (i.get(F::tex_mask) & ~uint64_t{3})
        return "asks for more than two components";
    const auto fixed = [](float v, float low, float high) {
        return static_cast<uint32_t>(static_cast<int32_t>(std::clamp(std::nearbyint(v * 256.0f), low, high))) & 0xffff;
    };
    const Texel levels{fixed(lod + s.lod_bias, -32768, 32767), fixed(clamped_level(t, s, lod), 0, 65535), 0, 0};
    deliver_masked(l, i, levels, false);
    return kOk;
}

} // namespace

float implicit_level(const Texture& t, const std::array<float, 3>& at, const std::array<float, 3>& dx, const std::array<float, 3>& dy, Stage stage) {
    return stage == Stage::fragment ? level_of_detail(t, at, dx, dy) : 0; // other stages have no derivatives: the base level
}

Answer texture_op(std::span<Lane> warp, uint32_t mask, const Instruction& i, Group& g) {
    switch (i.op()) {
    case Op::TEX:
    case Op::TEXS:
    case Op::TLD:
    case Op::TLDS:
    case Op::TLD4:
    case Op::TLD4S:
    case Op::TXD:
    case Op::TXQ:
    case Op::TMML: break;
    default: return kNotMine;
    }
    if (!g.launch->textures)
        return "needs textures";
    TextureSet& set = *g.launch->textures;
    std::array<Request, kLanes> requests;
    for (unsigned n = 0; n < kLanes; ++n) {
        if (!(mask >> n & 1))
            continue;
        if (i.op() == Op::TXQ) {
            if (const Answer a = query(warp[n], i, g); a != kOk)
                return a;
            continue;
        }
        if (const Answer a = read(warp[n], i, g, requests[n]); a != kOk)
            return a;
    }
    if (i.op() == Op::TXQ)
        return kOk;
    const Stage stage = g.launch->graphics ? g.launch->graphics->stage : Stage::compute;
    for (unsigned n = 0; n < kLanes; ++n) {
        if (!(mask >> n & 1))
            continue;
        Request& q = requests[n];
        Lane& l = warp[n];
        const Texture& t = set.texture(q.handle, q.dim, q.arrayed, q.multisampled);
        Texel result{};
        if (q.fetches) {
            std::array<int32_t, 3> at = q.texel;
            for (unsigned k = 0; k < 3; ++k)
                at[k] = static_cast<int32_t>(static_cast<uint32_t>(at[k]) + static_cast<uint32_t>(q.where.offset[k]));
            result = fetch(t, at, q.where.layer, q.fetch_level, q.sample);
        } else if (q.gathers) {
            result = gather(t, set.sampler(q.handle), q.where, q.component, q.offsets);
        } else {
            const Sampler& s = set.sampler(q.handle);
            if (!q.gradients) // from the quad's other lanes; one that does not take part counts as this one
                for (unsigned k = 0; k < 3; ++k) {
                    const auto of = [&](unsigned lane) { return mask >> lane & 1 ? requests[lane].where.at[k] : q.where.at[k]; };
                    q.dx[k] = of(n | 1) - of(n & ~1u);
                    q.dy[k] = of(n | 2) - of(n & ~2u);
                }
            float lod = 0;
            if (q.gradients)
                lod = level_of_detail(t, q.where.at, q.dx, q.dy);
            else if (q.level == Level::implicit || q.level == Level::bias)
                lod = implicit_level(t, q.where.at, q.dx, q.dy, stage) + (q.level == Level::bias ? q.lod : 0);
            else if (q.level == Level::given)
                lod = q.lod;
            if (i.op() == Op::TMML) {
                if (const Answer a = level_query(l, i, t, s, lod); a != kOk)
                    return a;
                continue;
            }
            result = sample(t, s, q.where, lod);
        }
        if (i.op() == Op::TEXS || i.op() == Op::TLDS || i.op() == Op::TLD4S) {
            const bool halves = i.op() == Op::TLD4S ? i.flag(F::tld4s_f16) : !i.flag(F::texs_f16);
            if (const Answer a = deliver_short(l, i, result, q.where.compares && !q.gathers, halves, i.op() == Op::TLD4S); a != kOk)
                return a;
        } else {
            deliver_masked(l, i, result, q.where.compares && !q.gathers);
        }
    }
    return kOk;
}

} // namespace dmsh::sim
