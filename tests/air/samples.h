// Shaders of the Maxwell corpora as inputs of the tests: machine code, constants, stage and ABI.
#pragma once
#include "compiler/lift/shader_module.h"
#include "tests/air/corpus.h"

namespace dmsh::test {

struct Sample {
    std::filesystem::path code, constants;
    Stage stage;
    GuestAbiId abi;
};

// In order of their paths; empty without the corpora.
inline std::vector<Sample> samples() {
    const std::filesystem::path corpus = shared_folder() / "corpus";
    std::vector<Sample> list;
    const std::pair<const char*, Stage> extensions[] = {
        {".glsl.vert", Stage::vertex}, {".glsl.frag", Stage::fragment}, {".glsl.comp", Stage::compute}};
    const auto in = [&](const char* folder, const auto& add) {
        if (std::filesystem::is_directory(corpus / folder))
            for (const auto& e : std::filesystem::directory_iterator(corpus / folder))
                add(e.path(), e.path().filename().string());
    };
    in("maxwell-gfx", [&](const std::filesystem::path& p, const std::string& name) {
        for (const auto& [tail, stage] : extensions)
            if (name.ends_with(tail)) {
                const std::string stem = name.substr(0, name.size() - std::string(tail).size());
                list.push_back({p.parent_path() / (stem + ".bin"), p.parent_path() / (stem + ".c1.bin"),
                                stage, GuestAbiId::nvn});
            }
    });
    in("nvidia-glslc", [&](const std::filesystem::path& p, const std::string& name) {
        if (name.ends_with(".maxwell.bin"))
            list.push_back({p, p.parent_path() / (name.substr(0, name.size() - 4) + ".c1.bin"),
                            name.find("_vertex") != name.npos ? Stage::vertex : Stage::fragment,
                            GuestAbiId::headsurface});
    });
    in("cuda", [&](const std::filesystem::path& p, const std::string& name) {
        if (name.ends_with(".53.bin"))
            list.push_back({p, p.parent_path() / (name.substr(0, name.size() - 4) + ".c2.bin"),
                            Stage::compute, GuestAbiId::cuda});
    });
    std::sort(list.begin(), list.end(), [](const Sample& a, const Sample& b) { return a.code < b.code; });
    return list;
}

// A sample's files, and the input that views them.
struct SampleInput {
    std::vector<uint8_t> bytes, constants;
    ShaderInput input;
    explicit SampleInput(const Sample& s) : bytes(read_file(s.code)), constants(read_file(s.constants)) {
        input.stage = s.stage;
        input.abi = &guest_abi(s.abi);
        const size_t head = s.stage == Stage::compute ? 0 : std::min<size_t>(bytes.size(), 0x50);
        input.sph = std::span(bytes).first(head);
        input.code = std::span(bytes).subspan(head);
        input.constants = constants;
        input.local_bytes = 4096;
        input.shared_bytes = 16384;
        input.local_size = {32, 1, 1};
    }
    SampleInput(const SampleInput&) = delete;
    SampleInput& operator=(const SampleInput&) = delete;
};

} // namespace dmsh::test
