// Reader: what one container format is to the scan, and Output: where a reader puts what it found.
#pragma once
#include "archivers/core/blob.h"
#include "archivers/core/budget.h"
#include "runtime/abi/stage.h"
#include <string>

namespace dmsh {

// One stage as found. `control` and `code` are bounded by S-003/S-004 and +0x704; both view the blob that was
// read.
struct FoundShader {
    Stage stage = Stage::vertex;
    Arch arch = Arch::sm53;
    Blob control;
    Blob code;
    uint64_t offset = 0;  // of the control section in the innermost container
    std::string label;    // place within the container, for people: "variation 3"; may be empty
    uint32_t program = 0; // from Output::new_program(): stages of one program share it; 0 = stands alone
};

struct Reader;

// Given to a reader. Everything is charged to the budget of the input file; an error that comes back must be
// returned.
class Output {
  public:
    virtual ~Output() = default;

    // A member to be read in turn. `stored`: bytes that it takes in the archive, which is its size unless the
    // reader decoded it (the codec then charged the expansion). Streams that are the whole file have an empty
    // name and do not show in the origin. `as`: the reader to use; without one the content decides.
    virtual Result<void> member(std::string_view name, uint64_t stored, const Blob& bytes,
                                const Reader* as = nullptr) = 0;
    virtual Result<void> shader(FoundShader shader) = 0;
    virtual uint32_t new_program() = 0;
    // Something in the blob is wrong, yet the rest of it can be read: one error line for `name` (may be
    // empty).
    virtual void fail(std::string_view name, Error error) = 0;
    // Something worth a line that loses no shader.
    virtual void note(std::string text) = 0;
    // A control section for which no code was found.
    virtual void lone_control(uint64_t offset) = 0;
    virtual WorkBudget& budget() = 0;
};

// One container format. Probes look at bytes only, never at names, and cost next to nothing.
struct Reader {
    std::string_view format; // in reports: "sarc"
    bool (*probe)(Bytes bytes);
    // Gives members and shaders to `out`. On an error what it gave before is dropped, with one line.
    Result<void> (*read)(const Blob& in, Output& out);
};

} // namespace dmsh
