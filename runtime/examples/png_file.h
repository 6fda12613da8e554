// Pictures as PNG files.
#pragma once
#include <cstdint>
#include <png.h>
#include <string>
#include <vector>

namespace dmsh::examples {

// RGBA8 rows from the bottom. False if the file cannot be written.
inline bool write_png(const std::string& path, const std::vector<uint8_t>& pixels, uint32_t width,
                      uint32_t height) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = PNG_FORMAT_RGBA;
    return png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), -static_cast<int>(width * 4),
                                   nullptr) != 0;
}

} // namespace dmsh::examples
