// Covers of single-stage programs: fewest shaders, whatever their order (L-004).
#include "archivers/scan/cover.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace dmsh {
namespace {

CoverInput shader(uint64_t key, std::initializer_list<unsigned> inputs) {
    CoverInput s;
    s.key = key;
    for (const unsigned i : inputs)
        s.inputs.set(i);
    return s;
}

using Keys = std::vector<uint64_t>;

TEST(Cover, Minimal) {
    EXPECT_EQ(smallest_cover({}), Keys());
    EXPECT_EQ(smallest_cover({shader(1, {})}), Keys());
    EXPECT_EQ(smallest_cover({shader(1, {1}), shader(2, {1, 2}), shader(3, {2})}), Keys({2}));
    // Taking the largest first would need three.
    EXPECT_EQ(smallest_cover({shader(1, {1, 2, 3, 4}), shader(2, {1, 2, 5}), shader(3, {3, 4, 6})}), Keys({2, 3}));
    // More than four: each brings something of its own.
    std::vector<CoverInput> many;
    Keys all;
    for (unsigned i = 0; i < 7; ++i) {
        many.push_back(shader(i + 1, {i, 100}));
        all.push_back(i + 1);
    }
    EXPECT_EQ(smallest_cover(many), all);
}

TEST(Cover, Deterministic) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        std::vector<CoverInput> shaders;
        for (uint64_t key = 1; key <= 60; ++key) {
            CoverInput s = shader(key, {});
            for (int i = 0; i < 5; ++i)
                s.inputs.set(random() % 24);
            shaders.push_back(s);
        }
        const Keys first = smallest_cover(shaders);
        std::shuffle(shaders.begin(), shaders.end(), random);
        EXPECT_EQ(first, smallest_cover(shaders));
        std::bitset<256> all, have;
        for (const CoverInput& s : shaders) {
            all |= s.inputs;
            if (std::find(first.begin(), first.end(), s.key) != first.end())
                have |= s.inputs;
        }
        EXPECT_EQ(all, have);
    }
}

} // namespace
} // namespace dmsh
