// Generated pages of docs/ are what the tables give now.
#include "compiler/build/files.h"
#include "compiler/build/generated_docs.h"
#include <gtest/gtest.h>

namespace dmsh {
namespace {

TEST(Docs, GeneratedPagesAreCurrent) {
    for (const auto& [name, text] : generated_docs()) {
        const auto file = read_file(std::string(DMSH_SOURCE_DIR "/docs/") + name);
        ASSERT_TRUE(file) << file.error().text();
        EXPECT_TRUE(std::string(file->begin(), file->end()) == text) << name << " is old: run `dmshc docs docs`";
    }
}

} // namespace
} // namespace dmsh
