// Address ranges whose pages are other pages of the process: what virtual memory pools are made of.
#pragma once
#include <cstdint>

namespace dmsh::nvn {

constexpr uint64_t kGuestPage = 4096; // grain of NVN's page tables

// Bytes of a host page; mappings that do not fit its grid cannot be aliased.
uint64_t host_page_bytes();

// An inaccessible range of `size` bytes; nullptr where the host has none.
uint8_t* reserve_range(uint64_t size);
void release_range(uint8_t* base, uint64_t size);
// Makes pages of a range inaccessible again.
void close_pages(uint8_t* at, uint64_t size);

// Memory whose pages can appear at a second address. On Linux they must belong to a file in memory: the pages at
// [memory, memory + size) are moved into one, which keeps addresses and content; nobody may write meanwhile.
class SharedPages {
  public:
    SharedPages() = default;
    SharedPages(const SharedPages&) = delete;
    // False: the host refuses, nothing changed.
    bool open(uint8_t* memory, uint64_t size);
    // Gives the memory pages of its own again, with the same content. Aliases keep what they have.
    ~SharedPages();
    // Shows the pages at `offset` at address `at` too.
    bool alias(uint8_t* at, uint64_t offset, uint64_t size) const;

  private:
    uint8_t* memory_ = nullptr;
    uint64_t size_ = 0;
    int file_ = -1;
};

} // namespace dmsh::nvn
