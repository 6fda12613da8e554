// The emitter's frame: blocks in the structurizer's order, phis as variables, values, entry points.
#include "compiler/emit/spirv/emitter.h"
#include "compiler/lift/losses.h"
#include "compiler/passes/pass_support.h"
#include "runtime/abi/entry_points.h"

namespace dmsh {
namespace {

// The same stage with the guest's depth range 0..1 (SpirvOptions::gl_depth).
constexpr const char* kEntryNearZero = "main0_z";

spv::ExecutionModel model_of(Stage s) {
    switch (s) {
    case Stage::vertex: return spv::ExecutionModelVertex;
    case Stage::fragment: return spv::ExecutionModelFragment;
    case Stage::geometry: return spv::ExecutionModelGeometry;
    case Stage::tess_control: return spv::ExecutionModelTessellationControl;
    case Stage::tess_evaluation: return spv::ExecutionModelTessellationEvaluation;
    case Stage::compute: return spv::ExecutionModelGLCompute;
    case Stage::task: return spv::ExecutionModelTaskEXT;
    case Stage::mesh: return spv::ExecutionModelMeshEXT;
    }
    return spv::ExecutionModelGLCompute;
}

} // namespace

SpirvEmitter::SpirvEmitter(const ShaderModule& shader, const SpirvOptions& options)
    : shader_(shader), face_(shader.interface), options_(options), stage_(shader.interface.stage),
      layout_(shader.module->getDataLayout()) {
    const size_t n = face_.bindings.size();
    uniforms_.resize(n);
    storage_.resize(n);
    storage64_.resize(n);
    samplers_.resize(n);
    body_.reserve(4096);
}

uint32_t SpirvEmitter::fail(std::string message) {
    if (!error_) {
        const uint32_t pc = at_ ? pc_of(*at_) : 0;
        error_ = Error{"SPIR-V: " + std::move(message) + (pc ? " at " + hex(pc) : "")};
        error_->code = static_cast<uint16_t>(LossCode::vulkan);
    }
    return uc(0);
}

Result<std::vector<uint32_t>> SpirvEmitter::run() {
    if (!shader_.main || shader_.main->empty())
        return Error{"SPIR-V: the shader has no code"};
    if (stage_ == Stage::task || stage_ == Stage::mesh) {
        Error e{"SPIR-V: stage " + std::string(stage_name(stage_)) + " is not implemented"};
        e.code = static_cast<uint16_t>(LossCode::stage);
        return e;
    }
    b_.capability(spv::CapabilityShader);
    const llvm::Function* wide =
        shader_.module->getFunction(intrinsic_info(Intrinsic::shared_atomic_64).name);
    wide_shared_ = wide && !wide->use_empty();
    uniform_load_ = shader_.module->getFunction(intrinsic_info(Intrinsic::ubo_load).name);
    place_patch_barrier();
    auto program = plan();
    if (!program) {
        program.error().code = static_cast<uint16_t>(LossCode::vulkan);
        return program.error();
    }
    emit_flow(*program);
    if (error_)
        return *error_;
    entry_points();
    execution_modes();
    declare_late();
    decorate_exact();
    if (error_)
        return *error_;
    return b_.finish();
}

Result<FlowProgram> SpirvEmitter::plan() {
    FlowGraph graph;
    for (const llvm::BasicBlock& block : *shader_.main) {
        node_of_[&block] = static_cast<uint32_t>(blocks_.size());
        blocks_.push_back(&block);
    }
    graph.nodes.resize(blocks_.size());
    // Blocks by the guest address that they begin at: where SSY, PBK and PCNT say that lanes meet again.
    llvm::DenseMap<uint32_t, uint32_t> block_at;
    for (uint32_t i = 0; i < blocks_.size(); ++i)
        for (const llvm::Instruction& inst : *blocks_[i])
            if (const uint32_t pc = pc_of(inst)) {
                block_at.try_emplace(pc, i);
                break;
            }
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
        FlowGraph::Node& node = graph.nodes[i];
        const llvm::Instruction* t = blocks_[i]->getTerminator();
        node.weight = static_cast<uint32_t>(blocks_[i]->size());
        if (const llvm::MDNode* merge = t->getMetadata("dmsh.merge"))
            if (const auto* pc = llvm::mdconst::dyn_extract<llvm::ConstantInt>(merge->getOperand(0)))
                if (const auto it = block_at.find(static_cast<uint32_t>(pc->getZExtValue())); it != block_at.end())
                    node.merge_hint = it->second;
        node.trivial_exit = llvm::isa<llvm::ReturnInst>(t) && blocks_[i]->size() == 1;
        for (unsigned k = 0; k < t->getNumSuccessors(); ++k)
            node.succs.push_back(node_of_.lookup(t->getSuccessor(k)));
        for (const llvm::Instruction& inst : *blocks_[i])
            if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&inst); call && call->isConvergent()) {
                node.convergent = true;
                break;
            }
    }
    return structure(graph);
}

// Values that the structured program no longer keeps on one path from definition to use live in variables.
void SpirvEmitter::find_demoted(const FlowProgram& program) {
    const FlowDominance dominance(program, static_cast<uint32_t>(blocks_.size()));
    for (const llvm::BasicBlock* block : blocks_) {
        const uint32_t def = node_of_.lookup(block);
        for (const llvm::Instruction& inst : *block) {
            if (inst.getType()->isVoidTy())
                continue;
            for (const llvm::Use& use : inst.uses()) {
                const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
                const llvm::BasicBlock* at = user->getParent();
                if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(user))
                    at = phi->getIncomingBlock(use);
                if (at == block || dominance.dominates(def, node_of_.lookup(at)))
                    continue;
                if (inst.getType()->isStructTy()) {
                    fail("a pair of values crosses unstructured control flow");
                    return;
                }
                demoted_[&inst] = function_variable(type_of(inst.getType()));
                break;
            }
        }
    }
}

uint32_t SpirvEmitter::function_variable(uint32_t type) {
    const uint32_t id = b_.new_id();
    SpirvBuilder::put(variables_, spv::OpVariable,
                      {b_.pointer_type(spv::StorageClassFunction, type), id, spv::StorageClassFunction});
    return id;
}

uint32_t SpirvEmitter::condition_of(const llvm::Instruction& t) {
    if (const auto* br = llvm::dyn_cast<llvm::BranchInst>(&t))
        return value(br->getCondition());
    if (const auto* sw = llvm::dyn_cast<llvm::SwitchInst>(&t)) {
        // Successor 0 is the default.
        const uint32_t v = value(sw->getCondition());
        if (sw->getNumCases() != 1)
            return fail("a switch with an unexpected number of cases");
        const uint32_t c = value(sw->case_begin()->getCaseValue());
        const bool is_bool = sw->getCondition()->getType()->isIntegerTy(1);
        return op(is_bool ? spv::OpLogicalNotEqual : spv::OpINotEqual, boolean(), {v, c});
    }
    return fail("terminator " + std::string(t.getOpcodeName()) + " is not implemented");
}

// The block being written is a header: all of its construct and what follows the merge come after it.
void SpirvEmitter::open_construct(uint32_t merge) {
    outer_.push_back(current_);
    constructs_.emplace_back(merge, outer_.size());
}

// A label of a construct's parts, or its merge.
void SpirvEmitter::enter_label(uint32_t label) {
    for (size_t k = constructs_.size(); k-- > 0;)
        if (constructs_[k].first == label) {
            outer_.resize(constructs_[k].second);
            constructs_.resize(k);
            begin_block(label);
            return;
        }
    if (!constructs_.empty())
        outer_.resize(constructs_.back().second);
    begin_block(label);
}

// What every case of a choice among bindings computes from the offset is computed once, before it. Unread results go (drop_unread).
void SpirvEmitter::prepare_choice(const llvm::SwitchInst& sw) {
    const llvm::BasicBlock* first = sw.getSuccessor(0);
    for (const llvm::Instruction& inst : *first) {
        const auto id = intrinsic_of(inst);
        if (!id || (*id != Intrinsic::ubo_load && (*id < Intrinsic::ssbo_load_8 || *id > Intrinsic::ssbo_store_32)))
            continue;
        const llvm::Value* offset = inst.getOperand(1);
        const auto* from = llvm::dyn_cast<llvm::Instruction>(offset);
        if (!from || from->getParent() == first || (!values_.count(offset) && !demoted_.count(offset)))
            continue;
        if (*id == Intrinsic::ubo_load)
            uniform_row(offset, row_place(offset, layout_));
        else
            shifted(offset, 2);
    }
}

void SpirvEmitter::emit_flow(const FlowProgram& program) {
    if (program.merges_paths)
        find_demoted(program);
    for (uint32_t i = 0; i < program.selector_count; ++i)
        selectors_.push_back(function_variable(u32()));
    std::vector<uint32_t> labels(program.label_count);
    for (uint32_t& l : labels)
        l = b_.new_id();
    entry_ = b_.new_id();
    current_ = entry_;
    const auto merge = [&](uint32_t label) {
        open_construct(labels[label]);
        effect(spv::OpSelectionMerge, {labels[label], 0});
    };
    std::vector<bool> written(blocks_.size());
    counts_.selectors = program.selector_count;
    for (const FlowOp& o : program.ops) {
        if (error_)
            return;
        if (o.kind == FlowOp::code) {
            ++counts_.blocks;
            counts_.duplicated_blocks += written[o.node];
            written[o.node] = true;
        }
        if (o.reset != kNoNode)
            store(selectors_[o.reset], uc(0));
        switch (o.kind) {
        case FlowOp::code: emit_block(*blocks_[o.node]); break;
        case FlowOp::label: enter_label(labels[o.a]); break;
        case FlowOp::branch: effect(spv::OpBranch, {labels[o.a]}); break;
        case FlowOp::cond: {
            const uint32_t c = condition_of(*blocks_[o.node]->getTerminator());
            merge(o.merge);
            effect(spv::OpBranchConditional, {c, labels[o.a], labels[o.b]});
            break;
        }
        case FlowOp::multi: {
            const auto* sw = llvm::dyn_cast<llvm::SwitchInst>(blocks_[o.node]->getTerminator());
            if (!sw) {
                fail("terminator with several successors is not a switch");
                return;
            }
            prepare_choice(*sw);
            const bool wide = sw->getCondition()->getType()->getIntegerBitWidth() > 32;
            llvm::SmallVector<uint32_t, 64> words{value(sw->getCondition()),
                                                  labels[program.targets[o.first]]};
            for (const auto& c : sw->cases()) {
                const uint64_t literal = c.getCaseValue()->getZExtValue();
                words.push_back(static_cast<uint32_t>(literal));
                if (wide)
                    words.push_back(static_cast<uint32_t>(literal >> 32));
                words.push_back(labels[program.targets[o.first + c.getSuccessorIndex()]]);
            }
            merge(o.merge);
            effect(spv::OpSwitch, words);
            break;
        }
        case FlowOp::dispatch: {
            llvm::SmallVector<uint32_t, 16> words{load(u32(), selectors_[o.a]),
                                                  labels[program.targets[o.first]]};
            for (uint32_t i = 1; i < o.count; ++i) {
                words.push_back(i);
                words.push_back(labels[program.targets[o.first + i]]);
            }
            merge(o.merge);
            effect(spv::OpSwitch, words);
            break;
        }
        case FlowOp::block:
            merge(o.merge);
            effect(spv::OpSwitch, {uc(0), labels[o.a]});
            begin_block(labels[o.a]);
            break;
        case FlowOp::loop:
            effect(spv::OpBranch, {labels[o.a]});
            open_construct(labels[o.merge]);
            begin_block(labels[o.a]);
            effect(spv::OpLoopMerge, {labels[o.merge], labels[o.b], 0});
            effect(spv::OpBranch, {labels[o.c]});
            begin_block(labels[o.c]);
            break;
        case FlowOp::leave:
            if (llvm::isa<llvm::UnreachableInst>(blocks_[o.node]->getTerminator()))
                effect(spv::OpUnreachable, {});
            else
                effect(spv::OpReturn, {});
            break;
        case FlowOp::unreachable: effect(spv::OpUnreachable, {}); break;
        case FlowOp::set: store(selectors_[o.a], uc(o.b)); break;
        case FlowOp::test: {
            const uint32_t c = op(spv::OpIEqual, boolean(), {load(u32(), selectors_[o.a]), uc(o.b)});
            merge(o.merge);
            effect(spv::OpBranchConditional, {c, labels[o.c], labels[o.merge]});
            begin_block(labels[o.c]);
            break;
        }
        }
    }
    drop_unread();
    const uint32_t function = b_.new_id();
    const uint32_t type = b_.global(spv::OpTypeFunction, 0, {b_.void_type()});
    SpirvBuilder::put(b_.functions, spv::OpFunction, {b_.void_type(), function, 0, type});
    SpirvBuilder::put(b_.functions, spv::OpLabel, {entry_});
    b_.functions.insert(b_.functions.end(), variables_.begin(), variables_.end());
    b_.functions.insert(b_.functions.end(), prologue_.begin(), prologue_.end());
    b_.functions.insert(b_.functions.end(), body_.begin(), body_.end());
    SpirvBuilder::put(b_.functions, spv::OpFunctionEnd, {});
    b_.entry_points.push_back({model_of(stage_), function, kEntryMain});
}

// Where the device has no -1..1 depth range, main0 converts z behind the body and main0_z leaves it.
void SpirvEmitter::entry_points() {
    if (options_.gl_depth || !position_ || stage_ == Stage::geometry || stage_ == Stage::tess_control)
        return;
    const uint32_t body = b_.entry_points[0].function;
    b_.entry_points[0].name = kEntryNearZero;
    const uint32_t function = b_.new_id();
    const uint32_t type = b_.global(spv::OpTypeFunction, 0, {b_.void_type()});
    body_.clear();
    effect(spv::OpFunction, {b_.void_type(), function, 0, type});
    begin_block(b_.new_id());
    // An entry point may not be called: the body moves to a function of its own and both entries call it.
    const uint32_t near_zero = b_.new_id();
    op(spv::OpFunctionCall, b_.void_type(), {body});
    finish_position();
    effect(spv::OpReturn, {});
    effect(spv::OpFunctionEnd, {});
    effect(spv::OpFunction, {b_.void_type(), near_zero, 0, type});
    begin_block(b_.new_id());
    op(spv::OpFunctionCall, b_.void_type(), {body});
    effect(spv::OpReturn, {});
    effect(spv::OpFunctionEnd, {});
    b_.functions.insert(b_.functions.end(), body_.begin(), body_.end());
    b_.entry_points[0].function = near_zero;
    b_.entry_points.push_back({model_of(stage_), function, kEntryMain});
}

void SpirvEmitter::execution_modes() {
    for (const auto& e : b_.entry_points) {
        const auto mode = [&](spv::ExecutionMode m, std::initializer_list<uint32_t> more = {}) {
            llvm::SmallVector<uint32_t, 5> words{e.function, static_cast<uint32_t>(m)};
            words.append(more.begin(), more.end());
            SpirvBuilder::put(b_.execution_modes, spv::OpExecutionMode, words);
        };
        switch (stage_) {
        case Stage::fragment:
            mode(spv::ExecutionModeOriginUpperLeft);
            if (writes_depth_)
                mode(spv::ExecutionModeDepthReplacing);
            else if (face_.early_tests)
                mode(spv::ExecutionModeEarlyFragmentTests); // L-012
            break;
        case Stage::compute:
            mode(spv::ExecutionModeLocalSize,
                 {face_.local_size[0], face_.local_size[1], face_.local_size[2]});
            break;
        case Stage::geometry: {
            constexpr spv::ExecutionMode kInputs[] = {
                spv::ExecutionModeInputPoints, spv::ExecutionModeInputLines,
                spv::ExecutionModeInputLinesAdjacency, spv::ExecutionModeTriangles,
                spv::ExecutionModeInputTrianglesAdjacency};
            const uint32_t n = std::max<uint32_t>(face_.input_primitive, 1);
            vertex_count();
            mode(kInputs[n == 1 ? 0 : n == 2 ? 1 : n == 4 ? 2 : n == 3 ? 3 : 4]);
            mode(face_.output_topology == 1   ? spv::ExecutionModeOutputPoints
                 : face_.output_topology == 6 ? spv::ExecutionModeOutputLineStrip
                                              : spv::ExecutionModeOutputTriangleStrip);
            mode(spv::ExecutionModeOutputVertices, {std::max(face_.max_vertices, 1u)});
            mode(spv::ExecutionModeInvocations, {std::max(face_.invocations, 1u)});
            b_.capability(spv::CapabilityGeometry);
            break;
        }
        case Stage::tess_control:
            mode(spv::ExecutionModeOutputVertices, {std::max(face_.invocations, 1u)});
            b_.capability(spv::CapabilityTessellation);
            break;
        case Stage::tess_evaluation:
            // Not in the code: from the profile or the pair; a runtime that knows better rewrites these
            // (runtime/abi/stage_state.h).
            mode(face_.tess.domain == TessDomain::quads      ? spv::ExecutionModeQuads
                 : face_.tess.domain == TessDomain::isolines ? spv::ExecutionModeIsolines
                                                             : spv::ExecutionModeTriangles);
            mode(face_.tess.spacing == TessSpacing::fractional_odd    ? spv::ExecutionModeSpacingFractionalOdd
                 : face_.tess.spacing == TessSpacing::fractional_even ? spv::ExecutionModeSpacingFractionalEven
                                                                      : spv::ExecutionModeSpacingEqual);
            mode(face_.tess.clockwise ? spv::ExecutionModeVertexOrderCw : spv::ExecutionModeVertexOrderCcw);
            if (face_.tess.points)
                mode(spv::ExecutionModePointMode);
            b_.capability(spv::CapabilityTessellation);
            break;
        default: break;
        }
    }
}

// ---- blocks and instructions
// ----------------------------------------------------------------------------------------

void SpirvEmitter::emit_block(const llvm::BasicBlock& block) {
    find_rows(block);
    for (const llvm::Instruction& inst : block) {
        if (&inst == barrier_before_)
            patch_barrier();
        if (inst.isTerminator())
            break;
        at_ = &inst;
        emit_instruction(inst);
        if (error_)
            return;
        if (!demoted_.empty())
            if (const auto it = demoted_.find(&inst); it != demoted_.end())
                store(it->second, values_.lookup(&inst));
    }
    at_ = nullptr;
    flush_outputs();
    store_phis(block);
}

// A successor's phis take this block's values. Storing for every successor is safe: each way into a block
// stores anew.
void SpirvEmitter::store_phis(const llvm::BasicBlock& block) {
    const llvm::Instruction* t = block.getTerminator();
    for (unsigned k = 0; k < t->getNumSuccessors(); ++k) {
        const llvm::BasicBlock* next = t->getSuccessor(k);
        bool seen = false;
        for (unsigned j = 0; j < k; ++j)
            seen |= t->getSuccessor(j) == next;
        if (seen)
            continue;
        for (const llvm::PHINode& phi : next->phis()) {
            const llvm::Value* v = phi.getIncomingValueForBlock(&block);
            if (llvm::isa<llvm::UndefValue>(v))
                continue;
            uint32_t& variable = phi_variables_[&phi];
            if (!variable)
                variable = function_variable(type_of(phi.getType()));
            const uint32_t id = value(v);
            store(phi_variables_[&phi], id);
        }
    }
}

void SpirvEmitter::emit_instruction(const llvm::Instruction& inst) {
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&inst)) {
        const llvm::Function* callee = call->getCalledFunction();
        if (!callee) {
            fail("an indirect call");
            return;
        }
        auto [it, fresh] = callees_.try_emplace(callee, 0);
        if (fresh)
            if (const auto id = intrinsic_of(inst))
                it->second = static_cast<uint32_t>(*id) + 1;
        if (it->second) {
            const auto id = static_cast<Intrinsic>(it->second - 1);
            if (emit_memory(*call, id) || emit_io(*call, id) || emit_texture(*call, id) ||
                emit_lanes(*call, id) || emit_float_intrinsic(*call, id))
                return;
            fail("operation " + callee->getName().str() + " is not implemented");
            return;
        }
        if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) {
            emit_llvm_intrinsic(*intrinsic);
            return;
        }
        fail("a call of " + callee->getName().str());
        return;
    }
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&inst)) {
        uint32_t& variable = phi_variables_[phi];
        if (!variable)
            variable = function_variable(type_of(phi->getType()));
        define(phi, load(type_of(phi->getType()), variable));
    } else if (inst.getType()->isIntegerTy(64) && only_for_upper_products(inst)) {
        return;
    } else if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&inst)) {
        emit_binary(*binary);
    } else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&inst)) {
        emit_cast(*cast);
    } else if (const auto* cmp = llvm::dyn_cast<llvm::CmpInst>(&inst)) {
        emit_compare(*cmp);
    } else if (llvm::isa<llvm::SelectInst>(inst)) {
        define(&inst, select(type_of(inst.getType()), operand(inst, 0), operand(inst, 1), operand(inst, 2)));
    } else if (inst.getOpcode() == llvm::Instruction::FNeg) {
        define(&inst, op(spv::OpFNegate, type_of(inst.getType()), {operand(inst, 0)}));
    } else if (llvm::isa<llvm::FreezeInst>(inst)) {
        define(&inst, operand(inst, 0));
    } else {
        emit_vector(inst);
    }
}

// ---- values
// ---------------------------------------------------------------------------------------------------------

uint32_t SpirvEmitter::u64() {
    b_.capability(spv::CapabilityInt64);
    return b_.int_type(64);
}
uint32_t SpirvEmitter::f16() {
    b_.capability(spv::CapabilityFloat16);
    return b_.float_type(16);
}
uint32_t SpirvEmitter::f64() {
    b_.capability(spv::CapabilityFloat64);
    return b_.float_type(64);
}
uint32_t SpirvEmitter::fc(float v) {
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return b_.constant(f32(), bits);
}

// Integers of up to 32 bits are 32-bit words with zeros above their width: needs no 8- and 16-bit device
// features.
uint32_t SpirvEmitter::type_of(const llvm::Type* type) {
    if (const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
        const unsigned n = v->getNumElements();
        if (n < 2 || n > 4)
            return fail("a vector of " + std::to_string(n) + " elements");
        return vec(type_of(v->getElementType()), n);
    }
    if (type->isIntegerTy()) {
        const unsigned w = type->getIntegerBitWidth();
        if (w == 1)
            return boolean();
        if (w <= 32)
            return u32();
        if (w == 64)
            return u64();
        return fail("an integer of " + std::to_string(w) + " bits");
    }
    if (type->isFloatTy())
        return f32();
    if (type->isHalfTy())
        return f16();
    if (type->isDoubleTy())
        return f64();
    std::string text;
    llvm::raw_string_ostream(text) << *type;
    return fail("type " + text + " is not implemented");
}

std::optional<uint32_t> SpirvEmitter::literal(const llvm::Value* v) {
    if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v); c && c->getValue().getActiveBits() <= 32)
        return static_cast<uint32_t>(c->getZExtValue());
    if (llvm::isa<llvm::UndefValue>(v))
        return 0;
    return std::nullopt;
}

uint32_t SpirvEmitter::constant(const llvm::Constant* c) {
    const llvm::Type* type = c->getType();
    if (const auto* i = llvm::dyn_cast<llvm::ConstantInt>(c)) {
        const unsigned w = i->getBitWidth();
        if (w == 1)
            return b_.constant_bool(i->isOne());
        if (w <= 32)
            return uc(static_cast<uint32_t>(i->getZExtValue()));
        if (w == 64)
            return b_.constant64(u64(), i->getZExtValue());
        return fail("an integer of " + std::to_string(w) + " bits");
    }
    if (const auto* f = llvm::dyn_cast<llvm::ConstantFP>(c)) {
        const uint64_t bits = f->getValueAPF().bitcastToAPInt().getZExtValue();
        if (type->isDoubleTy())
            return b_.constant64(f64(), bits);
        if (type->isFloatTy() || type->isHalfTy())
            return b_.constant(type_of(type), static_cast<uint32_t>(bits));
    }
    if (const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
        llvm::SmallVector<uint32_t, 4> parts;
        for (unsigned k = 0; k < v->getNumElements(); ++k) {
            const llvm::Constant* e = c->getAggregateElement(k);
            parts.push_back(e ? constant(e) : fail("a vector constant without elements"));
        }
        return b_.global(spv::OpConstantComposite, type_of(type), parts);
    }
    // Undefined values are zeros: the same everywhere.
    if (llvm::isa<llvm::UndefValue>(c) && !type->isStructTy())
        return constant(llvm::Constant::getNullValue(const_cast<llvm::Type*>(type)));
    std::string text;
    llvm::raw_string_ostream(text) << *c;
    return fail("constant " + text + " is not implemented");
}

uint32_t SpirvEmitter::value(const llvm::Value* v) {
    if (const auto* c = llvm::dyn_cast<llvm::Constant>(v))
        return constant(c);
    if (!demoted_.empty())
        if (const auto it = demoted_.find(v); it != demoted_.end())
            return load(type_of(v->getType()), it->second);
    if (const auto it = values_.find(v); it != values_.end())
        return it->second;
    std::string text;
    llvm::raw_string_ostream(text) << *v;
    return fail("value used before its definition:" + text);
}

uint32_t SpirvEmitter::splat(uint32_t scalar, uint32_t scalar_type, uint32_t n) {
    if (n == 1)
        return scalar;
    llvm::SmallVector<uint32_t, 4> parts(n, scalar);
    return b_.global(spv::OpConstantComposite, vec(scalar_type, n), parts);
}

uint32_t SpirvEmitter::int_constant(const llvm::Type* like, uint64_t v) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
    const llvm::Type* scalar = vector ? vector->getElementType() : like;
    const uint32_t type = type_of(scalar);
    const uint32_t c =
        scalar->getIntegerBitWidth() == 64 ? b_.constant64(type, v) : uc(static_cast<uint32_t>(v));
    return splat(c, type, vector ? vector->getNumElements() : 1);
}

uint32_t SpirvEmitter::swap_loop(uint32_t type, uint32_t first, const std::function<uint32_t(uint32_t)>& next,
                                 const std::function<uint32_t(uint32_t, uint32_t)>& exchange) {
    const uint32_t before = current_;
    const uint32_t header = b_.new_id(), body = b_.new_id(), cont = b_.new_id(), merge = b_.new_id();
    const uint32_t got = b_.new_id();
    effect(spv::OpBranch, {header});
    begin_block(header);
    const uint32_t old = op(spv::OpPhi, type, {first, before, got, cont});
    effect(spv::OpLoopMerge, {merge, cont, 0});
    effect(spv::OpBranch, {body});
    begin_block(body);
    const uint32_t swapped = exchange(next(old), old);
    uint32_t done = op(spv::OpIEqual, boolean(), {swapped, old});
    // A helper invocation's atomics change nothing and return anything: it must not wait for a match.
    if (stage_ == Stage::fragment)
        done = op(spv::OpLogicalOr, boolean(),
                  {done, load(boolean(), builtin(spv::BuiltInHelperInvocation, boolean()))});
    effect(spv::OpBranchConditional, {done, merge, cont});
    begin_block(cont);
    SpirvBuilder::put(body_, spv::OpCopyObject, {type, got, swapped});
    effect(spv::OpBranch, {header});
    begin_block(merge);
    return swapped;
}

Result<std::vector<uint32_t>> emit_spirv(const ShaderModule& shader, const SpirvOptions& options,
                                         SpirvCounts* counts) {
    SpirvEmitter emitter(shader, options);
    auto words = emitter.run();
    if (counts)
        *counts = emitter.counts();
    return words;
}

} // namespace dmsh
