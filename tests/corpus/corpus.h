// The maxwell-gfx corpus as test input: one shader's files and description, and the ShaderInput that they
// make.
#pragma once
#include "compiler/lift/shader_module.h"
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dmsh::test {

struct CorpusBinding {
    std::string kind, type, format; // as in the JSON; type and format may be empty
    uint32_t slot = 0;
    uint32_t array_element = 0;
    uint32_t set = 0, binding = 0;
    // separate_texture_sampler_pair only; slot is then the texture's.
    uint32_t sampler_slot = 0, sampler_set = 0, sampler_binding = 0;
};

struct CorpusVariable {
    uint32_t location = 0;
    std::string type, qualifiers;
};

// The size at which shaders of variable local size are dispatched.
constexpr std::array<uint32_t, 3> kVariableLocalSize{8, 4, 2};

struct CorpusShader {
    std::string name, note;
    Stage stage = Stage::compute;
    bool cross_checked = false, realistic = false;
    std::vector<CorpusBinding> bindings;
    std::vector<CorpusVariable> inputs, outputs;
    std::optional<std::array<uint32_t, 3>> local_size; // nothing: set at draw time
    uint32_t shared_bytes = 0, local_bytes = 0;
    bool early_tests = false, per_sample = false;
    Arch arch = Arch::sm53;
    TessMode tess;                // tess_evaluation
    uint8_t input_primitive = 0;  // geometry: the draw's, as the reference's source declares it
    std::vector<uint8_t> sph, code, constants;
    std::vector<uint32_t> reference; // SPIR-V of the same source
};

// A texture or image type name of GLSL ("usampler2DArray"), taken apart.
struct GlslImageType {
    Numeric numeric = Numeric::real;
    ImageDim dim = ImageDim::d2;
    bool arrayed = false, multisampled = false, shadow = false;
};
GlslImageType parse_image_type(std::string_view type);

// Numeric class of a GLSL scalar, vector or matrix type name.
Numeric parse_numeric(std::string_view type);
// Attribute locations that a variable of the type takes ("mat4" 4, "vec4[6]" 6).
uint32_t locations_of(std::string_view type);

// The folder ../shared/corpus beside the repository, or $DMSH_SHARED/corpus; nothing if it does not exist.
std::optional<std::filesystem::path> corpus_folder();

// How the files of a folder are laid out; told by its manifest.json (README of each corpus).
enum class Format { graphics, cuda, glslc };

struct CorpusEntry {
    std::string name;    // of the row; unique in the folder
    std::string program; // first part of the file names
    std::string variant; // cuda: "53", "86", "86b"
    Stage stage = Stage::compute;
    Arch arch = Arch::sm53;
    std::string file; // glslc: the code
};

// A folder with a manifest.json. Entries are sorted by name.
struct Corpus {
    std::filesystem::path folder;
    Format format = Format::graphics;
    const GuestAbi* abi = nullptr;
    std::vector<CorpusEntry> entries;
};

// Reads `folder`/manifest.json: a list of kernels (cuda), or an object with "shaders" (graphics) or "programs" (glslc). Entries
// without a name are skipped; an architecture or stage that is not known is an error that names it.
Result<Corpus> load_corpus(const std::filesystem::path& folder);
// Names of the sm_53 shaders of a graphics corpus.
Result<std::vector<std::string>> corpus_names(const std::filesystem::path& folder);
// One shader of a graphics corpus. Fields that its description lacks have their defaults.
Result<CorpusShader> load_corpus_shader(const std::filesystem::path& folder, const std::string& name);

// What translate() reads. Spans point into `shader`.
ShaderInput shader_input(const CorpusShader& shader);

// Whole file, or an Error naming it.
Result<std::vector<uint8_t>> read_file(const std::filesystem::path& path);

} // namespace dmsh::test
