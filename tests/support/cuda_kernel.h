// Kernels of the cuda corpus: code, launch, buffers, golden outputs and the corpus's own comparison rules.
#pragma once
#include "runtime/abi/result.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dmsh {

// Folder of the shared corpora ("" if there is none): DMSH_SHARED, else ../shared beside the repository.
std::string shared_corpus();

// Names of all kernels that have the variant ("53", "86", "86b"), sorted; empty without the corpus.
std::vector<std::string> cuda_kernels(const std::string& variant);

struct CudaKernel {
    struct Buffer {
        std::string name, kind, type, tolerance; // kind: in, out, inout, global
        uint64_t address = 0;                    // made up: buffers lie far apart
        uint32_t c0_offset = 0;                  // where its address stands in c[0]
        std::vector<uint8_t> bytes;              // contents, changed by running
        std::vector<uint8_t> golden;             // out and inout
        uint32_t check_words = ~0u;
        std::string slots;                       // types per word group, first out buffer only (compare.py)
    };
    std::string name, variant;
    std::vector<uint8_t> code;                      // relocations applied
    std::array<std::vector<uint8_t>, 32> banks;     // 0: launch sizes and parameters; 2, 3: as in the corpus
    std::vector<Buffer> buffers;
    std::array<uint32_t, 3> block{}, grid{};
    uint32_t shared_bytes = 0, local_bytes = 0;
    bool golden = false, uses_textures = false;

    static Result<CudaKernel> load(const std::string& name, const std::string& variant);
    // From another folder of the same layout; its name ends in "/".
    static Result<CudaKernel> load(const std::string& folder, const std::string& name, const std::string& variant);
    // First difference between the buffers and the golden outputs under the corpus's tolerances; empty = match.
    std::string difference() const;
};

} // namespace dmsh
