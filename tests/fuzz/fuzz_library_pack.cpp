// libFuzzer target: any bytes as a library pack, with the checksums made right so that the fields behind are
// reached.
#include "runtime/pack/library_pack.h"
#define XXH_INLINE_ALL
#include <cstring>
#include <vector>
#include <xxhash.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace dmsh;
    std::vector<uint64_t> aligned((size + 7) / 8 + 1);
    auto* bytes = reinterpret_cast<uint8_t*>(aligned.data());
    if (size)
        std::memcpy(bytes, data, size);
    if (size >= sizeof(LibraryHeader)) {
        LibraryHeader h;
        std::memcpy(&h, bytes, sizeof h);
        std::memcpy(h.magic, kLibraryMagic, sizeof h.magic);
        h.version = kLibraryVersion;
        h.header_bytes = sizeof h;
        h.entry_bytes = sizeof(LibraryEntry);
        h.file_bytes = size;
        const uint64_t index = uint64_t{h.entry_count} * (8 + sizeof(LibraryEntry));
        if (h.index_offset <= size && index <= size - h.index_offset)
            h.index_checksum = XXH3_64bits(bytes + h.index_offset, index);
        h.header_checksum = XXH3_64bits(&h, offsetof(LibraryHeader, header_checksum));
        std::memcpy(bytes, &h, sizeof h);
    }
    const auto pack = LibraryPack::from_memory({bytes, size});
    if (pack)
        for (uint32_t i = 0; i < pack->size() && i < 64; ++i) {
            (void)pack->find(pack->key(i));
            (void)pack->slice(i);
            (void)pack->reflection(i);
        }
    (void)decode_reflection({data, size});
    return 0;
}
