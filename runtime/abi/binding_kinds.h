// Binding kinds, image shapes and limits: what a shader binds, said once for the compiler and the runtime.
#pragma once
#include <cstdint>
#include <string_view>

namespace dmsh {

// One row per kind: enumerator, name in reports and packs, what `slot`, `bank` and `offset` of the binding mean.
// Rules B-020.. of docs; numbers are stored in packs and never change.
#define DMSH_BINDING_KINDS(X)                                                                                          \
    X(driver, 0, "driver", "driver constants c[0], filled by the runtime")                                             \
    X(constants, 1, "constants", "the program's embedded constants c[1], from its code area")                          \
    X(handles, 2, "handles", "the handle bank read as words (run-time slot choice)")                                   \
    X(uniform, 3, "uniform", "uniform buffer; slot = NVN slot")                                                        \
    X(storage, 4, "storage", "storage buffer; slot = row of the stage's table in c[0]")                                \
    X(storage_in_bank, 5, "storage_in_bank", "storage buffer whose 64-bit address is at c[bank][offset]")              \
    X(texture, 6, "texture", "combined texture and sampler; slot = NVN slot")                                          \
    X(separate_texture, 7, "separate_texture", "texture without sampler; slot = NVN slot")                             \
    X(separate_sampler, 8, "separate_sampler", "sampler alone; slot = NVN slot")                                       \
    X(image, 9, "image", "storage image (shape buffer: buffer image); slot = NVN slot")                                \
    X(texture_in_bank, 10, "texture_in_bank", "combined texture whose handle is the word at c[bank][offset]")          \
    X(sampler_in_bank, 11, "sampler_in_bank", "sampler whose handle word is at c[bank][offset]")                       \
    X(image_in_bank, 12, "image_in_bank", "image whose handle is at c[bank][offset]")                                  \
    X(texture_pool, 13, "texture_pool", "the whole texture pool, indexed by handle bits 0..19")                        \
    X(sampler_pool, 14, "sampler_pool", "the whole sampler pool, indexed by handle bits 20..31")                       \
    X(pool_table, 15, "pool_table", "raw global memory: the runtime's table of memory pools")                          \
    X(pool_write_log, 16, "pool_write_log", "raw global memory: bit per pool-table entry that was written")            \
    X(push_constants, 17, "push_constants", "NVN2 push constants c[24]")                                               \
    X(stage_memory, 18, "stage_memory", "task/mesh stage memory where the target needs a buffer")                      \
    X(threadgroup_spill, 19, "threadgroup_spill", "shared memory past what the target has")

enum class BindingKind : uint8_t {
#define X(e, n, s, d) e = n,
    DMSH_BINDING_KINDS(X)
#undef X
};

constexpr std::string_view binding_kind_name(BindingKind k) {
    switch (k) {
#define X(e, n, s, d)                                                                                                  \
    case BindingKind::e: return s;
        DMSH_BINDING_KINDS(X)
#undef X
    }
    return "?";
}

enum class ImageDim : uint8_t { d1 = 0, d2 = 1, d3 = 2, cube = 3, buffer = 4 };

// What a texel's components are to the shader. The guest's code does not say: profile facts do, else real (floats).
enum class Numeric : uint8_t { real = 0, sint = 1, uint = 2 };

// Format of a storage image as the shader must see it. `formatted` = the bound image's own format (SULD.P/SUST.P,
// no format in the declaration); rawN = N bits of raw texel (SULD.D/SUST.D), bound through an unsigned view of that size.
enum class ImageAccess : uint8_t { formatted = 0, raw8 = 1, raw16 = 2, raw32 = 3, raw64 = 4, raw128 = 5 };

// Limits of bindings-and-reflection.md (B-024 and "Limits").
constexpr uint32_t kMaxBindings = 128;         // bindings per shader; Vulkan binding = stage * 128 + index
constexpr uint32_t kMaxArgumentEntries = 768;  // Metal argument buffer entries
constexpr uint32_t kUniformBufferBytes = 65536;
constexpr uint32_t kTexturePoolSize = 1u << 20; // texture IDs
constexpr uint32_t kSamplerPoolSize = 1u << 12; // sampler IDs
constexpr uint32_t kHandleTextureMask = (1u << 20) - 1;
constexpr uint32_t kHandleSamplerShift = 20;

// Vulkan: descriptor sets (design decision 13).
constexpr uint32_t kVulkanSetBindings = 0;
constexpr uint32_t kVulkanSetPools = 1;
// Bindings of set 1: the texture pool (every image type aliases it) and the sampler pool.
constexpr uint32_t kVulkanPoolTextures = 0;
constexpr uint32_t kVulkanPoolSamplers = 1;

} // namespace dmsh
