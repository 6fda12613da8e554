// nvn_picture LIBRARY.dmlib OUT.png: draws a textured, depth-tested scene, fed by a compute pass, through NVN
// calls.
#include "runtime/dmrt.h"
#include "runtime/examples/picture_scene.h"
#include "tests/writers/sample.h"
#include <cstdio>
#include <png.h>

namespace {

// Rows come from the bottom.
bool write_png(const char* path, const std::vector<uint8_t>& pixels, uint32_t width, uint32_t height) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = PNG_FORMAT_RGBA;
    const int stride = -static_cast<int>(width * 4);
    return png_image_write_to_file(&image, path, 0, pixels.data(), stride, nullptr) != 0;
}

} // namespace

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
    if (!write_png(argv[2], pixels, scene.width, scene.height)) {
        std::fprintf(stderr, "%s cannot be written\n", argv[2]);
        return 6;
    }
    return 0;
}
