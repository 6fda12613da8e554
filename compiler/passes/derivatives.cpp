// Guarantees: the exchange SHFL.BFLY 1 or 2 followed by FSWZADD of the same value, with the masks that
// subtract left from right or upper from lower, is ddx or ddy of that value (negated where the mask subtracts
// the other way). Mask: the field of quad lane q is bits 7-2q..6-2q: 0 a+b, 1 b-a, 2 a-b, 3 b (nvdisasm
// prints PP NP PN ZP, lane 0 first). Keeps: every other FSWZADD (textureGrad emulation) as it is.
#include "compiler/passes/pass_support.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

constexpr uint32_t kButterfly = 3;
constexpr uint32_t kQuadClamp = 0x1c03; // segment of four lanes, clamp 3

llvm::Value* strip_bitcast(llvm::Value* v) {
    while (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(v))
        v = cast->getOperand(0);
    return v;
}

// +1: neighbour minus own in the first lane of each pair (the derivative), -1: the other way round, 0:
// something else.
int direction(uint32_t mask, uint32_t distance, bool neighbour_first) {
    int sign = 0;
    for (uint32_t lane = 0; lane < 4; ++lane) {
        const uint32_t op = mask >> (6 - 2 * lane) & 3;
        if (op != 1 && op != 2)
            return 0;
        const bool neighbour_minus_own = (op == 2) == neighbour_first;
        const bool first = (lane & distance) == 0;
        const int s = neighbour_minus_own == first ? 1 : -1;
        if (sign && s != sign)
            return 0;
        sign = s;
    }
    return sign;
}

} // namespace

Result<void> make_derivatives(ShaderModule& shader) {
    llvm::Function* fswzadd = shader.module->getFunction(intrinsic_info(Intrinsic::fswzadd).name);
    if (!fswzadd || shader.interface.stage != Stage::fragment)
        return {};
    for (llvm::User* user : llvm::make_early_inc_range(fswzadd->users())) {
        auto* call = llvm::cast<llvm::CallInst>(user);
        const auto mask = constant_u32(call->getArgOperand(2));
        if (!mask)
            continue;
        for (unsigned k : {0u, 1u}) {
            auto* shuffle = llvm::dyn_cast<llvm::CallInst>(strip_bitcast(call->getArgOperand(k)));
            if (!shuffle || intrinsic_of(*shuffle) != Intrinsic::shfl ||
                constant_u32(shuffle->getArgOperand(0)) != kButterfly ||
                constant_u32(shuffle->getArgOperand(3)) != kQuadClamp ||
                strip_bitcast(shuffle->getArgOperand(1)) != strip_bitcast(call->getArgOperand(1 - k)))
                continue;
            const auto distance = constant_u32(shuffle->getArgOperand(2));
            if (distance != 1u && distance != 2u)
                continue;
            const int sign = direction(*mask, *distance, k == 0);
            if (!sign)
                continue;
            // The derivative stands where the FSWZADD stood: the same lanes are active there.
            llvm::IRBuilder<> b(call);
            llvm::Value* d =
                dmsh::call(b, *distance == 1 ? Intrinsic::ddx : Intrinsic::ddy, {call->getArgOperand(1 - k)});
            if (sign < 0)
                d = b.CreateFNeg(d);
            call->replaceAllUsesWith(d);
            call->eraseFromParent();
            break;
        }
    }
    return {};
}

} // namespace dmsh
