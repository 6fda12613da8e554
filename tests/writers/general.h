// Writers of containers that belong to no console: zip and Viper's zip, gzip, tar, Heaps' PAK, XNB and MGFX.
// From reference/containers/misc.md and the formats' public descriptions.
#pragma once
#include "tests/writers/writers.h"

namespace dmsh::writers {

enum class ZipMethod { stored, deflate, chain }; // chain: Viper's LZ4 chain, listed as stored
struct ZipMember {
    std::string name;
    Data data;
    ZipMethod method = ZipMethod::deflate;
};
struct ZipOptions {
    Data preamble;            // bytes before the first member
    bool counted = false;     // offsets count the preamble
    bool zip64 = false;       // every field of the directory in its zip64 form
    std::string comment = {}; // of the archive
};
Data zip(std::span<const ZipMember> members, const ZipOptions& how = {});
// Viper's archive: `VZIP` and an index before the first member.
Data vzip(std::span<const ZipMember> members);
// Chunks of 64 KiB, each LZ4 with the chunk before as dictionary, raw where that would not shrink.
Data vzip_chain(std::span<const uint8_t> data);

enum class TarKind { ustar, gnu, pax }; // how names past 100 characters are kept
Data tar(std::span<const Member> members, TarKind kind = TarKind::ustar);

// Heaps: version 0 or 1; positions as 32-bit numbers or doubles. Names with '/' make directories.
Data heaps_pak(std::span<const Member> files, unsigned version, bool double_positions = false);
// The shader cache: a table of programs, then GLSL whose pixel stages end in their output.
Data heaps_cache(std::span<const Data> outputs);

// An effect of MonoGame. A pass per entry of `passes`: indices of its vertex and pixel shader, 255 = none.
struct Effect {
    std::vector<Pair> shaders;
    std::vector<std::array<uint8_t, 2>> passes;
};
Data mgfx8(const Effect& effect);
// Version 5: each shader a GLSLC output; a shader without code becomes DirectX bytecode.
Data mgfx5(const Effect& effect);

enum class XnbPacking { none, lz4, lzx_verbatim, lzx_aligned, lzx_uncompressed };
// An XNB of an effect whose length field says `slack` bytes more than it has, all zeros.
Data xnb_effect(std::span<const uint8_t> effect, XnbPacking packing = XnbPacking::none, uint64_t slack = 0);
// Any asset: reader type and body behind the type index.
Data xnb(const std::string& reader, std::span<const uint8_t> body, XnbPacking packing = XnbPacking::none);

} // namespace dmsh::writers
