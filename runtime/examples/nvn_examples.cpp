// nvn_examples: draws the examples through NVN calls from a library pack, or writes their shaders as files
// that `dmshc build` makes that pack from.
#include "runtime/dmrt.h"
#include "runtime/examples/example.h"
#include "runtime/examples/png_file.h"
#include "tests/writers/sample.h"
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

using namespace dmsh;

int usage() {
    std::fprintf(stderr, "usage: nvn_examples --shaders FOLDER\n"
                         "       nvn_examples LIBRARY.dmlib FOLDER [EXAMPLE [FRAME]]\nexamples:");
    for (const std::string& name : examples::example_names())
        std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
}

int write_shaders(const std::string& folder) {
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    for (const std::string& name : examples::example_names())
        for (const std::string& shader : examples::make_example(name).shaders()) {
            const auto bytes = writers::raw_pair(writers::sample_pair(shader), 256);
            std::ofstream file(folder + "/" + shader + ".bin", std::ios::binary);
            file.write(reinterpret_cast<const char*>(bytes.data()),
                       static_cast<std::streamsize>(bytes.size()));
            if (!file) {
                std::fprintf(stderr, "%s cannot be written\n", folder.c_str());
                return 6;
            }
        }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--shaders")
        return write_shaders(argv[2]);
    if (argc < 3 || argc > 5)
        return usage();
    RuntimeOptions options;
    options.libraries = {argv[1]};
    auto runtime = Runtime::create(options);
    if (!runtime) {
        std::fprintf(stderr, "%s\n", runtime.error().text().c_str());
        return 5;
    }
    const auto frame = static_cast<uint32_t>(argc > 4 ? std::atoi(argv[4]) : 20);
    std::error_code ignored;
    std::filesystem::create_directories(argv[2], ignored);
    for (const std::string& name : examples::example_names()) {
        if (argc > 3 && name != argv[3])
            continue;
        const examples::Example example = examples::make_example(name, frame);
        std::map<std::string, examples::GuestShader> shaders;
        for (const std::string& shader : example.shaders()) {
            const auto pair = writers::sample_pair(shader);
            shaders[shader] = {{pair.control.begin(), pair.control.end()},
                               {pair.code.begin(), pair.code.end()}};
        }
        const uint64_t skipped = (*runtime)->interpreter().counts().skipped;
        std::string problem;
        const auto pixels = examples::draw_example(example, shaders, &nvnBootstrapLoader, problem);
        if (pixels.empty()) {
            std::fprintf(stderr, "%s: %s failed\n", name.c_str(), problem.c_str());
            return 70;
        }
        if ((*runtime)->interpreter().counts().skipped != skipped) {
            std::fprintf(stderr, "%s: draws or dispatches were left out\n", name.c_str());
            return 3;
        }
        const examples::ExampleTexture& t = example.textures[example.picture];
        const std::string path = std::string(argv[2]) + "/" + name + ".png";
        if (!examples::write_png(path, pixels, t.width, t.height)) {
            std::fprintf(stderr, "%s cannot be written\n", path.c_str());
            return 6;
        }
        std::printf("%s: %s\n", path.c_str(), example.what.c_str());
    }
    return 0;
}
