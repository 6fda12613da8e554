// make_fuzz_seeds DIR: writes the seeds of the container targets, DIR/<target>/<name>, with the test writers.
#include "tests/fuzz/nintendo_magics.h"
#include "tests/writers/fixtures.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using namespace dmsh;
using namespace dmsh::writers;

namespace {

fs::path root;

void seed(const char* target, const char* name, const Data& data) {
    fs::create_directories(root / target);
    std::ofstream(root / target / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
}

// The smallest pair with the shortest control section that is valid.
Pair pair(Stage stage, bool header = true) {
    Pair p = small_pair(stage, 1, header);
    p.control.resize(0x760);
    p.control[0x20] = 0x60;
    p.control[0x21] = 0x07;
    return p;
}

Data control_seed(const Pair& p) {
    Buffer b;
    b.append(raw_pair(p));
    b.u16(0, p.control.size());
    return b.bytes;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: make_fuzz_seeds DIR\n");
        return 2;
    }
    root = argv[1];
    const Pair vertex = pair(Stage::vertex), fragment = pair(Stage::fragment),
               compute = pair(Stage::compute, false);
    const std::vector<Pair> graphics = {vertex, fragment};
    const std::vector<Pair> mesh = {small_nvn2_pair(Stage::task), small_nvn2_pair(Stage::mesh)};

    seed("control_section", "vertex", control_seed(vertex));
    seed("control_section", "fragment", control_seed(fragment));
    seed("control_section", "compute", control_seed(compute));
    seed("control_section", "compute_header", control_seed(pair(Stage::compute)));
    seed("control_section", "nvn2_mesh", control_seed(mesh[1]));
    seed("glslc", "one", glslc_output(std::vector{vertex}));
    seed("glslc", "two", glslc_output(graphics));
    seed("glslc", "nvn2", glslc_output_nvn2(mesh));
    const Data small = bnsh(std::vector<std::vector<Pair>>{{compute}});
    seed("bnsh", "compute", small);
    seed("bnsh", "graphics", bnsh(std::vector<std::vector<Pair>>{graphics}, 2));
    seed("bnsh", "mesh", bnsh(std::vector<std::vector<Pair>>{mesh}));
    const Data archive = sarc(std::vector<Member>{{"a.bnsh", small}, {"b.txt", Data(9, 'b')}});
    seed("sarc", "little", archive);
    seed("sarc", "big", sarc(std::vector<Member>{{"a", raw_pair(compute)}}, true));
    seed("sarc", "nested", sarc(std::vector<Member>{{"a.szs", yaz0(archive)}, {"c.zs", zstd(archive)}}));
    seed("yaz0", "archive", yaz0(archive));
    seed("yaz0", "literals", yaz0_literals(raw_pair(compute)));
    seed("zstd", "archive", zstd(archive));
    seed("zstd", "unsized", zstd(archive, 3, false));
    seed("nso", "plain", nso(Data(16, 1), raw_pair(compute), Data(16, 2), false));
    seed("nso", "packed", nso(Data(16, 1), small, glslc_output(std::vector{vertex})));
    Data assets = nro(Data(16, 1), raw_pair(compute), Data(16, 2));
    assets.push_back(1); // the target takes it as NRO
    seed("nso", "nro", assets);
    const std::vector<Member> files = {
        {"a/x", raw_pair(compute)}, {"a/b/y.szs", yaz0(small)}, {"z", Data(3, 'z')}};
    Data image = romfs(files);
    image.push_back(0);
    seed("romfs", "level3", image);
    for (const Fixture& f : nintendo_fixtures())
        for (size_t i = 0; i < std::size(dmsh::fuzz::kNintendoMagics); ++i) {
            const auto& [magic, at] = dmsh::fuzz::kNintendoMagics[i];
            const std::string_view bytes(reinterpret_cast<const char*>(f.data.data()), f.data.size());
            if (bytes.substr(std::min(at, bytes.size()), magic.size()) != magic)
                continue;
            std::string name = f.name;
            std::replace(name.begin(), name.end(), ' ', '_');
            Data input = {static_cast<uint8_t>(i)};
            input.insert(input.end(), f.data.begin(), f.data.end());
            seed("nintendo", name.c_str(), input);
        }
    // Families: every fixture as it is.
    const std::pair<const char*, std::vector<Fixture>> families[] = {{"nvn", nvn_fixtures()},
                                                                     {"misc", misc_fixtures()}};
    for (const auto& [family, fixtures] : families)
        for (const Fixture& f : fixtures) {
            std::string name = f.name;
            std::replace_if(
                name.begin(), name.end(), [](char c) { return c == ' ' || c == '.' || c == '\''; }, '_');
            seed(family, name.c_str(), f.data);
        }
    return 0;
}
