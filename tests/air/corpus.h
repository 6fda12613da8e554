// Access to the Apple-compiled libraries that the AIR tests compare with; absent in a standalone checkout.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace dmsh::test {

inline std::filesystem::path shared_folder() {
    const char* env = std::getenv("DMSH_SHARED");
    return env ? std::filesystem::path(env) : std::filesystem::path(DMSH_SOURCE_DIR) / ".." / "shared";
}

inline std::vector<uint8_t> read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Paths of shared/corpus/metallib/*.metallib in name order; empty when the corpus is not there.
inline std::vector<std::filesystem::path> corpus_metallibs() {
    std::vector<std::filesystem::path> paths;
    const auto folder = shared_folder() / "corpus" / "metallib";
    if (std::filesystem::is_directory(folder))
        for (const auto& e : std::filesystem::directory_iterator(folder))
            if (e.path().extension() == ".metallib")
                paths.push_back(e.path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

} // namespace dmsh::test

#define DMSH_SKIP_WITHOUT_CORPUS()                                                                           \
    if (dmsh::test::corpus_metallibs().empty())                                                              \
    GTEST_SKIP() << "../shared/corpus/metallib is not there"
