// What the runner says of one entry of a corpus, and one entry's way from machine code to the comparison.
#pragma once
#include "compiler/build/translate.h"
#include "tests/corpus/corpus.h"
#include "tests/support/vulkan_harness.h"
#include <nlohmann/json_fwd.hpp>

namespace dmsh::test {

// Words of expected.*.tsv. The proof of an entry is better the earlier its word stands here.
enum class Status {
    matches,          // same results as the oracle
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

// Columns of the table.
enum class Check { decode, listing, translate, spirv, msl, size, verify, oracle };
constexpr unsigned kChecks = 8;
constexpr std::string_view kCheckNames[kChecks] = {"decode", "listing", "translate", "spirv-val",
                                                   "msl",    "size",    "verify",    "oracle"};
// `excepted`: failed, or could not be asked, and stands in exceptions.tsv.
enum class Mark : char { none = '.', passed = '+', failed = '-', excepted = 'x' };

struct Verdict {
    std::string name;
    Stage stage = Stage::compute;
    bool cross_checked = false;
    Status status = Status::refused;
    std::array<Mark, kChecks> marks{Mark::none, Mark::none, Mark::none, Mark::none,
                                    Mark::none, Mark::none, Mark::none, Mark::none};
    std::string text;      // reason or first difference
    std::string exception; // the reasons of exceptions that were used
    uint32_t instructions = 0;
    size_t spirv_bytes = 0, reference_bytes = 0;
    uint32_t duplicated_blocks = 0;
    double peak_mb = 0; // of the process after translating
    size_t compared = 0, changed = 0, varied = 0, different = 0;
    double milliseconds = 0; // of translate()

    Mark& mark(Check c) { return marks[static_cast<unsigned>(c)]; }
    bool passed() const; // no mark is `failed`
};

struct ProofOptions {
    bool reference_only = false; // run the reference twice and compare with itself
    bool validation = false;     // Vulkan validation layer
    std::string dump;            // folder that receives both modules
};

// Runs in this process: call it in a child. Every check that the entry's format has, with exceptions applied.
Verdict prove(const Corpus& corpus, const CorpusEntry& entry, const ProofOptions& options);

// ---- shared by the formats ----

// Decodes, compares the listing (if `listing` is one of NVIDIA's), translates, validates, converts to MSL and measures. Fills marks and
// status; nothing comes back where there is no valid module.
std::optional<Translation> check_translation(Verdict& v, const ShaderInput& input, const std::filesystem::path& listing,
                                             const ProofOptions& options);
// cuda, sm_53: the golden output through lavapipe, the interpreter and the executor of lifted IR.
void prove_cuda(Verdict& v, const Corpus& corpus, const CorpusEntry& entry, const ProofOptions& options);

// Bytes of SPIR-V that an entry may have, without a block written twice: 3 times its original (0: none), or 40 per instruction.
size_t size_limit(size_t reference_bytes, uint32_t instructions);

// Turns marks that exceptions.tsv lists into `excepted`. Subjects are the entry's name, "arch:", "stage:" and the capabilities of its
// reference ("capability:NUMBER").
void apply_exceptions(Verdict& v, Arch arch, std::span<const uint32_t> capabilities);

nlohmann::json to_json(const Verdict& v);
Verdict verdict_from_json(const nlohmann::json& j);

} // namespace dmsh::test
