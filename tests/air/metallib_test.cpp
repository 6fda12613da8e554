// The container reader and writer against Apple-compiled libraries.
#include "compiler/emit/air/air_emitter.h"
#include "compiler/emit/air/air_module.h"
#include "compiler/emit/air/inspect.h"
#include "compiler/emit/air/metallib_reader.h"
#include "tests/air/corpus.h"
#include <gtest/gtest.h>

using namespace dmsh;

TEST(Metallib, EveryAppleFileParsesAndVerifies) {
    DMSH_SKIP_WITHOUT_CORPUS();
    size_t functions = 0;
    for (const auto& path : test::corpus_metallibs()) {
        const auto bytes = test::read_file(path);
        auto slices = split_metallib(bytes);
        ASSERT_TRUE(slices) << path;
        for (const auto& s : *slices) {
            auto lib = read_metallib(s.bytes);
            ASSERT_TRUE(lib) << path << ": " << lib.error().text();
            for (const auto& fault : verify_container(*lib))
                ADD_FAILURE() << path.filename() << ": " << fault;
            functions += lib->functions.size();
        }
    }
    EXPECT_GT(functions, 300u);
    printf("functions: %zu\n", functions);
}

TEST(Metallib, InspectPrintsEveryAppleFunction) {
    DMSH_SKIP_WITHOUT_CORPUS();
    std::vector<std::string> unreadable;
    for (const auto& path : test::corpus_metallibs()) {
        const auto bytes = test::read_file(path);
        const std::string text = inspect_metallib(bytes, false);
        auto lib = read_metallib(bytes);
        ASSERT_TRUE(lib);
        for (const auto& f : lib->functions) {
            EXPECT_NE(text.find(" " + f.name + "\n"), std::string::npos) << path << " " << f.name;
            if (!parse_air(f.bitcode))
                unreadable.push_back(path.filename().string() + ":" + f.name);
        }
        EXPECT_EQ(inspect_metallib(bytes, true).find("\"error\""), std::string::npos);
    }
    for (const auto& u : unreadable)
        printf("not readable by LLVM 15: %s\n", u.c_str());
    EXPECT_LE(unreadable.size(), 2u);
}

// Writing the modules of an Apple file again gives the same names, types, hashes, versions and sizes.
TEST(Metallib, RewritingAppleFunctionsKeepsTheirRecords) {
    DMSH_SKIP_WITHOUT_CORPUS();
    size_t compared = 0;
    for (const auto& path : test::corpus_metallibs()) {
        const auto bytes = test::read_file(path);
        auto lib = read_metallib(bytes);
        ASSERT_TRUE(lib);
        std::vector<AirFunction> functions;
        std::vector<const MetallibFunction*> originals;
        for (const auto& f : lib->functions) {
            if (f.version != std::array<uint16_t, 4>{2, 6, 3, 1} || !f.module_size ||
                static_cast<unsigned>(f.type) > 2)
                continue;
            AirFunction a;
            a.name = f.name;
            a.stage = f.type == MetalFunctionType::vertex     ? Stage::vertex
                      : f.type == MetalFunctionType::fragment ? Stage::fragment
                                                              : Stage::compute;
            a.bitcode.assign(f.bitcode.begin(), f.bitcode.end());
            for (const auto& v : f.attributes)
                a.attributes.push_back({v.name, static_cast<uint8_t>(v.index), v.type, v.active});
            functions.push_back(std::move(a));
            originals.push_back(&f);
        }
        if (functions.empty())
            continue;
        auto written = write_metallib(functions, Target::macos);
        ASSERT_TRUE(written) << written.error().text();
        auto again = read_metallib(*written);
        ASSERT_TRUE(again) << again.error().text();
        EXPECT_TRUE(verify_container(*again).empty());
        for (size_t i = 0; i < originals.size(); ++i) {
            const auto &a = *originals[i], &b = again->functions[i];
            EXPECT_EQ(a.name, b.name);
            EXPECT_EQ(a.type, b.type);
            EXPECT_EQ(a.hash, b.hash);
            EXPECT_EQ(a.version, b.version);
            EXPECT_EQ(a.module_size, b.module_size);
            EXPECT_TRUE(std::equal(a.module.begin(), a.module.end(), b.module.begin(), b.module.end()));
            // A single function of the same kind of linker: the whole record is the same but for the
            // reflection tag.
            if (i == 0 && originals.size() == lib->functions.size() && !a.reflection_offset && lib->uuid) {
                EXPECT_TRUE(std::equal(a.record.begin(), a.record.end(), b.record.begin(), b.record.end()))
                    << path;
            }
            ++compared;
        }
    }
    EXPECT_GT(compared, 80u);
}

TEST(Metallib, DamagedFilesGiveNamedErrors) {
    DMSH_SKIP_WITHOUT_CORPUS();
    auto bytes = test::read_file(test::shared_folder() / "corpus/metallib/metaljl-kernel-macos14.metallib");
    for (size_t n = 0; n < bytes.size(); n += 7)
        if (auto r = read_metallib(std::span(bytes).first(n))) {
            EXPECT_FALSE(verify_container(*r).empty());
        }
    uint32_t seed = 1;
    for (int i = 0; i < 20000; ++i) {
        auto copy = bytes;
        for (int k = 0; k < 4; ++k) {
            seed = seed * 1664525 + 1013904223;
            copy[(seed >> 8) % 0x140] = static_cast<uint8_t>(seed >> 24);
        }
        if (auto r = read_metallib(copy))
            (void)verify_container(*r);
    }
    auto no_magic = bytes;
    no_magic[0] = 'X';
    EXPECT_EQ(read_metallib(no_magic).error().message, "not a metallib (no MTLB header)");
    auto bad_hash = bytes;
    bad_hash[0x123 + 0x80] ^= 1;
    auto damaged = read_metallib(bad_hash);
    ASSERT_TRUE(damaged);
    EXPECT_FALSE(verify_container(*damaged).empty());
    EXPECT_EQ(read_metallib({}).error().message, "not a metallib (no MTLB header)");
}
