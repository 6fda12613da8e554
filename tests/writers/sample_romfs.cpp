// The sample RomFS: every container that the main job reads, around the sample shaders.
#include "tests/writers/sample.h"

namespace dmsh::writers {
namespace {

using Programs = std::vector<std::vector<std::string>>;

Data bnsh_of(const Programs& programs) {
    std::vector<std::vector<Pair>> list;
    for (const auto& program : programs) {
        list.emplace_back();
        for (const std::string& name : program)
            list.back().push_back(sample_pair(name));
    }
    return bnsh(list);
}

Data output_of(const std::vector<std::string>& names) {
    std::vector<Pair> stages;
    for (const std::string& name : names)
        stages.push_back(sample_pair(name));
    return glslc_output(stages);
}

Data text(std::string_view s) {
    return Data(s.begin(), s.end());
}

} // namespace

Sample sample_romfs() {
    Sample s;
    const Data mesh = bnsh_of({{"vs_mvp_matrices", "fs_tex_2d"},
                               {"real_vs_skinning_4bone", "real_fs_parallax_occlusion"},
                               {"vs_lights_loop_break", "real_fs_terrain_splat"}});
    const Data post = bnsh_of({{"vs_fullscreen_triangle", "real_fs_toon_outline"},
                               {"vs_fullscreen_triangle", "fs_tex_many_samplers"}});

    // BNSH in SARC in Yaz0; the same mesh shaders once more in a layout archive in a pack.
    s.romfs.push_back({"shaders/mesh.szs",
                       yaz0(sarc(std::vector<Member>{{"mesh.bnsh", mesh}, {"info.txt", text("mesh")}}))});
    const Data layout =
        sarc(std::vector<Member>{{"__ArchiveShader.bnsh", post}, {"layout.bflyt", text("layout")}}, true);
    s.romfs.push_back(
        {"layout/pack.szs", yaz0(sarc(std::vector<Member>{{"hud.blarc", layout}, {"mesh.bnsh", mesh}}))});
    // SARC in zstd, recognised by its magic alone.
    s.romfs.push_back({"shaders/post.pack", zstd(sarc(std::vector<Member>{{"post.bnsh", post}}))});
    s.romfs.push_back(
        {"effects/particles.bfsha",
         bfsha(bnsh_of({{"real_vs_particles_soa", "real_fs_text_sdf"}, {"real_cs_frustum_cull_indirect"}}))});
    // Several stages in one output, and a list of outputs.
    s.romfs.push_back({"effects/water.bin", output_of({"vs_instancing_ubo", "real_fs_water_surface"})});
    Buffer list;
    for (const char* name : {"vs_texel_fetch_heightmap", "vs_ssbo_vertex_pulling", "fs_texgrad_2d"}) {
        const Data o = output_of({name});
        list.u32(list.size(), o.size());
        list.append(o);
    }
    s.romfs.push_back({"effects/list.bin", list.bytes});
    // Control sections and code back to back.
    Buffer stream;
    for (const char* name : {"cs_shared_reduce_sum", "cs_switch_sparse_nested", "cs_ssbo_vector_widths",
                             "cs_texture_ops", "cs_image_ops"})
        stream.append(raw_pair(sample_pair(name)));
    s.romfs.push_back({"compute/stream.bin", stream.bytes});
    s.romfs.push_back({"compute/sort.bin", raw_pair(sample_pair("real_cs_bitonic_sort"), 256)});
    for (const char* name : {"vertex", "fragment", "fragment_blend", "fragment_blend_offset",
                             "fragment_overlay", "fragment_pixelShift", "fragment_reversePrime",
                             "fragment_blend_offset_customSampling", "fragment_yuv420_overlay"})
        s.romfs.push_back(
            {std::string("headsurface/") + name + ".bin", glslc_output(std::vector{headsurface_pair(name)})});
    s.romfs.push_back({"readme.txt", text("No shaders here.\n")});

    Buffer rodata;
    rodata.append(text("constants of a program "));
    rodata.align(16);
    rodata.append(output_of({"vs_passthrough", "fs_discard_simple"}));
    rodata.append(output_of({"fs_math_transcendental"}));
    rodata.append(bnsh_of({{"real_cs_prefix_sum"}}));
    s.main = {"main",
              nso(Data(0x3000, 0x1f), rodata.bytes, raw_pair(sample_pair("fs_tex_in_divergent_flow")))};
    return s;
}

} // namespace dmsh::writers
