// Part A's instructions with its EXITs turned into branches to part B, then part B.
#include "archivers/nvn/vertex_ab.h"
#include "archivers/nvn/sph.h"
#include <cstdio>

namespace dmsh {
namespace {

constexpr uint64_t kGroup = 32; // one scheduling word and three instructions

// The upper 12 bits of Maxwell's jumps that hold an absolute address or take it from a register or table.
bool moves_badly(uint64_t word) {
    const uint64_t op = word >> 52;
    return op == 0xe20 || op == 0xe21 || op == 0xe22 || op == 0xe25; // JMX, JMP, JCAL, BRX
}

// EXIT under any predicate and the condition code "true" (FCSM_TR and others are left as they are).
bool is_exit(uint64_t word) {
    return (word & ~0xf0000ull) == 0xe30000000000000full;
}

// BRA under the predicate of `exit`; `offset` counts from the next instruction.
uint64_t branch(uint64_t exit, int64_t offset) {
    return 0xe24000000000000full | (exit & 0xf0000) | (static_cast<uint64_t>(offset) & 0xffffff) << 20;
}

void put(std::vector<uint8_t>& v, uint64_t at, uint64_t value, unsigned bytes) {
    std::memcpy(v.data() + at, &value, bytes);
}

uint64_t bits(Bytes b, unsigned first, unsigned count) {
    return b.u64(first / 32 * 4) >> first % 32 & ((1ull << count) - 1);
}

} // namespace

Result<std::vector<uint8_t>> merge_vertex_parts(Bytes a, Bytes b) {
    if (a.size() <= kSphBytes3 || b.size() <= kSphBytes3)
        return Error{"vertex part without instructions"};
    const Bytes code_a = a.clamp(kSphBytes3), code_b = b.clamp(kSphBytes3);
    for (const Bytes& code : {code_a, code_b})
        for (uint64_t at = 0; code.has(at, 8); at += 8)
            if (at % kGroup != 0 && moves_badly(code.u64(at)))
                return Error{"two-part vertex program with an absolute or table jump"};
    const uint64_t start_b = (code_a.size() + kGroup - 1) / kGroup * kGroup;
    if (start_b + 8 > 0x7fffff)
        return Error{"vertex part A is too long to branch over"};

    std::vector<uint8_t> out;
    out.reserve(kSphBytes3 + start_b + code_b.size());
    const auto append = [&](Bytes part) { out.insert(out.end(), part.span().begin(), part.span().end()); };
    append(b.clamp(0, kSphBytes3));
    append(code_a);
    out.resize(kSphBytes3 + start_b);
    append(code_b);

    // Flags: kills pixels, global store (15, 16), load or store, fp64 (26, 27).
    put(out, 0, b.u32(0) | (a.u32(0) & 0x0c018000), 4);
    // Memory sizes: low, high, call stack.
    for (const unsigned first : {32u, 64u, 96u}) {
        const uint64_t larger = std::max(bits(a, first, 24), bits(b, first, 24));
        put(out, first / 8, (b.u32(first / 8) & 0xff000000) | larger, 4);
    }
    // Input and output maps: bits 160..639.
    for (unsigned byte = 20; byte < kSphBytes3; ++byte)
        out[byte] = a.u8(byte) | b.u8(byte);

    for (uint64_t at = 0; code_a.has(at, 8); at += 8) {
        const uint64_t word = code_a.u64(at);
        if (at % kGroup == 0 || !is_exit(word))
            continue;
        // The first instruction of B follows its scheduling word.
        put(out, kSphBytes3 + at,
            branch(word, static_cast<int64_t>(start_b + 8) - static_cast<int64_t>(at + 8)), 8);
    }
    return out;
}

} // namespace dmsh
