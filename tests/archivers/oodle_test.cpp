// Oodle streams through a child process, with a stand-in library of our own.
#include "archivers/core/oodle.h"
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace dmsh {
namespace {

using Data = std::vector<uint8_t>;

// What the stand-in takes: its first byte says what it does (tests/support/oodle_stand_in.cpp).
Data stream(char what, const std::string& data) {
    Data d = {0x8c, static_cast<uint8_t>(what)};
    for (const char c : data)
        d.push_back(static_cast<uint8_t>(c) ^ 0x55);
    return d;
}

std::unique_ptr<Oodle> start(OodleLimits limits = {}) {
    auto o = Oodle::start(DMSH_OODLE_STAND_IN, DMSH_OODLE_HOST, limits);
    EXPECT_TRUE(o) << o.error().text();
    return o ? *std::move(o) : nullptr;
}

std::string text(const Blob& b) {
    return {reinterpret_cast<const char*>(b.bytes.data()), b.size()};
}

TEST(Oodle, DecodesInAChild) {
    const auto o = start();
    ASSERT_TRUE(o);
    WorkBudget budget(1 << 20);
    for (int i = 0; i < 3; ++i) {
        const auto got = o->decode(stream('d', "control and code"), 16, budget);
        ASSERT_TRUE(got) << got.error().text();
        EXPECT_EQ(text(*got), "control and code");
    }
    const std::string large(3 << 20, 'x');
    WorkBudget more(1 << 20);
    const auto got = o->decode(stream('d', large), large.size(), more);
    ASSERT_TRUE(got);
    EXPECT_EQ(text(*got), large);
}

TEST(Oodle, WrongLengthsAndGarbageAreErrors) {
    const auto o = start();
    ASSERT_TRUE(o);
    WorkBudget budget(1 << 20);
    EXPECT_FALSE(o->decode(stream('d', "abc"), 4, budget));
    EXPECT_FALSE(o->decode(stream('d', "abc"), 2, budget));
    EXPECT_FALSE(o->decode(Data{1, 2, 3}, 2, budget));
    EXPECT_FALSE(o->decode(Data{}, 2, budget));
    EXPECT_TRUE(o->decode(stream('d', "abc"), 3, budget));
    WorkBudget none(0);
    EXPECT_FALSE(o->decode(stream('d', "abc"), 2 << 20, none)); // charged before anything is asked
}

TEST(Oodle, ACrashCostsOneStream) {
    const auto o = start();
    ASSERT_TRUE(o);
    WorkBudget budget(1 << 20);
    for (const char what : {'c', 'a'}) { // reads nowhere; calls abort
        const auto got = o->decode(stream(what, "abc"), 3, budget);
        ASSERT_FALSE(got);
        EXPECT_NE(got.error().text().find("crashed"), std::string::npos);
        EXPECT_TRUE(o->decode(stream('d', "abc"), 3, budget));
    }
}

TEST(Oodle, TimeAndMemoryAreLimited) {
    const auto o = start({1, 256 << 20});
    ASSERT_TRUE(o);
    WorkBudget budget(1 << 20);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(o->decode(stream('l', "abc"), 3, budget)); // loops for ever
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_FALSE(o->decode(stream('m', "abc"), 3, budget)); // wants 4 GiB, and answers with an error
    EXPECT_TRUE(o->decode(stream('d', "abc"), 3, budget));
}

TEST(Oodle, ManyCallersAtOnce) {
    const auto o = start();
    ASSERT_TRUE(o);
    WorkBudget budget(1 << 20);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 20; ++i) {
                const auto got = o->decode(stream('d', "thread" + std::to_string(t)), 7, budget);
                EXPECT_TRUE(got) << got.error().text();
                EXPECT_EQ(got ? text(*got) : "", "thread" + std::to_string(t));
            }
        });
    for (std::thread& t : threads)
        t.join();
}

TEST(Oodle, WhatIsNoDecoderIsSaid) {
    for (const char* library : {"/nonexistent.so", DMSH_OODLE_HOST}) {
        const auto o = Oodle::start(library, DMSH_OODLE_HOST);
        ASSERT_FALSE(o);
        EXPECT_NE(o.error().text().find("OodleLZ_Decompress"), std::string::npos);
    }
    EXPECT_FALSE(Oodle::start(DMSH_OODLE_STAND_IN, "/nonexistent-host"));
}

} // namespace
} // namespace dmsh
