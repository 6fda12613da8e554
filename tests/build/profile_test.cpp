// Profiles: what is read, and that every mistake is named with its line.
#include "compiler/build/profile.h"
#include <gtest/gtest.h>

namespace dmsh {
namespace {

TEST(Profile, ReadsEveryKind) {
    const auto p = parse_profile(R"(
title = "Sample"
shader_key_skip = "0x770+0x78"
abi = "nvn"
[[path]]
prefix = "headsurface/"
abi = "headsurface"
[[path]]
prefix = "headsurface/cuda/"
abi = "cuda"
[[shader]]
key = "00000000000000ff"
texture = [{ slot = 3, type = "uint", dim = "3d", array = false }]
image = [{ slot = 1, type = "sint" }]
vertex_input = [{ location = 4, type = "uint" }]
colour = [{ target = 2, type = "uint" }]
)",
                                 "p.toml");
    ASSERT_TRUE(p) << p.error().text();
    EXPECT_EQ(p->key_skip.offset, 0x770u);
    EXPECT_EQ(p->key_skip.length, 0x78u);
    EXPECT_EQ(p->abi_for("a/b").id, GuestAbiId::nvn);
    EXPECT_EQ(p->abi_for("headsurface/x").id, GuestAbiId::headsurface);
    EXPECT_EQ(p->abi_for("headsurface/cuda/x").id, GuestAbiId::cuda);
    const ShaderFacts* f = p->facts_for(0xff);
    ASSERT_TRUE(f);
    ASSERT_EQ(f->resources.size(), 2u);
    EXPECT_EQ(f->resources[0].dim, ImageDim::d3);
    EXPECT_EQ(f->resources[1].kind, BindingKind::image);
    EXPECT_EQ(f->colour_outputs.at(0), (std::pair<uint8_t, Numeric>{2, Numeric::uint}));
    EXPECT_FALSE(p->facts_for(1));
}

TEST(Profile, DigestSeesEveryInput) {
    const auto base = parse_profile("title = \"a\"", "p");
    const auto title = parse_profile("title = \"b\"", "p");
    const auto skip = parse_profile("title = \"a\"\nshader_key_skip = \"0x7d0+0x18\"", "p");
    const auto path = parse_profile("title = \"a\"\n[[path]]\nprefix = \"x\"\nabi = \"cuda\"", "p");
    ASSERT_TRUE(base && title && skip && path);
    EXPECT_EQ(base->digest(), title->digest()); // a title changes no output
    EXPECT_NE(base->digest(), skip->digest());
    EXPECT_NE(base->digest(), path->digest());
}

TEST(Profile, MistakesAreNamedWithTheirLine) {
    const std::pair<const char*, const char*> cases[] = {
        {"titel = \"x\"", "titel"},
        {"title = 3", "'title' must be a string"},
        {"", "'title' is missing"},
        {"title = \"a\"\nabi = \"ps4\"", "ps4"},
        {"title = \"a\"\nshader_key_skip = \"0x880+0x1\"", "inside 0x880"},
        {"title = \"a\"\nshader_key_skip = \"x\"", "offset+length"},
        {"title = \"a\"\n[[shader]]\nkey = \"12\"", "16 hexadecimal"},
        {"title = \"a\"\n[[shader]]\nkey = \"0000000000000001\"\ncolour = [{ target = 8, type = \"uint\" }]", "not below 8"},
        {"title = \"a\"\n[[shader]]\nkey = \"0000000000000001\"\ntexture = [{ slot = 0, type = \"int\" }]", "none of float"},
        {"title = \"a\"\npath = 3", "array of tables"},
        {"title = ", "p.toml:1"},
    };
    for (const auto& [text, expected] : cases) {
        const auto p = parse_profile(text, "p.toml");
        ASSERT_FALSE(p) << text;
        EXPECT_NE(p.error().text().find(expected), std::string::npos) << text << " -> " << p.error().text();
    }
    EXPECT_NE(parse_profile("title = \"a\"\nabi = \"ps4\"", "p.toml").error().text().find("p.toml:2"), std::string::npos);
}

} // namespace
} // namespace dmsh
