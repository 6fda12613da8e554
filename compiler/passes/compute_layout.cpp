// Guarantees: NVN2 compute reads its push constants, buffer entries and handles where the guest ABI's tables hold them (T-160): c[0] of
// such a shader is laid out by its control section, one range after another, and each range moves as a whole. Workgroup counts come from
// the driver's words (T-180). Refuses reads outside all ranges and ranges longer than their table. Keeps: everything else.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

struct Range {
    uint32_t begin, bytes; // in c[0] as the guest has it
    uint8_t bank;
    uint32_t base; // where it goes
    uint32_t room;
};

llvm::SmallVector<Range, 8> ranges_of(const ComputeLayout& layout, const GuestAbi& abi) {
    constexpr uint32_t kEverything = 0x10000; // push constants have a bank of their own
    llvm::SmallVector<Range, 8> ranges;
    if (abi.group_count_nvn2 != kNone) // T-180
        ranges.push_back({abi.group_count_nvn2, 12, abi.driver_bank, abi.group_count, 12});
    uint32_t at = ComputeLayout::kFirst;
    const auto add = [&](uint32_t bytes, uint8_t bank, uint32_t base, uint32_t room) {
        ranges.push_back({at, bytes, bank, base, room});
        at += bytes;
    };
    const auto table = [&](uint32_t count, uint8_t bank, const BankTable& t) {
        add(count * t.stride, bank, t.base, t.count * t.stride);
    };
    add(4u * layout.push_words, kPushBank, 0, kEverything);
    table(layout.uniforms, abi.driver_bank, abi.compute_uniforms);
    table(layout.storage, abi.driver_bank, abi.storage[static_cast<unsigned>(Stage::compute)]);
    table(layout.textures, abi.handle_bank, abi.textures);
    table(layout.separate_textures, abi.handle_bank, abi.separate_textures);
    table(layout.separate_samplers, abi.handle_bank, abi.separate_samplers);
    table(layout.images, abi.handle_bank, abi.images);
    return ranges;
}

} // namespace

Result<void> map_compute_layout(ShaderModule& shader) {
    const GuestAbi& abi = *shader.input.abi;
    if (!shader.input.layout || shader.input.stage != Stage::compute)
        return {};
    const auto ranges = ranges_of(*shader.input.layout, abi);
    for (const auto& [call, id] : collect_calls(*shader.main)) {
        if (id != Intrinsic::cbuf_load || constant_u32(call->getArgOperand(0)) != abi.driver_bank)
            continue;
        // An index that is known only at run time stays inside the range that the constant part names.
        OffsetSum offset = split_offset(call->getArgOperand(1));
        const auto* range = llvm::find_if(ranges, [&](const Range& r) {
            return offset.constant >= r.begin && offset.constant - r.begin < r.bytes;
        });
        if (range == ranges.end())
            return refuse(*call, LossCode::constant_bank,
                          "c[0] at " + hex(offset.constant) + " lies outside the layout of the control section");
        if (range->bytes > range->room)
            return refuse(*call, LossCode::constant_bank,
                          "c[0] at " + hex(offset.constant) + " is an entry of more than the runtime's table holds");
        llvm::IRBuilder<> b(call);
        offset.constant = offset.constant - range->begin + range->base;
        llvm::Value* moved = join_offset(b, offset);
        call->setArgOperand(0, b.getInt32(range->bank));
        call->setArgOperand(1, moved ? moved : b.getInt32(0));
    }
    return {};
}

} // namespace dmsh
