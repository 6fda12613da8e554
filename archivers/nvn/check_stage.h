// The triple check: what a reader must do before it calls two ranges a shader.
#pragma once
#include "archivers/core/reader.h"
#include "archivers/nvn/code_area.h"
#include <set>

namespace dmsh {

// `control` and `code` are the ranges that the container gives (code at least as long as the control section
// says; what is over must be alignment). On success both are cut to the lengths that the key covers: control
// to its own valid length (S-003, S-004), else to the container's; code to +0x704. `tag` is the container's
// own word for the stage: if it has one it must agree (S-012). The result's offset, label and program are
// left for the caller.
Result<FoundShader> check_stage(const Blob& control, const Blob& code, std::optional<Stage> tag);

// Many records may name one shader, and then it is read once; but records that each name another part of the
// same bytes would make work without end. Sums what a file's distinct records name.
class NamedBytes {
  public:
    explicit NamedBytes(uint64_t file_bytes) : left_(kBudgetFactor * file_bytes) {}

    // False: all that was named adds up to more than 16 times the file.
    bool add(const Blob& control, const Blob& code);

  private:
    uint64_t left_;
    std::set<std::pair<const uint8_t*, const uint8_t*>> seen_;
};

} // namespace dmsh
