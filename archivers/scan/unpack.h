// unpack: the members of one archive as files, of any format that a reader knows.
#pragma once
#include "archivers/core/blob.h"
#include <string>
#include <vector>

namespace dmsh {

struct UnpackOptions {
    std::string path;                      // the archive
    std::string output;                    // folder, made if missing, empty if there; "" = list only
    std::vector<std::string> dictionaries; // zstd dictionaries that it may ask for
    std::string oodle, oodle_host;         // as in ScanOptions
};

struct UnpackedMember {
    std::string name;   // as the archive says, in one printable line
    std::string format; // what a scan would read it as
    uint64_t stored = 0, size = 0;
    std::string file; // below the output folder; empty if only listed
};

struct UnpackResult {
    std::string format; // of the archive: "yaz0 > sarc"
    std::vector<UnpackedMember> members;
    std::vector<Error> errors;        // members that could not be read
    std::vector<Error> output_errors; // files that could not be written
};

// A relative path that a member's name may be written to: no root, no "..", no control characters, no part that
// is empty or too long for a file system.
std::string harmless_path(std::string_view name);

// Reads the archive and, through streams that are the whole file (Yaz0, zstd, gzip, ...), what lies in them.
// Archives in it are members. An error if the file cannot be opened, the output folder is not empty, or the
// archive's reader refuses it before its first member.
Result<UnpackResult> unpack(const UnpackOptions& options);

} // namespace dmsh
