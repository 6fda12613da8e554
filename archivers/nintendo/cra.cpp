// CRA: one scrambled archive whose index lies in the game's code. Known, not read
// (reference/containers/nintendo.md, section 13).
#include "archivers/nintendo/readers.h"

namespace dmsh {
namespace {

bool probe_cra(Bytes b) {
    return b.starts_with("CRA.");
}

Result<void> read_cra(const Blob&, Output&) {
    return Error{"CRA: a scrambled archive indexed by the game's code, which is not supported"};
}

} // namespace

constexpr Reader kCraReader = {"cra",
                               probe_cra,
                               read_cra,
                               {"CRA archive", "`CRA.`", "archivers/nintendo/cra.cpp", "named",
                                "everything: the index lies in the game's code"}};

} // namespace dmsh
