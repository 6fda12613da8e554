// Bindings by the guest ABI's tables.
#include "compiler/sim/jit/guest_bindings.h"

namespace dmsh::sim {

std::optional<uint32_t> bound_bank(const Binding& b, const GuestAbi& abi) {
    switch (b.kind) {
    case BindingKind::driver: return abi.driver_bank;
    case BindingKind::constants: return abi.constants_bank;
    case BindingKind::handles: return abi.handle_bank;
    case BindingKind::uniform: return abi.uniform_first + b.slot;
    default: return std::nullopt;
    }
}

std::optional<uint64_t> bound_storage(const Binding& b, const GuestAbi& abi, Stage stage, const BankReader& bank) {
    uint32_t in = b.bank, at = b.offset;
    if (b.kind == BindingKind::storage) {
        const BankTable& table = abi.storage[static_cast<unsigned>(stage)];
        in = abi.driver_bank;
        at = table.base + table.stride * b.slot;
    } else if (b.kind != BindingKind::storage_in_bank) {
        return std::nullopt;
    }
    return bank(in, at) | uint64_t{bank(in, at + 4)} << 32;
}

std::optional<uint32_t> bound_handle(const Binding& b, const GuestAbi& abi, uint32_t element, const BankReader& bank) {
    const auto in_table = [&](const BankTable& table) { return bank(abi.handle_bank, table.base + table.stride * (b.slot + element)); };
    uint32_t word = 0;
    switch (b.kind) {
    case BindingKind::texture: word = in_table(abi.textures); break;
    case BindingKind::separate_texture: word = in_table(abi.separate_textures); break;
    case BindingKind::separate_sampler: word = in_table(abi.separate_samplers); break;
    case BindingKind::image: word = in_table(abi.images); break;
    case BindingKind::texture_in_bank:
    case BindingKind::sampler_in_bank:
    case BindingKind::image_in_bank: word = bank(b.bank, b.offset + 8 * element); break;
    case BindingKind::texture_pool: return element & kHandleTextureMask;
    case BindingKind::sampler_pool: return element << kHandleSamplerShift;
    default: return std::nullopt;
    }
    if (b.or_bank != 0xff)
        word |= bank(b.or_bank, b.or_offset);
    return word | b.or_constant;
}

} // namespace dmsh::sim
