// GLSL to SPIR-V through the glslangValidator program, for shaders that tests make up.
#include "tests/support/vulkan_harness.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace dmsh::test {

Result<std::vector<uint32_t>> compile_glsl(const std::string& stage, const std::string& text) {
    std::string dir = (std::filesystem::temp_directory_path() / "dmsh-glsl-XXXXXX").string();
    if (!mkdtemp(dir.data()))
        return Error{"no temporary folder"};
    const std::string in = dir + "/s." + stage, out = dir + "/s.spv", log = dir + "/log";
    std::ofstream(in) << text;
    const std::string command =
        std::string(DMSH_GLSLANG) + " -V --target-env vulkan1.2 -o " + out + " " + in + " > " + log + " 2>&1";
    const int rc = system(command.c_str());
    std::ifstream file(rc == 0 ? out : log, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::error_code ignored;
    std::filesystem::remove_all(dir, ignored);
    if (rc != 0)
        return Error{"glslangValidator: " + bytes + "\n" + text};
    std::vector<uint32_t> words(bytes.size() / 4);
    std::copy_n(bytes.data(), words.size() * 4, reinterpret_cast<char*>(words.data()));
    return words;
}

} // namespace dmsh::test
