// NSO and NRO.
#include "archivers/core/sha256.h"
#include "tests/writers/writers.h"
#include <lz4hc.h>

namespace dmsh::writers {
namespace {

Data lz4_block(const Data& data) {
    Data out(static_cast<size_t>(LZ4_compressBound(static_cast<int>(data.size()))));
    const int n =
        LZ4_compress_HC(reinterpret_cast<const char*>(data.data()), reinterpret_cast<char*>(out.data()),
                        static_cast<int>(data.size()), static_cast<int>(out.size()), 9);
    out.resize(static_cast<size_t>(n));
    return out;
}

} // namespace

Data nso(const Data& text, const Data& rodata, const Data& data, bool compress, bool hashes) {
    Buffer b;
    b.text(0, "NSO0");
    b.reserve_to(0x100);
    b.u32(0x0c, (compress ? 7u : 0u) | (hashes ? 0x38u : 0u));
    const Data* const segments[] = {&text, &rodata, &data};
    uint64_t memory = 0;
    for (int i = 0; i < 3; ++i) {
        const Data& s = *segments[i];
        const Data stored = compress ? lz4_block(s) : s;
        b.u32(0x10 + 0x10 * i, b.append(stored));
        b.u32(0x14 + 0x10 * i, memory);
        b.u32(0x18 + 0x10 * i, s.size());
        b.u32(0x60 + 4 * i, stored.size());
        memory = (memory + s.size() + 0xfff) / 0x1000 * 0x1000;
        const auto hash = sha256(Bytes(s));
        std::memcpy(b.bytes.data() + 0xa0 + 32 * i, hash.data(), 32);
    }
    return std::move(b.bytes);
}

Data nro(const Data& text, const Data& rodata, const Data& data, const Data& romfs) {
    Buffer b;
    b.text(0x10, "NRO0");
    b.reserve_to(0x80);
    const Data* const segments[] = {&text, &rodata, &data};
    for (int i = 0; i < 3; ++i) {
        b.align(0x1000);
        b.u32(0x20 + 8 * i, b.append(*segments[i]));
        b.u32(0x24 + 8 * i, segments[i]->size());
    }
    b.align(0x1000);
    const uint64_t size = b.size();
    b.u32(0x18, size);
    if (!romfs.empty()) {
        b.text(size, "ASET");
        b.u64(size + 0x28, 0x38);
        b.u64(size + 0x30, romfs.size());
        b.append(romfs);
    }
    return std::move(b.bytes);
}

} // namespace dmsh::writers
