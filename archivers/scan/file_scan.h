// scan_file: one file of the input, with all that nests in it.
#pragma once
#include "archivers/core/oodle.h"
#include "archivers/core/reader.h"
#include "archivers/scan/shader_store.h"
#include "archivers/scan/shared_facts.h"
#include <map>

namespace dmsh {

struct FoundRecord {
    uint64_t key = 0;
    Stage stage = Stage::vertex;
    Arch arch = Arch::sm53;
    const ShaderBytes* bytes = nullptr; // in the store
    std::string origin;
    std::string_view format;
    uint64_t offset = 0;
    uint64_t copies = 0; // the same bytes given again by the same container
    bool cover = false;  // stands alone and wants partners
};

// A stage of a program. Programs are numbered within the file.
struct FoundLink {
    uint32_t program = 0;
    uint32_t record = 0; // index
    Evidence evidence = Evidence::linked;
};

struct FileFindings {
    std::vector<FoundRecord> records;
    std::vector<FoundLink> links;
    std::vector<Error> errors; // ready to print
    std::vector<std::string> notes;
    std::map<std::string_view, uint64_t> containers; // by format
    uint64_t members = 0;
    uint64_t lone_controls = 0;
    bool asked_in_vain = false; // for a shared fact: read the file again in the next round
};

// What the files of one scan have in common.
struct ScanShared {
    ShaderStore& store;
    SharedFacts& facts;
    Oodle* oodle = nullptr; // the user's decoder, if there is one
    // Finds a file by its origin, for Output::sibling; empty = there are no others.
    std::function<Result<std::optional<Blob>>(const std::string& origin)> open = nullptr;
};

// `budget_bytes`: what the file's budgets are 16 times of, usually its size. `index`: place in the files' order.
// `as`: the reader to use; without one the content decides.
FileFindings scan_file(const std::string& origin, size_t index, const Blob& blob, uint64_t budget_bytes,
                       ScanShared& shared, const Reader* as = nullptr);

} // namespace dmsh
