// A listing of NVIDIA's disassembler beside ours: every line of a code area, labels and headers left out.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dmsh::test {

struct ListingScore {
    size_t lines = 0, differ = 0;
    size_t targets = 0, wrong_targets = 0; // of branches, by the labels of the listing
    std::string first;                     // the first difference
};

// Is `text` a listing of nvdisasm (and not of another disassembler)?
bool is_nvdisasm(std::string_view text);

// `code` is sm_53, from its first group. Lines that show a relocation in place of a number are left out.
ListingScore compare_listing(std::string_view text, std::span<const uint8_t> code);

} // namespace dmsh::test
