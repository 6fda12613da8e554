// Shader program headers against the corpora's descriptions, which other tools wrote.
#include "archivers/nvn/sph.h"
#include "tests/archivers/corpus.h"
#include <gtest/gtest.h>

namespace dmsh {
namespace {

AttributeSet attributes(const nlohmann::json& list) {
    AttributeSet set;
    for (const auto& item : list.items()) {
        const std::string text =
            item.value().is_string() && list.is_array() ? item.value().get<std::string>() : item.key();
        set.set(std::stoul(text, nullptr, 16) / 4);
    }
    return set;
}

TEST(Sph, AmpereCorpusDescribesEveryHeader) {
    DMSH_NEED_CORPUS("ampere-gfx");
    unsigned count = 0;
    for (const auto& file : corpus_files("ampere-gfx", ".json")) {
        const auto j = read_json(file);
        if (!j.contains("sph"))
            continue;
        const auto& want = j["sph"];
        SCOPED_TRACE(file);
        const auto data = read_file(file.substr(0, file.size() - 5) + ".bin");
        const auto sph = read_sph(data);
        ASSERT_TRUE(sph) << sph.error().text();
        ++count;
        EXPECT_EQ(sph->bytes, 0x80u);
        EXPECT_EQ(sph->type, want["sph_type"]);
        EXPECT_EQ(sph->version, want["version"]);
        EXPECT_EQ(sph->shader_type, want["shader_type"]);
        EXPECT_EQ(sph->sass_version, want["sass_version"]);
        EXPECT_EQ(sph->multiple_targets, want["mrt_enable"] == 1);
        EXPECT_EQ(sph->kills_pixels, want["kills_pixels"] == 1);
        EXPECT_EQ(sph->global_store, want["does_global_store"] == 1);
        EXPECT_EQ(sph->load_or_store, want["does_load_or_store"] == 1);
        EXPECT_EQ(sph->fp64, want["does_fp64"] == 1);
        EXPECT_EQ(sph->geometry_passthrough, want["gs_passthrough"] == 1);
        EXPECT_EQ(sph->stream_out_mask, want["stream_out_mask"]);
        EXPECT_EQ(sph->local_low_bytes, want["local_mem_low"]);
        EXPECT_EQ(sph->patch_attributes, want["per_patch_attributes"]);
        EXPECT_EQ(sph->threads_per_input_primitive, want["threads_per_input_primitive"]);
        EXPECT_EQ(sph->output_topology, want["output_topology"]);
        EXPECT_EQ(sph->max_output_vertices, want["max_output_vertices"]);
        EXPECT_EQ(sph->store_request_start, want["store_req_start"]);
        EXPECT_EQ(sph->store_request_end, want["store_req_end"]);
        EXPECT_EQ(sph->inputs, attributes(want["imap"]));
        if (sph->stage != Stage::fragment) {
            EXPECT_EQ(sph->outputs, attributes(want["omap"]));
            continue;
        }
        for (const auto& [address, mode] : want["imap"].items()) {
            const auto got = sph->interpolation[std::stoul(address, nullptr, 16) / 4];
            constexpr std::string_view names[] = {"sysval", "constant", "perspective", "screen_linear"};
            EXPECT_EQ(names[static_cast<int>(got)], mode.get<std::string>()) << address;
        }
        EXPECT_EQ(sph->targets, std::stoul(want["omap_targets"].get<std::string>(), nullptr, 16));
        EXPECT_EQ(sph->sample_mask_output, want["omap_sample_mask"] == 1);
        EXPECT_EQ(sph->depth_output, want["omap_depth"] == 1);
        EXPECT_EQ(sph->inner_coverage, want["uses_underestimate"] == 1);
        EXPECT_EQ(sph->per_vertex_inputs, attributes(want["pervertex_imap"]));
    }
    EXPECT_EQ(count, 186u);
}

// The JSON lists the source's declarations; code may use fewer components, never other locations.
TEST(Sph, MaxwellCorpusLocationsAndStages) {
    DMSH_NEED_CORPUS("maxwell-gfx");
    const std::map<std::string, Stage> stages = {{"vert", Stage::vertex},
                                                 {"tesc", Stage::tess_control},
                                                 {"tese", Stage::tess_evaluation},
                                                 {"geom", Stage::geometry},
                                                 {"frag", Stage::fragment}};
    unsigned count = 0;
    for (const auto& file : corpus_files("maxwell-gfx", ".json")) {
        const auto j = read_json(file);
        if (!j.contains("stage") || !stages.contains(j["stage"]))
            continue;
        SCOPED_TRACE(file);
        const auto sph = read_sph(read_file(file.substr(0, file.size() - 5) + ".bin"));
        ASSERT_TRUE(sph) << sph.error().text();
        ++count;
        EXPECT_EQ(sph->stage, stages.at(j["stage"]));
        EXPECT_EQ(sph->bytes, j["instruction_offset"]);
        EXPECT_EQ(sph->version, 3);
        EXPECT_EQ(sph->local_bytes() != 0, j["local_mem_bytes"] != 0);
        if (j["stage"] != "frag") {
            EXPECT_TRUE(sph->outputs.any());
            continue;
        }
        // A flat input is "constant", noperspective "screen linear".
        for (const auto& in : j["inputs"]) {
            const unsigned location = in["location"];
            const std::string how = in["qualifiers"];
            for (unsigned c = 0; c < 4; ++c) {
                const auto got = sph->generic_interpolation(location, c);
                if (got == Interpolation::none)
                    continue;
                const auto want = how.find("flat") != how.npos            ? Interpolation::constant
                                  : how.find("noperspective") != how.npos ? Interpolation::screen_linear
                                                                          : Interpolation::perspective;
                EXPECT_EQ(got, want) << location;
            }
        }
    }
    EXPECT_EQ(count, 126u);
}

// One source, two generations: what it reads and writes is the same in both headers.
TEST(Sph, NvidiaProgramsAgreeAcrossGenerations) {
    DMSH_NEED_CORPUS("nvidia-glslc");
    unsigned count = 0;
    for (const auto& file : corpus_files("nvidia-glslc", ".maxwell.bin")) {
        SCOPED_TRACE(file);
        const auto maxwell = read_sph(read_file(file));
        const auto ampere = read_sph(read_file(file.substr(0, file.size() - 12) + ".ampere.bin"));
        ASSERT_TRUE(maxwell) << maxwell.error().text();
        ASSERT_TRUE(ampere) << ampere.error().text();
        EXPECT_EQ(maxwell->version, 3);
        EXPECT_EQ(ampere->version, 4);
        EXPECT_EQ(maxwell->stage, file.find("_vertex") != file.npos ? Stage::vertex : Stage::fragment);
        EXPECT_EQ(maxwell->stage, ampere->stage);
        EXPECT_EQ(maxwell->outputs, ampere->outputs);
        EXPECT_EQ(maxwell->targets, ampere->targets);
        for (unsigned i = 0; i < 32; ++i)
            EXPECT_EQ(maxwell->generic_inputs(i), ampere->generic_inputs(i));
        EXPECT_TRUE(maxwell->stage == Stage::vertex ? maxwell->writes(0x070)
                                                    : maxwell->target_components(0) != 0);
        ++count;
    }
    EXPECT_GT(count, 20u);
}

std::vector<uint8_t> header(uint32_t word0, size_t size = 0x80) {
    std::vector<uint8_t> v(size);
    for (int i = 0; i < 4; ++i)
        v[i] = static_cast<uint8_t>(word0 >> 8 * i);
    return v;
}

TEST(Sph, Word0Values) {
    const std::pair<uint32_t, Stage> ok[] = {
        {0x0461, Stage::vertex},       {0x0861, Stage::tess_control},    {0x0c61, Stage::tess_evaluation},
        {0x1061, Stage::geometry},     {0x1462, Stage::fragment},        {0x0481, Stage::vertex},
        {0x0881, Stage::tess_control}, {0x0c81, Stage::tess_evaluation}, {0x1081, Stage::geometry},
        {0x1482, Stage::fragment}};
    for (const auto& [word, stage] : ok) {
        const auto sph = read_sph(header(word));
        ASSERT_TRUE(sph) << word;
        EXPECT_EQ(sph->stage, stage);
    }
    // Shader type 0 is the first vertex slot (S-016).
    const auto first = read_sph(header(0x0061));
    ASSERT_TRUE(first);
    EXPECT_EQ(first->stage, Stage::vertex);
    EXPECT_EQ(first->shader_type, 0);
}

TEST(Sph, RefusesWhatIsNoHeader) {
    EXPECT_FALSE(read_sph(header(0x0461, 0x4f)));
    EXPECT_FALSE(read_sph(header(0x0481, 0x7f)));
    EXPECT_TRUE(read_sph(header(0x0461, 0x50)));
    for (uint32_t word : {0u, 0x0462u, 0x1461u, 0x0441u, 0x04a1u, 0x1861u, 0xffffffffu})
        EXPECT_FALSE(read_sph(header(word))) << std::hex << word;
    EXPECT_FALSE(read_sph(Bytes()));
}

TEST(Sph, FeedMap) {
    auto producer = header(0x0461), consumer = header(0x1061);
    producer[0x36] = consumer[0x18] = 0x7f; // generics 0 and 1
    EXPECT_TRUE(feeds(*read_sph(producer), *read_sph(consumer)));
    consumer[0x19] = 1;
    EXPECT_FALSE(feeds(*read_sph(producer), *read_sph(consumer)));
}

} // namespace
} // namespace dmsh
