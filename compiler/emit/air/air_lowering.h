// AirLowering: turns the body of one legalised shader into an AIR entry point, one dmsh.* call after another.
#pragma once
#include "compiler/emit/air/air_builder.h"
#include "compiler/emit/air/air_emitter.h"
#include "compiler/lift/intrinsics.h"
#include "runtime/abi/attributes.h"
#include <array>
#include <map>

namespace dmsh {

// Values that Metal passes to an entry point as parameters, in parameter order.
enum class AirInput : uint8_t {
    position,
    front_facing,
    point_coord,
    sample_id,
    primitive_id,
    layer,
    viewport,
    vertex_id,
    instance_id,
    base_instance,
    thread_in_group,
    group_in_grid,
    lane,
    count,
};

class AirLowering {
  public:
    AirLowering(const ShaderModule& shader, const AirVersion& version, std::unique_ptr<llvm::Module> module);

    // Lowers everything; the module is then complete and verified.
    Result<AirFunction> run(bool want_text);

  private:
    using Values = llvm::SmallVector<llvm::Value*, 4>;

    // air_emitter.cpp: the entry point around the body
    Result<void> plan_arguments();
    void finish_entry();
    llvm::Value* input(AirInput kind);
    llvm::Value* stage_input(uint32_t location); // <4 x float> or <4 x i32> parameter, or interpolant
    llvm::Value* vertex_result(llvm::SmallVectorImpl<llvm::Metadata*>& nodes,
                               llvm::SmallVectorImpl<llvm::Type*>& types);
    llvm::AllocaInst* output(uint32_t offset, uint32_t initial); // attribute or fragment output word
    llvm::AllocaInst* scratch();
    llvm::AllocaInst* prologue_alloca(llvm::Type* type, const char* name);

    // air_lowering.cpp: memory, attributes, special registers, lanes
    void lower(llvm::CallInst* call, Intrinsic id);
    llvm::Value* lower_value(llvm::CallInst* call, Intrinsic id);
    llvm::Value* buffer(uint32_t binding, llvm::Type* element);
    llvm::Value* buffer_word(llvm::CallInst* call, llvm::Type* element);
    llvm::Value* constant_load(llvm::CallInst* call);
    llvm::Value* memory_word(llvm::Value* base, llvm::Value* offset, llvm::Type* element);
    llvm::Value* shared_word(llvm::Value* offset, llvm::Type* element);
    llvm::Value* local_word(llvm::Value* offset, llvm::Type* element);
    llvm::Value* atomic(llvm::Value* pointer, llvm::Value* op, llvm::Value* value, llvm::Value* comparand);
    // A compare-and-swap loop around `change`, which makes the new word from the old one.
    llvm::Value* cas_loop(llvm::Value* pointer, const std::function<llvm::Value*(llvm::Value*)>& change);
    llvm::Value* load_attribute(llvm::CallInst* call, bool interpolated);
    void store_attribute(llvm::CallInst* call);
    void note_location(llvm::CallInst* call, uint32_t offset, bool is_input);
    llvm::Value* attribute_value(llvm::CallInst* call, uint32_t offset, bool centroid);
    llvm::Value* special(SpecialRegister r);
    llvm::Value* mufu(MufuOp op, llvm::Value* x);
    llvm::Value* shuffle_lane(llvm::Value* mode, llvm::Value* b, llvm::Value* c, llvm::Value** in_range);
    llvm::Value* fswzadd(llvm::CallInst* call);

    // air_lowering_texture.cpp
    AirTexture texture_of(const Binding& b) const;
    llvm::Value* handle(uint32_t binding, llvm::Value* index, bool sampler);
    llvm::Value* lower_texture(llvm::CallInst* call, Intrinsic id);
    llvm::Value* lower_image(llvm::CallInst* call, Intrinsic id);
    llvm::Value* texel_position(const AirTexture& t, llvm::Value* x, llvm::Value* y, llvm::Value* z);
    llvm::Value* coordinates(const AirTexture& t, llvm::Value* x, llvm::Value* y, llvm::Value* z);
    llvm::Value* constant_offset(llvm::CallInst* call, const AirTexture& t, llvm::Value* packed,
                                 unsigned bits, unsigned step);
    llvm::Value* size_of(const AirTexture& t, llvm::Value* texture, llvm::Value* lod);
    llvm::Value* as_words(llvm::Value* texel, bool floats);

    // air_lowering_llvm.cpp
    void lower_llvm_intrinsics(llvm::Function& f);
    llvm::Value* lower_llvm(llvm::IntrinsicInst* call);

    llvm::Value* vector(llvm::ArrayRef<llvm::Value*> parts);
    llvm::Value* as_bits(llvm::Value* v) { return ir_.CreateBitCast(v, ir_.getInt32Ty()); }
    llvm::Value* as_float(llvm::Value* v) { return ir_.CreateBitCast(v, ir_.getFloatTy()); }
    void fail(const llvm::Instruction* at, const std::string& text);
    const Binding* binding(llvm::Value* operand, llvm::CallInst* call, uint32_t* index = nullptr);

    const ShaderModule& shader_;
    ShaderInterface interface_; // with metal ids
    std::unique_ptr<llvm::Module> module_;
    AirBuilder air_;
    llvm::IRBuilder<>& ir_;
    llvm::Function* main_ = nullptr;
    llvm::Instruction* prologue_end_ = nullptr; // terminator of the block before the guest's entry
    std::optional<Error> error_;

    llvm::StructType* args_type_ = nullptr;
    std::unique_ptr<llvm::Argument> args_;
    std::vector<AirBuilder::Member> members_;
    struct Place {
        unsigned field = 0, sampler_field = 0;
    };
    std::vector<Place> places_; // by binding
    std::vector<AirAccess> image_access_;
    std::map<std::tuple<uint32_t, uint64_t, bool>, llvm::Value*> handles_; // binding, constant index, sampler
    std::map<std::pair<uint32_t, unsigned>, llvm::Value*> buffers_;        // binding, element bits

    std::array<std::unique_ptr<llvm::Argument>, static_cast<size_t>(AirInput::count)> inputs_;
    std::map<uint32_t, std::unique_ptr<llvm::Argument>> stage_inputs_; // location
    std::map<uint32_t, bool> pulled_;               // location: some access asks for another place
    std::map<uint32_t, llvm::AllocaInst*> outputs_; // attribute offset, or fragment output key
    std::array<uint64_t, 2> generic_locations_{}, fixed_locations_{}; // by direction: output, input
    llvm::AllocaInst* scratch_ = nullptr;
    llvm::AllocaInst* local_ = nullptr;
    llvm::GlobalVariable* shared_ = nullptr;
};

// Attribute byte addresses (NVIDIA's a[]) that the AIR stages know.
namespace attribute {
constexpr uint32_t kPrimitiveId = 0x60, kLayer = 0x64, kViewport = 0x68, kPointSize = 0x6c, kPosition = 0x70,
                   kGeneric = 0x80, kGenericEnd = 0x280, kClipDistance = 0x2c0, kClipDistanceEnd = 0x2e0,
                   kPointCoord = 0x2e0, kInstanceId = 0x2f8,
                   kVertexId = 0x2fc, kFrontFacing = 0x3fc;

// Four-component slots that go from stage to stage by the name locn<n>: n is the location of runtime/abi/attributes.h, or 32 and
// 33 for clip distances (beside the array that clips: Metal's fragments cannot read that).
constexpr uint32_t kLocations = 34;
constexpr uint32_t location_of(uint32_t offset) {
    if (offset >= kClipDistance && offset < kClipDistanceEnd)
        return 32 + (offset - kClipDistance) / 16;
    return attribute_location(offset);
}
constexpr bool is_varying(uint32_t offset) { return location_of(offset) != kNoLocation; }
constexpr uint32_t address_of(uint32_t location) {
    return location < 32 ? kGeneric + 16 * location : kClipDistance + 16 * (location - 32);
}
// One address per location: fixed-function values under the generic ones whose locations they take.
constexpr uint32_t canonical(uint32_t offset) {
    return is_varying(offset) ? address_of(location_of(offset)) + offset % 16 : offset;
}
} // namespace attribute

// Keys of fragment outputs in AirLowering::outputs_: colour words lie at target * 16 + component * 4.
constexpr uint32_t kFragmentDepthKey = 0x1000, kFragmentMaskKey = 0x1004;

} // namespace dmsh
