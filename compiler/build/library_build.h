// The whole build: scan, translate each program once, write packs and reports.
#pragma once
#include "archivers/scan/scan.h"
#include "compiler/build/profile.h"
#include "compiler/build/translate.h"
#include <functional>

namespace dmsh {

struct BuildOptions {
    ScanOptions scan;   // what is searched; the key skip range comes from the profile
    std::string output; // folder, made if missing
    std::vector<Target> targets{Target::vulkan, Target::macos};
    Profile profile;
    FloatMode float_mode = FloatMode::ship;
    unsigned workers = 0; // 0 = one per hardware thread
    bool validate = true; // run the SPIR-V validator on each module
    // Called from one thread at a time, a few times a second.
    std::function<void(size_t done, size_t total)> progress = {};
};

// One program of the build. Programs that occur several times are built once.
struct ProgramReport {
    uint64_t key = 0;
    Stage stage = Stage::compute;
    Arch arch = Arch::sm53;
    std::string origin;  // first place that it was found at
    uint64_t offset = 0; // of its control section in the innermost container
    uint64_t copies = 0; // further places
    uint32_t code_bytes = 0;
    uint32_t instruction_count = 0;
    StepTimes times;
    std::vector<Loss> losses;
    std::optional<Error> refused;        // by decoding, lifting or the passes: in no pack
    std::optional<Error> vulkan_refused; // by one target
    std::optional<Error> metal_refused;

    bool lost() const { return refused || vulkan_refused || metal_refused || !losses.empty(); }
};

struct BuildResult {
    std::vector<ProgramReport> programs; // by key
    ScanResult scan;                     // records without their bytes
    std::vector<Error> input_errors;
    std::vector<Error> output_errors;
    std::vector<std::string> written; // files, in the order of writing
    double scan_seconds = 0, translate_seconds = 0, write_seconds = 0;

    int exit_code() const; // of exit_codes.h; the gravest of what happened
};

// Runs the build. Failures of inputs and outputs are in the result; the function itself does not fail. Where no shader is found
// nothing is written.
BuildResult build_library(const BuildOptions& options);

// What lifting reads of a record: guest ABI and facts by the profile. Views `record` and `prepared`, which must outlive it.
struct PreparedProgram;
ShaderInput shader_input(const PreparedProgram& prepared, const Profile& profile, uint64_t key, std::string_view origin,
                         FloatMode mode);

// Names of targets on the command line and in file names; nothing for unknown names.
std::string_view target_name(Target target);
std::optional<Target> target_from_name(std::string_view name);

// Identity of everything that determines an output's bytes: digest of the sources, float mode, profile (P-005). At most 32 characters.
std::string build_stamp(const Profile& profile, FloatMode mode);

} // namespace dmsh
