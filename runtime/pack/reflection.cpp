// Converts reflections between runtime/abi/interface.h and the FlatBuffer schema
// runtime/abi/library_pack.fbs.
#include "runtime/pack/reflection.h"
#include "runtime/abi/entry_points.h"
#include "runtime/abi/library_format.h"
#include "runtime/abi/library_pack_generated.h"

namespace dmsh {
namespace {

constexpr uint8_t kCentroid = 1, kPerSample = 2;
constexpr uint32_t kEarlyTests = 1, kDemotes = 2, kWritesMemory = 4, kSampleRate = 8, kDerivatives = 16,
                   kLanes = 32, kPassthrough = 64;
constexpr uint32_t kMaxVaryings = 64; // 32 locations; twice that is never reached

std::vector<pack::Varying> pack_varyings(const std::vector<Varying>& in) {
    std::vector<pack::Varying> out;
    out.reserve(in.size());
    for (const Varying& v : in)
        out.emplace_back(
            v.location, v.components, static_cast<uint8_t>(v.numeric), v.interpolation,
            static_cast<uint8_t>((v.centroid ? kCentroid : 0) | (v.per_sample ? kPerSample : 0)));
    return out;
}

bool unpack_varyings(const flatbuffers::Vector<const pack::Varying*>* in, std::vector<Varying>& out) {
    if (!in)
        return true;
    if (in->size() > kMaxVaryings)
        return false;
    for (const pack::Varying* v : *in) {
        if (v->location() > 31 || v->components() > 15 || v->numeric() > 2 || v->interpolation() > 3)
            return false;
        out.push_back({v->location(), v->components(), static_cast<Numeric>(v->numeric()), v->interpolation(),
                       (v->flags() & kCentroid) != 0, (v->flags() & kPerSample) != 0});
    }
    return true;
}

bool unpack_binding(const pack::Binding& in, Binding& out) {
    if (in.kind() > static_cast<uint8_t>(BindingKind::threadgroup_spill) ||
        in.dim() > static_cast<uint8_t>(ImageDim::buffer) || in.numeric() > 2 ||
        in.access() > static_cast<uint8_t>(ImageAccess::raw128) || in.count() == 0 || in.count() > 0xffff)
        return false;
    out.kind = static_cast<BindingKind>(in.kind());
    out.slot = in.slot();
    out.bank = in.bank();
    out.offset = in.offset();
    out.count = in.count();
    out.dim = static_cast<ImageDim>(in.dim());
    out.arrayed = in.arrayed();
    out.multisampled = in.multisampled();
    out.depth = in.depth();
    out.numeric = static_cast<Numeric>(in.numeric());
    out.access = static_cast<ImageAccess>(in.access());
    out.sampled = in.sampled();
    out.written = in.written();
    out.atomic = in.atomic();
    out.dynamic = in.dynamic();
    out.bytes_read = in.bytes_read();
    out.or_bank = in.or_bank();
    out.or_offset = in.or_offset();
    out.metal_id = in.metal_id();
    out.metal_sampler_id = in.metal_sampler_id();
    out.or_constant = in.or_constant();
    return true;
}

// Bits 0..1 domain, 2..3 spacing, 4 clockwise, 5 point mode.
uint8_t pack_tess_mode(const TessMode& m) {
    return static_cast<uint8_t>(static_cast<unsigned>(m.domain) | static_cast<unsigned>(m.spacing) << 2 |
                                (m.clockwise ? 16u : 0u) | (m.points ? 32u : 0u));
}

bool unpack_tess_mode(uint8_t bits, TessMode& m) {
    if (bits >> 6 || (bits >> 2 & 3) > static_cast<unsigned>(TessSpacing::fractional_even))
        return false;
    m.domain = static_cast<TessDomain>(bits & 3);
    m.spacing = static_cast<TessSpacing>(bits >> 2 & 3);
    m.clockwise = bits & 16;
    m.points = bits & 32;
    return true;
}

std::string text(const flatbuffers::String* s) {
    return s ? s->str() : std::string();
}

} // namespace

std::vector<uint8_t> encode_reflection(const ProgramReflection& r) {
    const ShaderInterface& i = r.interface;
    flatbuffers::FlatBufferBuilder b(1024);
    std::vector<flatbuffers::Offset<pack::Binding>> bindings;
    bindings.reserve(i.bindings.size());
    for (const Binding& x : i.bindings)
        bindings.push_back(pack::CreateBinding(
            b, static_cast<uint8_t>(x.kind), x.slot, x.bank, x.offset, x.count, static_cast<uint8_t>(x.dim),
            x.arrayed, x.multisampled, x.depth, static_cast<uint8_t>(x.numeric),
            static_cast<uint8_t>(x.access), x.sampled, x.written, x.atomic, x.dynamic, x.bytes_read,
            x.or_bank, x.or_offset, x.metal_id, x.metal_sampler_id, x.or_constant));
    const auto inputs = pack_varyings(i.inputs), outputs = pack_varyings(i.outputs);
    std::vector<pack::FragmentOutput> colours;
    for (const FragmentOutput& c : i.colours)
        colours.emplace_back(c.target, c.components, static_cast<uint8_t>(c.numeric));
    const uint32_t flags = (i.early_tests ? kEarlyTests : 0) | (i.demotes ? kDemotes : 0) |
                           (i.writes_memory ? kWritesMemory : 0) | (i.per_sample ? kSampleRate : 0) |
                           (i.uses_derivatives ? kDerivatives : 0) | (i.uses_lanes ? kLanes : 0) |
                           (i.passthrough ? kPassthrough : 0);
    // One object after the other, so that the order of bytes is that of these lines with any C++ compiler.
    const auto entry = b.CreateString(r.entry.empty() ? kEntryMain : r.entry);
    const auto fb_bindings = b.CreateVector(bindings);
    const auto fb_inputs = b.CreateVectorOfStructs(inputs);
    const auto fb_outputs = b.CreateVectorOfStructs(outputs);
    const auto fb_colours = b.CreateVectorOfStructs(colours);
    const auto constants = b.CreateVector(r.constants);
    const auto losses = b.CreateVectorOfStrings(r.losses);
    const auto origin = b.CreateString(r.origin);
    const auto root = pack::CreateReflection(
        b, static_cast<uint8_t>(i.stage), static_cast<uint8_t>(i.arch), entry, fb_bindings, fb_inputs,
        fb_outputs, fb_colours, i.builtins_read, i.builtins_written, i.local_size[0], i.local_size[1],
        i.local_size[2], i.shared_bytes, i.local_bytes, flags, i.input_primitive, i.output_topology,
        i.max_vertices, i.invocations, constants, losses, origin, pack_tess_mode(i.tess), i.tess_levels,
        i.patch_inputs, i.patch_outputs);
    pack::FinishReflectionBuffer(b, root);
    return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

Result<ProgramReflection> decode_reflection(std::span<const uint8_t> bytes) {
    if (bytes.size() > kMaxReflectionBytes)
        return Error{"reflection is larger than the format allows"};
    flatbuffers::Verifier verifier(bytes.data(), bytes.size(), 8, 4096);
    if (bytes.size() < 8 || !pack::VerifyReflectionBuffer(verifier))
        return Error{"reflection is damaged"};
    const pack::Reflection& in = *pack::GetReflection(bytes.data());
    ProgramReflection r;
    ShaderInterface& i = r.interface;
    if (in.stage() >= kStageCount)
        return Error{"reflection names stage " + std::to_string(in.stage())};
    if (in.arch() != static_cast<uint8_t>(Arch::sm53) && in.arch() != static_cast<uint8_t>(Arch::sm86))
        return Error{"reflection names architecture " + std::to_string(in.arch())};
    i.stage = static_cast<Stage>(in.stage());
    i.arch = static_cast<Arch>(in.arch());
    r.entry = text(in.entry());
    if (in.bindings()) {
        if (in.bindings()->size() > kMaxBindings)
            return Error{std::to_string(in.bindings()->size()) + " bindings, over the limit 128"};
        i.bindings.resize(in.bindings()->size());
        for (uint32_t k = 0; k < i.bindings.size(); ++k)
            if (!unpack_binding(*in.bindings()->Get(k), i.bindings[k]))
                return Error{"binding " + std::to_string(k) + " has a value that the format does not know"};
    }
    if (!unpack_varyings(in.inputs(), i.inputs) || !unpack_varyings(in.outputs(), i.outputs))
        return Error{"a varying has a value that the format does not know"};
    if (in.colours())
        for (const pack::FragmentOutput* c : *in.colours()) {
            if (c->target() > 7 || c->components() > 15 || c->numeric() > 2)
                return Error{"a fragment output has a value that the format does not know"};
            i.colours.push_back({c->target(), c->components(), static_cast<Numeric>(c->numeric())});
        }
    i.builtins_read = in.builtins_read();
    i.builtins_written = in.builtins_written();
    i.local_size = {in.local_size_x(), in.local_size_y(), in.local_size_z()};
    i.shared_bytes = in.shared_bytes();
    i.local_bytes = in.local_bytes();
    i.early_tests = in.flags() & kEarlyTests;
    i.demotes = in.flags() & kDemotes;
    i.writes_memory = in.flags() & kWritesMemory;
    i.per_sample = in.flags() & kSampleRate;
    i.uses_derivatives = in.flags() & kDerivatives;
    i.uses_lanes = in.flags() & kLanes;
    i.passthrough = in.flags() & kPassthrough;
    i.input_primitive = in.input_primitive();
    i.output_topology = in.output_topology();
    i.max_vertices = in.max_vertices();
    i.invocations = in.invocations();
    if (!unpack_tess_mode(in.tess_mode(), i.tess))
        return Error{"a tessellation mode has a value that the format does not know"};
    i.tess_levels = in.tess_levels();
    i.patch_inputs = in.patch_inputs();
    i.patch_outputs = in.patch_outputs();
    if (in.constants())
        r.constants.assign(in.constants()->begin(), in.constants()->end());
    if (in.losses())
        for (const flatbuffers::String* s : *in.losses())
            r.losses.push_back(text(s));
    r.origin = text(in.origin());
    return r;
}

} // namespace dmsh
