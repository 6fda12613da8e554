// Reads a job file: JSON that says banks, memory and invocations.
#include "archivers/nvn/sph.h"
#include "compiler/sim/verify/job.h"
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace dmsh::sim {
namespace {

using Json = nlohmann::json;
constexpr size_t kMostBytes = size_t{1} << 28;

// Errors are thrown inside this file alone and become values at its end.
struct Refusal {
    std::string text;
};
[[noreturn]] void refuse(std::string text) { throw Refusal{std::move(text)}; }

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

// A word: an integer, a float (any number with a point or exponent), or text with a number of either kind.
uint32_t word(const Json& j, const char* what) {
    if (j.is_number_float())
        return std::bit_cast<uint32_t>(j.get<float>());
    return static_cast<uint32_t>(number(j, what));
}

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

// {"file": name} | {"words": [...]} | {"floats": [...]} | {}, then "bytes": the size, filled with zeros.
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

// {"0x80": [1.0, 2.0], ...}: words from that attribute address on.
void attributes(const Json& j, AttributeWords& out) {
    for (const auto& [key, list] : j.items()) {
        const uint64_t offset = number(Json(key), "attribute address");
        const Json many = list.is_array() ? list : Json::array({list});
        for (size_t k = 0; k < many.size(); ++k) {
            if (offset / 4 + k >= out.size())
                refuse("attribute address " + key + " is past 0x3fc");
            out[offset / 4 + k] = word(many[k], "attribute");
        }
    }
}

void invocation(const Json& j, Invocation& v) {
    if (j.contains("in")) {
        const Json vertices = j["in"].is_array() ? j["in"] : Json::array({j["in"]});
        v.in.resize(std::max<size_t>(vertices.size(), 1));
        for (size_t k = 0; k < vertices.size(); ++k)
            attributes(vertices[k], v.in[k]);
    }
    if (j.contains("step_x"))
        attributes(j["step_x"], v.step_x);
    if (j.contains("step_y"))
        attributes(j["step_y"], v.step_y);
    v.invocation_id = static_cast<uint32_t>(number(j.value("invocation_id", Json(0u)), "invocation_id"));
    v.sample_id = static_cast<uint32_t>(number(j.value("sample_id", Json(0u)), "sample_id"));
    v.helper = j.value("helper", false);
}

JobFile parse(const Json& j, const std::string& folder, const ShaderInput& input) {
    if (!j.is_object())
        refuse("a job is a JSON object");
    JobFile f;
    // What the file leaves out is zero, except what the shader itself says.
    f.job = random_job(input, nullptr, 0, Draw::small_integers);
    for (auto& bank : f.job.banks)
        bank.clear();
    f.job.banks[input.abi->constants_bank].assign(input.constants.begin(), input.constants.end());
    f.job.grid = {1, 1, 1};
    f.job.kind = "from a job file";
    triple(j, "block", f.job.block);
    triple(j, "grid", f.job.grid);
    if (j.contains("shared_bytes"))
        f.job.shared_bytes = static_cast<uint32_t>(number(j["shared_bytes"], "shared_bytes"));
    if (j.contains("local_bytes"))
        f.job.local_bytes = static_cast<uint32_t>(number(j["local_bytes"], "local_bytes"));
    if (f.job.shared_bytes > kMostBytes || f.job.local_bytes > (1u << 20))
        refuse("shared or local memory is larger than any machine's");
    if (j.contains("banks"))
        for (const auto& [key, value] : j["banks"].items()) {
            const uint64_t bank = number(Json(key), "bank");
            if (bank >= f.job.banks.size())
                refuse("bank " + key + " does not exist");
            f.job.banks[bank] = contents(value, folder, "bank " + key);
        }
    if (j.contains("memory"))
        for (const Json& m : j["memory"]) {
            MemoryBlock& b = f.job.memory.emplace_back();
            b.address = number(m.value("address", Json()), "address");
            b.bytes = contents(m, folder, fmt::format("memory 0x{:x}", b.address));
            if (m.contains("out"))
                f.outputs.push_back({f.job.memory.size() - 1, folder + "/" + m["out"].get<std::string>()});
        }
    if (f.job.graphics) {
        Graphics& g = *f.job.graphics;
        g.patch = {};
        const size_t count = j.contains("invocations") ? j["invocations"].size() : 1;
        if (count == 0 || count > 1024)
            refuse("a launch has 1 to 1024 invocations");
        g.invocations.assign(count, Invocation{});
        for (size_t k = 0; k < count && j.contains("invocations"); ++k)
            invocation(j["invocations"][k], g.invocations[k]);
        if (j.contains("patch"))
            attributes(j["patch"], g.patch);
    }
    return f;
}

} // namespace

Result<JobFile> read_job(std::string_view text, const std::string& folder, const ShaderInput& input) {
    try {
        const Json j = Json::parse(text, nullptr, false);
        if (j.is_discarded())
            return Error{"the job is no JSON"};
        return parse(j, folder, input);
    } catch (const Refusal& r) {
        return Error{r.text};
    } catch (const Json::exception& e) {
        return Error{std::string("the job: ") + e.what()};
    }
}

} // namespace dmsh::sim
