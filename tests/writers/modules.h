// Writer of executables whose data tables and instructions name addresses. From reference/containers
// (nintendo.md 2, misc.md 13) and Arm's architecture manual.
#pragma once
#include "tests/writers/writers.h"

namespace dmsh::writers {

// An executable being laid out: segments of fixed size, so that every address is known while writing.
class ModuleWriter {
  public:
    static constexpr uint64_t kTextSize = 0x2000, kRodataSize = 0x10000, kDataSize = 0x1000;
    static constexpr uint64_t kRodata = kTextSize, kData = kTextSize + kRodataSize; // addresses

    enum class Relocations { rela, relr };

    ModuleWriter();
    // Puts bytes into .rodata; answers their address.
    uint64_t rodata(std::span<const uint8_t> bytes, uint64_t alignment = 16);
    // Instructions that build an address: ADRP, `between` others, ADD.
    void take_address(uint64_t address, unsigned reg = 0, unsigned between = 0);
    // A 0x20-byte record in .data: {code, control, code length, control length}.
    void record(uint64_t code, uint64_t control, uint64_t code_length, uint64_t control_length);

    Data nso(Relocations kind = Relocations::rela, bool compress = true) const;
    Data nro(Relocations kind = Relocations::rela) const;

  private:
    struct Segments {
        Data text, rodata, data;
    };
    Segments finish(Relocations kind) const;

    Buffer text_, rodata_, data_;
    std::vector<std::pair<uint64_t, uint64_t>> pointers_; // place, value
};

} // namespace dmsh::writers
