// scan: from files and folders to shader records and the programs that draw them together.
#pragma once
#include "archivers/core/blob.h"
#include "runtime/abi/program_key.h"
#include "runtime/abi/result.h"
#include "runtime/abi/stage.h"
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dmsh {

struct ScanProgress {
    uint64_t done_bytes = 0, all_bytes = 0; // of the files
    uint64_t members = 0;                   // opened inside files
    uint64_t shaders = 0;                   // with copies in other containers
};

constexpr unsigned kMaxWorkers = 256;

struct ScanOptions {
    // RomFS folders, RomFS images, or single files. Roots later in the list override earlier ones file by
    // file (base, then update); a DLC root adds to them. Paths inside roots are compared as they are.
    std::vector<std::string> paths;
    std::vector<std::string> exefs; // folders holding main, subsdk*, ...; origins begin with "exefs/"
    std::vector<std::string> nro;   // NRO files or folders of them; origins begin with "nro/"
    unsigned workers = 0;           // 0: one per core; at most kMaxWorkers
    KeySkip skip;                   // the profile's (S-006)
    std::string oodle;              // the user's Oodle library; empty = none
    std::string oodle_host;         // the program that loads it; empty = dmsh-oodle-host beside this one
    bool keep_bytes = true; // records hold control section and code; without, their lengths only
    // Called from one thread at a time, at most a few times a second and once at the end.
    std::function<void(const ScanProgress&)> progress;
    const std::atomic<bool>* cancel = nullptr; // set: files not begun yet are left out, `cancelled` says so
};

// One distinct shader: the first place where it was found, in order of files.
struct ShaderRecord {
    uint64_t key = 0;
    Stage stage = Stage::vertex;
    Arch arch = Arch::sm53;
    Blob control; // bounded by S-003/S-004
    Blob code;    // as long as the control section says
    uint64_t control_bytes = 0, code_bytes = 0;
    std::string
        origin; // "dir/file.szs/member.bnsh", and a label of the place in it: "dir/x.bnsh (variation 3)"
    std::string format;  // reader that gave it: "bnsh", "glslc", "data", "segment"
    uint64_t offset = 0; // of the control section in the innermost container
    uint64_t copies = 0; // further places with the same shader
};

// Stages that one program, variation or GLSLC output links with each other; at least two. Distinct.
struct ShaderProgram {
    std::array<uint64_t, kStageCount> keys{}; // by stage
    uint8_t stages = 0;                       // bit per stage that is there
    std::string origin;                       // the first place
};

struct FormatCounts {
    uint64_t containers = 0, shaders = 0;
};

struct ScanResult {
    std::vector<ShaderRecord> records;   // by key
    std::vector<ShaderProgram> programs; // by stages and keys: what containers hold together (shader_pairs.tsv)
    std::vector<ShaderProgram> listed;   // likewise: what engines only list, and covers (pso_pairs.tsv)
    // What could not be read, one line each (Error::text()): "file/member: what is wrong (its shaders are
    // left out)".
    std::vector<Error> errors;
    std::vector<std::string> notes; // worth saying, nothing lost
    uint64_t files = 0, bytes = 0;
    uint64_t members = 0;       // opened inside files
    uint64_t found = 0;         // shaders before copies were put together
    uint64_t lone_controls = 0; // control sections without code
    std::map<std::string, FormatCounts> formats;
    std::map<std::string, FormatCounts> tree; // by chain of formats: "yaz0 > sarc > bnsh"
    bool cancelled = false;

    // Record by key, or nullptr.
    const ShaderRecord* find(uint64_t key) const;
};

// Everything that the options name. An error only if nothing can be read at all (no path given, a path that
// does not exist); what is wrong with single files is in `errors`. The result is the same at any number of
// workers.
Result<ScanResult> scan(const ScanOptions& options);

struct NamedBlob {
    std::string name; // path below the root
    Blob blob;
};

// Files in memory as one tree; the options' paths are not looked at. An error only for the Oodle library.
Result<ScanResult> scan_memory(std::vector<NamedBlob> files, const ScanOptions& options = {});

// One blob, as `name`: the same reading, for tests, fuzzing and single-file commands. `budget_bytes`: what
// the budgets are 16 times of; 0 = the blob's size.
ScanResult scan_blob(const std::string& name, const Blob& blob, KeySkip skip = {}, uint64_t budget_bytes = 0);

} // namespace dmsh
