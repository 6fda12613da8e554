// NDSR packs: the upscaler's networks, lists of records that lead to NVN2 compute programs.
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

constexpr uint32_t kNdsrMagic = 0x5253444e; // "NDSR"

// One 8-byte record: {offset, length << 4 | type}.
struct NdsrRecord {
    uint64_t offset = 0, length = 0;
    unsigned type = 0;
    bool is_control() const { return type == 0 || type == 3 || type == 6; }
    bool is_code() const { return type == 1 || type == 4 || type == 7; }
};
NdsrRecord read_ndsr_record(Bytes bytes, uint64_t at);

// Gives the programs of the pack whose magic is at `at` of `in`. Offsets count from the magic or from the
// start of `in`, records begin at +0x10 or +0x14: the reading under which most of the first 16 records lead
// to an NVN2 control section is taken. Answers how many programs there were; 0 with no error if no reading
// leads to one.
Result<uint64_t> read_ndsr(const Blob& in, uint64_t at, Output& out);

} // namespace dmsh
