// The entry point around a lowered body: argument buffer, stage inputs and outputs, metadata, bitcode.
#include "compiler/emit/air/air_emitter.h"
#include "compiler/emit/air/air_lowering.h"
#include "compiler/link/interface.h"
#include "compiler/passes/pass_support.h"
#include "runtime/abi/entry_points.h"
#include <fmt/format.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

namespace dmsh {
namespace {

// MTLDataType numbers of what we declare.
constexpr uint8_t kTypeFloat4 = 6, kTypeInt4 = 32, kTypeUint4 = 36;

bool is_texture(BindingKind k) {
    return k == BindingKind::texture || k == BindingKind::separate_texture ||
           k == BindingKind::texture_in_bank || k == BindingKind::texture_pool;
}
bool is_image(BindingKind k) {
    return k == BindingKind::image || k == BindingKind::image_in_bank;
}
bool is_sampler(BindingKind k) {
    return k == BindingKind::separate_sampler || k == BindingKind::sampler_in_bank ||
           k == BindingKind::sampler_pool;
}
bool is_pool(BindingKind k) {
    return k == BindingKind::texture_pool || k == BindingKind::sampler_pool;
}
bool is_storage(BindingKind k) {
    return k == BindingKind::storage || k == BindingKind::storage_in_bank || k == BindingKind::pool_table ||
           k == BindingKind::pool_write_log || k == BindingKind::stage_memory ||
           k == BindingKind::threadgroup_spill;
}

std::string member_name(const Binding& b) {
    switch (b.kind) {
    case BindingKind::driver:
    case BindingKind::constants:
    case BindingKind::handles:
    case BindingKind::push_constants: return fmt::format("c{}", b.bank);
    case BindingKind::uniform: return fmt::format("u{}", b.slot);
    case BindingKind::storage: return fmt::format("s{}", b.slot);
    case BindingKind::texture: return fmt::format("t{}", b.slot);
    case BindingKind::separate_texture: return fmt::format("st{}", b.slot);
    case BindingKind::separate_sampler: return fmt::format("ss{}", b.slot);
    case BindingKind::image: return fmt::format("i{}", b.slot);
    case BindingKind::storage_in_bank: return fmt::format("s_c{}_{:x}", b.bank, b.offset);
    case BindingKind::texture_in_bank: return fmt::format("t_c{}_{:x}", b.bank, b.offset);
    case BindingKind::sampler_in_bank: return fmt::format("p_c{}_{:x}", b.bank, b.offset);
    case BindingKind::image_in_bank: return fmt::format("i_c{}_{:x}", b.bank, b.offset);
    default: return std::string(binding_kind_name(b.kind));
    }
}

struct InputFacts {
    const char* kind;
    const char* type;
};
constexpr InputFacts kInputs[] = {
    {"position", "float4"},
    {"front_facing", "bool"},
    {"point_coord", "float2"},
    {"sample_id", "uint"},
    {"primitive_id", "uint"},
    {"render_target_array_index", "uint"},
    {"viewport_array_index", "uint"},
    {"vertex_id", "uint"},
    {"instance_id", "uint"},
    {"base_instance", "uint"},
    {"thread_position_in_threadgroup", "uint3"},
    {"threadgroup_position_in_grid", "uint3"},
    {"thread_index_in_simdgroup", "uint"},
};
static_assert(std::size(kInputs) == static_cast<size_t>(AirInput::count));

// What lowering and promotion leave behind: casts of casts, operations on constants, unused values. Exact
// simplifications only.
void fold(llvm::Function& f) {
    const llvm::SimplifyQuery query(f.getParent()->getDataLayout());
    for (llvm::BasicBlock& block : f)
        for (llvm::Instruction& inst : llvm::make_early_inc_range(block)) {
            if (llvm::isInstructionTriviallyDead(&inst)) {
                inst.eraseFromParent();
                continue;
            }
            if (inst.isTerminator() || inst.mayHaveSideEffects())
                continue;
            if (llvm::Value* v = llvm::simplifyInstruction(&inst, query); v && v != &inst) {
                inst.replaceAllUsesWith(v);
                inst.eraseFromParent();
            }
        }
    for (llvm::BasicBlock& block : f)
        for (llvm::Instruction& inst : llvm::make_early_inc_range(llvm::reverse(block)))
            if (llvm::isInstructionTriviallyDead(&inst))
                inst.eraseFromParent();
}

} // namespace

AirLowering::AirLowering(const ShaderModule& shader, const AirVersion& version,
                         std::unique_ptr<llvm::Module> module)
    : shader_(shader), interface_(shader.interface), module_(std::move(module)), air_(*module_, version),
      ir_(air_.ir()) {
    main_ = module_->getFunction(shader.main->getName());
}

void AirLowering::fail(const llvm::Instruction* at, const std::string& text) {
    if (error_)
        return;
    if (at) {
        error_ = refuse(*at, LossCode::air, text);
        return;
    }
    error_ = Error{text};
    error_->code = static_cast<uint16_t>(LossCode::air);
}

AirTexture AirLowering::texture_of(const Binding& b) const {
    AirTexture t;
    t.dim = b.dim;
    t.arrayed = b.arrayed;
    t.multisampled = b.multisampled;
    t.depth = b.depth;
    t.numeric = b.numeric;
    if (is_image(b.kind)) {
        t.depth = false;
        if (b.access != ImageAccess::formatted || b.atomic)
            t.numeric = b.numeric == Numeric::sint && b.access == ImageAccess::formatted ? Numeric::sint
                                                                                         : Numeric::uint;
        t.access = image_access_[static_cast<size_t>(&b - interface_.bindings.data())];
    }
    return t;
}

// One struct member per binding and combined sampler, 8 bytes per entry, in id order.
Result<void> AirLowering::plan_arguments() {
    if (auto r = assign_metal_ids(interface_); !r)
        return r.error();
    image_access_.assign(interface_.bindings.size(), AirAccess::read);
    std::vector<unsigned> use(interface_.bindings.size()); // bit 0 read, bit 1 written
    for (const llvm::BasicBlock& block : *main_)
        for (const llvm::Instruction& inst : block) {
            const auto id = intrinsic_of(inst);
            if (id != Intrinsic::bimg_load && id != Intrinsic::bimg_store && id != Intrinsic::bimg_atomic)
                continue;
            const auto* c =
                llvm::dyn_cast<llvm::ConstantInt>(llvm::cast<llvm::CallInst>(inst).getArgOperand(0));
            if (c && c->getZExtValue() < use.size())
                use[c->getZExtValue()] |= id == Intrinsic::bimg_load    ? 1
                                          : id == Intrinsic::bimg_store ? 2
                                                                        : 3;
        }
    for (size_t i = 0; i < use.size(); ++i)
        image_access_[i] = use[i] == 3   ? AirAccess::read_write
                           : use[i] == 2 ? AirAccess::write
                                         : AirAccess::read;

    llvm::SmallVector<llvm::Type*, 32> fields;
    const auto pooled = [&](llvm::Type* handle_type) -> llvm::Type* {
        // Header word n (last usable index), a pad word, then handles; one element declared so that
        // reflection stays small.
        auto* table = llvm::StructType::get(module_->getContext(), {ir_.getInt32Ty(), ir_.getInt32Ty(),
                                                                    llvm::ArrayType::get(handle_type, 1)});
        return llvm::PointerType::get(table, kAirConstant);
    };
    const auto array = [](llvm::Type* t, uint32_t n) -> llvm::Type* {
        return n > 1 ? llvm::ArrayType::get(t, n) : t;
    };
    for (const Binding& b : interface_.bindings) {
        Place place;
        place.field = place.sampler_field = static_cast<unsigned>(fields.size());
        AirBuilder::Member m;
        m.id = b.metal_id;
        m.name =
            fmt::format("{}_{}", member_name(b), members_.size()); // one slot may be bound as several types
        if (is_pool(b.kind)) {
            m.space = kAirConstant;
            m.type_name = b.kind == BindingKind::texture_pool ? "texture_pool" : "sampler_pool";
            m.type_bytes = 16;
            m.type_align = 8;
            if (b.kind == BindingKind::texture_pool && texture_of(b).class_name().empty())
                return Error{"Metal has no texture class for a pool of this shape"};
            fields.push_back(pooled(b.kind == BindingKind::texture_pool ? air_.texture_type(texture_of(b))
                                                                        : air_.sampler_type()));
        } else if (is_texture(b.kind) || is_image(b.kind)) {
            m.kind = AirBuilder::Member::texture;
            m.count = std::max(b.count, 1u);
            m.texture_info = texture_of(b);
            if (m.texture_info.class_name().empty())
                return Error{fmt::format("{}: Metal has no texture class of this shape", m.name)};
            fields.push_back(array(air_.texture_type(m.texture_info), m.count));
        } else if (is_sampler(b.kind)) {
            m.kind = AirBuilder::Member::sampler;
            m.count = std::max(b.count, 1u);
            fields.push_back(array(air_.sampler_type(), m.count));
        } else {
            m.space = is_storage(b.kind) ? kAirDevice : kAirConstant;
            m.written = b.written || b.atomic;
            if (b.count > 1)
                return Error{fmt::format("{}: an array of {} buffers", m.name, b.count)};
            fields.push_back(llvm::PointerType::get(ir_.getInt32Ty(), m.space));
        }
        members_.push_back(m);
        if (has_combined_sampler(b)) {
            AirBuilder::Member s;
            s.kind = AirBuilder::Member::sampler;
            s.id = b.metal_sampler_id;
            s.count = std::max(b.count, 1u);
            s.name = m.name + "_sampler";
            place.sampler_field = static_cast<unsigned>(fields.size());
            fields.push_back(array(air_.sampler_type(), s.count));
            members_.push_back(s);
        }
        places_.push_back(place);
    }
    if (!fields.empty()) {
        args_type_ = llvm::StructType::create(fields, "struct.args");
        args_ = std::make_unique<llvm::Argument>(llvm::PointerType::get(args_type_, kAirConstant));
    }
    return {};
}

llvm::Value* AirLowering::input(AirInput kind) {
    auto& slot = inputs_[static_cast<size_t>(kind)];
    if (!slot) {
        llvm::Type* type = ir_.getInt32Ty();
        switch (kind) {
        case AirInput::position: type = llvm::FixedVectorType::get(ir_.getFloatTy(), 4); break;
        case AirInput::front_facing: type = ir_.getInt1Ty(); break;
        case AirInput::point_coord: type = llvm::FixedVectorType::get(ir_.getFloatTy(), 2); break;
        case AirInput::thread_in_group:
        case AirInput::group_in_grid: type = llvm::FixedVectorType::get(ir_.getInt32Ty(), 3); break;
        default: break;
        }
        slot = std::make_unique<llvm::Argument>(type);
    }
    return slot.get();
}

llvm::Value* AirLowering::stage_input(uint32_t location) {
    auto& slot = stage_inputs_[location];
    if (!slot) {
        llvm::Type* element = ir_.getFloatTy();
        if (shader_.interface.stage == Stage::vertex)
            for (const Varying& v : interface_.inputs)
                if (v.location == location && v.numeric != Numeric::real)
                    element = ir_.getInt32Ty();
        llvm::Type* type = llvm::FixedVectorType::get(element, 4);
        if (pulled_[location])
            type = air_.interpolant_type();
        slot = std::make_unique<llvm::Argument>(type);
    }
    return slot.get();
}

llvm::AllocaInst* AirLowering::prologue_alloca(llvm::Type* type, const char* name) {
    auto* a = new llvm::AllocaInst(type, kAirPrivate, name, prologue_end_->getParent()->getFirstNonPHI());
    return a;
}

llvm::AllocaInst* AirLowering::scratch() {
    if (!scratch_)
        scratch_ = prologue_alloca(ir_.getInt32Ty(), "expected");
    return scratch_;
}

llvm::AllocaInst* AirLowering::output(uint32_t offset, uint32_t initial) {
    auto& slot = outputs_[offset];
    if (!slot) {
        slot = prologue_alloca(ir_.getInt32Ty(), "output");
        new llvm::StoreInst(ir_.getInt32(initial), slot, prologue_end_);
    }
    return slot;
}

// Everything that a vertex function returns, position first, then the generic outputs in order of location.
llvm::Value* AirLowering::vertex_result(llvm::SmallVectorImpl<llvm::Metadata*>& nodes,
                                        llvm::SmallVectorImpl<llvm::Type*>& types) {
    constexpr uint32_t kOne = 0x3f800000;
    Values values;
    const auto word = [&](uint32_t offset) -> llvm::Value* {
        return as_float(ir_.CreateLoad(ir_.getInt32Ty(), output(offset, offset % 16 == 12 ? kOne : 0)));
    };
    const auto add = [&](llvm::Value* v, llvm::Metadata* n) {
        values.push_back(v);
        types.push_back(v->getType());
        nodes.push_back(n);
    };
    // Metal's depth range is 0..1, the guest's -1..1 in this entry (L-020).
    llvm::Value *x = word(attribute::kPosition), *y = word(attribute::kPosition + 4),
                *z = word(attribute::kPosition + 8), *w = word(attribute::kPosition + 12);
    z = ir_.CreateFMul(ir_.CreateFAdd(z, w), llvm::ConstantFP::get(ir_.getFloatTy(), 0.5));
    add(vector({x, y, z, w}), air_.position_output_node("position", true)); // L-021

    std::vector<bool> locations(attribute::kLocations);
    for (const Varying& v : interface_.outputs)
        if (v.location < locations.size())
            locations[v.location] = true;
    uint32_t clip = 0;
    for (const auto& [offset, slot] : outputs_) {
        if (attribute::is_varying(offset))
            locations[attribute::location_of(offset)] = true;
        if (offset >= attribute::kClipDistance && offset < attribute::kClipDistanceEnd)
            clip = (offset - attribute::kClipDistance) / 4 + 1;
    }
    for (uint32_t i = 0; i < locations.size(); ++i)
        if (locations[i]) {
            const uint32_t at = attribute::address_of(i);
            const std::string link = fmt::format("locn{}", i);
            add(vector({word(at), word(at + 4), word(at + 8), word(at + 12)}),
                air_.vertex_output_node(link, "float4", link));
        }
    const bool layered = outputs_.count(attribute::kLayer);
    if (outputs_.count(attribute::kPointSize) && !layered) // L-031
        add(as_float(ir_.CreateLoad(ir_.getInt32Ty(), outputs_[attribute::kPointSize])),
            air_.output_node("point_size", "float", "point_size"));
    if (clip) {
        llvm::Value* distances = llvm::UndefValue::get(llvm::ArrayType::get(ir_.getFloatTy(), clip));
        for (uint32_t i = 0; i < clip; ++i)
            distances = ir_.CreateInsertValue(
                distances,
                as_float(ir_.CreateLoad(ir_.getInt32Ty(), output(attribute::kClipDistance + 4 * i, 0))), i);
        add(distances, air_.clip_distance_node(clip, "clip_distance"));
    }
    if (layered)
        add(ir_.CreateLoad(ir_.getInt32Ty(), outputs_[attribute::kLayer]),
            air_.output_node("render_target_array_index", "uint", "layer"));
    if (outputs_.count(attribute::kViewport))
        add(ir_.CreateLoad(ir_.getInt32Ty(), outputs_[attribute::kViewport]),
            air_.output_node("viewport_array_index", "uint", "viewport"));
    if (values.size() == 1)
        return values[0];
    llvm::Value* result = llvm::UndefValue::get(llvm::StructType::get(module_->getContext(), types, true));
    for (unsigned i = 0; i < values.size(); ++i)
        result = ir_.CreateInsertValue(result, values[i], i);
    return result;
}

// Builds the return value, makes the function with its final type and moves the body there; then the
// metadata.
void AirLowering::finish_entry() {
    llvm::LLVMContext& context = module_->getContext();
    const Stage stage = shader_.interface.stage;

    // One exit block, so that outputs are assembled once.
    llvm::SmallVector<llvm::ReturnInst*, 4> returns;
    for (llvm::BasicBlock& block : *main_)
        if (auto* r = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
            returns.push_back(r);
    auto* exit = llvm::BasicBlock::Create(context, "exit", main_);
    for (llvm::ReturnInst* r : returns) {
        llvm::BranchInst::Create(exit, r);
        r->eraseFromParent();
    }
    ir_.SetInsertPoint(exit);

    llvm::SmallVector<llvm::Metadata*, 16> outputs, parameter_nodes, extras;
    llvm::SmallVector<llvm::Type*, 16> types;
    llvm::Value* result = nullptr;
    if (stage == Stage::vertex) {
        result = vertex_result(outputs, types);
    } else if (stage == Stage::fragment) {
        Values values;
        // Targets in order; one that only the code names counts as float.
        std::map<uint32_t, Numeric> targets;
        for (const auto& [key, slot] : outputs_)
            if (key < kFragmentDepthKey)
                targets[key / 16] = Numeric::real;
        for (const FragmentOutput& colour : interface_.colours)
            if (targets.count(colour.target) || colour.components)
                targets[colour.target] = colour.numeric;
        for (const auto& [target, numeric] : targets) {
            Values words;
            for (uint32_t c = 0; c < 4; ++c) {
                llvm::Value* v = ir_.CreateLoad(ir_.getInt32Ty(), output(target * 16 + c * 4, 0));
                words.push_back(numeric == Numeric::real ? as_float(v) : v);
            }
            values.push_back(vector(words));
            static constexpr const char* names[] = {"float4", "int4", "uint4"};
            outputs.push_back(air_.render_target_node(target, names[static_cast<unsigned>(numeric)],
                                                      fmt::format("color{}", target)));
        }
        if (outputs_.count(kFragmentDepthKey)) {
            values.push_back(as_float(ir_.CreateLoad(ir_.getInt32Ty(), outputs_[kFragmentDepthKey])));
            outputs.push_back(air_.depth_node("depth"));
        }
        if (outputs_.count(kFragmentMaskKey)) {
            values.push_back(ir_.CreateLoad(ir_.getInt32Ty(), outputs_[kFragmentMaskKey]));
            outputs.push_back(air_.output_node("sample_mask", "uint", "sample_mask"));
        }
        if (values.size() == 1) {
            result = values[0];
        } else if (values.size() > 1) {
            for (llvm::Value* v : values)
                types.push_back(v->getType());
            result = llvm::UndefValue::get(llvm::StructType::get(context, types, true));
            for (unsigned i = 0; i < values.size(); ++i)
                result = ir_.CreateInsertValue(result, values[i], i);
        }
        if (interface_.early_tests && !outputs_.count(kFragmentDepthKey)) // L-012
            extras.push_back(air_.early_tests_extra());
    }
    if (result)
        ir_.CreateRet(result);
    else
        ir_.CreateRetVoid();

    // Parameters in their final order: argument buffer, stage inputs by location, builtins.
    llvm::SmallVector<llvm::Type*, 16> params;
    llvm::SmallVector<llvm::Argument*, 16> sources;
    const auto parameter = [&](llvm::Argument* a) {
        params.push_back(a->getType());
        sources.push_back(a);
        return static_cast<unsigned>(params.size() - 1);
    };
    if (args_) {
        const unsigned i = parameter(args_.get());
        uint32_t bytes = 0;
        for (const auto& m : members_)
            bytes = std::max(bytes, (m.id + m.count) * kMetalArgumentBytes);
        parameter_nodes.push_back(air_.argument_buffer_node(i, kMetalArgumentSlot, members_, bytes));
    }
    for (const auto& [location, a] : stage_inputs_) {
        const unsigned i = parameter(a.get());
        if (stage == Stage::vertex) {
            Numeric numeric = Numeric::real;
            for (const Varying& v : interface_.inputs)
                if (v.location == location)
                    numeric = v.numeric;
            static constexpr const char* names[] = {"float4", "int4", "uint4"};
            parameter_nodes.push_back(air_.vertex_input_node(
                i, location, names[static_cast<unsigned>(numeric)], fmt::format("attr{}", location), true));
        } else {
            Varying v;
            v.interpolation = 2;
            for (const Varying& w : interface_.inputs)
                if (w.location == location)
                    v = w;
            const std::string link = fmt::format("locn{}", location);
            parameter_nodes.push_back(air_.fragment_input_node(
                i, link, v.interpolation, v.centroid, v.per_sample, pulled_[location], "float4", link));
        }
    }
    for (size_t k = 0; k < inputs_.size(); ++k)
        if (inputs_[k]) {
            const unsigned i = parameter(inputs_[k].get());
            parameter_nodes.push_back(
                static_cast<AirInput>(k) == AirInput::position
                    ? air_.position_input_node(i, "position")
                    : air_.input_node(i, kInputs[k].kind, kInputs[k].type, kInputs[k].kind));
        }

    auto* type = llvm::FunctionType::get(result ? result->getType() : ir_.getVoidTy(), params, false);
    const std::string name = kEntryMain;
    if (llvm::Function* clash = module_->getFunction(name); clash && clash != main_)
        clash->setName(name + ".guest");
    main_->setName("");
    auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_.get());
    entry->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Local);
    entry->addFnAttr(llvm::Attribute::NoUnwind);
    entry->addFnAttr("frame-pointer", "all");
    entry->addFnAttr("min-legal-vector-width", "0");
    entry->addFnAttr("no-trapping-math", "true");
    entry->getBasicBlockList().splice(entry->begin(), main_->getBasicBlockList());
    for (unsigned i = 0; i < sources.size(); ++i)
        sources[i]->replaceAllUsesWith(entry->getArg(i));
    if (args_)
        entry->addParamAttr(0, llvm::Attribute::NoCapture);
    main_->eraseFromParent();
    main_ = entry;

    if (stage == Stage::compute) {
        const auto& size = interface_.local_size;
        const uint64_t threads = uint64_t{size[0]} * size[1] * size[2];
        extras.push_back(
            air_.max_work_group_size_extra(entry, static_cast<uint32_t>(std::min<uint64_t>(threads, 1024))));
    }
    air_.add_entry(stage == Stage::vertex     ? "vertex"
                   : stage == Stage::fragment ? "fragment"
                                              : "kernel",
                   entry, outputs, parameter_nodes, extras);
}

Result<AirFunction> AirLowering::run(bool want_text) {
    const Stage stage = shader_.interface.stage;
    if (stage != Stage::vertex && stage != Stage::fragment && stage != Stage::compute)
        return Error{fmt::format("AIR for a {} stage is not implemented", stage_name(stage))};
    if (!main_ || main_->empty())
        return Error{"the module has no main function"};
    if (stage == Stage::compute) {
        const auto& size = interface_.local_size;
        if (uint64_t{size[0]} * size[1] * size[2] > 1024)
            return Error{
                fmt::format("workgroup of {}x{}x{} threads, Metal allows 1024", size[0], size[1], size[2])};
    }
    if (auto r = plan_arguments(); !r)
        return r.error();

    // A block of our own before the guest's entry: what is loaded once, and private memory.
    llvm::BasicBlock* guest = &main_->getEntryBlock();
    auto* prologue = llvm::BasicBlock::Create(module_->getContext(), "prologue", main_, guest);
    prologue_end_ = llvm::BranchInst::Create(guest, prologue);

    std::vector<std::pair<llvm::CallInst*, Intrinsic>> calls;
    for (llvm::Function& f : *module_)
        for (llvm::BasicBlock& block : f)
            for (llvm::Instruction& inst : block)
                if (const auto id = intrinsic_of(inst)) {
                    if (&f != main_)
                        return Error{"a dmsh.* call outside the main function"};
                    calls.emplace_back(llvm::cast<llvm::CallInst>(&inst), *id);
                }
    // Which inputs are read at another place than their own decides their parameter's type.
    if (stage == Stage::fragment)
        for (const auto& [call, id] : calls)
            if (id == Intrinsic::attr_interp) {
                const auto* offset = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
                const auto* where = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(1));
                if (!offset || !where ||
                    !attribute::is_varying(static_cast<uint32_t>(offset->getZExtValue())))
                    continue;
                const uint32_t location =
                    attribute::location_of(static_cast<uint32_t>(offset->getZExtValue()));
                for (const Varying& v : interface_.inputs)
                    if (v.location == location && v.interpolation != 1 && where->getZExtValue() == 1 &&
                        !v.centroid && !v.per_sample)
                        pulled_[location] = true;
            }
    for (const auto& [call, id] : calls) {
        lower(call, id);
        if (error_)
            return *error_;
    }
    for (llvm::Function& f : *module_)
        if (!f.isDeclaration())
            lower_llvm_intrinsics(f);
    if (error_)
        return *error_;
    finish_entry();
    if (error_)
        return *error_;

    // Output words become values again.
    llvm::SmallVector<llvm::AllocaInst*, 32> promotable;
    for (llvm::Instruction& inst : main_->getEntryBlock())
        if (auto* a = llvm::dyn_cast<llvm::AllocaInst>(&inst); a && llvm::isAllocaPromotable(a))
            promotable.push_back(a);
    llvm::DominatorTree dominators(*main_);
    llvm::PromoteMemToReg(promotable, dominators);

    fold(*main_);

    for (llvm::Function& f : llvm::make_early_inc_range(*module_)) {
        if (f.isDeclaration() && f.use_empty())
            f.eraseFromParent();
        else if (!f.isDeclaration() && &f != main_)
            f.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    // Addresses of guest instructions are for our messages only.
    for (llvm::BasicBlock& block : *main_)
        for (llvm::Instruction& inst : block)
            inst.setMetadata("dmsh.pc", nullptr);
    while (!module_->named_metadata_empty()) {
        auto it = module_->named_metadata_begin();
        while (it != module_->named_metadata_end() && it->getName().startswith("air."))
            ++it;
        if (it == module_->named_metadata_end())
            break;
        module_->eraseNamedMetadata(&*it);
    }
    air_.finish_module(kEntryMain);

    std::string complaint;
    llvm::raw_string_ostream complaints(complaint);
    if (llvm::verifyModule(*module_, &complaints))
        return Error{"internal error: the AIR module does not verify: " + complaints.str()};

    AirFunction f;
    f.name = kEntryMain;
    f.stage = stage;
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::WriteBitcodeToFile(*module_, stream);
    // The writer wraps modules of Darwin triples; the container's writer does that itself.
    constexpr size_t kWrapperBytes = 20;
    std::span<const uint8_t> raw(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (raw.size() > kWrapperBytes && raw[0] == 0xde && raw[1] == 0xc0 && raw[2] == 0x17 && raw[3] == 0x0b) {
        const uint32_t size = raw[12] | raw[13] << 8 | raw[14] << 16 | uint32_t{raw[15]} << 24;
        raw = raw.subspan(kWrapperBytes, size);
    }
    f.bitcode.assign(raw.begin(), raw.end());
    if (want_text) {
        llvm::raw_string_ostream text(f.text);
        module_->print(text, nullptr);
    }
    // Another module of this context must get the same name.
    if (args_type_)
        args_type_->setName("");
    if (stage == Stage::vertex)
        for (const auto& [location, a] : stage_inputs_) {
            uint8_t type = kTypeFloat4;
            for (const Varying& v : interface_.inputs)
                if (v.location == location)
                    type = v.numeric == Numeric::real   ? kTypeFloat4
                           : v.numeric == Numeric::sint ? kTypeInt4
                                                        : kTypeUint4;
            f.attributes.push_back(
                {fmt::format("attr{}", location), static_cast<uint8_t>(location), type, true});
        }
    return f;
}

Result<AirFunction> emit_air(const ShaderModule& shader, Target target, bool want_text) {
    const AirVersion* version = air_version(target);
    if (!version)
        return Error{"AIR needs a Metal target"};
    if (!shader.module || !shader.main)
        return Error{"no module to emit"};
    auto f = AirLowering(shader, *version, llvm::CloneModule(*shader.module)).run(want_text);
    if (!f && !f.error().code)
        f.error().code = static_cast<uint16_t>(LossCode::air);
    return f;
}

} // namespace dmsh
