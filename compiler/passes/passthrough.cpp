// Guarantees: a passthrough geometry shader (SPH word 0 bit 24) emits its input primitive itself: at each return every
// vertex leaves with position and the generic inputs of the header, and with what the shader wrote (L-041). Adjacent
// vertices are dropped, and the bounds follow the input primitive (L-042). Where the shader writes the viewport mask, a
// primitive whose bit 0 is clear is not emitted (L-043); other viewports are a loss.
// Needs: resolve_vertices. Keeps: memory accesses and their order.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include <llvm/Transforms/Utils/SSAUpdater.h>
#include <map>

namespace dmsh {
namespace {

constexpr uint32_t kPosition = 0x70, kGeneric = 0x80, kViewportMask = 0x3a0;
constexpr uint8_t kPoints = 1, kLineStrip = 6, kTriangleStrip = 7;

} // namespace

Result<void> emit_passthrough(ShaderModule& shader) {
    ShaderInterface& face = shader.interface;
    if (face.stage != Stage::geometry || !face.passthrough)
        return {};
    llvm::Module& module = *shader.module;
    llvm::Type* i32 = llvm::Type::getInt32Ty(*shader.context);
    const auto word = [&](uint32_t v) { return llvm::ConstantInt::get(i32, v); };

    // What the shader stores, as values that a return can take up.
    std::map<uint32_t, llvm::SmallVector<llvm::CallInst*, 2>> stores;
    for (const auto& [call, id] : collect_calls(*shader.main)) {
        if (id == Intrinsic::geom_emit || id == Intrinsic::geom_cut)
            return refuse(*call, LossCode::header, "a passthrough geometry shader emits vertices");
        if (id != Intrinsic::attr_store)
            continue;
        const auto at = constant_u32(call->getArgOperand(0));
        if (!at)
            return refuse(*call, LossCode::attribute, "a passthrough geometry shader stores at a run-time address");
        stores[*at].push_back(call);
    }
    std::map<uint32_t, std::unique_ptr<llvm::SSAUpdater>> written;
    for (auto& [at, calls] : stores) {
        auto values = std::make_unique<llvm::SSAUpdater>();
        values->Initialize(i32, "out");
        values->AddAvailableValue(&shader.main->getEntryBlock(), word(at == kViewportMask ? ~0u : 0u));
        for (llvm::CallInst* call : calls) // in program order: the last of a block stands
            values->AddAvailableValue(call->getParent(), call->getArgOperand(1));
        written[at] = std::move(values);
    }

    llvm::SmallVector<uint32_t, 3> vertices;
    switch (face.input_primitive) {
    case 1: vertices = {0}; break;
    case 2: vertices = {0, 1}; break;
    case 4: vertices = {1, 2}; break;
    case 6: vertices = {0, 2, 4}; break;
    default: vertices = {0, 1, 2}; break;
    }
    face.max_vertices = static_cast<uint32_t>(vertices.size());
    face.output_topology = vertices.size() == 1 ? kPoints : vertices.size() == 2 ? kLineStrip : kTriangleStrip;

    llvm::SmallVector<uint32_t, 64> passed;
    for (uint32_t a = kPosition; a < kGeneric; a += 4)
        passed.push_back(a);
    for (const Varying& v : face.inputs)
        for (uint32_t k = 0; k < 4; ++k)
            if (v.components >> k & 1)
                passed.push_back(kGeneric + 16 * v.location + 4 * k);

    llvm::Function* load = declare(module, Intrinsic::attr_load);
    llvm::Function* store = declare(module, Intrinsic::attr_store);
    llvm::Function* emit = declare(module, Intrinsic::geom_emit);
    llvm::SmallVector<llvm::ReturnInst*, 4> returns;
    for (llvm::BasicBlock& block : *shader.main)
        if (auto* r = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
            returns.push_back(r);
    for (llvm::ReturnInst* end : returns) {
        llvm::BasicBlock* last = end->getParent();
        std::map<uint32_t, llvm::Value*> values;
        for (auto& [at, updater] : written)
            values[at] = updater->GetValueAtEndOfBlock(last);
        llvm::IRBuilder<> b(end);
        if (const auto mask = values.find(kViewportMask); mask != values.end()) {
            auto* body = llvm::BasicBlock::Create(*shader.context, "", shader.main);
            auto* done = llvm::BasicBlock::Create(*shader.context, "", shader.main);
            b.CreateCondBr(b.CreateICmpNE(b.CreateAnd(mask->second, 1), word(0)), body, done);
            end->eraseFromParent();
            b.SetInsertPoint(done);
            b.CreateRetVoid();
            b.SetInsertPoint(body);
            values.erase(mask);
            last = body;
        }
        for (const uint32_t vertex : vertices) {
            for (const uint32_t a : passed)
                if (!values.count(a))
                    b.CreateCall(store, {word(a), b.CreateCall(load, {word(a), word(vertex)}), word(0)});
            for (const auto& [at, value] : values)
                b.CreateCall(store, {word(at), value, word(0)});
            b.CreateCall(emit, {word(0)});
        }
        if (!last->getTerminator())
            b.CreateRetVoid();
    }
    if (stores.count(kViewportMask))
        shader.losses.push_back({static_cast<uint16_t>(LossCode::viewport_mask), pc_of(*stores[kViewportMask][0]),
                                 "the viewport mask of a geometry shader: viewport 0 only"});
    for (auto& [at, calls] : stores)
        for (llvm::CallInst* call : calls)
            call->eraseFromParent();
    return {};
}

} // namespace dmsh
