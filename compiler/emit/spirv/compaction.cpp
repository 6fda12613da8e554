// Keeps modules small while they are written: operations that a block has made before, operations on constants, round trips between
// integers and floats, and at the end results that nobody reads.
#include "compiler/emit/spirv/emitter.h"

namespace dmsh {
namespace {

// Operations that depend on their operands alone and whose operands are all ids or literals that take part in the comparison.
bool is_pure(uint32_t o) {
    return o == spv::OpAccessChain || (o >= spv::OpVectorExtractDynamic && o <= spv::OpCompositeInsert) ||
           (o >= spv::OpConvertFToU && o <= spv::OpBitcast) || (o >= spv::OpSNegate && o <= spv::OpUMulExtended) ||
           (o >= spv::OpAny && o <= spv::OpFUnordGreaterThanEqual) || (o >= spv::OpShiftRightLogical && o <= spv::OpBitCount);
}

// Whether an unread result takes the whole operation with it. GLSL.std.450 as we use it writes no memory.
bool is_removable(uint32_t o) {
    return is_pure(o) || o == spv::OpLoad || o == spv::OpExtInst;
}

constexpr uint32_t kHashSeed = 0x811c9dc5u, kHashFactor = 0x01000193u; // FNV-1a
constexpr size_t kChains = 1024;

} // namespace

const uint32_t* SpirvEmitter::definition(uint32_t id) const {
    return id < defs_.size() && defs_[id] ? &body_[defs_[id] - 1] : nullptr;
}

// Loads that no store of the shader can change; an image's handle counts within its block only.
bool SpirvEmitter::is_constant_load(uint32_t pointer) const {
    if (unchanging_.count(pointer))
        return true;
    const uint32_t* d = definition(pointer);
    if (!d || (d[0] & 0xffff) != spv::OpAccessChain)
        return false;
    const auto storage = b_.storage_class(d[1]);
    return storage == spv::StorageClassUniform || (storage == spv::StorageClassInput && !arrayed_inputs());
}

// The id that an operation on these operands equals, or 0.
uint32_t SpirvEmitter::folded(spv::Op o, uint32_t type, llvm::ArrayRef<uint32_t> operands) {
    const auto word = [&](unsigned k) { return b_.constant_word(operands[k], u32_); };
    switch (o) {
    case spv::OpBitcast:
        if (const uint32_t* d = definition(operands[0]); d && (d[0] & 0xffff) == spv::OpBitcast) {
            if (const uint32_t* from = definition(d[3]); from && from[1] == type)
                return d[3];
        } else if (const auto v = word(0); v && type == f32_) {
            return b_.constant(type, *v);
        }
        return 0;
    case spv::OpCompositeExtract: {
        const uint32_t* d = definition(operands[0]);
        if (!d || (d[0] & 0xffff) != spv::OpCompositeConstruct || operands.size() != 2 || operands[1] >= (d[0] >> 16) - 3)
            return 0;
        const uint32_t part = d[3 + operands[1]]; // a whole component where the vector has as many parts as components
        return (d[0] >> 16) - 3 == b_.component_count(d[1]) ? part : 0;
    }
    case spv::OpSelect:
        if (const auto c = b_.constant_truth(operands[0]))
            return operands[*c ? 1 : 2];
        return operands[1] == operands[2] ? operands[1] : 0;
    default: break;
    }
    if (type != u32_ || operands.size() < 1 || operands.size() > 3)
        return 0;
    const std::optional<uint32_t> a = word(0), b = word(operands.size() > 1 ? 1 : 0);
    switch (o) {
    case spv::OpNot: return a ? uc(~*a) : 0;
    case spv::OpBitwiseAnd:
        if (a && b)
            return uc(*a & *b);
        if (a.value_or(1) == 0 || b.value_or(1) == 0)
            return uc(0);
        return b.value_or(0) == ~0u ? operands[0] : a.value_or(0) == ~0u ? operands[1] : 0;
    case spv::OpBitwiseOr:
    case spv::OpBitwiseXor:
        if (a && b)
            return uc(o == spv::OpBitwiseOr ? *a | *b : *a ^ *b);
        return b.value_or(1) == 0 ? operands[0] : a.value_or(1) == 0 ? operands[1] : 0;
    case spv::OpIAdd:
        if (a && b)
            return uc(*a + *b);
        return b.value_or(1) == 0 ? operands[0] : a.value_or(1) == 0 ? operands[1] : 0;
    case spv::OpISub: return a && b ? uc(*a - *b) : b.value_or(1) == 0 ? operands[0] : 0;
    case spv::OpShiftLeftLogical:
    case spv::OpShiftRightLogical:
        if (b.value_or(1) == 0)
            return operands[0];
        return a && b && *b < 32 ? uc(o == spv::OpShiftLeftLogical ? *a << *b : *a >> *b) : 0;
    case spv::OpBitFieldUExtract: {
        const auto n = word(2);
        return a && b && n && *b < 32 && *n && *n < 32 && *b + *n <= 32 ? uc(*a >> *b & ((1u << *n) - 1)) : 0;
    }
    default: return 0;
    }
}

uint32_t SpirvEmitter::op(spv::Op o, uint32_t type, llvm::ArrayRef<uint32_t> operands) {
    const uint32_t head = static_cast<uint32_t>(operands.size() + 3) << 16 | o;
    const bool image_load = o == spv::OpLoad && handles_.count(operands[0]);
    if (!is_pure(o) && !image_load && !(o == spv::OpLoad && operands.size() == 1 && is_constant_load(operands[0])))
        return append(head, type, operands);
    if (const uint32_t same = folded(o, type, operands))
        return same;
    return once(head, type, operands, image_load);
}

uint32_t SpirvEmitter::ext(uint32_t type, GLSLstd450 inst, llvm::ArrayRef<uint32_t> operands) {
    llvm::SmallVector<uint32_t, 6> words{b_.glsl(), static_cast<uint32_t>(inst)};
    words.append(operands.begin(), operands.end());
    const uint32_t head = static_cast<uint32_t>(words.size() + 3) << 16 | spv::OpExtInst;
    const bool interpolates = inst >= GLSLstd450InterpolateAtCentroid && inst <= GLSLstd450InterpolateAtOffset;
    return interpolates ? append(head, type, words) : once(head, type, words, false);
}

// The id of the same operation made before in this block or, but for `here_only`, in one that comes before it on every way; else a new one.
uint32_t SpirvEmitter::once(uint32_t head, uint32_t type, llvm::ArrayRef<uint32_t> operands, bool here_only) {
    uint32_t h = kHashSeed;
    const auto mix = [&h](uint32_t w) { h = (h ^ w) * kHashFactor, h ^= h >> 13; };
    mix(head);
    mix(type);
    for (uint32_t w : operands)
        mix(w);
    if (chains_.empty())
        chains_.resize(kChains);
    uint32_t& chain = chains_[h % kChains];
    for (uint32_t n = chain; n; n = made_[n - 1].next) {
        const Made& m = made_[n - 1];
        if (m.hash != h || (m.block != current_ && (here_only || !llvm::is_contained(outer_, m.block))))
            continue;
        const uint32_t* d = &body_[m.at];
        if (d[0] == head && d[1] == type && std::equal(operands.begin(), operands.end(), d + 3))
            return d[2];
    }
    made_.push_back({h, current_, static_cast<uint32_t>(body_.size()), chain});
    chain = static_cast<uint32_t>(made_.size());
    return append(head, type, operands);
}

uint32_t SpirvEmitter::append(uint32_t head, uint32_t type, llvm::ArrayRef<uint32_t> operands) {
    const uint32_t id = b_.new_id();
    if (defs_.size() <= id)
        defs_.resize(std::max<size_t>(id + 1, defs_.size() * 2));
    defs_[id] = static_cast<uint32_t>(body_.size()) + 1;
    body_.push_back(head);
    body_.push_back(type);
    body_.push_back(id);
    body_.insert(body_.end(), operands.begin(), operands.end());
    return id;
}

// Removes from the body what nobody reads. Literals count as ids here: now and then something stays that could go.
void SpirvEmitter::drop_unread() {
    llvm::SmallVector<uint32_t, 0> starts;
    for (uint32_t i = 0; i < body_.size(); i += body_[i] >> 16)
        starts.push_back(i);
    const uint32_t bound = b_.bound();
    std::vector<bool> read(bound), gone(bound);
    SpirvWords kept(body_.size());
    size_t top = kept.size();
    for (size_t k = starts.size(); k-- > 0;) {
        const uint32_t* words = &body_[starts[k]];
        const uint32_t n = words[0] >> 16;
        const bool removable = is_removable(words[0] & 0xffff);
        if (removable && !read[words[2]]) {
            gone[words[2]] = true;
            continue;
        }
        for (uint32_t w = removable ? 3 : 1; w < n; ++w)
            if (words[w] < bound)
                read[words[w]] = true;
        top -= n;
        std::copy_n(words, n, kept.begin() + static_cast<long>(top));
    }
    kept.erase(kept.begin(), kept.begin() + static_cast<long>(top));
    body_ = std::move(kept);
    llvm::erase_if(exact_, [&](uint32_t id) { return gone[id]; });
    b_.drop_decorations(gone);
    defs_.clear();
    made_.clear();
    chains_.clear();
}

// One by one: OpGroupDecorate would be a third of the words, but it is deprecated, and Khronos' validation layer of 2023 crashes on it.
void SpirvEmitter::decorate_exact() {
    llvm::sort(exact_);
    exact_.erase(std::unique(exact_.begin(), exact_.end()), exact_.end());
    for (uint32_t id : exact_)
        b_.decorate(id, spv::DecorationNoContraction);
}

} // namespace dmsh
