// Module: an executable's segments by address, and what its relocations and instructions say about an address
// (A-039, S-024).
#pragma once
#include "archivers/core/blob.h"
#include <array>

namespace dmsh {

struct Segment {
    const char* name = "";
    uint64_t address = 0; // in the module's memory
    Blob bytes;
};

// A record of a table in the module's data that names a control section together with its code.
struct ShaderReference {
    uint64_t code = 0; // address
    uint32_t code_length = 0;
    uint32_t control_length = 0;
};

// Relocations and instructions are read at the first question, once; not for several threads.
class Module {
  public:
    explicit Module(std::array<Segment, 3> segments) : segments_(std::move(segments)) {}

    const std::array<Segment, 3>& segments() const { return segments_; }
    // The range, if it lies in one segment.
    std::optional<Blob> at(uint64_t address, uint64_t length) const;
    // The word at an address; 0 outside the module.
    uint32_t u32(uint64_t address) const;

    // Records {u64 code, u64 control, u32 code length, u32 control length} whose two pointers are relative
    // relocations and whose control section is the one at this address.
    std::vector<ShaderReference> references(uint64_t control) const;
    // Do instructions build this address (`adrp` and `add`)?
    bool code_takes_address(uint64_t address) const;

  private:
    struct Known {
        std::vector<std::pair<uint64_t, uint64_t>> relocations; // place, value; by place
        std::vector<std::pair<uint64_t, uint64_t>> named; // control section, place of its pointer; sorted
        std::vector<uint64_t> built;                      // addresses; sorted
    };
    const Known& known() const;
    void read_relocations(Known& k) const;
    void read_instructions(Known& k) const;

    std::array<Segment, 3> segments_;
    mutable std::optional<Known> known_;
};

} // namespace dmsh
