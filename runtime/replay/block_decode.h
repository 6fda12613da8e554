// Software decoding of block-compressed texels, for devices without the formats: ASTC (LDR profile, 2D
// blocks) and BC1 to BC5. The formats' own specifications define every number (Khronos Data Format
// Specification, chapters ASTC, S3TC and RGTC).
#pragma once
#include <cstdint>

namespace dmsh::replay {

// What a decoded block's texels are.
enum class DecodedTexel : uint8_t { none, rgba8, r8, rg8, r8_signed, rg8_signed };

// `format` is an NVNformat. none: not a format that is decoded here (BC6H, BC7).
DecodedTexel decoded_texel(int format);
uint32_t decoded_bytes(DecodedTexel texel);

// Decodes a level: rows of tight blocks into rows of tight texels, width and height in texels. Blocks that
// are invalid (ASTC) become the error colour, opaque magenta.
void decode_blocks(int format, const uint8_t* blocks, uint32_t width, uint32_t height, uint8_t* texels);

// One 16-byte ASTC block into block_width * block_height RGBA8 texels.
void decode_astc_block(const uint8_t* block, uint32_t block_width, uint32_t block_height, bool srgb,
                       uint8_t* texels);

} // namespace dmsh::replay
