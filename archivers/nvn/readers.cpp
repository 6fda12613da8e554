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

constexpr Reader kBnshReader = {"bnsh",
                                looks_like_bnsh,
                                read_data,
                                {"BNSH shader archive", "`BNSH` and `grsc` at +0x60",
                                 "archivers/nvn/bnsh.cpp", "stages by program, NVN2's task and mesh slots",
                                 "reflection is not read"}};
constexpr Reader kGlslcReader = {
    "glslc",
    probe_glslc,
    read_data,
    {"GLSLC output; Viper's single-stage binary",
     "0x19866891 and a GPU code version, or lengths that lead to an NVN2 control section",
     "archivers/nvn/glslc_output.cpp",
     "one or several stages of one program, both header forms; one Ampere stage",
     "debug sections are not read"}};
constexpr Reader kSearchReader = {"data",
                                  any,
                                  read_data,
                                  {"anything else", "every byte is looked at", "archivers/nvn/search.cpp",
                                   "BNSH, GLSLC outputs, control sections with code beside them, at any byte",
                                   "what is packed or scrambled"}};

} // namespace dmsh
