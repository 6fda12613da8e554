// Files that begin with shaders, and files that may hold some anywhere: all read by the search.
#include "archivers/nvn/readers.h"
#include "archivers/nvn/bnsh.h"
#include "archivers/nvn/glslc_output.h"
#include "archivers/nvn/search.h"
#include "archivers/nvn/viper_binary.h"

namespace dmsh {
namespace {

bool any(Bytes) {
    return true;
}
bool probe_glslc(Bytes b) {
    return looks_like_glslc(b) || may_be_viper_binary(b);
}
Result<void> read_data(const Blob& in, Output& out) {
    return search(in, Place::data, out);
}

} // namespace

constexpr Reader kBnshReader = {"bnsh", looks_like_bnsh, read_data};
constexpr Reader kGlslcReader = {"glslc", probe_glslc, read_data};
constexpr Reader kSearchReader = {"data", any, read_data};

} // namespace dmsh
