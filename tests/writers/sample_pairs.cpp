// Loads sample shaders.
#include "tests/writers/sample.h"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace dmsh::writers {
namespace {

Data load(const std::string& path, bool must_exist) {
    std::ifstream in(path, std::ios::binary);
    if (!in && must_exist) {
        std::fprintf(stderr, "%s cannot be read\n", path.c_str());
        std::exit(1);
    }
    return {std::istreambuf_iterator<char>(in), {}};
}

const std::string kData = DMSH_TEST_DATA;

} // namespace

Pair sample_pair(const std::string& name) {
    static const std::map<std::string, Stage> stages = {
        {"vert", Stage::vertex},   {"tesc", Stage::tess_control}, {"tese", Stage::tess_evaluation},
        {"geom", Stage::geometry}, {"frag", Stage::fragment},     {"comp", Stage::compute}};
    const std::string base = kData + "/shaders/" + name;
    const Data program = load(base + ".bin", true), c1 = load(base + ".c1.bin", false);
    const Data text = load(base + ".json", true);
    const auto j = nlohmann::json::parse(text.begin(), text.end());
    Wrapping how;
    how.stage = stages.at(j.at("stage"));
    if (j.at("local_size").is_array())
        how.group = j.at("local_size");
    how.shared_bytes = j.at("shared_bytes");
    how.local_bytes = j.at("local_mem_bytes");
    how.registers = j.at("num_gprs");
    how.header = name.starts_with("real_"); // both forms of compute code are in the sample
    return wrap(program, c1, how);
}

Pair headsurface_pair(const std::string& name) {
    const std::string base = kData + "/headsurface/nvidia_headsurface_" + name + ".maxwell";
    Wrapping how;
    how.stage = name == "vertex" ? Stage::vertex : Stage::fragment;
    return wrap(load(base + ".bin", true), load(base + ".c1.bin", false), how);
}

} // namespace dmsh::writers
