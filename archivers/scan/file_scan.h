// scan_file: one file of the input, with all that nests in it, on one worker.
#pragma once
#include "archivers/core/reader.h"
#include "archivers/scan/shader_store.h"
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
};

// A stage of a program. Programs are numbered within the file.
struct FoundLink {
    uint32_t program = 0;
    uint32_t record = 0; // index
};

struct FileFindings {
    std::vector<FoundRecord> records;
    std::vector<FoundLink> links;
    std::vector<Error> errors; // ready to print
    std::vector<std::string> notes;
    std::map<std::string_view, uint64_t> containers; // by format
    uint64_t members = 0;
    uint64_t lone_controls = 0;
};

// `budget_bytes`: what the file's budgets are 16 times of, usually its size.
FileFindings scan_file(const std::string& origin, const Blob& blob, uint64_t budget_bytes,
                       ShaderStore& store);

} // namespace dmsh
