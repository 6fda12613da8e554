// Decodes Shader Program Headers.
#include "archivers/nvn/sph.h"
#include <algorithm>
#include <bit>
#include <cstdio>

namespace dmsh {
namespace {

// Where the one-bit maps begin: bit = base + attribute address / 4, except for the tessellation levels.
constexpr unsigned kInputBase = 160;
constexpr unsigned kOutputBase = 400;
constexpr unsigned kViewOutputBase = 640;
constexpr unsigned kPerVertexBase = 640;

constexpr unsigned kPrimitiveId = 0x060 / 4;
constexpr unsigned kGeneric = 0x080 / 4;
constexpr unsigned kColours = 0x280 / 4;
constexpr unsigned kClip = 0x2c0 / 4;
constexpr unsigned kTextures = 0x300 / 4;
constexpr unsigned kViewportMask = 0x3a0 / 4;
constexpr unsigned kMapEnd = 0x3c0 / 4;

// The header's bits by number, least significant of each byte first; zeros behind its end.
class Bits {
  public:
    explicit Bits(Bytes b) { std::memcpy(b_, b.data(), std::min<uint64_t>(b.size(), kSphBytes4)); }
    // At most 32 bits.
    uint32_t operator()(unsigned first, unsigned count = 1) const {
        return static_cast<uint32_t>(word(first) & ((1ull << count) - 1));
    }
    // At least 57 bits from `first` on.
    uint64_t word(unsigned first) const {
        uint64_t w;
        std::memcpy(&w, b_ + first / 8, 8);
        return w >> first % 8;
    }

  private:
    uint8_t b_[kSphBytes4 + 8] = {};
};

constexpr unsigned kStep = 56; // bits taken at once

void read_one_bit(const Bits& bits, AttributeSet& set, unsigned base, unsigned first, unsigned end) {
    for (unsigned a = first; a < end; a += kStep)
        for (uint64_t w = bits.word(base + a) & ((1ull << std::min(kStep, end - a)) - 1); w; w &= w - 1)
            set.set(a + static_cast<unsigned>(std::countr_zero(w)));
}

// Attributes first..end-1 in two bits each from `bit` on.
void read_two_bits(const Bits& bits, Sph& sph, unsigned bit, unsigned first, unsigned end) {
    for (unsigned a = first; a < end; a += kStep / 2, bit += kStep)
        for (uint64_t w = bits.word(bit) & ((1ull << std::min(kStep, 2 * (end - a))) - 1); w;) {
            const unsigned k = static_cast<unsigned>(std::countr_zero(w)) / 2;
            sph.inputs.set(a + k);
            sph.interpolation[a + k] = static_cast<Interpolation>(w >> 2 * k & 3);
            w &= ~(uint64_t{3} << 2 * k);
        }
}

Error bad(const char* what, uint32_t word) {
    char buf[96];
    std::snprintf(buf, sizeof buf, "shader program header: %s (word 0 is %08x)", what, word);
    return {buf};
}

} // namespace

Result<Sph> read_sph(Bytes bytes) {
    if (!bytes.has(0, kSphBytes3))
        return Error{"shader program header: shorter than 0x50 bytes"};
    const Bits bits(bytes);
    const uint32_t word0 = bytes.u32(0);
    Sph s;
    s.type = static_cast<uint8_t>(bits(0, 5));
    s.version = static_cast<uint8_t>(bits(5, 5));
    s.shader_type = static_cast<uint8_t>(bits(10, 4));
    if (s.version != 3 && s.version != 4)
        return bad("version is neither 3 nor 4", word0);
    s.bytes = s.version == 3 ? kSphBytes3 : kSphBytes4;
    if (!bytes.has(0, s.bytes))
        return bad("shorter than 0x80 bytes", word0);
    if (s.shader_type > 5)
        return bad("unknown shader type", word0);
    const bool pixel = s.shader_type == 5;
    if (s.type != (pixel ? 2 : 1))
        return bad("layout and shader type disagree", word0);
    constexpr Stage stages[] = {Stage::vertex,          Stage::vertex,   Stage::tess_control,
                                Stage::tess_evaluation, Stage::geometry, Stage::fragment};
    s.stage = stages[s.shader_type];
    const bool v3 = s.version == 3;

    s.multiple_targets = bits(14);
    s.kills_pixels = bits(15);
    s.global_store = bits(16);
    s.sass_version = static_cast<uint8_t>(bits(17, 4));
    s.geometry_passthrough = s.stage == Stage::geometry && bits(24);
    s.load_or_store = bits(26);
    s.fp64 = bits(27);
    s.stream_out_mask = static_cast<uint8_t>(bits(28, 4));
    s.local_low_bytes = bits(32, 24);
    s.patch_attributes = static_cast<uint8_t>(bits(56, 8));
    s.local_high_bytes = bits(64, 24);
    s.threads_per_input_primitive = static_cast<uint8_t>(bits(88, 8));
    if (v3)
        s.call_stack_bytes = bits(96, 24);
    s.output_topology = static_cast<uint8_t>(bits(120, 4));
    s.max_output_vertices = static_cast<uint16_t>(bits(128, 12));
    s.store_request_start = static_cast<uint8_t>(bits(140, 8));
    s.store_request_end = static_cast<uint8_t>(bits(152, 8));

    if (!pixel) {
        read_one_bit(bits, s.inputs, kInputBase, kPrimitiveId, v3 ? kViewportMask : kMapEnd);
        // Version 3 calls bit 632 reserved; open compilers for it set the bit for the viewport mask.
        read_one_bit(bits, s.outputs, kOutputBase, kPrimitiveId, v3 ? kViewportMask + 1 : kMapEnd);
        if (v3) {
            s.tess_levels_read = static_cast<uint8_t>(bits(164, 6));
            s.tess_levels_written = static_cast<uint8_t>(bits(404, 6));
        } else {
            s.vprs_table_index = bits(183);
            read_one_bit(bits, s.view_outputs, kViewOutputBase, kPrimitiveId, kMapEnd);
        }
        return s;
    }
    read_one_bit(bits, s.inputs, kInputBase, kPrimitiveId, kGeneric);
    read_two_bits(bits, s, 192, kGeneric, kColours);
    read_two_bits(bits, s, 448, kColours, kColours + 8); // front colours only
    read_one_bit(bits, s.inputs, 464 - kClip, kClip, kTextures);
    read_two_bits(bits, s, 480, kTextures, kViewportMask);
    if (!v3)
        read_two_bits(bits, s, 560, kViewportMask, kMapEnd);
    s.targets = bits(576, 32);
    s.sample_mask_output = bits(608);
    s.depth_output = bits(609);
    if (!v3) {
        s.interlock_ticket = bits(610);
        s.inner_coverage = bits(611);
        read_one_bit(bits, s.per_vertex_inputs, kPerVertexBase, 0, kViewportMask);
    }
    return s;
}

bool feeds(const Sph& producer, const Sph& consumer) {
    for (unsigned i = 0; i < 32; ++i)
        if (producer.generic_outputs(i) != consumer.generic_inputs(i))
            return false;
    return true;
}

} // namespace dmsh
