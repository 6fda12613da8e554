// The rows of the guest ABI table. Sources: bindings-and-reflection.md (nvn), the corpora's READMEs (the others).
#include "runtime/abi/driver_segments.h"

namespace dmsh {
namespace {

constexpr BankTable storage_row(uint32_t base) { return {base, 0x10, 16}; }

// Stage order: vertex, fragment, geometry, tess_control, tess_evaluation, compute, task, mesh. Bases: B-003..B-006.
constexpr GuestAbi kAbis[] = {
    {
        .id = GuestAbiId::nvn,
        .name = "nvn",
        .driver_bank = 0,
        .constants_bank = 1,
        .handle_bank = 2,
        .uniform_first = 3,
        .uniform_count = 14,
        .storage = {storage_row(0x110), storage_row(0x510), storage_row(0x410), storage_row(0x210),
                    storage_row(0x310), storage_row(0x310), storage_row(0x670), storage_row(0x770)},
        .compute_uniforms = {0x210, 0x10, 16},
        .textures = {0x20, 8, 40},
        .images = {0x120, 8, 8},
        .separate_textures = {0x168, 8, 128},
        .separate_samplers = {0x568, 8, 128},
        .group_count = 0x200,
        .group_count_nvn2 = 0x4,
        .point_size_limit = 0x610,
        .sample_table = 0x620,
        .sample_row = 0x630,
        .base_vertex = 0x640,
        .base_instance = 0x644,
        .draw_index = 0x648,
        .y_direction = 0x64c,
        .memory_pools = true,
    },
    {
        // sm_53 (README of the cuda corpus).
        .id = GuestAbiId::cuda,
        .name = "cuda",
        .driver_bank = 0,
        .constants_bank = 2,
        .handle_bank = 0,
        .uniform_first = 3,
        .uniform_count = 14,
        .parameters = {0x140, 4, 1024},
        .group_count = 0x14,
        .group_size = 0x8,
        .stack_pointer = 0x20,
        .shared_window_base = 0x0,
        .local_window_base = 0x4,
        .memory_pools = false,
    },
    {
        // Root table of NVK (README of ampere-gfx); descriptor sets are constant buffers of their own.
        .id = GuestAbiId::nvk,
        .name = "nvk",
        .driver_bank = 0,
        .constants_bank = 1,
        .handle_bank = 1,
        .uniform_first = 2,
        .uniform_count = 14,
        .group_count = 0xc,
        .base_vertex = 0x0,
        .base_instance = 0x4,
        .draw_index = 0x8,
        .memory_pools = false,
    },
    {
        // README of nvidia-glslc: uniforms c[3], handles c[4] at a 4-byte stride, embedded constants c[1].
        .id = GuestAbiId::headsurface,
        .name = "headsurface",
        .driver_bank = 0,
        .constants_bank = 1,
        .handle_bank = 4,
        .uniform_first = 3,
        .uniform_count = 1,
        .textures = {0x0, 4, 64},
        .memory_pools = false,
    },
    {
        // sm_86 (README of the cuda corpus): window bases have 64 bits, of which the lower word is named: they lie below 4 GiB.
        .id = GuestAbiId::cuda_sm86,
        .name = "cuda-sm86",
        .driver_bank = 0,
        .constants_bank = 2,
        .handle_bank = 0,
        .uniform_first = 3,
        .uniform_count = 14,
        .parameters = {0x160, 4, 1024},
        .group_count = 0xc,
        .group_size = 0x0,
        .stack_pointer = 0x28,
        .shared_window_base = 0x18,
        .local_window_base = 0x20,
        .memory_pools = false,
    },
};

} // namespace

const GuestAbi& guest_abi(GuestAbiId id) { return kAbis[static_cast<unsigned>(id)]; }

const GuestAbi* guest_abi_by_name(std::string_view name) {
    for (const GuestAbi& abi : kAbis)
        if (abi.name == name)
            return &abi;
    return nullptr;
}

} // namespace dmsh
