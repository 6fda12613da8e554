// RomFS images: the level-3 image, and the hashed (IVFC) image around it.
#pragma once
#include "archivers/core/blob.h"
#include "archivers/core/bytes.h"
#include <string>
#include <vector>

namespace dmsh {

struct RomfsFile {
    std::string path;    // "dir/file", UTF-8 as stored
    uint64_t offset = 0; // in the image that was given
    uint64_t size = 0;
};

struct RomfsListing {
    std::vector<RomfsFile> files; // in table order
    std::vector<Error> errors;    // entries that were left out: origin is the entry's path
};

// Is this an image of either kind?
bool is_romfs(Bytes image);

// Every file of the image. Refused: ranges outside the image, links that form a circle, more entries than the
// tables can hold, files that add up to more than 16 times the image. Names that are no file names are left
// out with an error.
Result<RomfsListing> list_romfs(Bytes image);

} // namespace dmsh
