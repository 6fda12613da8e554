// Guarantees: the vertex operand of attribute accesses is a constant wherever the arithmetic on the hardware's vertex
// handles comes to one; ShaderInterface::input_primitive of a geometry shader is set. Guest code makes a handle of
// vertex k as k + (vertices of the primitive) * (a scale that reads as 0 here, T-033).
// Keeps: blocks and branches. Linear in accesses.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Support/KnownBits.h>

namespace dmsh {
namespace {

constexpr uint32_t kVertexCountBits = 0xff0000; // of INVOCATION_INFO: the only bits that are not 0
constexpr uint32_t kMaxVertices = 6;            // triangles with adjacency

// The next count that a primitive can have.
uint8_t primitive_of(uint32_t vertices) {
    return static_cast<uint8_t>(vertices <= 4 ? std::max(vertices, 1u) : kMaxVertices);
}

} // namespace

Result<void> resolve_vertices(ShaderModule& shader) {
    const Stage stage = shader.interface.stage;
    if (stage != Stage::geometry && stage != Stage::tess_control && stage != Stage::tess_evaluation)
        return {};
    const auto calls = collect_calls(*shader.main);
    for (const auto& [call, id] : calls) {
        if (id != Intrinsic::special ||
            constant_u32(call->getArgOperand(0)) != static_cast<uint32_t>(SpecialRegister::invocation_info))
            continue;
        llvm::IRBuilder<> b(call->getNextNode());
        auto* masked = llvm::cast<llvm::Instruction>(b.CreateAnd(call, kVertexCountBits));
        call->replaceUsesWithIf(masked, [&](llvm::Use& use) { return use.getUser() != masked; });
    }
    const llvm::DataLayout& layout = shader.module->getDataLayout();
    uint32_t vertices = 0;
    for (const auto& [call, id] : calls) {
        const unsigned operand = id == Intrinsic::attr_store ? 2 : 1;
        if (id != Intrinsic::attr_load && id != Intrinsic::attr_load_out && id != Intrinsic::attr_store)
            continue;
        llvm::Value* vertex = call->getArgOperand(operand);
        const llvm::KnownBits known = llvm::computeKnownBits(vertex, layout);
        if (known.isConstant())
            call->setArgOperand(operand, llvm::ConstantInt::get(vertex->getType(), known.getConstant()));
        if (id == Intrinsic::attr_load)
            vertices = std::max(vertices, static_cast<uint32_t>(std::min<uint64_t>(
                                              known.isConstant() ? known.getConstant().getZExtValue() : 2,
                                              kMaxVertices - 1)) + 1);
    }
    ShaderInterface& face = shader.interface;
    if (stage == Stage::geometry && !face.input_primitive) {
        // A passthrough shader reads nothing of its primitive; what leaves it is what came in.
        constexpr uint8_t kPoints = 1, kLineStrip = 6;
        face.input_primitive = !face.passthrough                        ? primitive_of(vertices)
                               : face.output_topology == kPoints        ? 1
                               : face.output_topology == kLineStrip     ? 2
                                                                        : 3;
    }
    return {};
}

} // namespace dmsh
