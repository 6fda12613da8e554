// libdmrt stays lean: it loads without the compiler's libraries, gives the guest its loader, and is small.
#include "runtime/nvn/nvn.h"
#include <array>
#include <cstdio>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace dmsh {
namespace {

std::string output_of(const std::string& command) {
    std::string text;
    FILE* p = popen((command + " 2>/dev/null").c_str(), "r");
    if (!p)
        return text;
    std::array<char, 4096> buffer;
    while (const size_t n = fread(buffer.data(), 1, buffer.size(), p))
        text.append(buffer.data(), n);
    pclose(p);
    return text;
}

TEST(Lean, NeedsNothingOfTheCompiler) {
    const std::string needed = output_of("readelf -d " DMRT_LIBRARY);
    if (needed.empty())
        GTEST_SKIP() << "no readelf";
    for (const char* name : {"LLVM", "SPIRV-Tools", "spirv-cross", "fmt", "lzma", "deflate"})
        EXPECT_EQ(needed.find(name), std::string::npos) << name;
    EXPECT_NE(needed.find("libzstd"), std::string::npos);
    const std::string symbols = output_of("nm -DC --undefined-only " DMRT_LIBRARY);
    for (const char* name : {"llvm::", "spvtools", "spvc_", "spirv_cross", "fmt::"})
        EXPECT_EQ(symbols.find(name), std::string::npos) << name;
}

TEST(Lean, GivesTheGuestItsLoader) {
    void* library = dlopen(DMRT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto loader = reinterpret_cast<decltype(&nvnBootstrapLoader)>(dlsym(library, "nvnBootstrapLoader"));
    ASSERT_NE(loader, nullptr);
    EXPECT_NE(loader("nvnDeviceInitialize"), nullptr);
    dlclose(library);
}

TEST(Lean, IsSmall) {
    // Debug information and symbols are not what is shipped.
    const std::string stripped = "dmrt_stripped.so";
    if (std::system(("strip -o " + stripped + " " DMRT_LIBRARY).c_str()) != 0)
        GTEST_SKIP() << "no strip";
    const auto bytes = std::filesystem::file_size(stripped);
    std::printf("%ju bytes stripped\n", static_cast<uintmax_t>(bytes));
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "sanitizers make it larger";
#endif
    EXPECT_LT(bytes, 1u << 20);
    std::filesystem::remove(stripped);
}

} // namespace
} // namespace dmsh
