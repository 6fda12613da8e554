// Reads a job file: JSON that says banks, memory and invocations.
#include "archivers/nvn/sph.h"
#include "compiler/sim/verify/job.h"
#include "compiler/sim/verify/job_values.h"
#include <fmt/format.h>

namespace dmsh::sim {
namespace {

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
    f.job.max_steps = Launch{}.max_steps;
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
    // The register is the word that stands for it, where the job gives one.
    f.job.y_direction = 0x3f800000;
    if (const auto& bank = f.job.banks[input.abi->driver_bank];
        input.abi->y_direction != kNone && bank.size() >= input.abi->y_direction + sizeof f.job.y_direction)
        std::memcpy(&f.job.y_direction, bank.data() + input.abi->y_direction, sizeof f.job.y_direction);
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
