// nvn_picture LIBRARY.dmlib OUT.png: draws a textured, depth-tested scene, fed by a compute pass, through NVN
// calls.
#include "runtime/dmrt.h"
#include "runtime/examples/picture_scene.h"
#include "runtime/examples/png_file.h"
#include "tests/writers/sample.h"
#include <cstdio>

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: nvn_picture LIBRARY.dmlib OUT.png\n");
        return 2;
    }
    dmsh::RuntimeOptions options;
    options.libraries = {argv[1]};
    auto runtime = dmsh::Runtime::create(options);
    if (!runtime) {
        std::fprintf(stderr, "%s\n", runtime.error().text().c_str());
        return 5;
    }
    std::map<std::string, dmsh::examples::GuestShader> shaders;
    for (const std::string& name : dmsh::examples::scene_shaders()) {
        const auto pair = dmsh::writers::sample_pair(name);
        shaders[name] = {{pair.control.begin(), pair.control.end()}, {pair.code.begin(), pair.code.end()}};
    }
    const auto scene = dmsh::examples::make_scene();
    std::string problem;
    const auto pixels = dmsh::examples::draw_scene(scene, shaders, &nvnBootstrapLoader, problem);
    if (pixels.empty()) {
        std::fprintf(stderr, "%s failed\n", problem.c_str());
        return 70;
    }
    const auto& counts = (*runtime)->interpreter().counts();
    if (counts.skipped) {
        std::fprintf(stderr, "%llu draws or dispatches had no shader\n",
                     static_cast<unsigned long long>(counts.skipped));
        return 3;
    }
    if (!dmsh::examples::write_png(argv[2], pixels, scene.width, scene.height)) {
        std::fprintf(stderr, "%s cannot be written\n", argv[2]);
        return 6;
    }
    return 0;
}
