// Guest ABIs as a table: which constant bank holds what. No offset of these appears anywhere else (B-001).
#pragma once
#include "runtime/abi/stage.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dmsh {

enum class GuestAbiId : uint8_t { nvn = 0, cuda = 1, nvk = 2, headsurface = 3, cuda_sm86 = 4 };

constexpr uint32_t kNone = 0xffffffffu;

// A table of equal entries in a constant bank: entry k is at base + stride * k. base = kNone: no such table.
struct BankTable {
    uint32_t base = kNone;
    uint32_t stride = 0;
    uint32_t count = 0;

    // The entry that byte `offset` is the start of, or nothing.
    constexpr std::optional<uint32_t> entry(uint32_t offset) const {
        if (base == kNone || offset < base || (offset - base) % stride != 0 || (offset - base) / stride >= count)
            return std::nullopt;
        return (offset - base) / stride;
    }
    constexpr uint32_t end() const { return base == kNone ? 0 : base + stride * count; }
};

// What a row does not name, the guest ABI does not have.
// NVN2 compute lays out c[0] for each shader (S-021, B-013): behind 0x10 bytes of workgroup counts lie its push constants, then its
// uniform and storage entries as in the tables of GuestAbi, then four runs of 8-byte handles, in this order.
struct ComputeLayout {
    uint8_t push_words = 0;
    uint8_t uniforms = 0, storage = 0;
    uint8_t textures = 0, separate_textures = 0, separate_samplers = 0, images = 0;

    static constexpr uint32_t kFirst = 0x10; // where the push constants begin
    // Where the layout ends; the control section states it too.
    constexpr uint32_t end() const {
        return kFirst + 4u * push_words + 0x10u * (uniforms + storage) +
               8u * (textures + separate_textures + separate_samplers + images);
    }
};
constexpr uint8_t kPushBank = 24; // c[24]: push constants (B-014)

struct GuestAbi {
    GuestAbiId id;
    std::string_view name;
    uint8_t driver_bank;    // driver constants
    uint8_t constants_bank; // embedded constants and jump tables
    uint8_t handle_bank;    // TEX_CB_INDEX: bank whose words the bound texture forms name
    uint8_t uniform_first;  // c[uniform_first + slot] = uniform buffer `slot`
    uint8_t uniform_count;
    std::array<BankTable, kStageCount> storage{}; // {u64 address, u32 size, u32 0} in the driver bank, by stage
    BankTable compute_uniforms{};                 // compute: {u64 address, u32 size, u32 0} in the driver bank
    BankTable textures{};                         // combined handles in the handle bank
    BankTable images{};
    BankTable separate_textures{};
    BankTable separate_samplers{};
    BankTable parameters{}; // cuda: 64-bit kernel parameters in the driver bank (a pointer or data)
    uint32_t group_count = kNone; // driver bank: dispatch size x, y, z (B-005)
    uint32_t group_count_nvn2 = kNone; // the same again in code for the second console (sm_86)
    uint32_t group_size = kNone;  // driver bank: workgroup size x, y, z
    uint32_t point_size_limit = kNone; // largest point size (B-007)
    uint32_t sample_table = kNone;     // 16 bytes of sample positions (B-009)
    uint32_t sample_row = kNone;       // {mask, log2 samples, z, w}
    uint32_t base_vertex = kNone;      // content unknown, kept 0 (B-008)
    uint32_t base_instance = kNone;
    uint32_t draw_index = kNone;
    uint32_t y_direction = kNone; // our own word: +1.0f with an upper-left window origin, -1.0f with a lower-left one (T-030)
    uint32_t stack_pointer = kNone;         // cuda: initial R1
    uint32_t shared_window_base = kNone;    // cuda: upper word of generic addresses
    uint32_t local_window_base = kNone;
    bool memory_pools; // the runtime has a table of memory pools for raw addresses (pool_table.h)
};

// Largest point size written at GuestAbi::point_size_limit (B-007).
constexpr float kLargestPointSize = 2047.0f;

// The table's row; every id has one.
const GuestAbi& guest_abi(GuestAbiId id);
// Row by command-line name (nvn, cuda, nvk, headsurface, cuda-sm86); nullptr if unknown.
const GuestAbi* guest_abi_by_name(std::string_view name);

} // namespace dmsh
