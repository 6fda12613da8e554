// SourceTree: the input's files in one order, whether they lie in folders or in RomFS images.
#pragma once
#include "archivers/core/blob.h"
#include "archivers/scan/scan.h"

namespace dmsh {

// One file to read. Files of an image share its mapping; others are mapped when they are read.
struct SourceFile {
    std::string origin; // path below its root
    std::string path;   // on disk; empty for a file of an image
    Blob image;         // the file's bytes, if `path` is empty
    uint64_t size = 0;

    Result<Blob> open() const { return path.empty() ? Result<Blob>(image) : map_file(path); }
};

struct SourceTree {
    std::vector<SourceFile> files; // by origin
    std::vector<Error> errors;     // roots and entries that cannot be read
};

// The file of this origin, opened; nothing if there is none. `files`: by origin.
Result<std::optional<Blob>> open_source(const std::vector<SourceFile>& files, const std::string& origin);

// Lists all roots of the options. An error if a path does not exist.
Result<SourceTree> list_sources(const ScanOptions& options);

} // namespace dmsh
