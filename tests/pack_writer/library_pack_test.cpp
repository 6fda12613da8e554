// Library packs: what is written is found again, bytes do not depend on order, damage is refused by name.
#include "archivers/pack/dump.h"
#include "archivers/pack/library_writer.h"
#include "runtime/pack/library_pack.h"
#define XXH_INLINE_ALL
#include <algorithm>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <xxhash.h>

namespace dmsh {
namespace {

ProgramReflection sample_reflection(unsigned seed) {
    ProgramReflection r;
    r.interface.stage = seed % 2 ? Stage::fragment : Stage::vertex;
    r.interface.arch = Arch::sm53;
    Binding b;
    b.kind = BindingKind::uniform;
    b.slot = seed % 14;
    b.bytes_read = 64 + seed;
    r.interface.bindings.push_back(b);
    b = {};
    b.kind = BindingKind::texture;
    b.slot = 3;
    b.dim = ImageDim::cube;
    b.sampled = b.arrayed = b.depth = true;
    b.or_bank = 2;
    b.or_offset = 0x568;
    b.count = 4;
    r.interface.bindings.push_back(b);
    r.interface.inputs.push_back({5, 0b0111, Numeric::sint, 2, true, false});
    r.interface.outputs.push_back({31, 0b1111, Numeric::real, 0, false, true});
    r.interface.colours.push_back({7, 0b1010, Numeric::uint});
    r.interface.builtins_read = builtin_bit(Builtin::frag_coord);
    r.interface.builtins_written = builtin_bit(Builtin::frag_depth) | builtin_bit(Builtin::position);
    r.interface.demotes = r.interface.uses_lanes = true;
    r.interface.local_size = {8, 4, 2};
    r.constants = {1, 2, 3, static_cast<uint8_t>(seed)};
    if (seed % 3 == 0)
        r.losses = {"L0012 bindless handle not traced"};
    r.origin = "a.sarc.zs/b.bnsh \"q\"";
    return r;
}

// `seed` decides key, reflection and code; every fourth program's code does not compress.
EncodedProgram sample_program(unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<uint8_t> code(400 + 4 * (seed % 50));
    for (auto& c : code)
        c = static_cast<uint8_t>(seed % 4 ? seed : random());
    auto p = encode_program(random(), sample_reflection(seed), SliceKind::spirv, code);
    EXPECT_TRUE(p) << p.error().text();
    return std::move(*p);
}

std::vector<uint8_t> sample_pack(unsigned count) {
    LibraryWriter w("vulkan", "0123456789abcdef");
    for (unsigned i = 0; i < count; ++i)
        w.add(sample_program(i));
    auto bytes = w.finish();
    EXPECT_TRUE(bytes);
    return std::move(*bytes);
}

TEST(Refl, RoundTrip) {
    for (unsigned seed = 0; seed < 6; ++seed) {
        const ProgramReflection r = sample_reflection(seed);
        const auto bytes = encode_reflection(r);
        const auto back = decode_reflection(bytes);
        ASSERT_TRUE(back) << back.error().text();
        EXPECT_EQ(encode_reflection(*back), bytes);
        EXPECT_EQ(reflection_json(*back).substr(0, 40), reflection_json(r).substr(0, 40));
        EXPECT_EQ(back->interface.bindings[1].or_offset, 0x568u);
        EXPECT_TRUE(back->interface.inputs[0].centroid);
        EXPECT_TRUE(back->interface.outputs[0].per_sample);
        EXPECT_EQ(back->constants, r.constants);
        EXPECT_EQ(back->losses, r.losses);
    }
}

TEST(Refl, JsonIsJson) {
    const auto j = nlohmann::json::parse(reflection_json(sample_reflection(3)));
    EXPECT_EQ(j["stage"], "fragment");
    EXPECT_EQ(j["bindings"][1]["dim"], "cube");
    EXPECT_EQ(j["reads"][0], "frag_coord");
    EXPECT_EQ(j["origin"], "a.sarc.zs/b.bnsh \"q\"");
    EXPECT_NE(reflection_text(sample_reflection(3)).find("binding 1 texture slot 3"), std::string::npos);
}

TEST(Refl, Limits) {
    ProgramReflection r = sample_reflection(0);
    r.interface.bindings.resize(128);
    EXPECT_TRUE(encode_program(1, r, SliceKind::none, {}));
    r.interface.bindings.resize(129);
    const auto p = encode_program(1, r, SliceKind::none, {});
    ASSERT_FALSE(p);
    EXPECT_NE(p.error().message.find("129 bindings"), std::string::npos);
}

TEST(LibraryPack, FindsWhatWasWritten) {
    const auto bytes = sample_pack(257);
    const auto pack = LibraryPack::from_memory(bytes);
    ASSERT_TRUE(pack) << pack.error().text();
    EXPECT_EQ(pack->target(), "vulkan");
    EXPECT_EQ(pack->stamp(), "0123456789abcdef");
    ASSERT_EQ(pack->size(), 257u);
    for (unsigned seed = 0; seed < 257; ++seed) {
        const EncodedProgram want = sample_program(seed);
        const uint32_t i = pack->find(want.key);
        ASSERT_NE(i, LibraryPack::kNotFound);
        const auto entry = pack->entry(i);
        ASSERT_TRUE(entry);
        EXPECT_EQ(entry->stage, want.stage);
        EXPECT_EQ(entry->has_losses, seed % 3 == 0);
        EXPECT_EQ(entry->codec, seed % 4 ? SliceCodec::zstd : SliceCodec::stored);
        const auto slice = pack->slice(i);
        ASSERT_TRUE(slice) << slice.error().text();
        EXPECT_EQ(slice->bytes.size(), 400 + 4 * (seed % 50));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(slice->bytes.data()) % 4, 0u);
        if (seed % 4) {
            EXPECT_EQ(slice->bytes[17], static_cast<uint8_t>(seed));
        }
        const auto reflection = pack->reflection(i);
        ASSERT_TRUE(reflection);
        EXPECT_EQ(encode_reflection(*reflection), want.reflection);
        EXPECT_EQ(pack->find(want.key + 1), LibraryPack::kNotFound);
        EXPECT_EQ(pack->find(want.key, 1), LibraryPack::kNotFound);
    }
    EXPECT_EQ(pack->find(0), LibraryPack::kNotFound);
    EXPECT_EQ(pack->find(~uint64_t{0}), LibraryPack::kNotFound);
    EXPECT_FALSE(pack->slice(257));
}

TEST(LibraryPack, EmptyPackOpens) {
    const auto bytes = sample_pack(0);
    const auto pack = LibraryPack::from_memory(bytes);
    ASSERT_TRUE(pack);
    EXPECT_EQ(pack->find(0), LibraryPack::kNotFound);
}

TEST(LibraryPack, BytesDoNotDependOnOrder) {
    std::vector<unsigned> order(64);
    for (unsigned i = 0; i < 64; ++i)
        order[i] = i;
    const auto first = sample_pack(64);
    std::mt19937 random(1);
    for (int round = 0; round < 4; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        LibraryWriter w("vulkan", "0123456789abcdef");
        for (const unsigned i : order)
            w.add(sample_program(i));
        w.add(sample_program(order[0])); // the same program twice counts once
        const auto bytes = w.finish();
        ASSERT_TRUE(bytes);
        EXPECT_EQ(*bytes, first);
    }
}

TEST(LibraryPack, OneKeyTwoProgramsIsRefused) {
    LibraryWriter w("vulkan", "s");
    auto a = sample_program(1), b = sample_program(2);
    b.key = a.key;
    const uint64_t key = a.key;
    w.add(a);
    b.variant = 1;
    w.add(b);
    auto bytes = w.finish();
    ASSERT_TRUE(bytes);
    const auto pack = LibraryPack::from_memory(*bytes);
    ASSERT_TRUE(pack);
    EXPECT_NE(pack->find(key, 1), LibraryPack::kNotFound);
    EXPECT_NE(pack->find(key, 0), pack->find(key, 1));
    b.variant = 0;
    w.add(a);
    w.add(b);
    EXPECT_FALSE(w.finish());
}

TEST(LibraryPack, EqualSlicesAreStoredOnce) {
    std::vector<uint8_t> code(100000);
    std::mt19937 random(5);
    for (auto& c : code)
        c = static_cast<uint8_t>(random());
    LibraryWriter w("vulkan", "s");
    for (uint64_t key = 1; key <= 10; ++key)
        w.add(*encode_program(key, sample_reflection(1), SliceKind::spirv, code));
    const auto bytes = w.finish();
    ASSERT_TRUE(bytes);
    EXPECT_LT(bytes->size(), 120000u);
    const auto pack = LibraryPack::from_memory(*bytes);
    ASSERT_TRUE(pack);
    EXPECT_EQ(pack->slice(pack->find(7))->bytes.size(), code.size());
}

TEST(LibraryPack, OpensAFile) {
    const std::string path = std::string(DMSH_BINARY_DIR) + "/library_pack_test.dmlib";
    LibraryWriter w("macos", "stamp");
    w.add(sample_program(9));
    ASSERT_TRUE(w.write(path));
    auto pack = LibraryPack::open(path);
    ASSERT_TRUE(pack) << pack.error().text();
    const LibraryPack moved = std::move(*pack);
    EXPECT_EQ(moved.target(), "macos");
    EXPECT_TRUE(moved.slice(0));
    std::remove(path.c_str());
    const auto gone = LibraryPack::open(path);
    ASSERT_FALSE(gone);
    EXPECT_NE(gone.error().text().find(path), std::string::npos);
}

TEST(LibraryPack, DamageIsRefusedByName) {
    const auto bytes = sample_pack(8);
    const auto message = [&](size_t offset, uint8_t flip) {
        auto damaged = bytes;
        damaged[offset] ^= flip;
        const auto pack = LibraryPack::from_memory(damaged);
        return pack ? std::string() : pack.error().message;
    };
    EXPECT_NE(message(0, 1).find("magic"), std::string::npos);
    EXPECT_NE(message(8, 2).find("version"), std::string::npos);
    EXPECT_NE(message(16, 1).find("header checksum"), std::string::npos);
    EXPECT_NE(message(200, 1).find("index checksum"), std::string::npos);
    auto cut = bytes;
    cut.resize(cut.size() - 16);
    EXPECT_NE(LibraryPack::from_memory(cut).error().message.find("cut off"), std::string::npos);

    // A damaged slice leaves the pack usable: its own use is refused, all others work.
    auto damaged = bytes;
    const size_t index_end = 128 + 8 * (8 + sizeof(LibraryEntry));
    unsigned refused = 0;
    for (size_t at = index_end; at < bytes.size(); at += 16) {
        damaged = bytes;
        damaged[at] ^= 0x40;
        const auto pack = LibraryPack::from_memory(damaged);
        ASSERT_TRUE(pack);
        for (uint32_t i = 0; i < pack->size(); ++i)
            refused += !pack->slice(i) + !pack->reflection(i);
    }
    EXPECT_EQ(refused, (bytes.size() - index_end) / 16);
}

// Checksums are no defence against somebody who can compute them: with all of them recomputed, wild entries
// and reflections must still be refused or harmless.
TEST(LibraryPack, HostileEntriesAreHarmless) {
    const auto bytes = sample_pack(8);
    std::mt19937 random(7);
    for (int round = 0; round < 3000; ++round) {
        auto wild = bytes;
        const size_t from = round % 2 ? 128 : 192, to = round % 2 ? bytes.size() : 128 + 8 * 64;
        for (int k = 0; k < 3; ++k)
            wild[from + random() % (to - from)] = static_cast<uint8_t>(random());
        LibraryHeader h;
        std::memcpy(&h, wild.data(), sizeof h);
        h.index_checksum = XXH3_64bits(wild.data() + 128, 8 * (8 + sizeof(LibraryEntry)));
        h.header_checksum = XXH3_64bits(&h, offsetof(LibraryHeader, header_checksum));
        std::memcpy(wild.data(), &h, sizeof h);
        const auto pack = LibraryPack::from_memory(wild);
        ASSERT_TRUE(pack);
        for (uint32_t i = 0; i < pack->size(); ++i) {
            (void)pack->slice(i);
            (void)pack->reflection(i);
        }
    }
    // Reflections that pass no checksum here, straight into the decoder.
    const auto reflection = encode_reflection(sample_reflection(3));
    for (int round = 0; round < 20000; ++round) {
        auto wild = reflection;
        for (int k = 0; k < 1 + round % 4; ++k)
            wild[random() % wild.size()] = static_cast<uint8_t>(random());
        wild.resize(wild.size() - random() % 8);
        (void)decode_reflection(wild);
    }
}

} // namespace
} // namespace dmsh
