// Decoders: exact lengths, budgets, checksums.
#include "archivers/core/codecs.h"
#include "archivers/core/find_magic.h"
#include "archivers/core/sha256.h"
#include "tests/writers/codecs.h"
#include "tests/writers/writers.h"
#include <gtest/gtest.h>
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

Result<Blob> unzstd(Bytes in, WorkBudget& budget) {
    return decode_zstd(in, budget);
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
            expect_round_trip(d, packed, unzstd);
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
        expect_round_trip(all, packed, unzstd);
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
    const Data d = sample(5000), z = writers::zlib(d), raw = writers::deflate(d),
               l = writers::lz4_block(d);
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

TEST(Lz4, BlocksReachIntoWhatCameBefore) {
    const Data first = sample(60000);
    Data second(first.end() - 2000, first.end()); // all of it is in the history
    second.insert(second.end(), first.begin() + 50000, first.end());
    const Data packed = writers::lz4_block(second, first);
    WorkBudget budget(1 << 20);
    const auto got = decode_lz4_block(packed, second.size(), first, budget);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(std::memcmp(got->bytes.data(), second.data(), second.size()), 0);
    EXPECT_FALSE(decode_lz4_block(packed, second.size(), budget));
}

TEST(Lz4, Frames) {
    for (const bool sized : {true, false})
        for (const size_t n : {0u, 1u, 3000u, 300000u}) {
            const Data d = sample(n), packed = writers::lz4_frame(d, sized);
            expect_round_trip(d, packed, decode_lz4_frame);
            if (n == 3000)
                expect_exact(packed, decode_lz4_frame);
        }
    Data packed = writers::lz4_frame(sample(3000));
    packed.back() ^= 1; // checksum of the content
    WorkBudget budget(1 << 20);
    EXPECT_FALSE(decode_lz4_frame(packed, budget));
    const Data bomb = writers::lz4_frame(Data(64 << 20), false);
    WorkBudget small(1000);
    EXPECT_FALSE(decode_lz4_frame(bomb, small));
    EXPECT_TRUE(small.exhausted());
}

TEST(Gzip, MembersFollowEachOther) {
    const Data a = sample(5000, 1), b = sample(70000, 2);
    Data all = a, packed = writers::gzip(a, "name");
    all.insert(all.end(), b.begin(), b.end());
    const Data second = writers::gzip(b);
    packed.insert(packed.end(), second.begin(), second.end());
    expect_round_trip(a, writers::gzip(a), decode_gzip);
    expect_round_trip(all, packed, decode_gzip);
    expect_round_trip(Data(), writers::gzip(Data()), decode_gzip);
    expect_exact(writers::gzip(a, "n"), [](Bytes in, WorkBudget& w) {
        return in.empty() ? Result<Blob>(Error{""}) : decode_gzip(in, w);
    });
}

TEST(Gzip, CrcLengthAndBudget) {
    const Data d = sample(5000), packed = writers::gzip(d);
    for (const size_t back : {1u, 5u, 8u}) { // length, CRC
        Data wrong = packed;
        wrong[wrong.size() - back] ^= 1;
        WorkBudget budget(1 << 20);
        EXPECT_FALSE(decode_gzip(wrong, budget)) << back;
    }
    // 16 times a small file is below what gzip may always give.
    const Data zeros(8 << 20), small = writers::gzip(zeros);
    expect_round_trip(zeros, small, decode_gzip);
    WorkBudget budget(small.size());
    while (budget.charge_gzip(64 << 20)) {
    }
    const auto r = decode_gzip(small, budget);
    while (budget.charge_gzip(1)) {
    }
    EXPECT_FALSE(decode_gzip(small, budget));
}

TEST(InflateZlib, TellsWhereTheStreamEnds) {
    const Data d = sample(50000);
    Data packed = writers::zlib(d);
    const size_t length = packed.size();
    packed.resize(length + 100, 0x55);
    WorkBudget budget(1 << 20);
    const auto got = inflate_zlib(packed, 1 << 20, budget);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(got->used, length);
    ASSERT_EQ(got->data.size(), d.size());
    EXPECT_EQ(std::memcmp(got->data.bytes.data(), d.data(), d.size()), 0);
    EXPECT_TRUE(inflate_zlib(packed, d.size(), budget));
    EXPECT_FALSE(inflate_zlib(packed, d.size() - 1, budget));
    EXPECT_FALSE(inflate_zlib(Bytes(packed).clamp(0, length - 1), 1 << 20, budget));
}

TEST(Lzma1, RoundTripsAndIsExact) {
    for (const size_t n : {1u, 300u, 40000u}) {
        const Data d = sample(n), packed = writers::lzma1(d);
        expect_round_trip(d, packed, [&](Bytes b, WorkBudget& w) { return decode_lzma1(b, n, w); });
        for (const int delta : {-1, 1}) {
            WorkBudget budget(1 << 20);
            EXPECT_FALSE(decode_lzma1(packed, n + delta, budget)) << n << " " << delta;
        }
    }
    expect_exact(writers::lzma1(sample(3000)), [](Bytes b, WorkBudget& w) { return decode_lzma1(b, 3000, w); });
}

TEST(Crilayla, RoundTripsAndIsExact) {
    for (const size_t n : {256u, 257u, 300u, 5000u, 70000u}) {
        const Data d = sample(n);
        expect_round_trip(d, writers::crilayla(d), decode_crilayla);
        expect_round_trip(d, writers::crilayla(d, false), decode_crilayla);
    }
    const Data run(100000, 7); // long lengths, overlapping copies
    expect_round_trip(run, writers::crilayla(run), decode_crilayla);
    expect_exact(writers::crilayla(sample(3000)), decode_crilayla);
    Data lying = writers::crilayla(sample(3000));
    lying[8] += 1;
    WorkBudget budget(1 << 20);
    // One byte more than the stream was made for: the padding bits behind it may be a literal, never a crash.
    (void)decode_crilayla(lying, budget);
    lying[10] = 0x10;
    EXPECT_FALSE(decode_crilayla(lying, budget));
}

TEST(Base64, StrictInBothDirections) {
    for (const size_t n : {0u, 1u, 2u, 3u, 4u, 1000u, 1001u}) {
        const Data d = sample(n);
        expect_round_trip(d, writers::base64(d), decode_base64);
    }
    WorkBudget budget(1 << 20);
    for (const std::string bad : {"A", "AA", "AAA", "A===", "AA=A", "AAAA=", "AB==", "AAB=", "AA A", "A-_A", "====",
                                  "AA==AAAA"})
        EXPECT_FALSE(decode_base64(Bytes(reinterpret_cast<const uint8_t*>(bad.data()), bad.size()), budget)) << bad;
}

TEST(Lzx, RoundTripsAndIsExact) {
    for (const unsigned kind : {1u, 2u, 3u})
        for (const size_t n : {1u, 7u, 3000u, 32768u, 32769u, 200001u}) {
            const Data d = sample(n), packed = writers::lzx(d, kind);
            expect_round_trip(d, packed, [&](Bytes b, WorkBudget& w) { return decode_lzx(b, n, w); });
            for (const int delta : {-1, 1}) {
                WorkBudget budget(1 << 20);
                EXPECT_FALSE(decode_lzx(packed, n + delta, budget)) << kind << " " << n << " " << delta;
            }
            if (n == 3000)
                expect_exact(packed, [](Bytes b, WorkBudget& w) { return decode_lzx(b, 3000, w); });
        }
}

TEST(Peek, GivesTheBeginning) {
    const Data d = sample(20000);
    const auto expect_start = [&](const Blob& head) {
        ASSERT_EQ(head.size(), 100u);
        EXPECT_EQ(std::memcmp(head.bytes.data(), d.data(), 100), 0);
    };
    expect_start(peek_zstd(writers::zstd(d), 100));
    expect_start(peek_yaz0(writers::yaz0(d), 100));
    expect_start(peek_zlib(writers::zlib(d), 100));
    expect_start(peek_deflate(writers::deflate(d), 100));
    expect_start(peek_lz4_block(writers::lz4_block(d), 100));
    const Data bad = {1, 2, 3};
    for (const auto& head : {peek_zstd(bad, 9), peek_yaz0(bad, 9), peek_zlib(bad, 9), peek_deflate(bad, 9)})
        EXPECT_LE(head.size(), 9u);
}

// Random bytes behind each codec's head: an error or an exact decode, nothing else.
TEST(Codecs, RandomStreamsAreSurvived) {
    std::mt19937 random(9);
    const Data d = sample(2000);
    const Data heads[] = {writers::zstd(d), writers::yaz0(d), writers::lz4_frame(d), writers::gzip(d), writers::zlib(d),
                          writers::crilayla(d), writers::lzx(d, 1), writers::lzx(d, 2), writers::lzx(d, 3),
                          writers::lzma1(d), writers::base64(d)};
    for (const Data& whole : heads)
        for (int round = 0; round < 300; ++round) {
            Data bad = whole;
            for (unsigned i = 0; i <= random() % 4; ++i)
                bad[random() % bad.size()] = static_cast<uint8_t>(random());
            const std::unique_ptr<uint8_t[]> copy(new uint8_t[bad.size()]);
            std::memcpy(copy.get(), bad.data(), bad.size());
            const Bytes in(copy.get(), bad.size());
            WorkBudget budget(1 << 20);
            (void)decode_zstd(in, budget);
            (void)decode_yaz0(in, budget);
            (void)decode_lz4_frame(in, budget);
            (void)decode_gzip(in, budget);
            (void)inflate_zlib(in, 1 << 20, budget);
            (void)decode_crilayla(in, budget);
            (void)decode_lzx(in, 2000, budget);
            (void)decode_lzma1(in, 2000, budget);
            (void)decode_base64(in, budget);
            (void)peek_zstd(in, 64);
            (void)peek_yaz0(in, 64);
            (void)peek_lz4_block(in, 64);
        }
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
