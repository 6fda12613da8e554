// Values in job files: numbers, words and contents, as docs/verify.md describes them.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dmsh::sim {

using Json = nlohmann::json;
constexpr size_t kMostBytes = size_t{1} << 28;

// Errors are thrown between the readers of jobs alone and become values at their ends.
struct Refusal {
    std::string text;
};
[[noreturn]] void refuse(std::string text);

uint64_t number(const Json& j, const char* what);
// A word: an integer, a float (any number with a point or exponent), or text with a number of either kind.
uint32_t word(const Json& j, const char* what);
// {"file": name} | {"words": [...]} | {"floats": [...]} | {}, then "bytes": the size, filled with zeros.
std::vector<uint8_t> contents(const Json& j, const std::string& folder, const std::string& what);
// Three numbers, where `j` has them.
void triple(const Json& j, const char* name, std::array<uint32_t, 3>& out);

} // namespace dmsh::sim
