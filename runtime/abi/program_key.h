// The program key (S-003, S-006, S-007): the one function that archivers, dmshc and libdmrt share.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace dmsh {

// A range of the control section that is hashed as zeros (profile key `shader_key_skip`, S-006). length 0 = none.
struct KeySkip {
    uint32_t offset = 0;
    uint32_t length = 0;
};

// Bytes of the control section that the key covers at most (S-003).
constexpr uint32_t kKeyControlBytes = 0x880;
// The same of NVN2's sections, which nowhere store their own length: the fields of which a use is known by which a
// stage differs, up to the mesh flags at +0x68. Packs pad them to their code and the runtime sees what follows, so no
// byte past the known ones can be part of a key that both compute (S-019).
constexpr uint32_t kKeyNvn2ControlBytes = 0x6c;

// XXH3-64 over the first min(0x880, control.size()) bytes of the control section (the skip range as zeros; NVN2
// sections: 0x6c bytes, the code offset word at +0x30 as zeros, S-019) followed by the whole code area. `control` is the section as
// bounded by S-003/S-004, `code` as long as the control section's own code length (+0x704, NVN2 +0x44).
uint64_t program_key(std::span<const uint8_t> control, std::span<const uint8_t> code, KeySkip skip = {});

// The key, and 64 further bits of hash over the same bytes at no further cost: two programs of one key are the same if
// these agree too.
struct ProgramHash {
    uint64_t key = 0, further = 0;
};
ProgramHash program_hash(std::span<const uint8_t> control, std::span<const uint8_t> code, KeySkip skip = {});

// 16 lower-case hex digits.
std::string key_text(uint64_t key);

} // namespace dmsh
