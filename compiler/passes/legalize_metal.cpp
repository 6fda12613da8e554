// Guarantees: @main uses only what Metal has: no f64, no rounding modes, no shader clock, no 1D textures,
// one-lane subgroups in vertex functions, guarded image atomics, no memory writes by discarded fragments.
// Keeps: the meaning, bit for bit; refuses by name what has no Metal form.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/pipeline.h"
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <map>

namespace dmsh {
namespace {

class MetalPass {
  public:
    explicit MetalPass(ShaderModule& shader) : shader_(shader), b_(*shader.context) {}

    Result<void> run() {
        if (auto r = expand_rounding(shader_); !r)
            return r;
        if (auto r = expand_float_operations(shader_); !r)
            return r;
        if (auto r = expand_doubles(shader_); !r)
            return r;
        lift_1d_textures();
        const Stage stage = shader_.interface.stage;
        // Discarded fragments of Apple's GPUs go on writing memory; the guest's do not.
        const bool guard_writes =
            stage == Stage::fragment && shader_.interface.demotes && shader_.interface.writes_memory;
        if (guard_writes)
            demoted_ = demote_flag();
        for (const auto& [call, id] : collect_calls(*shader_.main)) {
            b_.SetInsertPoint(call);
            if (stage == Stage::vertex && one_lane(call, id))
                continue;
            switch (id) {
            case Intrinsic::clock:
                shader_.losses.push_back(
                    {static_cast<uint16_t>(LossCode::clock), pc_of(*call), "the shader clock reads as zero"});
                replace(call, b_.getInt32(0));
                break;
            case Intrinsic::ssbo_atomic_64:
            case Intrinsic::shared_atomic_64:
                return refuse(*call, LossCode::metal, "Metal has no 64-bit atomics of this kind");
            case Intrinsic::demote:
                if (demoted_)
                    b_.CreateStore(b_.getTrue(), demoted_);
                break;
            case Intrinsic::helper:
                if (demoted_)
                    or_demoted(call);
                break;
            case Intrinsic::bimg_atomic:
                if (auto r = guard_image_atomic(call); !r)
                    return r;
                break;
            case Intrinsic::ssbo_store_8:
            case Intrinsic::ssbo_store_16:
            case Intrinsic::ssbo_store_32:
            case Intrinsic::ssbo_atomic_32:
            case Intrinsic::bimg_store:
                if (demoted_)
                    guard(call, b_.CreateNot(b_.CreateLoad(b_.getInt1Ty(), demoted_)));
                break;
            default: break;
            }
        }
        return {};
    }

  private:
    void replace(llvm::CallInst* call, llvm::Value* v) {
        call->replaceAllUsesWith(v);
        call->eraseFromParent();
    }

    llvm::AllocaInst* demote_flag() {
        llvm::Instruction* first = &shader_.main->getEntryBlock().front();
        llvm::IRBuilder<> b(first);
        llvm::AllocaInst* flag = b.CreateAlloca(b.getInt1Ty(), nullptr, "demoted");
        b.CreateStore(b.getFalse(), flag);
        return flag;
    }

    void or_demoted(llvm::CallInst* call) {
        b_.SetInsertPoint(call->getNextNode());
        llvm::Value* flag = b_.CreateLoad(b_.getInt1Ty(), demoted_);
        auto* both = llvm::BinaryOperator::CreateOr(flag, flag, "", &*b_.GetInsertPoint());
        call->replaceAllUsesWith(both);
        both->setOperand(0, call);
    }

    // Runs the call only where `condition` holds; elsewhere its result is 0.
    void guard(llvm::CallInst* call, llvm::Value* condition) {
        llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(condition, call, false);
        llvm::BasicBlock* before = then->getParent()->getSinglePredecessor();
        llvm::Instruction* after = call->getNextNode();
        call->moveBefore(then);
        if (call->getType()->isVoidTy() || call->use_empty())
            return;
        auto* phi = llvm::PHINode::Create(call->getType(), 2, "guarded", after);
        call->replaceAllUsesWith(phi);
        phi->addIncoming(call, then->getParent());
        phi->addIncoming(llvm::Constant::getNullValue(call->getType()), before);
    }

    // An image atomic outside the bound image changes nothing and gives 0 (L-060).
    Result<void> guard_image_atomic(llvm::CallInst* call) {
        const auto index = constant_u32(call->getArgOperand(0));
        const auto packed = constant_u32(call->getArgOperand(2));
        if (!index || !packed || *index >= shader_.interface.bindings.size())
            return refuse(*call, LossCode::metal, "an image atomic without a constant binding");
        const Binding& image = shader_.interface.bindings[*index];
        llvm::Value* size =
            dmsh::call(b_, Intrinsic::bimg_size,
                       {call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2)});
        llvm::Value* inside = b_.getTrue();
        const auto check = [&](unsigned operand, uint64_t component) {
            inside = b_.CreateAnd(inside, b_.CreateICmpULT(call->getArgOperand(operand),
                                                           b_.CreateExtractElement(size, component)));
        };
        check(3, 0);
        if (image.dim == ImageDim::d2 || image.dim == ImageDim::d3)
            check(4, 1);
        if (image.dim == ImageDim::d3)
            check(5, 2);
        if (image.arrayed)
            check(6, 2);
        if (demoted_)
            inside = b_.CreateAnd(inside, b_.CreateNot(b_.CreateLoad(b_.getInt1Ty(), demoted_)));
        guard(call, inside);
        return {};
    }

    // Metal's 1D textures have no levels and fewer formats: they are bound as 2D textures of one row.
    // Coordinates get a y in its middle; sizes keep their meaning.
    void lift_1d_textures() {
        std::vector<Binding>& bindings = shader_.interface.bindings;
        std::map<uint32_t, bool> lifted;
        for (uint32_t i = 0; i < bindings.size(); ++i) {
            const BindingKind k = bindings[i].kind;
            const bool textural = k == BindingKind::texture || k == BindingKind::separate_texture ||
                                  k == BindingKind::texture_in_bank || k == BindingKind::texture_pool ||
                                  k == BindingKind::image || k == BindingKind::image_in_bank;
            if (textural && bindings[i].dim == ImageDim::d1) {
                bindings[i].dim = ImageDim::d2;
                lifted[i] = true;
            }
        }
        if (lifted.empty())
            return;
        for (const auto& [call, id] : collect_calls(*shader_.main)) {
            const bool texture = id >= Intrinsic::btex_sample && id <= Intrinsic::btex_lod;
            const bool image = id >= Intrinsic::bimg_load && id <= Intrinsic::bimg_size;
            if (!texture && !image)
                continue;
            if (!lifted.count(constant_u32(call->getArgOperand(0)).value_or(~0u)))
                continue;
            const unsigned desc_operand = texture ? 4 : 2;
            const uint32_t packed = constant_u32(call->getArgOperand(desc_operand)).value_or(0);
            const uint32_t widened = (packed & ~15u) | static_cast<uint32_t>(ImageDim::d2);
            call->setArgOperand(desc_operand, b_.getInt32(widened));
            llvm::Value* middle = llvm::ConstantFP::get(b_.getFloatTy(), 0.5);
            switch (id) {
            case Intrinsic::btex_sample:
            case Intrinsic::btex_grad:
            case Intrinsic::btex_gather:
            case Intrinsic::btex_lod: call->setArgOperand(6, middle); break;
            case Intrinsic::btex_fetch: call->setArgOperand(6, b_.getInt32(0)); break;
            case Intrinsic::bimg_load:
            case Intrinsic::bimg_store:
            case Intrinsic::bimg_atomic: call->setArgOperand(4, b_.getInt32(0)); break;
            default: break;
            }
        }
    }

    // Vertex functions have no SIMD operations: the subgroup is one lane (L-035). True if the call was
    // replaced.
    bool one_lane(llvm::CallInst* call, Intrinsic id) {
        const auto a = [&](unsigned i) { return call->getArgOperand(i); };
        switch (id) {
        case Intrinsic::vote_all:
        case Intrinsic::vote_any: replace(call, a(0)); return true;
        case Intrinsic::vote_eq: replace(call, b_.getTrue()); return true;
        case Intrinsic::ballot: replace(call, b_.CreateZExt(a(0), b_.getInt32Ty())); return true;
        case Intrinsic::shfl: replace(call, a(1)); return true;
        case Intrinsic::shfl_valid: {
            // In range exactly when the source is lane 0 itself.
            llvm::Value* step = b_.CreateAnd(a(1), 31);
            if (constant_u32(a(0)) == 0u) {
                llvm::Value* segment = b_.CreateAnd(b_.CreateLShr(a(2), 8), 31);
                step = b_.CreateAnd(step, b_.CreateNot(segment));
            }
            replace(call, b_.CreateICmpEQ(step, b_.getInt32(0)));
            return true;
        }
        case Intrinsic::fswzadd: { // lane 0 of the quad: bits 7..6
            llvm::Value* field = b_.CreateAnd(b_.CreateLShr(a(2), 6), 3);
            llvm::Value* left =
                b_.CreateSelect(b_.CreateICmpEQ(field, b_.getInt32(1)), b_.CreateFNeg(a(0)), a(0));
            llvm::Value* right =
                b_.CreateSelect(b_.CreateICmpEQ(field, b_.getInt32(2)), b_.CreateFNeg(a(1)), a(1));
            replace(call, b_.CreateSelect(b_.CreateICmpEQ(field, b_.getInt32(3)), a(1),
                                          b_.CreateFAdd(left, right)));
            return true;
        }
        case Intrinsic::ddx:
        case Intrinsic::ddy: replace(call, llvm::ConstantFP::get(b_.getFloatTy(), 0.0)); return true;
        case Intrinsic::special: {
            const auto r = static_cast<SpecialRegister>(constant_u32(a(0)).value_or(~0u));
            uint32_t v = 0;
            switch (r) {
            case SpecialRegister::laneid:
            case SpecialRegister::ltmask: v = 0; break;
            case SpecialRegister::eqmask:
            case SpecialRegister::lemask: v = 1; break;
            case SpecialRegister::gtmask: v = ~1u; break;
            case SpecialRegister::gemask: v = ~0u; break;
            default: return false;
            }
            replace(call, b_.getInt32(v));
            return true;
        }
        default: return false;
        }
    }

    ShaderModule& shader_;
    llvm::IRBuilder<> b_;
    llvm::AllocaInst* demoted_ = nullptr;
};

} // namespace

Result<void> legalize_metal(ShaderModule& shader) {
    return MetalPass(shader).run();
}

} // namespace dmsh
