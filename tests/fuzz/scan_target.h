// What the container targets share: bytes through the scan as one reader's input, and what must hold of
// everything found.
#pragma once
#include "archivers/nvn/prepare_program.h"
#include "archivers/scan/scan.h"
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace dmsh::fuzz {

// Puts `magic` at `at`, so that the reader in question takes the bytes (none: as their own content says), and
// scans them.
inline int scan_as(const uint8_t* data, size_t size, std::string_view magic, size_t at = 0) {
    std::vector<uint8_t> bytes(data, data + size);
    if (bytes.size() < at + magic.size())
        bytes.resize(at + magic.size());
    if (!magic.empty())
        std::memcpy(bytes.data() + at, magic.data(), magic.size());
    const ScanResult r = scan_blob("input", Blob::view(bytes));
    for (const ShaderRecord& s : r.records) {
        if (program_key(s.control.bytes, s.code.bytes) != s.key || r.find(s.key) != &s)
            std::abort();
        (void)prepare_program(s.control.bytes, s.code.bytes);
    }
    return 0;
}

} // namespace dmsh::fuzz
