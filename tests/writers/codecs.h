// Writers of compressed streams that no library of ours writes, or writes differently; from the documents.
#pragma once
#include "tests/writers/buffer.h"
#include <string>

namespace dmsh::writers {

Data deflate(std::span<const uint8_t> data, int level = 6);
Data zlib(std::span<const uint8_t> data, int level = 6);
// One gzip member; with a name in its header if there is one.
Data gzip(std::span<const uint8_t> data, const std::string& name = "", int level = 6);
Data lz4_block(std::span<const uint8_t> data, std::span<const uint8_t> history = {});
Data lz4_frame(std::span<const uint8_t> data, bool content_size = true, bool checksum = true);
// Five bytes of properties, then the raw stream.
Data lzma1(std::span<const uint8_t> data);
Data crilayla(std::span<const uint8_t> data, bool copies = true);
Data base64(std::span<const uint8_t> data);
// Chunks as in XNB. `kind`: 1 verbatim, 2 aligned, 3 uncompressed blocks.
Data lzx(std::span<const uint8_t> data, unsigned kind);
// A zstd frame with a dictionary of `id`, and that dictionary, made of `sample`.
Data zstd_dictionary(std::span<const uint8_t> sample, uint32_t id);
Data zstd_with_dictionary(std::span<const uint8_t> data, std::span<const uint8_t> dictionary);

} // namespace dmsh::writers
