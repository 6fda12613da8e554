// Where the tests find the shared corpora, and how they read their tables.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dmsh::isa {

inline std::filesystem::path corpus() {
    const char* shared = std::getenv("DMSH_SHARED");
    return std::filesystem::path(shared ? shared : DMSH_SOURCE_DIR "/../shared") / "corpus";
}

// One line of an encodings or oracle table: the word, NVIDIA's text ("!..." = rejected), the address it was
// printed at.
struct Sample {
    uint64_t lo = 0, hi = 0;
    uint32_t pc = 0;
    std::string text;
    bool rejected() const { return text.starts_with('!'); }
    // The text names field values that have no meaning.
    bool unnamed_values() const { return text.find("INVALID") != text.npos || text.find("???") != text.npos; }
};

std::vector<uint8_t> read_file(const std::filesystem::path& path);
// Reads a table, decompressed if its name ends in ".zst"; empty if it is not there.
std::vector<Sample> read_samples(const std::filesystem::path& path);

} // namespace dmsh::isa
