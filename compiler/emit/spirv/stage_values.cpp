// Values that single stages have: tessellation levels and patch values, special registers, geometry streams.
#include "compiler/emit/spirv/emitter.h"
#include "compiler/passes/pass_support.h"
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>

namespace dmsh {
namespace {

// Per-patch addresses: four outer levels, two inner levels, then generic values.
constexpr uint32_t kTessOuter = 0x00, kTessInner = 0x10, kLevelsEnd = 0x18, kPatchGeneric = 0x20;

} // namespace

// Pointer to a tessellation level; 0 if `offset` is none.
uint32_t SpirvEmitter::tess_level(uint32_t offset, bool output) {
    const bool outer = offset < kTessInner;
    if (offset >= kPatchGeneric || (!outer && offset >= kLevelsEnd))
        return 0;
    const spv::StorageClass storage = output ? spv::StorageClassOutput : spv::StorageClassInput;
    const spv::BuiltIn which = outer ? spv::BuiltInTessLevelOuter : spv::BuiltInTessLevelInner;
    const size_t before = builtins_.size();
    const uint32_t variable = builtin(which, b_.array_type(f32(), outer ? 4 : 2), storage);
    if (builtins_.size() != before)
        b_.decorate(variable, spv::DecorationPatch);
    return op(spv::OpAccessChain, b_.pointer_type(storage, f32()),
              {variable, uc((offset - (outer ? kTessOuter : kTessInner)) / 4)});
}

uint32_t SpirvEmitter::patch_input(uint32_t offset) {
    if (offset < kPatchGeneric) {
        const uint32_t pointer = tess_level(offset, stage_ == Stage::tess_control);
        return pointer ? to_bits(load(f32(), pointer))
                       : fail("patch attribute " + hex(offset) + " is not implemented");
    }
    const uint32_t location = (offset - kPatchGeneric) / 16;
    if (location >= patches_.size())
        return fail("patch attribute " + hex(offset) + " is out of range");
    if (stage_ == Stage::tess_control) {
        const uint32_t pointer = op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, f32()),
                                    {output_variable(location, true), uc(offset / 4 % 4)});
        return to_bits(load(f32(), pointer));
    }
    uint32_t& variable = patches_[location];
    if (!variable) {
        variable = b_.variable(spv::StorageClassInput, vec(f32(), 4));
        b_.decorate(variable, spv::DecorationLocation, {location});
        b_.decorate(variable, spv::DecorationPatch);
    }
    const uint32_t pointer = op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassInput, f32()),
                                {variable, uc(offset / 4 % 4)});
    return to_bits(load(f32(), pointer));
}

uint32_t SpirvEmitter::special(SpecialRegister reg) {
    const auto mask = [&](const std::function<uint32_t(uint32_t)>& of) { return of(lane()); };
    const auto bit = [&](uint32_t l) { return op(spv::OpShiftLeftLogical, u32(), {uc(1), l}); };
    const auto below = [&](uint32_t l) { return op(spv::OpISub, u32(), {bit(l), uc(1)}); };
    const bool compute = stage_ == Stage::compute;
    switch (reg) {
    case SpecialRegister::laneid:
        // The hardware runs a patch on lanes that follow each other, and code finds the patch's vertices from
        // lane - invocation; here vertices count from 0.
        return stage_ == Stage::tess_control ? special(SpecialRegister::invocation_id) : lane();
    case SpecialRegister::tid_x:
    case SpecialRegister::tid_y:
    case SpecialRegister::tid_z:
        if (!compute)
            break;
        return builtin_component(spv::BuiltInLocalInvocationId,
                                 static_cast<uint32_t>(reg) - static_cast<uint32_t>(SpecialRegister::tid_x));
    case SpecialRegister::ctaid_x:
    case SpecialRegister::ctaid_y:
    case SpecialRegister::ctaid_z:
        if (!compute)
            break;
        return builtin_component(spv::BuiltInWorkgroupId,
                                 static_cast<uint32_t>(reg) -
                                     static_cast<uint32_t>(SpecialRegister::ctaid_x));
    case SpecialRegister::tid_packed: { // x bits 0..15, y 16..25, z 26..31
        if (!compute)
            break;
        const uint32_t x = builtin_component(spv::BuiltInLocalInvocationId, 0);
        const uint32_t y = builtin_component(spv::BuiltInLocalInvocationId, 1);
        const uint32_t z = builtin_component(spv::BuiltInLocalInvocationId, 2);
        const uint32_t xy = op(spv::OpBitFieldInsert, u32(), {x, y, uc(16), uc(10)});
        return op(spv::OpBitFieldInsert, u32(), {xy, z, uc(26), uc(6)});
    }
    case SpecialRegister::invocation_id:
        if (stage_ != Stage::tess_control && stage_ != Stage::geometry)
            break;
        b_.capability(stage_ == Stage::geometry ? spv::CapabilityGeometry : spv::CapabilityTessellation);
        return builtin_word(spv::BuiltInInvocationId);
    case SpecialRegister::invocation_info: {
        // Bits 16..23: vertices of the input primitive or patch. The rest scales warp-local vertex handles,
        // which are plain vertex indices here, and reads as 0.
        if (stage_ == Stage::geometry)
            return op(spv::OpShiftLeftLogical, u32(), {vertex_count(), uc(16)});
        if (stage_ != Stage::tess_control && stage_ != Stage::tess_evaluation)
            break;
        const uint32_t n = builtin_word(spv::BuiltInPatchVertices);
        return op(spv::OpShiftLeftLogical, u32(), {n, uc(16)});
    }
    case SpecialRegister::prim_type: // bits 8..15: vertices of the input patch
        if (stage_ != Stage::tess_control && stage_ != Stage::tess_evaluation)
            break;
        return op(spv::OpShiftLeftLogical, u32(), {builtin_word(spv::BuiltInPatchVertices), uc(8)});
    case SpecialRegister::sample_mask_in:
        if (stage_ != Stage::fragment)
            break;
        return load(u32(), op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassInput, u32()),
                              {builtin(spv::BuiltInSampleMask, b_.array_type(u32(), 1), spv::StorageClassInput), uc(0)}));
    case SpecialRegister::y_direction: return uc(0x3f800000u); // upper-left origin, as Vulkan's window space
    case SpecialRegister::eqmask: return mask(bit);
    case SpecialRegister::ltmask: return mask(below);
    case SpecialRegister::lemask:
        return mask([&](uint32_t l) { return op(spv::OpBitwiseOr, u32(), {bit(l), below(l)}); });
    case SpecialRegister::gtmask:
        return mask([&](uint32_t l) {
            return op(spv::OpNot, u32(), {op(spv::OpBitwiseOr, u32(), {bit(l), below(l)})});
        });
    case SpecialRegister::gemask: return mask([&](uint32_t l) { return op(spv::OpNot, u32(), {below(l)}); });
    case SpecialRegister::sample_id:
        if (stage_ != Stage::fragment)
            break;
        b_.capability(spv::CapabilitySampleRateShading);
        return builtin_word(spv::BuiltInSampleId);
    case SpecialRegister::base_instance:
        if (stage_ != Stage::vertex)
            break;
        b_.capability(spv::CapabilityDrawParameters);
        return builtin_word(spv::BuiltInBaseInstance);
    default: break;
    }
    return fail("special register " + std::to_string(static_cast<unsigned>(reg)) + " of stage " +
                std::string(stage_name(stage_)) + " is not implemented");
}

void SpirvEmitter::geometry_emit(uint32_t stream, bool cut) {
    if (stream)
        b_.capability(spv::CapabilityGeometryStreams);
    if (stream)
        effect(cut ? spv::OpEndStreamPrimitive : spv::OpEmitStreamVertex, {uc(stream)});
    else
        effect(cut ? spv::OpEndPrimitive : spv::OpEmitVertex, {});
}

void SpirvEmitter::patch_output(const llvm::Value* address, uint32_t bits) {
    const auto pointer_to = [&](uint32_t location, uint32_t component) {
        return op(spv::OpAccessChain, b_.pointer_type(spv::StorageClassOutput, f32()),
                  {output_variable(location, true), uc(component)});
    };
    const auto offset = literal(address);
    if (!offset) {
        // One invocation's store may not touch the words that others store.
        llvm::SmallVector<std::pair<uint32_t, uint32_t>, 32> pointers;
        const uint32_t at = value(address);
        for (uint32_t level = 0; level < kLevelsEnd; level += 4)
            pointers.emplace_back(level, tess_level(level, true));
        for (uint32_t location = 0; location < patches_.size(); ++location)
            for (uint32_t k = 0; k < 4 && (face_.patch_outputs >> location & 1); ++k)
                pointers.emplace_back(kPatchGeneric + 16 * location + 4 * k, pointer_to(location, k));
        store_choice(at, pointers, f32(), bits);
        return;
    }
    if (*offset >= kPatchGeneric && (*offset - kPatchGeneric) / 16 >= patches_.size()) {
        fail("patch attribute " + hex(*offset) + " is out of range");
        return;
    }
    const uint32_t pointer = *offset < kPatchGeneric
                                 ? tess_level(*offset, true)
                                 : pointer_to((*offset - kPatchGeneric) / 16, *offset / 4 % 4);
    if (!pointer)
        fail("patch attribute " + hex(*offset) + " is not implemented");
    else
        store(pointer, to_float(bits));
}

// A per-patch value at an address known at run time: the words that the stage has, selected one by one.
uint32_t SpirvEmitter::patch_dynamic(const llvm::Value* offset) {
    if (stage_ != Stage::tess_control)
        return fail("a patch attribute at a run-time address: the header does not say which ones there are");
    const uint32_t locations = face_.patch_outputs, at = value(offset);
    uint32_t result = uc(0);
    for (uint32_t level = 0; level < kLevelsEnd; level += 4)
        result = select(u32(), op(spv::OpIEqual, boolean(), {at, uc(level)}), patch_input(level), result);
    for (uint32_t location = 0; location < patches_.size(); ++location)
        for (uint32_t k = 0; k < 4 && (locations >> location & 1); ++k) {
            const uint32_t address = kPatchGeneric + 16 * location + 4 * k;
            result = select(u32(), op(spv::OpIEqual, boolean(), {at, uc(address)}), patch_input(address), result);
        }
    return result;
}

// The hardware runs a patch in one warp, so guest code reads other invocations' outputs without a barrier.
// Vulkan needs one, on a path that all invocations take: before the first such read, or at the end of the
// closest block above that every invocation passes.
void SpirvEmitter::place_patch_barrier() {
    if (stage_ != Stage::tess_control)
        return;
    const auto used = [&](Intrinsic id) -> const llvm::Function* {
        const llvm::Function* f = shader_.module->getFunction(intrinsic_info(id).name);
        return f && !f->use_empty() ? f : nullptr;
    };
    if (used(Intrinsic::barrier))
        return;
    llvm::Function& main = *shader_.main;
    llvm::DominatorTree dominators(main);
    llvm::BasicBlock* above = nullptr;
    for (const Intrinsic id : {Intrinsic::attr_load_out, Intrinsic::patch_load})
        if (const llvm::Function* f = used(id))
            for (const llvm::User* user : f->users()) {
                auto* block = const_cast<llvm::BasicBlock*>(llvm::cast<llvm::Instruction>(user)->getParent());
                if (dominators.isReachableFromEntry(block))
                    above = above ? dominators.findNearestCommonDominator(above, block) : block;
            }
    if (!above)
        return;
    const llvm::PostDominatorTree after(main);
    while (above != &main.getEntryBlock() && !after.dominates(above, &main.getEntryBlock()))
        above = dominators.getNode(above)->getIDom()->getBlock();
    barrier_before_ = above->getTerminator();
    for (const llvm::Instruction& inst : *above)
        if (const auto id = intrinsic_of(inst);
            id == Intrinsic::attr_load_out || id == Intrinsic::patch_load) {
            barrier_before_ = &inst;
            break;
        }
}

void SpirvEmitter::patch_barrier() {
    effect(spv::OpControlBarrier, {uc(spv::ScopeWorkgroup), uc(spv::ScopeInvocation), uc(0)});
}

} // namespace dmsh
