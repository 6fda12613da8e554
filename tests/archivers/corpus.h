// Finds the shared corpora for tests; they lie beside the repository and may be absent.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dmsh {

inline std::filesystem::path corpus_root() {
    const char* shared = std::getenv("DMSH_SHARED");
    return std::filesystem::path(shared ? shared : DMSH_SOURCE_DIR "/../shared") / "corpus";
}

// Paths of the files of a corpus folder that end in `ending`, sorted.
inline std::vector<std::string> corpus_files(const std::string& folder, const std::string& ending) {
    std::vector<std::string> files;
    for (const auto& e : std::filesystem::directory_iterator(corpus_root() / folder))
        if (e.path().string().ends_with(ending))
            files.push_back(e.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

inline std::vector<uint8_t> read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline nlohmann::json read_json(const std::filesystem::path& path) {
    std::ifstream in(path);
    return nlohmann::json::parse(in);
}

} // namespace dmsh

#define DMSH_NEED_CORPUS(folder)                                                                             \
    if (!std::filesystem::is_directory(dmsh::corpus_root() / (folder)))                                      \
    GTEST_SKIP() << "corpus " << (folder) << " is not there"
