// Reads the values of job files.
#include "compiler/sim/verify/job_values.h"
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

namespace dmsh::sim {

void refuse(std::string text) { throw Refusal{std::move(text)}; }

uint64_t number(const Json& j, const char* what) {
    if (j.is_number_unsigned())
        return j.get<uint64_t>();
    if (j.is_number_integer())
        return static_cast<uint64_t>(j.get<int64_t>());
    if (j.is_string()) {
        const std::string s = j.get<std::string>();
        char* end = nullptr;
        const uint64_t v = std::strtoull(s.c_str(), &end, 0);
        if (!s.empty() && *end == 0)
            return v;
    }
    refuse(fmt::format("{} is not a number", what));
}

uint32_t word(const Json& j, const char* what) {
    if (j.is_number_float())
        return std::bit_cast<uint32_t>(j.get<float>());
    return static_cast<uint32_t>(number(j, what));
}

namespace {

std::vector<uint8_t> words(const Json& list, const char* what, bool floats) {
    if (!list.is_array())
        refuse(fmt::format("{} is not a list", what));
    std::vector<uint8_t> bytes(list.size() * 4);
    for (size_t k = 0; k < list.size(); ++k) {
        const uint32_t w = floats && list[k].is_number() ? std::bit_cast<uint32_t>(list[k].get<float>()) : word(list[k], what);
        std::memcpy(bytes.data() + 4 * k, &w, 4);
    }
    return bytes;
}

} // namespace

std::vector<uint8_t> contents(const Json& j, const std::string& folder, const std::string& what) {
    std::vector<uint8_t> bytes;
    if (j.contains("file")) {
        const std::string path = folder + "/" + j["file"].get<std::string>();
        std::ifstream in(path, std::ios::binary);
        if (!in)
            refuse(what + ": cannot read " + path);
        bytes.assign(std::istreambuf_iterator<char>(in), {});
    } else if (j.contains("words")) {
        bytes = words(j["words"], what.c_str(), false);
    } else if (j.contains("floats")) {
        bytes = words(j["floats"], what.c_str(), true);
    }
    if (j.contains("bytes")) {
        const uint64_t size = number(j["bytes"], "bytes");
        if (size > kMostBytes)
            refuse(what + ": more than 256 MiB");
        bytes.resize(static_cast<size_t>(size));
    }
    return bytes;
}

void triple(const Json& j, const char* name, std::array<uint32_t, 3>& out) {
    if (!j.contains(name))
        return;
    if (!j[name].is_array() || j[name].size() != 3)
        refuse(fmt::format("{} is not a list of three", name));
    for (size_t k = 0; k < 3; ++k)
        out[k] = static_cast<uint32_t>(number(j[name][k], name));
}

} // namespace dmsh::sim
