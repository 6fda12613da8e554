// Reads a module's relocations (.rela.dyn, .relr.dyn through MOD0) and the addresses that its instructions
// build. Layouts: reference/containers/nintendo.md, section 2; misc.md, section 13; Arm's architecture
// manual.
#include "archivers/nvn/module.h"
#include "archivers/nvn/control_section.h"

namespace dmsh {
namespace {

constexpr uint32_t kMod0 = 0x30444f4d;
constexpr uint64_t kTagRela = 7, kTagRelaSize = 8, kTagRelaEntry = 9, kTagRelrSize = 35, kTagRelr = 36;
constexpr uint64_t kRelaEntry = 0x18;
constexpr uint32_t kRelative = 0x403;     // R_AARCH64_RELATIVE: the word is the addend
constexpr uint64_t kAddressWindow = 16;   // instructions between an `adrp` and its `add`
constexpr uint64_t kDynamicEntries = 256; // entries of .dynamic looked at; linkers write some thirty

} // namespace

std::optional<Blob> Module::at(uint64_t address, uint64_t length) const {
    for (const Segment& s : segments_)
        if (address >= s.address && s.bytes.bytes.has(address - s.address, length))
            return s.bytes.slice(address - s.address, length);
    return std::nullopt;
}

uint32_t Module::u32(uint64_t address) const {
    const auto word = at(address, 4);
    return word ? word->bytes.u32(0) : 0;
}

void Module::read_relocations(Known& k) const {
    uint64_t memory = 0;
    for (const Segment& s : segments_)
        memory += s.bytes.size();
    const uint64_t most = memory / 8; // one per word: a bitmap could claim more
    const auto add = [&](uint64_t place, uint64_t value) {
        if (k.relocations.size() < most)
            k.relocations.push_back({place, value});
    };
    const auto u64 = [&](uint64_t address) {
        const auto word = at(address, 8);
        return word ? word->bytes.u64(0) : 0;
    };
    const uint64_t mod0 = u32(segments_[0].address + 4);
    if (u32(mod0) != kMod0)
        return;
    uint64_t rela = 0, rela_size = 0, rela_entry = kRelaEntry, relr = 0, relr_size = 0;
    const uint64_t dynamic = mod0 + u32(mod0 + 4);
    for (uint64_t i = 0; i < kDynamicEntries; ++i) {
        const uint64_t tag = u64(dynamic + 16 * i), value = u64(dynamic + 16 * i + 8);
        if (tag == 0)
            break;
        if (tag == kTagRela)
            rela = value;
        else if (tag == kTagRelaSize)
            rela_size = value;
        else if (tag == kTagRelaEntry)
            rela_entry = value;
        else if (tag == kTagRelr)
            relr = value;
        else if (tag == kTagRelrSize)
            relr_size = value;
    }
    if (const auto table = at(rela, rela_size); table && rela_entry == kRelaEntry)
        for (uint64_t at = 0; table->bytes.has(at, kRelaEntry); at += kRelaEntry)
            if (table->bytes.u32(at + 8) == kRelative)
                add(table->bytes.u64(at), table->bytes.u64(at + 16));
    if (const auto table = at(relr, relr_size)) {
        uint64_t next = 0; // an even entry is a place, an odd one a bitmap of the 63 words behind the last
        for (uint64_t at = 0; table->bytes.has(at, 8) && k.relocations.size() < most; at += 8) {
            const uint64_t entry = table->bytes.u64(at);
            if (entry % 2 == 0) {
                add(entry, u64(entry));
                next = entry + 8;
                continue;
            }
            for (unsigned bit = 1; bit < 64; ++bit)
                if (entry >> bit & 1)
                    add(next + 8 * (bit - 1), u64(next + 8 * (bit - 1)));
            next += 63 * 8;
        }
    }
    std::sort(k.relocations.begin(), k.relocations.end());
    for (const auto& [place, value] : k.relocations)
        if (u32(value) == kControlMagic)
            k.named.push_back({value, place});
    std::sort(k.named.begin(), k.named.end());
}

void Module::read_instructions(Known& k) const {
    const Segment& text = segments_[0];
    struct Page {
        uint64_t address = 0, index = ~uint64_t{0};
    };
    std::array<Page, 32> pages;
    const uint64_t count = text.bytes.size() / 4;
    for (uint64_t i = 0; i < count; ++i) {
        const uint32_t word = text.bytes.bytes.u32(4 * i);
        const uint64_t pc = text.address + 4 * i;
        if ((word & 0x9f000000) == 0x90000000) { // ADRP Xd, page
            const uint64_t immediate = (word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
            const int64_t offset = static_cast<int64_t>(immediate << 43) >> 43; // 21 bits with sign
            pages[word & 31] = {(pc & ~uint64_t{0xfff}) + static_cast<uint64_t>(offset) * 4096, i};
        } else if ((word & 0xff800000) == 0x91000000) { // ADD Xd, Xn, #immediate
            const Page& page = pages[word >> 5 & 31];
            const uint64_t immediate = word >> 10 & 0xfff;
            if (page.index != ~uint64_t{0} && i - page.index <= kAddressWindow)
                k.built.push_back(page.address + (word >> 22 & 1 ? immediate << 12 : immediate));
        }
    }
    std::sort(k.built.begin(), k.built.end());
    k.built.erase(std::unique(k.built.begin(), k.built.end()), k.built.end());
    k.built.shrink_to_fit();
}

const Module::Known& Module::known() const {
    if (!known_) {
        known_.emplace();
        read_relocations(*known_);
        read_instructions(*known_);
    }
    return *known_;
}

std::vector<ShaderReference> Module::references(uint64_t control) const {
    const Known& k = known();
    std::vector<ShaderReference> found;
    for (auto n = std::lower_bound(k.named.begin(), k.named.end(), std::pair(control, uint64_t{0}));
         n != k.named.end() && n->first == control; ++n) {
        const uint64_t place = n->second; // of the control section's pointer; the code's stands before it
        const auto code =
            std::lower_bound(k.relocations.begin(), k.relocations.end(), std::pair(place - 8, uint64_t{0}));
        if (code != k.relocations.end() && code->first == place - 8)
            found.push_back({code->second, u32(place + 8), u32(place + 12)});
    }
    return found;
}

bool Module::code_takes_address(uint64_t address) const {
    const Known& k = known();
    return std::binary_search(k.built.begin(), k.built.end(), address);
}

} // namespace dmsh
