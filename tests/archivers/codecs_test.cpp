// Decoders: exact lengths, budgets, checksums.
#include "archivers/core/codecs.h"
#include "archivers/core/find_magic.h"
#include "archivers/core/sha256.h"
#include "tests/writers/writers.h"
#include <gtest/gtest.h>
#include <libdeflate.h>
#include <lz4.h>
#include <random>

namespace dmsh {
namespace {

using writers::Data;

Data sample(size_t n, unsigned seed = 1) {
    std::mt19937 random(seed);
    Data d(n);
    for (size_t i = 0; i < n; ++i)
        d[i] = random() % 8 && i > 300 ? d[i - 1 - random() % 300] : static_cast<uint8_t>(random());
    return d;
}

Data deflate(const Data& d, bool zlib) {
    libdeflate_compressor* c = libdeflate_alloc_compressor(6);
    Data out(libdeflate_zlib_compress_bound(c, d.size()));
    out.resize((zlib ? libdeflate_zlib_compress : libdeflate_deflate_compress)(c, d.data(), d.size(),
                                                                               out.data(), out.size()));
    libdeflate_free_compressor(c);
    return out;
}

Data lz4(const Data& d) {
    Data out(LZ4_compressBound(static_cast<int>(d.size())));
    out.resize(LZ4_compress_default(reinterpret_cast<const char*>(d.data()),
                                    reinterpret_cast<char*>(out.data()), static_cast<int>(d.size()),
                                    static_cast<int>(out.size())));
    return out;
}

template <class F>
void expect_round_trip(const Data& d, const Data& packed, F decode) {
    WorkBudget budget(1 << 20);
    const auto got = decode(Bytes(packed), budget);
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_EQ(got->size(), d.size());
    EXPECT_TRUE(d.empty() || std::memcmp(got->bytes.data(), d.data(), d.size()) == 0);
}

// Truncated anywhere and with a byte behind: an error, never more or less output.
template <class F>
void expect_exact(const Data& packed, F decode) {
    for (size_t n = 0; n < packed.size(); n += 1 + n / 64) {
        const Data part(packed.begin(), packed.begin() + n);
        WorkBudget budget(1 << 20);
        EXPECT_FALSE(decode(Bytes(part), budget)) << n;
    }
    Data more = packed;
    more.push_back(0x55);
    WorkBudget budget(1 << 20);
    EXPECT_FALSE(decode(Bytes(more), budget));
}

TEST(Yaz0, RoundTripsAndIsExact) {
    for (const size_t n : {1u, 7u, 8u, 9u, 300u, 5000u, 70000u}) {
        const Data d = sample(n);
        expect_round_trip(d, writers::yaz0(d), decode_yaz0);
        expect_round_trip(d, writers::yaz0_literals(d), decode_yaz0);
    }
    expect_exact(writers::yaz0(sample(3000)), decode_yaz0);
    Data run(100000, 7); // overlapping copies
    expect_round_trip(run, writers::yaz0(run), decode_yaz0);
}

TEST(Yaz0, DeclaredSizeIsMetExactly) {
    const Data d = sample(4096), packed = writers::yaz0(d);
    for (const int delta : {-1, 1}) {
        Data lying = packed;
        const uint32_t size = __builtin_bswap32(static_cast<uint32_t>(d.size() + delta));
        std::memcpy(lying.data() + 4, &size, 4);
        WorkBudget budget(1 << 20);
        EXPECT_FALSE(decode_yaz0(lying, budget)) << delta;
    }
}

TEST(Yaz0, RefusesCopiesFromBeforeTheBeginning) {
    Data d = {'Y', 'a', 'z', '0', 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 'x', 0x10, 0x01};
    WorkBudget budget(1 << 20);
    EXPECT_FALSE(decode_yaz0(d, budget));
}

TEST(Zstd, RoundTripsWithAndWithoutContentSize) {
    for (const size_t n : {0u, 1u, 3000u, 400000u})
        for (const bool sized : {true, false}) {
            const Data d = sample(n), packed = writers::zstd(d, 3, sized);
            expect_round_trip(d, packed, decode_zstd);
            if (n == 3000)
                expect_exact(packed, [](Bytes b, WorkBudget& w) {
                    return b.empty() ? Result<Blob>(Error{""}) : decode_zstd(b, w);
                });
        }
}

TEST(Zstd, SeveralFramesAndSkippableOnes) {
    const Data a = sample(1000, 1), b = sample(2000, 2);
    Data all = a;
    all.insert(all.end(), b.begin(), b.end());
    for (const bool sized : {true, false}) {
        Data packed = writers::zstd(a, 3, sized);
        const uint8_t skippable[] = {0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3};
        packed.insert(packed.end(), std::begin(skippable), std::end(skippable));
        const Data second = writers::zstd(b, 3, true);
        packed.insert(packed.end(), second.begin(), second.end());
        expect_round_trip(all, packed, decode_zstd);
    }
}

TEST(Zstd, ChecksumIsChecked) {
    Data packed = writers::zstd(sample(3000), 3);
    packed.back() ^= 1;
    WorkBudget budget(1 << 20);
    EXPECT_FALSE(decode_zstd(packed, budget));
}

TEST(Zstd, BombsStopAtTheBudget) {
    const Data zeros(64 << 20);
    for (const bool sized : {true, false}) {
        const Data packed = writers::zstd(zeros, 19, sized);
        WorkBudget budget(packed.size());
        const auto r = decode_zstd(packed, budget);
        ASSERT_FALSE(r);
        EXPECT_NE(r.error().text().find("16 times"), std::string::npos);
    }
}

TEST(DecodeExact, DeclaredSizePlusAndMinusOne) {
    const Data d = sample(5000), z = deflate(d, true), raw = deflate(d, false), l = lz4(d);
    for (const int delta : {-1, 0, 1}) {
        WorkBudget budget(1 << 20);
        EXPECT_EQ(bool(decode_zlib(z, d.size() + delta, budget)), delta == 0);
        EXPECT_EQ(bool(decode_deflate(raw, d.size() + delta, budget)), delta == 0);
        EXPECT_EQ(bool(decode_lz4_block(l, d.size() + delta, budget)), delta == 0);
    }
    expect_exact(z, [&](Bytes b, WorkBudget& w) { return decode_zlib(b, d.size(), w); });
    expect_exact(raw, [&](Bytes b, WorkBudget& w) { return decode_deflate(b, d.size(), w); });
    expect_exact(l, [&](Bytes b, WorkBudget& w) { return decode_lz4_block(b, d.size(), w); });
    Data wrong = z;
    wrong.back() ^= 1; // Adler-32
    WorkBudget budget(1 << 20);
    EXPECT_FALSE(decode_zlib(wrong, d.size(), budget));
}

TEST(WorkBudget, ChargesBeforeAnythingIsAllocated) {
    Data d = {'Y', 'a', 'z', '0', 0x3f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0};
    WorkBudget budget(d.size());
    const auto r = decode_yaz0(d, budget);
    ASSERT_FALSE(r);
    EXPECT_NE(r.error().text().find("16 times"), std::string::npos);
    EXPECT_FALSE(WorkBudget(1ull << 62).charge_expanded((1ull << 30) + 1));
    WorkBudget all(~uint64_t{0});
    EXPECT_TRUE(all.charge_stored(1ull << 40));
}

TEST(Sha256, KnownDigests) {
    const auto hex = [](const std::string& s) {
        std::string out;
        char buf[3];
        for (const uint8_t b : sha256(Bytes(reinterpret_cast<const uint8_t*>(s.data()), s.size()))) {
            std::snprintf(buf, sizeof buf, "%02x", b);
            out += buf;
        }
        return out;
    };
    EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hex(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(FindMagic, FindsEveryAlignmentAndNothingElse) {
    std::mt19937 random(3);
    const std::array<uint32_t, 3> magics = {0x19866891, 0x48534e42, 0x98761234};
    for (int round = 0; round < 300; ++round) {
        Data d(random() % 400);
        for (auto& b : d)
            b = static_cast<uint8_t>(random());
        std::vector<uint64_t> want;
        if (d.size() > 4) {
            const uint64_t at = random() % (d.size() - 3);
            const uint32_t m = magics[random() % 3];
            std::memcpy(d.data() + at, &m, 4);
        }
        for (uint64_t i = 0; i + 4 <= d.size(); ++i)
            for (const uint32_t m : magics)
                if (Bytes(d).u32(i) == m)
                    want.push_back(i);
        std::vector<uint64_t> got;
        uint64_t from = 0;
        while (const auto hit = find_magic(d, from, magics)) {
            got.push_back(hit->offset);
            EXPECT_EQ(Bytes(d).u32(hit->offset), magics[hit->which]);
            from = hit->offset + 1;
        }
        EXPECT_EQ(got, want);
    }
}

} // namespace
} // namespace dmsh
