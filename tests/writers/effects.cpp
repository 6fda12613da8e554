// MGFX effects and the XNB files around them.
#include "tests/writers/codecs.h"
#include "tests/writers/general.h"

namespace dmsh::writers {
namespace {

class EffectBuffer : public Buffer {
  public:
    void byte(uint64_t v) { u8(size(), v); }
    void word16(uint64_t v) { u16(size(), v); }
    void word(uint64_t v) { u32(size(), v); }
    // A length in groups of 7 bits, then the characters.
    void name(std::string_view s) {
        seven(s.size());
        text(size(), s);
    }
    void seven(uint64_t v) {
        for (; v >= 0x80; v >>= 7)
            byte((v & 0x7f) | 0x80);
        byte(v);
    }
};

Data bytecode8(const Pair& p) {
    EffectBuffer b;
    b.word(p.control.size());
    b.append(p.control);
    b.word(p.code.size());
    b.append(p.code);
    return std::move(b.bytes);
}

Data bytecode5(const Pair& p) {
    if (p.code.empty()) { // DirectX bytecode beside the console's
        Buffer b;
        b.text(0, "DXBC");
        b.reserve_to(0x60);
        return std::move(b.bytes);
    }
    return glslc_output(std::span(&p, 1));
}

void parameter(EffectBuffer& b, unsigned type, std::string_view name, unsigned elements, unsigned members) {
    b.byte(1); // class
    b.byte(type);
    b.name(name);
    b.name("SEMANTIC");
    b.byte(3); // annotations, of which nothing follows
    b.byte(2); // rows
    b.byte(4); // columns
    for (const unsigned count : {elements, members}) {
        b.byte(count);
        for (unsigned i = 0; i < count; ++i)
            parameter(b, type, "inner", 0, 0);
    }
    if (!elements && !members && type >= 1 && type <= 3)
        b.text(b.size(), std::string(2 * 4 * 4, '\x3f'));
}

Data mgfx(const Effect& effect, unsigned version) {
    const bool v8 = version == 8;
    EffectBuffer b;
    b.text(0, "MGFX");
    b.byte(version);
    b.byte(v8 ? 0 : 1); // profile
    if (v8)
        b.word(0x1234abcd); // effect key
    b.byte(1);              // constant buffers
    if (v8)
        b.name("Parameters");
    b.word16(64);
    b.byte(2);
    for (int i = 0; i < 2; ++i) {
        b.byte(i);
        b.word16(16 * i);
    }
    b.byte(effect.shaders.size());
    for (const Pair& p : effect.shaders) {
        b.byte(p.stage == Stage::vertex);
        const Data code = v8 ? bytecode8(p) : bytecode5(p);
        b.word(code.size());
        b.append(code);
        b.byte(2); // samplers: with a state and without
        for (const bool state : {true, false}) {
            b.text(b.size(), std::string_view("\x01\x02\x03", 3));
            b.byte(state);
            if (state) {
                b.text(b.size(), std::string_view("\x01\x01\x01", 3));
                if (v8)
                    b.text(b.size(), std::string_view("\xff\xff\xff\xff", 4));
                b.byte(4);
                b.word(4);
                b.word(0);
                b.word(0x3f800000);
            }
            if (v8)
                b.name("TextureSampler");
            b.byte(0); // parameter
        }
        b.byte(1); // constant buffers
        b.byte(0);
        if (v8) {
            b.byte(1); // attributes
            b.name("vs_v0");
            b.byte(0);
            b.byte(0);
            b.word16(0);
        }
    }
    b.byte(3); // parameters
    parameter(b, 3, "World", 0, 0);
    parameter(b, 3, "Lights", 2, 0);
    parameter(b, 0, "Texture", 0, 0);
    b.byte(1); // techniques
    b.name("Technique1");
    b.byte(0);
    b.byte(effect.passes.size());
    for (const auto& [vertex, pixel] : effect.passes) {
        b.name("Pass");
        b.byte(0);
        b.byte(vertex);
        b.byte(pixel);
        b.byte(1);
        b.text(b.size(), std::string(18, '\x01')); // blend
        b.byte(1);
        b.text(b.size(), std::string(25, '\x02')); // depth and stencil
        b.byte(1);
        b.text(b.size(), std::string(12, '\x03')); // rasteriser
    }
    return std::move(b.bytes);
}

Data packed_xnb(const Data& body, XnbPacking packing) {
    Buffer b;
    b.text(0, "XNBS");
    b.u8(4, 5);
    const bool plain = packing == XnbPacking::none, lz4 = packing == XnbPacking::lz4;
    b.u8(5, plain ? 1 : lz4 ? 0x41 : 0x80);
    b.reserve_to(10);
    if (plain) {
        b.append(body);
    } else {
        b.u32(10, body.size());
        const unsigned kind =
            static_cast<unsigned>(packing) - static_cast<unsigned>(XnbPacking::lzx_verbatim) + 1;
        b.append(lz4 ? lz4_block(body) : lzx(body, kind));
    }
    b.u32(6, b.size());
    return std::move(b.bytes);
}

} // namespace

Data mgfx8(const Effect& effect) {
    return mgfx(effect, 8);
}
Data mgfx5(const Effect& effect) {
    return mgfx(effect, 5);
}

Data xnb(const std::string& reader, std::span<const uint8_t> body, XnbPacking packing) {
    EffectBuffer b;
    b.seven(2);
    b.name("Microsoft.Xna.Framework.Content.StringReader");
    b.word(0);
    b.name(reader);
    b.word(0);
    b.seven(0); // shared resources
    b.seven(2); // the second reader
    b.append(body);
    return packed_xnb(b.bytes, packing);
}

Data xnb_effect(std::span<const uint8_t> effect, XnbPacking packing, uint64_t slack) {
    EffectBuffer payload;
    payload.word(effect.size() + slack);
    payload.append(effect);
    payload.reserve_to(payload.size() + slack);
    return xnb("Microsoft.Xna.Framework.Content.EffectReader, MonoGame.Framework, Version=3.6.0.0",
               payload.bytes, packing);
}

} // namespace dmsh::writers
