// Shaders as single commands take them: raw code with what must be said beside it, or everything that a scan of a file finds.
#pragma once
#include "archivers/nvn/prepare_program.h"
#include "archivers/scan/scan.h"
#include "compiler/lift/shader_module.h"
#include <memory>
#include <string>
#include <vector>

namespace dmsh {

// The options that `shader`, `verify` and `run` share.
struct ShaderSource {
    std::string path;
    std::string key;   // 16 hexadecimal digits, or empty
    std::string stage; // name, or empty; needed for raw code
    std::string abi = "nvn";
    bool exact = false;
    bool raw = false; // the file is code: SPH first for graphics
    std::string arch = "sm53";
    std::string constants; // file of c[1]
    std::vector<uint32_t> local_size;
    uint32_t shared_bytes = 0;
    uint32_t local_bytes = 0;
};

// One shader with everything that its input views.
struct LoadedShader {
    std::string origin;
    std::string key; // empty for raw code
    ShaderInput input;
    std::vector<std::shared_ptr<const void>> owners;
};

// A wrong option value, as text; nothing if all are known words.
std::optional<std::string> option_fault(const ShaderSource& source);

// Reads raw code; the error's code is 0 for wrong options, else an ExitCode.
Result<LoadedShader> load_raw(const ShaderSource& source);

// A record of a scan, ready for lifting. Views nothing of `record` but shares its bytes.
Result<LoadedShader> load_record(const ShaderSource& source, const ShaderRecord& record);

// Does the record have the key and stage that the options ask for, where they do?
bool selects(const ShaderSource& source, const ShaderRecord& record);

} // namespace dmsh
