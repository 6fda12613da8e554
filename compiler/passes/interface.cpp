// Guarantees: the interface's flags and builtin masks say what the final IR does: writes memory, demotes,
// lanes, derivatives, per sample, attributes used beyond the SPH's. Checks the limit of bindings (B-024).
// Keeps: everything that the lifter took from the SPH.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include "runtime/abi/attributes.h"

namespace dmsh {
namespace {

// Attribute byte addresses (README of the maxwell-gfx corpus, "Attributes").
std::optional<Builtin> builtin_of(uint32_t offset, Stage stage, bool input) {
    if (offset >= 0x70 && offset < 0x80)
        return stage == Stage::fragment && input ? Builtin::frag_coord : Builtin::position;
    if (offset >= 0x2c0 && offset < 0x2e0)
        return Builtin::clip_distance;
    switch (offset) {
    case 0x40: return Builtin::primitive_id;
    case 0x60: return Builtin::primitive_id;
    case 0x64: return Builtin::layer;
    case 0x68: return Builtin::viewport;
    case 0x6c: return Builtin::point_size;
    case 0x2e0:
    case 0x2e4: return Builtin::point_coord;
    case 0x2f0:
    case 0x2f4: return Builtin::tess_coord;
    case 0x2f8: return Builtin::instance_id;
    case 0x2fc: return Builtin::vertex_id;
    case 0x3a0: return Builtin::viewport_mask;
    case 0x3fc: return Builtin::front_facing;
    default: return std::nullopt;
    }
}

// Which levels a control shader writes tells the domain: the fourth outer or the second inner one quads, the third outer or the
// first inner one triangles; isolines have two outer ones.
TessDomain domain_of(uint8_t levels) {
    if (levels & 0b101000)
        return TessDomain::quads;
    if (levels & 0b010100)
        return TessDomain::triangles;
    return levels & 0b000011 ? TessDomain::isolines : TessDomain::unknown;
}

void note(std::vector<Varying>& list, uint32_t location, uint32_t component) {
    for (Varying& v : list)
        if (v.location == location) {
            v.components |= static_cast<uint8_t>(1u << component);
            return;
        }
    Varying v;
    v.location = static_cast<uint8_t>(location);
    v.components = static_cast<uint8_t>(1u << component);
    list.push_back(v);
}

} // namespace

Result<void> fill_interface(ShaderModule& shader) {
    ShaderInterface& face = shader.interface;
    constexpr uint32_t kLevelsEnd = 0x18, kPatchGeneric = 0x20;
    // A location holds a vertex's value or a patch's.
    uint32_t patch_locations = face.patch_outputs;
    for (const Varying& v : face.outputs)
        patch_locations &= ~(1u << v.location);
    face.patch_outputs = 0;
    const auto attribute = [&](const llvm::Value* operand, bool input) {
        const auto offset = constant_u32(operand);
        if (!offset)
            return; // run-time attribute: the SPH's list stands
        if (const uint32_t location = attribute_location(*offset); location != kNoLocation)
            note(input ? face.inputs : face.outputs, location, *offset / 4 % 4);
        else if (const auto b = builtin_of(*offset, face.stage, input))
            (input ? face.builtins_read : face.builtins_written) |= builtin_bit(*b);
    };
    // Per-patch values lie behind the six tessellation levels, 16 bytes a location; at a run-time address they may be any.
    const auto patch = [&](const llvm::Value* operand, uint32_t& mask) {
        const auto offset = constant_u32(operand);
        if (!offset)
            mask |= patch_locations;
        else if (*offset >= kPatchGeneric && *offset < kPatchGeneric + 16 * 32)
            mask |= 1u << ((*offset - kPatchGeneric) / 16);
        else if (*offset < kLevelsEnd)
            face.tess_levels |= static_cast<uint8_t>(1u << *offset / 4);
    };
    for (llvm::BasicBlock& block : *shader.main)
        for (llvm::Instruction& inst : block) {
            const auto id = intrinsic_of(inst);
            if (!id)
                continue;
            const auto* call = llvm::cast<llvm::CallInst>(&inst);
            switch (*id) {
            case Intrinsic::raw_store_32:
            case Intrinsic::raw_atomic_32:
            case Intrinsic::raw_atomic_64:
            case Intrinsic::ssbo_store_8:
            case Intrinsic::ssbo_store_16:
            case Intrinsic::ssbo_store_32:
            case Intrinsic::ssbo_atomic_32:
            case Intrinsic::ssbo_atomic_64:
            case Intrinsic::bimg_store:
            case Intrinsic::bimg_atomic: face.writes_memory = true; break;
            case Intrinsic::img_status:
                return refuse(inst, LossCode::instruction, "the predicate of a surface access is used");
            case Intrinsic::demote: face.demotes = true; break;
            case Intrinsic::helper: face.builtins_read |= builtin_bit(Builtin::helper); break;
            case Intrinsic::frag_depth: face.builtins_written |= builtin_bit(Builtin::frag_depth); break;
            case Intrinsic::frag_mask: face.builtins_written |= builtin_bit(Builtin::sample_mask); break;
            case Intrinsic::patch_load: patch(call->getArgOperand(0), face.patch_inputs); break;
            case Intrinsic::patch_store: patch(call->getArgOperand(0), face.patch_outputs); break;
            case Intrinsic::attr_load:
            case Intrinsic::attr_interp: attribute(call->getArgOperand(0), true); break;
            case Intrinsic::attr_store: attribute(call->getArgOperand(0), false); break;
            case Intrinsic::ddx:
            case Intrinsic::ddy: face.uses_derivatives = true; break;
            case Intrinsic::btex_lod: face.uses_derivatives = true; break;
            case Intrinsic::btex_sample: {
                const TexDesc d = TexDesc::unpack(*constant_u32(call->getArgOperand(4)));
                face.uses_derivatives |= d.lod == TexDesc::implicit || d.lod == TexDesc::bias;
                break;
            }
            case Intrinsic::vote_all:
            case Intrinsic::vote_any:
            case Intrinsic::vote_eq:
            case Intrinsic::ballot:
            case Intrinsic::shfl:
            case Intrinsic::shfl_valid:
            case Intrinsic::fswzadd: face.uses_lanes = true; break;
            case Intrinsic::special: {
                const auto reg = static_cast<SpecialRegister>(*constant_u32(call->getArgOperand(0)));
                switch (reg) {
                case SpecialRegister::sample_id:
                    face.per_sample = true; // T-031
                    face.builtins_read |= builtin_bit(Builtin::sample_id);
                    break;
                case SpecialRegister::sample_mask_in: face.builtins_read |= builtin_bit(Builtin::sample_mask); break;
                case SpecialRegister::base_instance:
                    face.builtins_read |= builtin_bit(Builtin::base_instance);
                    break;
                case SpecialRegister::invocation_id:
                    face.builtins_read |= builtin_bit(Builtin::invocation_id);
                    break;
                case SpecialRegister::laneid:
                case SpecialRegister::eqmask:
                case SpecialRegister::ltmask:
                case SpecialRegister::lemask:
                case SpecialRegister::gtmask:
                case SpecialRegister::gemask:
                    face.uses_lanes = true;
                    face.builtins_read |= builtin_bit(Builtin::lane_id);
                    break;
                case SpecialRegister::tid_x:
                case SpecialRegister::tid_y:
                case SpecialRegister::tid_z:
                case SpecialRegister::tid_packed:
                    face.builtins_read |= builtin_bit(Builtin::thread_id);
                    break;
                case SpecialRegister::ctaid_x:
                case SpecialRegister::ctaid_y:
                case SpecialRegister::ctaid_z: face.builtins_read |= builtin_bit(Builtin::group_id); break;
                default: break;
                }
                break;
            }
            default: break;
            }
        }
    if (face.stage == Stage::tess_control)
        face.tess.domain = domain_of(face.tess_levels);
    if (face.bindings.size() > kMaxBindings) {
        Error error{std::to_string(face.bindings.size()) + " bindings, over the limit of " +
                    std::to_string(kMaxBindings)};
        error.code = static_cast<uint16_t>(LossCode::limits);
        return error;
    }
    return {};
}

} // namespace dmsh
