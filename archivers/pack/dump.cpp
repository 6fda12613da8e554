// Implements the text and JSON forms of reflections.
#include "archivers/pack/dump.h"
#include "runtime/abi/program_key.h"
#include <fmt/format.h>

namespace dmsh {
namespace {

constexpr std::string_view kBuiltinNames[] = {
    "position",     "point_size",   "clip_distance", "layer",         "viewport",      "viewport_mask",
    "primitive_id", "vertex_id",    "instance_id",   "base_vertex",   "base_instance", "draw_index",
    "frag_coord",   "front_facing", "point_coord",   "sample_id",     "sample_mask",   "frag_depth",
    "helper",       "tess_coord",   "tess_levels",   "invocation_id", "thread_id",     "group_id",
    "group_count",  "lane_id",
};
static_assert(std::size(kBuiltinNames) == static_cast<size_t>(Builtin::lane_id) + 1);

constexpr std::string_view dim_name(ImageDim d) {
    constexpr std::string_view names[] = {"1d", "2d", "3d", "cube", "buffer"};
    return names[static_cast<unsigned>(d) % 5];
}
constexpr std::string_view numeric_name(Numeric n) {
    constexpr std::string_view names[] = {"real", "sint", "uint"};
    return names[static_cast<unsigned>(n) % 3];
}
constexpr std::string_view access_name(ImageAccess a) {
    constexpr std::string_view names[] = {"formatted", "raw8", "raw16", "raw32", "raw64", "raw128"};
    return names[static_cast<unsigned>(a) % 6];
}
constexpr std::string_view kind_name(SliceKind k) {
    return k == SliceKind::spirv ? "spirv" : k == SliceKind::metallib ? "metallib" : "none";
}

std::string mask_text(unsigned mask) {
    std::string s;
    for (unsigned i = 0; i < 4; ++i)
        if (mask >> i & 1)
            s += "xyzw"[i];
    return s;
}

std::string quoted(std::string_view s) {
    std::string out = "\"";
    for (const char c : s) {
        if (c == '"' || c == '\\')
            (out += '\\') += c;
        else if (static_cast<unsigned char>(c) < 0x20)
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
            out += c;
    }
    return out += '"';
}

bool is_image_like(BindingKind k) {
    return k == BindingKind::texture || k == BindingKind::separate_texture || k == BindingKind::image ||
           k == BindingKind::texture_in_bank || k == BindingKind::image_in_bank ||
           k == BindingKind::texture_pool;
}

std::vector<std::string> builtin_list(uint64_t bits) {
    std::vector<std::string> names;
    for (size_t i = 0; i < std::size(kBuiltinNames); ++i)
        if (bits >> i & 1)
            names.emplace_back(kBuiltinNames[i]);
    return names;
}

std::string json_list(const std::vector<std::string>& items) {
    std::string s = "[";
    for (const auto& item : items)
        (s += s.size() > 1 ? "," : "") += quoted(item);
    return s += ']';
}

// Facts of the interface that are single words.
std::string_view domain_name(TessDomain d) {
    constexpr std::string_view names[] = {"unknown", "triangles", "quads", "isolines"};
    return names[static_cast<unsigned>(d)];
}

std::string_view spacing_name(TessSpacing s) {
    constexpr std::string_view names[] = {"equal", "fractional_odd", "fractional_even"};
    return names[static_cast<unsigned>(s)];
}

std::vector<std::string> flag_list(const ShaderInterface& i) {
    std::vector<std::string> f;
    const auto put = [&](bool on, const char* name) {
        if (on)
            f.emplace_back(name);
    };
    put(i.early_tests, "early_tests");
    put(i.demotes, "demotes");
    put(i.writes_memory, "writes_memory");
    put(i.per_sample, "per_sample");
    put(i.uses_derivatives, "derivatives");
    put(i.uses_lanes, "lanes");
    put(i.passthrough, "passthrough");
    return f;
}

std::vector<std::string> binding_flags(const Binding& b) {
    std::vector<std::string> f;
    const auto put = [&](bool on, const char* name) {
        if (on)
            f.emplace_back(name);
    };
    put(b.arrayed, "arrayed");
    put(b.multisampled, "multisampled");
    put(b.depth, "depth");
    put(b.sampled, "sampled");
    put(b.written, "written");
    put(b.atomic, "atomic");
    put(b.dynamic, "dynamic");
    return f;
}

std::string join(const std::vector<std::string>& items) {
    std::string s;
    for (const auto& item : items)
        (s += ' ') += item;
    return s;
}

} // namespace

std::string reflection_text(const ProgramReflection& r) {
    const ShaderInterface& i = r.interface;
    std::string s = fmt::format("{} {} entry {}{}\n", stage_name(i.stage), arch_name(i.arch),
                                r.entry.empty() ? "main0" : r.entry, join(flag_list(i)));
    if (!r.origin.empty())
        s += fmt::format("origin {}\n", r.origin);
    if (i.stage == Stage::compute || i.stage == Stage::task || i.stage == Stage::mesh)
        s += fmt::format("local_size {} {} {} shared {}\n", i.local_size[0], i.local_size[1], i.local_size[2],
                         i.shared_bytes);
    if (i.local_bytes)
        s += fmt::format("local {}\n", i.local_bytes);
    if (i.stage == Stage::geometry || i.stage == Stage::mesh)
        s += fmt::format("topology {} input {} max_vertices {} invocations {}\n", i.output_topology,
                         i.input_primitive, i.max_vertices, i.invocations);
    if (i.stage == Stage::tess_control || i.stage == Stage::tess_evaluation)
        s += fmt::format("tessellation {} {} {}{} levels {} patch_inputs 0x{:x} patch_outputs 0x{:x} vertices {}\n",
                         domain_name(i.tess.domain), spacing_name(i.tess.spacing), i.tess.clockwise ? "cw" : "ccw",
                         i.tess.points ? " points" : "", i.tess_levels, i.patch_inputs, i.patch_outputs,
                         i.invocations);
    for (size_t k = 0; k < i.bindings.size(); ++k) {
        const Binding& b = i.bindings[k];
        s += fmt::format("binding {} {} slot {} bank {} offset 0x{:x} count {}", k, binding_kind_name(b.kind),
                         b.slot, b.bank, b.offset, b.count);
        if (is_image_like(b.kind))
            s += fmt::format(" {} {} {}", dim_name(b.dim), numeric_name(b.numeric), access_name(b.access));
        if (b.bytes_read)
            s += fmt::format(" bytes 0x{:x}", b.bytes_read);
        if (b.or_bank != 0xff)
            s += fmt::format(" or c[{}][0x{:x}]", b.or_bank, b.or_offset);
        if (b.or_constant)
            s += fmt::format(" or 0x{:x}", b.or_constant);
        s += join(binding_flags(b)) + '\n';
    }
    for (const auto* list : {&i.inputs, &i.outputs})
        for (const Varying& v : *list)
            s += fmt::format("{} {} {} {} interpolation {}{}{}\n", list == &i.inputs ? "input" : "output",
                             v.location, mask_text(v.components), numeric_name(v.numeric), v.interpolation,
                             v.centroid ? " centroid" : "", v.per_sample ? " per_sample" : "");
    for (const FragmentOutput& c : i.colours)
        s += fmt::format("colour {} {} {}\n", c.target, mask_text(c.components), numeric_name(c.numeric));
    if (i.builtins_read)
        s += "reads" + join(builtin_list(i.builtins_read)) + '\n';
    if (i.builtins_written)
        s += "writes" + join(builtin_list(i.builtins_written)) + '\n';
    if (!r.constants.empty())
        s += fmt::format("constants {} bytes\n", r.constants.size());
    for (const auto& loss : r.losses)
        s += "loss " + loss + '\n';
    return s;
}

std::string reflection_json(const ProgramReflection& r) {
    const ShaderInterface& i = r.interface;
    std::string s = fmt::format(
        "{{\"stage\":\"{}\",\"arch\":\"{}\",\"entry\":{},\"flags\":{},\"local_size\":[{},{},{}],"
        "\"shared_bytes\":{},\"local_bytes\":{},\"input_primitive\":{},\"output_topology\":{},"
        "\"max_vertices\":{},\"invocations\":{},\"tess_domain\":\"{}\",\"tess_spacing\":\"{}\","
        "\"tess_clockwise\":{},\"tess_points\":{},\"tess_levels\":{},\"patch_inputs\":{},"
        "\"patch_outputs\":{},\"bindings\":[",
        stage_name(i.stage), arch_name(i.arch), quoted(r.entry.empty() ? "main0" : r.entry),
        json_list(flag_list(i)), i.local_size[0], i.local_size[1], i.local_size[2], i.shared_bytes,
        i.local_bytes, i.input_primitive, i.output_topology, i.max_vertices, i.invocations, domain_name(i.tess.domain),
        spacing_name(i.tess.spacing), i.tess.clockwise, i.tess.points, i.tess_levels, i.patch_inputs,
        i.patch_outputs);
    for (size_t k = 0; k < i.bindings.size(); ++k) {
        const Binding& b = i.bindings[k];
        s += fmt::format("{}{{\"kind\":\"{}\",\"slot\":{},\"bank\":{},\"offset\":{},\"count\":{}",
                         k ? "," : "", binding_kind_name(b.kind), b.slot, b.bank, b.offset, b.count);
        if (is_image_like(b.kind))
            s += fmt::format(",\"dim\":\"{}\",\"numeric\":\"{}\",\"access\":\"{}\"", dim_name(b.dim),
                             numeric_name(b.numeric), access_name(b.access));
        if (b.bytes_read)
            s += fmt::format(",\"bytes_read\":{}", b.bytes_read);
        if (b.or_bank != 0xff)
            s += fmt::format(",\"or_bank\":{},\"or_offset\":{}", b.or_bank, b.or_offset);
        if (b.or_constant)
            s += fmt::format(",\"or_constant\":{}", b.or_constant);
        s += fmt::format(",\"flags\":{}}}", json_list(binding_flags(b)));
    }
    for (const auto* list : {&i.inputs, &i.outputs}) {
        s += list == &i.inputs ? "],\"inputs\":[" : "],\"outputs\":[";
        for (const Varying& v : *list)
            s += fmt::format(
                "{}{{\"location\":{},\"components\":\"{}\",\"numeric\":\"{}\",\"interpolation\":{},"
                "\"centroid\":{},\"per_sample\":{}}}",
                &v == list->data() ? "" : ",", v.location, mask_text(v.components), numeric_name(v.numeric),
                v.interpolation, v.centroid, v.per_sample);
    }
    s += "],\"colours\":[";
    for (const FragmentOutput& c : i.colours)
        s += fmt::format("{}{{\"target\":{},\"components\":\"{}\",\"numeric\":\"{}\"}}",
                         &c == i.colours.data() ? "" : ",", c.target, mask_text(c.components),
                         numeric_name(c.numeric));
    s += fmt::format("],\"reads\":{},\"writes\":{},\"constant_bytes\":{},\"losses\":{},\"origin\":{}}}",
                     json_list(builtin_list(i.builtins_read)), json_list(builtin_list(i.builtins_written)),
                     r.constants.size(), json_list(r.losses), quoted(r.origin));
    return s;
}

std::string entry_text(const ProgramEntry& e) {
    std::string s = fmt::format("{} {} {} {} {}/{}", key_text(e.key), stage_name(e.stage), arch_name(e.arch),
                                kind_name(e.kind), e.slice_stored, e.slice_bytes);
    if (e.variant)
        s += fmt::format(" variant {}", e.variant);
    return e.has_losses ? s + " losses" : s;
}

std::string entry_json(const ProgramEntry& e) {
    return fmt::format("{{\"key\":\"{}\",\"variant\":{},\"stage\":\"{}\",\"arch\":\"{}\",\"kind\":\"{}\","
                       "\"codec\":\"{}\",\"stored\":{},\"bytes\":{},\"losses\":{}}}",
                       key_text(e.key), e.variant, stage_name(e.stage), arch_name(e.arch), kind_name(e.kind),
                       e.codec == SliceCodec::zstd ? "zstd" : "stored", e.slice_stored, e.slice_bytes,
                       e.has_losses);
}

} // namespace dmsh
