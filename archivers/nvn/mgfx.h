// MGFX: MonoGame's compiled effects, versions 5 and 8 with NVN shaders in them.
#pragma once
#include "archivers/core/reader.h"
#include "archivers/nvn/search.h"

namespace dmsh {

constexpr uint32_t kMgfxMagic = 0x5846474d; // "MGFX"

// Reads the effect at the start of `in` (which may go on behind it) and gives its shaders; answers its
// length. `where` is its offset in the blob that errors and records name. An effect of DirectX bytecode alone
// gives none and is no error.
Result<uint64_t> read_mgfx(const Blob& in, uint64_t where, Output& out);

// Reads the effects that an executable's segment (at `address`) holds and answers where they lie. Only
// version 8 with a control section in it counts; everything else with those four bytes is passed over
//
std::vector<ReadRange> read_embedded_mgfx(const Blob& segment, uint64_t address, Output& out);

} // namespace dmsh
