// Virtual memory pools: reserved ranges whose pages are mapped from physical pools, with a 4 KB page table.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

namespace dmsh::nvn {

// The page table of one virtual pool, as pieces that are contiguous on both sides. Offsets in bytes, multiples of
// kGuestPage.
class PageTable {
  public:
    struct Piece {
        uint64_t size = 0;
        uint32_t pool = 0;       // serial of the physical pool
        uint64_t physical = 0;   // offset in it
        uint64_t generation = 0; // of the mapping request
    };
    struct Span {
        uint64_t from = 0, size = 0;
    };

    void map(uint64_t from, const Piece& piece);
    void unmap(uint64_t from, uint64_t size);
    // True if any page of the range is mapped.
    bool any(uint64_t from, uint64_t size) const;
    // Runs of mapped pages that touch or neighbour [from, from + size).
    std::vector<Span> runs(uint64_t from, uint64_t size) const;
    const std::map<uint64_t, Piece>& pieces() const { return pieces_; }

  private:
    std::map<uint64_t, Piece> pieces_; // by offset, not overlapping
};

} // namespace dmsh::nvn
