// What the runner says of one shader, and one shader's way from machine code to the comparison.
#pragma once
#include "tests/corpus/corpus.h"
#include "tests/support/vulkan_harness.h"
#include <nlohmann/json_fwd.hpp>

namespace dmsh::test {

// Words of expected.tsv. `proof` of a shader is better the earlier its word stands here.
enum class Status {
    matches,          // same results as the reference
    not_compared,     // translated and valid; results cannot be compared here (reason in the text)
    differs,          // other results
    failed,           // the driver refused our module or the job
    crashed,          // the child died
    timeout,          // the child had to be stopped
    invalid,          // spirv-val rejects our module
    refused,          // translate() refused, by name
    reference_failed, // the reference itself does not run here
};
std::string_view status_name(Status s);

struct Verdict {
    std::string name;
    Stage stage = Stage::compute;
    bool cross_checked = false;
    Status status = Status::refused;
    std::string text; // reason or first difference
    uint32_t instructions = 0;
    size_t compared = 0, changed = 0, varied = 0, different = 0;
    double milliseconds = 0; // of translate()
};

struct ProofOptions {
    bool reference_only = false; // run the reference twice and compare with itself
    bool validation = false;     // Vulkan validation layer
    std::string dump;            // folder that receives both modules
};

// Each runs in this process: call it in a child. `corpus` is the folder that holds all corpora.
// maxwell-gfx: beside the reference SPIR-V.
Verdict prove(const std::filesystem::path& corpus, const std::string& name, const ProofOptions& options);
// cuda, variant sm_53: against the golden output under the tolerance rules of that corpus.
Verdict prove_cuda(const std::filesystem::path& corpus, const std::string& name, const ProofOptions& options);
// nvidia-glslc, Maxwell: no source exists, so translated and valid is all that can be said here.
Verdict prove_headsurface(const std::filesystem::path& corpus, const std::string& name,
                          const ProofOptions& options);

nlohmann::json to_json(const Verdict& v);
Verdict verdict_from_json(const nlohmann::json& j);

} // namespace dmsh::test
