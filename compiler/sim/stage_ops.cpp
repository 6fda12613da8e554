// Stage inputs and outputs: attributes, interpolation, geometry streams, what a fragment knows and leaves.
#include "compiler/sim/operands.h"

namespace dmsh::sim {
namespace {

constexpr uint32_t kAttributeBytes = 0x400;
constexpr uint32_t kFragCoordW = 0x7c;

uint32_t word_of(const AttributeWords& words, uint32_t offset) { return offset < kAttributeBytes ? words[offset / 4] : 0; }

uint32_t attribute_address(const Lane& l, const Instruction& i, uint32_t component) {
    return reg(l, i, F::src_a) + static_cast<uint32_t>(i.get_signed(F::attr_offset)) + 4 * component;
}

// ALD: components of a[address] of an input vertex, of an output vertex (.O), of the patch (.P).
Answer load_attribute(Lane& l, const Instruction& i, const Graphics& graphics) {
    const uint32_t vertex = reg(l, i, F::src_c), dst = static_cast<uint32_t>(i.get(F::dst));
    std::array<uint32_t, 4> v{};
    const uint32_t count = static_cast<uint32_t>(i.get(F::attr_size)) + 1;
    for (uint32_t k = 0; k < count; ++k) {
        const uint32_t address = attribute_address(l, i, k);
        const Invocation& self = *l.invocation;
        if (i.flag(F::patch))
            v[k] = word_of(graphics.patch, address);
        else if (!i.flag(F::attr_out))
            v[k] = vertex < self.in.size() ? word_of(self.in[vertex], address) : 0;
        else if (graphics.stage == Stage::tess_control)
            v[k] = vertex < graphics.vertices_out.size() ? word_of(graphics.vertices_out[vertex], address) : 0;
        else
            v[k] = word_of(self.out, address);
    }
    for (uint32_t k = 0; k < count; ++k)
        l.set(dst == isa::kRz ? dst : dst + k, v[k]);
    return kOk;
}

Answer store_attribute(Lane& l, const Instruction& i, Graphics& graphics) {
    const uint32_t vertex = reg(l, i, F::src_c), src = static_cast<uint32_t>(i.get(F::src_b));
    for (uint32_t k = 0; k <= i.get(F::attr_size); ++k) {
        const uint32_t address = attribute_address(l, i, k), v = l.r[src == isa::kRz ? src : src + k];
        if (address >= kAttributeBytes)
            continue;
        if (i.flag(F::patch)) {
            graphics.patch[address / 4] = v;
            continue;
        }
        l.invocation->out[address / 4] = v;
        l.invocation->written[address / 4] = true;
        if (graphics.stage == Stage::tess_control && vertex < graphics.vertices_out.size())
            graphics.vertices_out[vertex][address / 4] = v;
    }
    return kOk;
}

// IPA: the interpolated attribute, over w where the header asks for perspective; then times b, then clamped.
Answer interpolate_attribute(Lane& l, const Instruction& i, const Graphics& graphics) {
    if (i.get(F::src_pred) != isa::kPt || i.flag(F::src_pred_neg))
        return "reads a predicate";
    const uint32_t offset = static_cast<uint32_t>(i.get(F::attr_offset)) + (i.flag(F::ipa_indexed) ? reg(l, i, F::src_a) : 0);
    const uint32_t location = static_cast<uint32_t>(i.get(F::ipa_sample)), shift = location == 2 ? reg(l, i, F::src_c) : 0;
    uint32_t v = interpolate(*l.invocation, offset, location, shift);
    if (offset != kFragCoordW && offset < kAttributeBytes && graphics.perspective[offset / 4])
        v = bits(as_float(v) * as_float(interpolate(*l.invocation, kFragCoordW, location, shift)));
    if (i.get(F::ipa_mode) == 1)
        v = bits(as_float(v) * as_float(reg(l, i, F::src_b)));
    if (i.flag(F::sat))
        v = saturate(v);
    set_dst(l, i, v);
    return kOk;
}

} // namespace

uint32_t interpolate(const Invocation& invocation, uint32_t offset, uint32_t location, uint32_t shift) {
    if (offset >= kAttributeBytes)
        return 0;
    const uint32_t at_centre = invocation.in[0][offset / 4];
    double x = 0, y = 0;
    if (location == 1)
        x = y = 0.25;
    else if (location == 2)
        x = static_cast<int16_t>(shift) / 4096.0, y = static_cast<int16_t>(shift >> 16) / 4096.0;
    if (x == 0 && y == 0)
        return at_centre;
    const auto step = [&](const AttributeWords& w, double by) { return by == 0 ? 0.0 : static_cast<double>(as_float(w[offset / 4])) * by; };
    const double v = static_cast<double>(as_float(at_centre)) + step(invocation.step_x, x) + step(invocation.step_y, y);
    return v == static_cast<double>(as_float(at_centre)) ? at_centre : bits(static_cast<float>(v));
}

void finish_fragment(Lane& l, const Graphics& graphics) {
    Invocation& v = *l.invocation;
    uint32_t r = 0; // four registers for each target that is written
    for (uint32_t target = 0; target < 8; ++target) {
        const uint32_t mask = graphics.targets >> 4 * target & 15;
        for (uint32_t k = 0; k < 4; ++k)
            if (mask >> k & 1) {
                v.colour[4 * target + k] = l.r[r + k];
                v.colours_written |= 1u << (4 * target + k);
            }
        if (mask)
            r += 4;
    }
    if (graphics.mask_output)
        v.mask = l.r[r];
    if (graphics.depth_output)
        v.depth = l.r[r + 1]; // the mask's register stays free where depth alone is written
}

Answer stage_op(Lane& l, const Instruction& i, Group& g) {
    switch (i.op()) {
    case Op::ALD:
    case Op::AST:
    case Op::IPA:
    case Op::AL2P:
    case Op::ISBERD:
    case Op::OUT:
    case Op::PIXLD:
    case Op::KIL: break;
    default: return kNotMine;
    }
    Graphics* graphics = g.launch->graphics;
    if (!graphics || !l.invocation)
        return "needs a graphics stage";
    switch (i.op()) {
    case Op::ALD: return load_attribute(l, i, *graphics);
    case Op::AST: return l.dead() ? kOk : store_attribute(l, i, *graphics);
    case Op::IPA: return interpolate_attribute(l, i, *graphics);
    case Op::AL2P: // logical and physical addresses are the same here
        if (i.get(F::dst_pred) != isa::kPt)
            return "writes a predicate";
        set_dst(l, i, attribute_address(l, i, 0));
        return kOk;
    case Op::ISBERD: // the vertex index passes through (T-033)
        if (i.get(F::isberd_mode) || i.flag(F::isberd_skew) || i.get(F::isberd_size) || i.flag(F::attr_out))
            return "reads another space than the vertex map";
        set_dst(l, i, reg(l, i, F::src_a));
        return kOk;
    case Op::OUT: {
        const uint32_t stream = source_b(l, i, g);
        if (i.get(F::out_op) & 1)
            l.invocation->emitted.push_back({stream, false, l.invocation->out});
        if (i.get(F::out_op) & 2)
            l.invocation->emitted.push_back({stream, true, {}});
        set_dst(l, i, 0); // the next OUT's state, which only OUT reads
        return kOk;
    }
    case Op::PIXLD:
        if (i.get(F::pixld_mode) != 5 || i.get(F::src_a) != isa::kRz || i.get(F::offset) || i.get(F::dst_pred) != isa::kPt)
            return "reads something other than the sample index";
        set_dst(l, i, l.invocation->sample_id);
        return kOk;
    default: // KIL
        if (condition_holds(l, static_cast<uint32_t>(i.get(F::cc_test))))
            l.invocation->killed = true; // goes on as a helper
        return kOk;
    }
}

} // namespace dmsh::sim
