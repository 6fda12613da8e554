// Apple-compiled functions of the metallib corpus, executed and checked against straightforward C++ of what they mean.
#include "compiler/emit/air/metallib_reader.h"
#include "compiler/sim/air/executor.h"
#include "tests/air/corpus.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>

namespace dmsh {
namespace {

constexpr uint32_t kCount = 48; // threads of the element-wise kernels: a simdgroup and a half

uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }
// Halves of small integers and quarters, which every step below keeps exact.
uint16_t half(float f) {
    if (f == 0)
        return 0;
    int e = 0;
    const float m = std::frexp(std::fabs(f), &e); // 0.5 <= m < 1
    return static_cast<uint16_t>((f < 0 ? 0x8000 : 0) | (e + 14) << 10 | (static_cast<int>(m * 2048) & 0x3ff));
}

std::vector<uint8_t> floats(const std::vector<float>& v) {
    std::vector<uint8_t> b(v.size() * 4);
    std::memcpy(b.data(), v.data(), b.size());
    return b;
}
std::vector<uint8_t> halves(const std::vector<float>& v) {
    std::vector<uint8_t> b;
    for (const float f : v) {
        b.push_back(static_cast<uint8_t>(half(f)));
        b.push_back(static_cast<uint8_t>(half(f) >> 8));
    }
    return b;
}
std::vector<uint8_t> words(const std::vector<uint32_t>& v) {
    std::vector<uint8_t> b(v.size() * 4);
    std::memcpy(b.data(), v.data(), b.size());
    return b;
}
std::vector<float> made(uint32_t n, const std::function<float(uint32_t)>& f) {
    std::vector<float> v;
    for (uint32_t i = 0; i < n; ++i)
        v.push_back(f(i));
    return v;
}
float first(uint32_t i) { return static_cast<float>(static_cast<int>(i) - 20) / 4; }
float second(uint32_t i) { return static_cast<float>(i % 7) - 3; }

Result<sim::AirMachine> load(const std::string& file, const std::string& function, const sim::AirConstants& constants = {}) {
    const auto bytes = test::read_file(test::shared_folder() / "corpus" / "metallib" / (file + ".metallib"));
    auto lib = read_metallib(bytes);
    if (!lib)
        return lib.error();
    for (const auto& f : lib->functions)
        if (f.name == function)
            return sim::AirMachine::load(f.bitcode, f.name, constants);
    return Error{function + " is not in " + file};
}

// A kernel on buffers; those in `expected` are compared afterwards. `close`: relative tolerance on floats, 0: bytes.
struct Kernel {
    const char *file, *function;
    std::map<uint32_t, std::vector<uint8_t>> buffers, expected;
    std::array<uint32_t, 3> threads{kCount, 1, 1};
    sim::AirConstants constants{};
    double close = 0;
};

void run_kernel(Kernel k) {
    SCOPED_TRACE(std::string(k.file) + " " + k.function);
    auto m = load(k.file, k.function, k.constants);
    ASSERT_TRUE(m) << m.error().text();
    sim::AirLaunch launch;
    launch.threads = k.threads;
    for (auto& [slot, bytes] : k.buffers)
        launch.buffers[slot] = bytes;
    auto r = m->run(launch);
    ASSERT_TRUE(r) << r.error().text();
    EXPECT_EQ(m->faults, "");
    for (const auto& [slot, want] : k.expected) {
        const auto& got = k.buffers[slot];
        ASSERT_GE(got.size(), want.size());
        if (k.close == 0) {
            EXPECT_EQ(std::vector<uint8_t>(got.begin(), got.begin() + static_cast<long>(want.size())), want) << "buffer " << slot;
            continue;
        }
        for (size_t i = 0; i + 4 <= want.size(); i += 4) {
            float a, b;
            std::memcpy(&a, got.data() + i, 4);
            std::memcpy(&b, want.data() + i, 4);
            EXPECT_NEAR(a, b, k.close * std::max(1.0f, std::fabs(b))) << "buffer " << slot << " word " << i / 4;
        }
    }
}

TEST(AppleAir, ElementWiseKernels) {
    DMSH_SKIP_WITHOUT_CORPUS();
    const char* effort = "effort-kernels-macos14.4";
    const auto a = made(kCount, first), b = made(kCount, second);
    const auto both = [&](const std::function<float(float, float)>& f) { return made(kCount, [&](uint32_t i) { return f(a[i], b[i]); }); };
    const std::vector<uint8_t> none(kCount * 4);
    run_kernel({effort, "zero32", {{0, floats(a)}}, {{0, none}}});
    run_kernel({effort, "zero16", {{0, halves(a)}}, {{0, std::vector<uint8_t>(kCount * 2)}}});
    run_kernel({effort, "neg32", {{0, floats(b)}}, {{0, floats(made(kCount, [](uint32_t i) { return -second(i); }))}}});
    run_kernel({effort, "mulScalar32x32", {{0, floats(a)}, {1, floats({0.5f})}}, {{0, floats(both([](float x, float) { return x * 0.5f; }))}}});
    run_kernel({effort, "mulScalar32x16", {{0, floats(a)}, {1, halves({2, 0})}}, {{0, floats(both([](float x, float) { return x * 2; }))}}});
    run_kernel({effort, "mulScalar16x16", {{0, halves(a)}, {1, halves({2, 0})}}, {{0, halves(both([](float x, float) { return x * 2; }))}}});
    run_kernel({effort, "mulScalar16x32", {{0, halves(a)}, {1, floats({4})}}, {{0, halves(both([](float x, float) { return x * 4; }))}}});
    run_kernel({effort, "add32", {{0, floats(a)}, {1, floats(b)}, {2, none}}, {{2, floats(both([](float x, float y) { return x + y; }))}}});
    run_kernel({effort, "add16", {{0, halves(a)}, {1, halves(b)}, {2, none}}, {{2, halves(both([](float x, float y) { return x + y; }))}}});
    run_kernel({effort, "mulVec32by16", {{0, floats(a)}, {1, halves(b)}, {2, none}}, {{2, floats(both([](float x, float y) { return x * y; }))}}});
    run_kernel({effort, "memcpy32", {{0, floats(a)}, {1, none}}, {{1, floats(a)}}});
    run_kernel({effort, "memcpy16", {{0, halves(a)}, {1, none}}, {{1, halves(a)}}});
    run_kernel({effort, "floatToHalf", {{0, floats(a)}, {1, none}}, {{1, halves(a)}}});
    run_kernel({effort, "halfToFloat", {{0, halves(a)}, {1, none}}, {{1, floats(a)}}});
    run_kernel({effort, "setVal", {{0, none}, {1, words({77})}}, {{0, words({77})}}});
    run_kernel({.file = effort, .function = "silu32", .buffers = {{0, floats(a)}, {1, floats(b)}, {2, none}},
                .expected = {{2, floats(both([](float x, float y) { return static_cast<float>(x * y / (1 + std::exp(-static_cast<double>(x)))); }))}}, .close = 1e-6});
    run_kernel({effort, "fetchRow16to32", {{0, words({1})}, {1, halves(made(2 * kCount, first))}, {2, none}}, {{2, floats(made(kCount, [](uint32_t i) { return first(i + kCount); }))}}});
    // Brain floats are a float's upper half.
    std::vector<uint8_t> brain;
    for (const float f : a) {
        brain.push_back(static_cast<uint8_t>(bits(f) >> 16));
        brain.push_back(static_cast<uint8_t>(bits(f) >> 24));
    }
    run_kernel({effort, "convertBF16X", {{0, brain}, {1, none}}, {{1, halves(a)}}});
    // Twelve threads beyond the first zero pairs of floats, up to the end.
    std::vector<float> pairs(2 * kCount, 1);
    auto zeroed = pairs;
    std::fill(zeroed.begin() + 2 * 30, zeroed.begin() + 2 * 41, 0.0f);
    run_kernel({effort, "zeroRange32", {{0, floats(pairs)}, {1, words({30})}, {2, words({41})}}, {{0, floats(zeroed)}}});
    // Every row four times.
    std::vector<float> repeated(4 * 24);
    for (uint32_t y = 0; y < 3; ++y)
        for (uint32_t x = 0; x < 8; ++x)
            for (uint32_t k = 0; k < 4; ++k)
                repeated[y * 32 + k * 8 + x] = first(y * 8 + x);
    run_kernel({effort, "repeat4x32", {{0, floats(made(24, first))}, {1, std::vector<uint8_t>(4 * 24 * 4)}}, {{1, floats(repeated)}}, {8, 3, 1}});
    // A float atomic: the sum of products, exact here in any order.
    float sum = 0;
    for (uint32_t i = 0; i < kCount; ++i)
        sum += a[i] * b[i];
    run_kernel({effort, "dot", {{0, halves(a)}, {1, halves(b)}, {2, words({0})}}, {{2, floats({sum})}}});
    // x / sqrt(mean of squares + 1e-6).
    double squares = 0;
    for (const float x : a)
        squares += static_cast<double>(x) * static_cast<double>(x);
    const double norm = std::sqrt(squares / kCount + 1e-6);
    run_kernel({.file = effort, .function = "rmsNorm32", .buffers = {{0, floats(a)}, {1, none}},
                .expected = {{1, floats(both([&](float x, float) { return static_cast<float>(static_cast<double>(x) / norm); }))}}, .close = 2e-6});
}

TEST(AppleAir, KernelsOfManyCompilers) {
    DMSH_SKIP_WITHOUT_CORPUS();
    const auto a = made(kCount, first), b = made(kCount, second);
    const std::vector<uint8_t> none(kCount * 4);
    // Function constants, for each deployment target: c = foo * a + b + bar.
    for (const char* file : {"metaljl-constants-macos11", "metaljl-constants-macos12", "metaljl-constants-macos13", "metaljl-constants-macos14", "metaljl-constants-macos26"})
        run_kernel({.file = file, .function = "vadd", .buffers = {{0, floats(a)}, {1, floats(b)}, {2, none}},
                    .expected = {{2, floats(made(kCount, [&](uint32_t i) { return 3 * a[i] + b[i] + 0.5f; }))}}, .constants = {{"foo", {3}}, {"bar", {0.5}}}});
    for (const char* file : {"metaljl-kernel-macos11", "metaljl-kernel-macos12", "metaljl-kernel-macos13", "metaljl-kernel-macos14", "metaljl-kernel-macos26",
                             "metaljl-debuginfo-macos14"})
        run_kernel({file, "foo", {{0, words({5})}}, {{0, words({5})}}});
    run_kernel({"mlxaudio-default-macos26", "mlx_noop", {{0, floats(a)}}, {{0, none}}});
    run_kernel({"grincel-test-macos15", "compute", {{0, none}, {1, none}}, {{1, words({0xdeadbeef, 0xcafebabe, 0x12345678, 0x87654321})}}});
    // Vectors of three lie sixteen bytes apart.
    std::vector<uint8_t> triples(kCount * 16), copied(kCount * 16);
    for (uint32_t i = 0; i < kCount; ++i)
        for (uint32_t k = 0; k < 3; ++k) {
            const float f = first(3 * i + k);
            std::memcpy(triples.data() + 16 * i + 4 * k, &f, 4);
        }
    copied = triples;
    run_kernel({"vrmmetalkit-macos13-air2.5", "morph_copy_base", {{0, triples}, {1, std::vector<uint8_t>(kCount * 16)}}, {{1, copied}}});
    for (const char* file : {"gfx-macos-air1.8-v2.5", "gfx-ios11.4-air2.0-v2.5"}) {
        // {value, count}: the first `count` words.
        auto filled = std::vector<uint32_t>(kCount);
        std::fill(filled.begin(), filled.begin() + 40, 0xabcd1234u);
        run_kernel({file, "cs_fill_buffer", {{0, none}, {1, words({0xabcd1234, 40})}}, {{0, words(filled)}}});
        // {bytes, source offset | destination offset << 16}.
        std::vector<uint8_t> source(64), moved(64);
        for (uint8_t i = 0; i < 64; ++i)
            source[i] = i;
        for (uint32_t i = 0; i < 20; ++i)
            moved[i + 5] = source[i + 3];
        run_kernel({file, "cs_copy_buffer", {{0, std::vector<uint8_t>(64)}, {1, source}, {2, words({20, 3 | 5 << 16})}}, {{0, moved}}});
    }
    for (const char* file : {"angle-ios12-air2.1-v2.4", "angle-ios13.5sim-air2.2-v2.4", "angle-macos10.14-air2.1-v2.4"}) {
        // {first vertex, count}: triangles (first, first + n + 1, first + n + 2).
        std::vector<uint32_t> fan(3 * kCount);
        for (uint32_t n = 0; n < 10; ++n)
            for (uint32_t k = 0; k < 3; ++k)
                fan[3 * n + k] = k ? 6 + n + k : 6;
        run_kernel({file, "genTriFanIndicesFromArray", {{0, words({6, 10})}, {2, std::vector<uint8_t>(12 * kCount)}}, {{2, words(fan)}}});
        // Indices from byte 8 on, aligned or not.
        for (const double aligned : {1.0, 0.0})
            run_kernel({.file = file, .function = "convertIndexU32", .buffers = {{0, words({8, 3, 0, 0})}, {1, words({1, 2, 3, 4, 5, 6})}, {2, none}},
                        .expected = {{2, words({3, 4, 5, 0})}}, .constants = {{"kSourceBufferAligned", {aligned}}, {"kSourceIndexIsU32", {1}}}});
    }
    // Conway's cells, addressed x * height + y.
    constexpr uint32_t kWidth = 6, kHeight = 5;
    std::vector<uint32_t> cells(kWidth * kHeight), next(kWidth * kHeight);
    for (uint32_t i = 0; i < cells.size(); ++i)
        cells[i] = i * 7 % 5 < 2;
    for (int x = 0; x < static_cast<int>(kWidth); ++x)
        for (int y = 0; y < static_cast<int>(kHeight); ++y) {
            unsigned neighbours = 0;
            for (int i = x - 1; i <= x + 1; ++i)
                for (int j = y - 1; j <= y + 1; ++j)
                    if ((i != x || j != y) && i >= 0 && j >= 0 && i < static_cast<int>(kWidth) && j < static_cast<int>(kHeight))
                        neighbours += cells[static_cast<uint32_t>(i) * kHeight + static_cast<uint32_t>(j)];
            const uint32_t at = static_cast<uint32_t>(x) * kHeight + static_cast<uint32_t>(y);
            next[at] = neighbours == 3 || (cells[at] && neighbours == 2);
        }
    run_kernel({"metaldialect-life-macos13", "life", {{0, words(cells)}, {1, words({kWidth, kHeight})}, {2, std::vector<uint8_t>(cells.size() * 4)}}, {{2, words(next)}},
                {kWidth, kHeight, 1}});
}

// ---- vertex and fragment functions ----

class Given : public sim::AirStageInputs {
  public:
    // Value of the input that a parameter's name says, for one invocation.
    std::map<std::string, std::function<std::array<float, 4>(uint32_t)>> reals;
    std::map<std::string, std::function<uint32_t(uint32_t)>> integers;
    std::array<uint32_t, 4> input(const sim::AirParameter& p, uint32_t i, sim::AirPlace, std::array<int32_t, 2>) const override {
        if (const auto it = integers.find(p.name); it != integers.end())
            return {it->second(i), 0, 0, 0};
        std::array<float, 4> v{0, 0, 0, 1};
        if (const auto it = reals.find(p.name); it != reals.end())
            v = it->second(i);
        return {bits(v[0]), bits(v[1]), bits(v[2]), bits(v[3])};
    }
};

struct Stage2 {
    sim::AirMachine machine;
    // Component of an output of one invocation.
    float at(uint32_t invocation, size_t output, uint32_t component) const {
        float f = 0;
        std::memcpy(&f, machine.results[invocation].bytes.data() + machine.outputs().at(output).offset + 4 * component, 4);
        return f;
    }
    uint32_t word(uint32_t invocation, size_t output, uint32_t component) const { return bits(at(invocation, output, component)); }
};

Stage2 run_stage(const std::string& file, const std::string& function, const Given& given, uint32_t count, std::map<uint32_t, std::vector<uint8_t>> buffers = {},
                 sim::Texture* texture = nullptr, const sim::Sampler* sampler = nullptr) {
    auto m = load(file, function);
    if (!m) {
        ADD_FAILURE() << file << " " << function << ": " << m.error().text();
        std::abort();
    }
    sim::AirLaunch launch;
    launch.inputs = &given;
    launch.invocations = count;
    for (auto& [slot, bytes] : buffers)
        launch.buffers[slot] = bytes;
    if (texture)
        launch.textures[0] = texture;
    if (sampler)
        launch.samplers[0] = sampler;
    auto r = m->run(launch);
    EXPECT_TRUE(r) << file << " " << function << ": " << (r ? "" : r.error().text());
    EXPECT_EQ(m->faults, "");
    return {std::move(*m)};
}

TEST(AppleAir, VertexFunctions) {
    DMSH_SKIP_WITHOUT_CORPUS();
    const auto at = [](uint32_t i) { return std::array<float, 4>{first(i), second(i), 0.25f, 2}; };
    for (const char* file : {"gfx-macos-air1.8-v2.5", "gfx-ios11.4-air2.0-v2.5"}) {
        Given g;
        g.reals = {{"coords", at}, {"dst_coords", at}, {"src_coords", [](uint32_t i) { return std::array<float, 4>{second(i), 1, 2, 3}; }}};
        const auto clear = run_stage(file, "vs_clear", g, 5), blit = run_stage(file, "vs_blit", g, 5);
        for (uint32_t i = 0; i < 5; ++i) {
            EXPECT_EQ(clear.at(i, 0, 0), 2 * first(i) - 1);
            EXPECT_EQ(clear.at(i, 0, 1), 2 * second(i) - 1);
            EXPECT_EQ(clear.at(i, 0, 2), 0.25f);
            EXPECT_EQ(clear.at(i, 0, 3), 1);
            EXPECT_EQ(clear.word(i, 1, 0), 2u); // layer
            EXPECT_EQ(blit.at(i, 1, 0), second(i));
            EXPECT_EQ(blit.word(i, 2, 0), 2u);
        }
    }
    // projection * transform * (x, y, 0, 1), with two diagonal matrices and a translation.
    std::vector<float> projection(16), transform(16);
    for (uint32_t k = 0; k < 4; ++k)
        projection[5 * k] = 2, transform[5 * k] = 1;
    transform[12] = 3;
    Given g;
    g.reals = {{"position", at}, {"color", [](uint32_t) { return std::array<float, 4>{0.5f, 0.25f, 1, 0.75f}; }}};
    for (const char* file : {"sdl3-render-macos-air1.8-metalfe32023.883", "sdl3-render-ios-air1.8-metalfe32023.883", "sdl3-render-iossim-air2.2-metalfe32023.883",
                             "sdl3-render-tvossim-air2.2-metalfe32023.883"}) {
        const auto v = run_stage(file, "SDL_Solid_vertex", g, 5, {{2, floats(projection)}, {3, floats(transform)}});
        for (uint32_t i = 0; i < 5; ++i) {
            EXPECT_EQ(v.at(i, 0, 0), 2 * (first(i) + 3));
            EXPECT_EQ(v.at(i, 0, 1), 2 * second(i));
            EXPECT_EQ(v.at(i, 0, 3), 2);
        }
    }
    // 2 * position / viewport; vertices are {float2, pad, float4}.
    std::vector<float> vertices(5 * 8);
    for (uint32_t i = 0; i < 5; ++i)
        vertices[8 * i] = first(i), vertices[8 * i + 1] = second(i), vertices[8 * i + 4] = second(i + 1);
    Given indexed;
    indexed.integers = {{"vertexID", [](uint32_t i) { return i; }}, {"vid", [](uint32_t i) { return i; }}};
    const auto v = run_stage("metalshadertools-mylibrary-ios11.3", "vertexShader", indexed, 5, {{0, floats(vertices)}, {1, words({4, 8})}});
    for (uint32_t i = 0; i < 5; ++i) {
        EXPECT_EQ(v.at(i, 0, 0), 2 * first(i) / 4);
        EXPECT_EQ(v.at(i, 0, 1), 2 * second(i) / 8);
        EXPECT_EQ(v.at(i, 1, 0), second(i + 1));
    }
    // A triangle over the whole target, at the depth that is cleared to.
    const auto c = run_stage("angle-ios12-air2.1-v2.4", "clearVS", indexed, 3, {{0, floats({0, 0, 0, 0, 0.625f, 0, 0, 0})}});
    for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(std::fabs(c.at(i, 0, 0)) >= 1, true);
        EXPECT_EQ(c.at(i, 0, 2), 0.625f);
        EXPECT_EQ(c.at(i, 0, 3), 1);
    }
}

sim::Texture checks() {
    sim::Texture t;
    t.width = t.height = 4;
    t.format = {4, 8, sim::TexelKind::unorm};
    t.allocate(2);
    for (uint32_t y = 0; y < 4; ++y)
        for (uint32_t x = 0; x < 4; ++x)
            std::memcpy(t.at(0, x, y, 0), std::array<uint8_t, 4>{static_cast<uint8_t>(x * 60), static_cast<uint8_t>(y * 60), 0, static_cast<uint8_t>(x == 0 ? 0 : 255)}.data(), 4);
    for (uint32_t k = 0; k < 4; ++k)
        std::memcpy(t.at(1, k & 1, k >> 1, 0), "\xff\xff\xff\xff", 4);
    return t;
}

TEST(AppleAir, FragmentFunctions) {
    DMSH_SKIP_WITHOUT_CORPUS();
    sim::Texture t = checks();
    sim::Sampler nearest;
    nearest.mip = sim::Mip::nearest;
    // Two quads: pixel centres of a 4 x 2 target.
    const auto x = [](uint32_t i) { return static_cast<float>(2 * (i / 4) + (i & 1)); };
    const auto y = [](uint32_t i) { return static_cast<float>(i >> 1 & 1); };
    Given g;
    const auto uv = [&](uint32_t i) { return std::array<float, 4>{(x(i) + 0.5f) / 4, (y(i) + 0.5f) / 4, 0, 0}; };
    g.reals = {{"uv", uv}, {"texCoord", uv}, {"texcoord", uv}, {"color", [](uint32_t i) { return std::array<float, 4>{second(i), 1, 0.5f, 0.25f}; }},
               {"tintColor", [](uint32_t) { return std::array<float, 4>{1, 0.5f, 1, 1}; }}};
    const auto texel = [&](uint32_t i, uint32_t c) { return static_cast<float>(*(t.at(0, static_cast<int>(x(i)), static_cast<int>(y(i)), 0) + c)) / 255; };
    for (const auto& [file, function] : {std::pair{"gfx-macos-air1.8-v2.5", "ps_blit_2d_float"}, {"gfx-ios11.4-air2.0-v2.5", "ps_blit_2d_float"},
                                         {"liquidmetal2d-shaders-ios13.2", "basic_fragment"}}) {
        const auto f = run_stage(file, function, g, 8, {}, &t, &nearest);
        for (uint32_t i = 0; i < 8; ++i)
            for (uint32_t c = 0; c < 4; ++c)
                EXPECT_FLOAT_EQ(f.at(i, 0, c), texel(i, c)) << file << " pixel " << i << "." << c;
    }
    // The quad's derivatives choose the level: twice the step reads the white one.
    Given far = g;
    far.reals["texCoord"] = [&](uint32_t i) { return std::array<float, 4>{(x(i) + 0.5f) / 2, (y(i) + 0.5f) / 2, 0, 0}; };
    const auto small = run_stage("liquidmetal2d-shaders-ios13.2", "basic_fragment", far, 4, {}, &t, &nearest);
    for (uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(small.at(i, 0, 0), 1) << i;
    for (const char* file : {"vrmmetalkit-macos13-air2.5", "vrmmetalkit-ios26", "vrmmetalkit-macos27-air2.9"}) {
        const auto f = run_stage(file, "sprite_fragment", g, 8, {}, &t, &nearest);
        for (uint32_t i = 0; i < 8; ++i) {
            EXPECT_FLOAT_EQ(f.at(i, 0, 1), texel(i, 1) * 0.5f) << file << i;
            EXPECT_EQ(f.machine.results[i].discarded, x(i) == 0) << file << i; // alpha 0
        }
    }
    const auto solid = run_stage("sdl3-render-macos-air1.8-metalfe32023.883", "SDL_Solid_fragment", g, 4, {{0, floats({0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0})}});
    const auto passed = run_stage("metalshadertools-mylibrary-ios11.3", "fragmentShader", g, 4);
    const auto cleared = run_stage("gfx-macos-air1.8-v2.5", "ps_clear0_float", g, 4, {{0, floats({1, 2, 3, 4})}});
    const auto counted = run_stage("gfx-macos-air1.8-v2.5", "ps_clear1_uint", g, 4, {{0, words({1, 2, 3, 4})}});
    for (uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(solid.at(i, 0, 0), 2 * second(i));
        EXPECT_EQ(solid.at(i, 0, 3), 0.25f);
        EXPECT_EQ(passed.at(i, 0, 0), second(i));
        EXPECT_EQ(cleared.at(i, 0, 2), 3);
        EXPECT_EQ(counted.word(i, 0, 3), 4u);
        EXPECT_EQ(counted.machine.outputs()[0].location, 1u);
    }
}

// What has no meaning here is refused by name, and nothing else is.
TEST(AppleAir, NearlyEveryFunctionLoads) {
    DMSH_SKIP_WITHOUT_CORPUS();
    std::map<std::string, unsigned> refused;
    unsigned loaded = 0;
    for (const auto& path : test::corpus_metallibs()) {
        const auto bytes = test::read_file(path);
        auto lib = read_metallib(bytes);
        ASSERT_TRUE(lib) << path;
        for (const auto& f : lib->functions) {
            auto r = sim::AirMachine::check(f.bitcode, f.name);
            if (r)
                ++loaded;
            else
                ++refused[r.error().message];
        }
    }
    for (const auto& [what, n] : refused)
        std::printf("%3u %s\n", n, what.c_str());
    std::printf("%u functions load\n", loaded);
    EXPECT_GE(loaded, 394u);
}

} // namespace
} // namespace dmsh
