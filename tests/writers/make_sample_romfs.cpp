// make_sample_romfs OUTDIR [--image FILE]: writes OUTDIR/romfs, OUTDIR/exefs/main and, if asked, the RomFS as
// an image.
#include "tests/writers/sample.h"
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using dmsh::writers::Data;

static bool write(const fs::path& path, const Data& data) {
    std::error_code ec;
    fs::create_directories(path.parent_path(), ec);
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    out.close();
    if (!out)
        std::fprintf(stderr, "%s cannot be written\n", path.c_str());
    return bool(out);
}

int main(int argc, char** argv) {
    if (argc != 2 && !(argc == 4 && std::string(argv[2]) == "--image")) {
        std::fprintf(stderr, "usage: make_sample_romfs OUTDIR [--image FILE]\n");
        return 2;
    }
    const fs::path out = argv[1];
    const auto sample = dmsh::writers::sample_romfs();
    for (const auto& file : sample.romfs)
        if (!write(out / "romfs" / file.name, file.data))
            return 6;
    if (!write(out / "exefs" / sample.main.name, sample.main.data))
        return 6;
    if (argc == 4 && !write(argv[3], dmsh::writers::romfs(sample.romfs)))
        return 6;
    return 0;
}
