// BNSH: NintendoWare's compiled shader archive.
#pragma once
#include "archivers/core/reader.h"

namespace dmsh {

constexpr uint32_t kBnshMagic = 0x48534e42; // "BNSH"
constexpr uint64_t kBnshHeader = 0xc0; // file header and grsc block: where a lone variation table can begin

// Does a BNSH begin here? Both magics: four bytes alone turn up in program text.
bool looks_like_bnsh(Bytes bytes);

// Reads the BNSH at the start of `in` (which may go on behind it); `where` is its offset in the blob that
// errors and records name. Gives each distinct program's stages once, labelled "variation 3", behind `owner`
// (a shader model's name, for people) if there is one. Returns its length.
Result<uint64_t> read_bnsh(const Blob& in, uint64_t where, Output& out, std::string_view owner = {});

} // namespace dmsh
