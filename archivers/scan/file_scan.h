// scan_file: one file of the input, with all that nests in it.
#pragma once
#include "archivers/core/oodle.h"
#include "archivers/core/reader.h"
#include "archivers/scan/shader_store.h"
#include "archivers/scan/shared_facts.h"
#include "archivers/scan/work_queue.h"
#include <map>
#include <set>

namespace dmsh {

struct FoundRecord {
    uint64_t key = 0;
    Stage stage = Stage::vertex;
    Arch arch = Arch::sm53;
    const ShaderBytes* bytes = nullptr; // in the store
    std::string origin;
    const std::string* chain = nullptr; // formats from the file to its container: "yaz0 > sarc > bnsh"
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
    std::map<const std::string*, uint64_t> containers; // by chain
    uint64_t members = 0;
    uint64_t lone_controls = 0;
    uint32_t programs = 0;
    uint64_t more_errors = 0;                  // past what is printed of one file
    std::map<std::string, uint64_t> undecoded; // by archive: members that no Oodle decoder is given for
    bool asked_in_vain = false; // for a shared fact: read the file again in the next round
};

// Chains of formats, each kept once.
class Chains {
  public:
    const std::string* get(const std::string* outer, std::string_view format);
    static std::string_view format(const std::string& chain); // the last one

  private:
    std::mutex mutex_;
    std::map<std::pair<const std::string*, std::string_view>, std::unique_ptr<const std::string>> chains_;
};

// What is going on, for the progress line.
struct ScanCounters {
    std::atomic<uint64_t> bytes{0}, members{0}, shaders{0};
};

// What the files of one scan have in common.
struct ScanShared {
    ShaderStore& store;
    SharedFacts& facts;
    Oodle* oodle = nullptr; // the user's decoder, if there is one
    // Finds a file by its origin, for Output::sibling; empty = there are no others.
    std::function<Result<std::optional<Blob>>(const std::string& origin)> open = nullptr;
    WorkQueue* queue = nullptr; // members of large files go there; empty = all on this thread
    Chains chains = {};
    ScanCounters counters = {};
};

// One file. `budget_bytes`: what the file's budgets are 16 times of, usually its size. `index`: place in the
// files' order. `as`: the reader to use; without one the content decides. `done` gets the findings, when the
// last worker has finished with the file; that may be after this function returns.
void scan_file(const std::string& origin, size_t index, Blob blob, uint64_t budget_bytes, ScanShared& shared,
               const Reader* as, std::function<void(FileFindings)> done);

// The same on this thread alone.
FileFindings scan_file(const std::string& origin, size_t index, const Blob& blob, uint64_t budget_bytes,
                       ScanShared& shared, const Reader* as = nullptr);

} // namespace dmsh
