// Guarantees: every raw texture and image operation has become a bound one, its handle traced
// (handle_values.h) to a slot, a separate pair, a word in a bank, an array with a run-time element, or a
// choice between them (B-020..B-031, B-040..B-053); the bindings are in the interface, one per slot and type.
// Sampled textures whose handle cannot be traced index the whole pools that the game has bound (B-048); other
// accesses that cannot be traced are refused with the reason; nothing is deleted silently (B-044). Size queries come
// last and take the type that other accesses show (B-026, B-027). Leaves: handle words read as plain data,
// which bind_constant_banks turns into reads of the handle bank.
#include "compiler/passes/handle_values.h"
#include "compiler/passes/passes.h"

namespace dmsh {
namespace {

constexpr uint32_t kUnboundedElements =
    32; // elements of an array in a uniform buffer that no code bounds (Limits table)

bool is_image_op(Intrinsic id) {
    return id == Intrinsic::img_load || id == Intrinsic::img_store || id == Intrinsic::img_atomic;
}
bool is_query(Intrinsic id) {
    return id == Intrinsic::tex_size || id == Intrinsic::tex_info;
}
bool is_texture_op(Intrinsic id) {
    switch (id) {
    case Intrinsic::tex_sample:
    case Intrinsic::tex_grad:
    case Intrinsic::tex_fetch:
    case Intrinsic::tex_gather:
    case Intrinsic::tex_size:
    case Intrinsic::tex_info:
    case Intrinsic::tex_lod: return true;
    default: return false;
    }
}
bool needs_sampler(Intrinsic id) {
    return is_texture_op(id) && !is_query(id) && id != Intrinsic::tex_fetch;
}

Intrinsic bound_form(Intrinsic id) {
    switch (id) {
    case Intrinsic::tex_sample: return Intrinsic::btex_sample;
    case Intrinsic::tex_grad: return Intrinsic::btex_grad;
    case Intrinsic::tex_fetch: return Intrinsic::btex_fetch;
    case Intrinsic::tex_gather: return Intrinsic::btex_gather;
    case Intrinsic::tex_size: return Intrinsic::btex_size;
    case Intrinsic::tex_info: return Intrinsic::btex_info;
    case Intrinsic::tex_lod: return Intrinsic::btex_lod;
    case Intrinsic::img_load: return Intrinsic::bimg_load;
    case Intrinsic::img_store: return Intrinsic::bimg_store;
    default: return Intrinsic::bimg_atomic;
    }
}

struct Access {
    uint32_t texture = 0;
    llvm::Value* texture_index = nullptr;
    int32_t sampler = -1;
    llvm::Value* sampler_index = nullptr;
};

class HandlePass {
  public:
    explicit HandlePass(ShaderModule& shader)
        : shader_(shader), abi_(*shader.input.abi), bindings_(shader.interface.bindings),
          tracer_(abi_, shader.module->getDataLayout()),
          zero_(llvm::ConstantInt::get(llvm::Type::getInt32Ty(*shader.context), 0)) {}

    Result<void> run();

  private:
    Result<void> rewrite(llvm::CallInst* call, Intrinsic id);
    Result<Access> bind(llvm::CallInst* call, Intrinsic id, const HandleSource& source);
    Result<Access> bind_image(llvm::CallInst* call, Intrinsic id, const HandleSource& source);
    Result<Binding> place(llvm::CallInst* call, const HandleSource& source, bool sampled);
    bool pool_serves(llvm::CallInst* call, Intrinsic id) const;
    Access bind_pools(llvm::CallInst* call, Intrinsic id);
    void show_shape(Binding& query, const ResourceFact* f) const;
    llvm::Value* value_of(llvm::IRBuilder<>& b, const HandleSource& source);
    llvm::Value* emit(llvm::IRBuilder<>& b, llvm::CallInst* call, Intrinsic id, const Access& access);
    const ResourceFact* fact(BindingKind kind, uint32_t slot) const;
    std::optional<uint32_t> image_slot_of_query(const HandleSource& source) const;
    llvm::Value* emit_image_size(llvm::IRBuilder<>& b, llvm::CallInst* call, uint32_t binding,
                                 llvm::Value* index);
    void clamp_to_edge(llvm::IRBuilder<>& b, llvm::MutableArrayRef<llvm::Value*> operands);

    ShaderModule& shader_;
    const GuestAbi& abi_;
    std::vector<Binding>& bindings_;
    HandleTracer tracer_;
    llvm::DenseMap<llvm::Value*, uint32_t> shapes_; // handle value -> pool binding of its first access
    llvm::Constant* zero_;
};

const ResourceFact* HandlePass::fact(BindingKind kind, uint32_t slot) const {
    for (const ResourceFact& f : shader_.input.facts)
        if (f.kind == kind && f.slot == slot)
            return &f;
    return nullptr;
}

// Which table or bank the texture's word lies in: kind, slot, count; the sampler half as or_* or left to the
// caller.
Result<Binding> HandlePass::place(llvm::CallInst* call, const HandleSource& source, bool sampled) {
    HandleWord texture = source.word;
    std::optional<HandleWord> other = source.other;
    // B-043: a word inside the separate sampler table is the sampler half, whichever side it stands on.
    const auto in_samplers = [&](const HandleWord& w) {
        return w.bank == abi_.handle_bank && abi_.separate_samplers.entry(w.offset).has_value();
    };
    if (other && in_samplers(texture) && !in_samplers(*other))
        std::swap(texture, *other);
    const auto elements = [&](const HandleWord& w, uint32_t to_end) {
        return w.index ? std::min(w.count, to_end) : 1u;
    };
    Binding b;
    b.bank = static_cast<uint8_t>(texture.bank);
    b.offset = texture.offset;
    if (texture.bank >= 32)
        return refuse(*call, LossCode::handle,
                      "a handle in constant bank " + std::to_string(texture.bank) + " is not implemented");
    if (texture.bank == abi_.handle_bank && abi_.textures.base != kNone) {
        if (!other && !source.constant) {
            if (const auto slot = abi_.textures.entry(texture.offset)) {
                b.kind = BindingKind::texture;
                b.slot = *slot;
                // Slots of the image table share their words with the last combined slots (B-026): arrays end
                // before them.
                uint32_t end = abi_.textures.count;
                if (const auto first_image =
                        abi_.images.base == kNone ? std::nullopt : abi_.textures.entry(abi_.images.base))
                    if (*slot < *first_image)
                        end = *first_image;
                b.count = elements(texture, end - *slot);
                return b;
            }
            if (const auto slot = abi_.separate_textures.entry(texture.offset)) {
                if (sampled)
                    return refuse(*call, LossCode::handle,
                                  "sampling separate texture " + std::to_string(*slot) +
                                      " without a sampler word");
                b.kind = BindingKind::separate_texture;
                b.slot = *slot;
                b.count = elements(texture, abi_.separate_textures.count - *slot);
                return b;
            }
            return refuse(*call, LossCode::handle,
                          "handle word c" + std::to_string(texture.bank) + "[" + hex(texture.offset) +
                              "] is in no table of the guest ABI");
        }
        const auto slot = abi_.separate_textures.entry(texture.offset);
        if (slot && other && !source.constant && in_samplers(*other)) {
            b.kind = BindingKind::separate_texture;
            b.slot = *slot;
            b.count = elements(texture, abi_.separate_textures.count - *slot);
            return b;
        }
    }
    // Words of uniform buffers, kernel parameters, pairs across tables, and words with a constant half: read at bind time (B-028, B-031,
    // B-041).
    b.kind = BindingKind::texture_in_bank;
    b.or_constant = source.constant;
    b.slot = texture.offset;
    b.count = elements(texture, kUnboundedElements);
    if (other) {
        if (other->index)
            return refuse(*call, LossCode::handle,
                          "a pair of handle words whose second word is chosen at run time");
        b.or_bank = static_cast<uint8_t>(other->bank);
        b.or_offset = other->offset;
    }
    return b;
}

// B-026: the image slot whose handle word a size query reads, when the word belongs to an image rather than
// to a texture.
std::optional<uint32_t> HandlePass::image_slot_of_query(const HandleSource& source) const {
    if (source.other || source.word.bank != abi_.handle_bank)
        return std::nullopt;
    const auto slot = abi_.images.entry(source.word.offset);
    if (!slot)
        return std::nullopt;
    if (const auto texture = abi_.textures.entry(source.word.offset))
        for (const Binding& b : bindings_)
            if (b.kind == BindingKind::texture && b.slot <= *texture && *texture < b.slot + b.count)
                return std::nullopt;
    return slot;
}

Result<Access> HandlePass::bind(llvm::CallInst* call, Intrinsic id, const HandleSource& source) {
    const bool sampled = needs_sampler(id);
    const TexDesc desc = TexDesc::unpack(*constant_u32(call->getArgOperand(1)));
    auto placed = place(call, source, sampled);
    if (!placed)
        return placed.error();
    Binding fresh = *placed;
    fresh.dim = desc.dim;
    fresh.arrayed = desc.arrayed;
    fresh.multisampled = desc.multisampled;
    fresh.depth = desc.depth;
    const ResourceFact* f = fact(fresh.kind, fresh.slot);
    fresh.numeric = f && !desc.depth ? f->numeric : Numeric::real;
    const auto same_place = [&](const Binding& b) {
        return b.kind == fresh.kind && b.slot == fresh.slot && b.bank == fresh.bank &&
               b.offset == fresh.offset && b.count == fresh.count && b.or_bank == fresh.or_bank &&
               b.or_offset == fresh.or_offset && b.or_constant == fresh.or_constant;
    };
    if (id == Intrinsic::tex_fetch && desc.dim == ImageDim::d1 && !desc.arrayed) {
        // One fetch instruction reads 1D textures and buffer textures; the texture's header decides. Facts
        // first; else a slot that is also sampled is 1D, and one that is only fetched at level zero is a
        // buffer.
        const bool sampled_too =
            llvm::any_of(bindings_, [&](const Binding& b) { return same_place(b) && b.sampled; });
        if (f && f->dim)
            fresh.dim = *f->dim == ImageDim::d1 ? ImageDim::d1 : ImageDim::buffer;
        else if (desc.lod == TexDesc::zero && desc.offset == TexDesc::no_offset && !sampled_too)
            fresh.dim = ImageDim::buffer;
    }
    if (is_query(id))
        show_shape(fresh, f);
    Access access;
    access.texture = find_or_add(bindings_, fresh, [&](const Binding& b) {
        return same_place(b) && b.dim == fresh.dim && b.arrayed == fresh.arrayed &&
               b.multisampled == fresh.multisampled && b.depth == fresh.depth && b.numeric == fresh.numeric;
    });
    access.texture_index =
        fresh.count > 1 ? (source.word.index ? source.word.index : source.other->index) : zero_;
    if (!sampled)
        return access;
    bindings_[access.texture].sampled = true;
    if (fresh.kind != BindingKind::separate_texture) {
        access.sampler = static_cast<int32_t>(access.texture);
        access.sampler_index = access.texture_index;
        return access;
    }
    const bool swapped = !abi_.separate_samplers.entry(source.other->offset);
    const HandleWord& word = swapped ? source.word : *source.other;
    const HandleWord& texture = swapped ? *source.other : source.word;
    access.texture_index = texture.index ? texture.index : zero_;
    Binding sampler;
    sampler.kind = BindingKind::separate_sampler;
    sampler.bank = static_cast<uint8_t>(word.bank);
    sampler.offset = word.offset;
    sampler.slot = *abi_.separate_samplers.entry(word.offset);
    sampler.count = word.index ? std::min(word.count, abi_.separate_samplers.count - sampler.slot) : 1;
    sampler.depth = desc.depth; // a sampler's compare mode is part of its descriptor: one binding serves both
    access.sampler = static_cast<int32_t>(find_or_add(bindings_, sampler, [&](const Binding& b) {
        return b.kind == sampler.kind && b.slot == sampler.slot && b.count == sampler.count;
    }));
    access.sampler_index = word.index ? word.index : zero_;
    return access;
}

// What a size query answers with. Evidence in order: facts, the one shape that other accesses of the slot have, else two-dimensional
// (B-027); accesses of different shapes prove nothing.
void HandlePass::show_shape(Binding& query, const ResourceFact* f) const {
    query.dim = ImageDim::d2;
    query.arrayed = query.multisampled = query.depth = false;
    if (f && f->dim) {
        query.dim = *f->dim;
        query.arrayed = f->arrayed;
    }
    const Binding* other = nullptr;
    for (const Binding& b : bindings_) {
        const bool slots = b.kind == BindingKind::texture || b.kind == BindingKind::separate_texture;
        const bool covers = slots ? b.slot <= query.slot && query.slot < b.slot + b.count
                                  : b.slot == query.slot && b.bank == query.bank && b.or_bank == query.or_bank &&
                                        b.or_offset == query.or_offset && b.or_constant == query.or_constant;
        if (b.kind != query.kind || !covers)
            continue;
        if (other && (b.dim != other->dim || b.arrayed != other->arrayed || b.multisampled != other->multisampled))
            return;
        other = &b;
    }
    if (!other || (f && f->dim && (*f->dim != other->dim || f->arrayed != other->arrayed)))
        return;
    query.dim = other->dim;
    query.arrayed = other->arrayed;
    query.multisampled = other->multisampled;
    query.depth = other->depth;
}

// B-048: textures read through any handle value. Not images, and not what may be a buffer texture: pools hold no buffers.
bool HandlePass::pool_serves(llvm::CallInst* call, Intrinsic id) const {
    if (abi_.textures.base == kNone || !is_texture_op(id))
        return false;
    const TexDesc desc = TexDesc::unpack(*constant_u32(call->getArgOperand(1)));
    return id != Intrinsic::tex_fetch || desc.dim != ImageDim::d1 || desc.arrayed;
}

Access HandlePass::bind_pools(llvm::CallInst* call, Intrinsic id) {
    const TexDesc desc = TexDesc::unpack(*constant_u32(call->getArgOperand(1)));
    Binding pool;
    pool.kind = BindingKind::texture_pool;
    pool.dim = desc.dim;
    pool.arrayed = desc.arrayed;
    pool.multisampled = desc.multisampled;
    pool.depth = desc.depth;
    if (is_query(id)) {
        // The shape of another access through the same value; with two of them the first, else two-dimensional.
        const auto known = shapes_.find(call->getArgOperand(0));
        if (known != shapes_.end()) {
            const Binding& other = bindings_[known->second];
            pool.dim = other.dim;
            pool.arrayed = other.arrayed;
            pool.multisampled = other.multisampled;
            pool.depth = other.depth;
        }
    }
    Access access;
    access.texture = find_or_add(bindings_, pool, [&](const Binding& b) {
        return b.kind == pool.kind && b.dim == pool.dim && b.arrayed == pool.arrayed &&
               b.multisampled == pool.multisampled && b.depth == pool.depth && b.numeric == pool.numeric;
    });
    llvm::IRBuilder<> b(call);
    llvm::Value* handle = call->getArgOperand(0);
    shapes_.try_emplace(handle, access.texture);
    access.texture_index = b.CreateAnd(handle, kHandleTextureMask);
    if (!needs_sampler(id))
        return access;
    bindings_[access.texture].sampled = true;
    Binding samplers;
    samplers.kind = BindingKind::sampler_pool;
    access.sampler = static_cast<int32_t>(
        find_or_add(bindings_, samplers, [](const Binding& o) { return o.kind == BindingKind::sampler_pool; }));
    access.sampler_index = b.CreateLShr(handle, kHandleSamplerShift);
    return access;
}

// The handle that a source gives at run time.
llvm::Value* HandlePass::value_of(llvm::IRBuilder<>& b, const HandleSource& source) {
    const auto word = [&](const HandleWord& w) {
        return dmsh::call(b, Intrinsic::cbuf_load, {b.getInt32(w.bank), b.getInt32(w.offset)});
    };
    llvm::Value* v = word(source.word);
    if (source.other)
        v = b.CreateOr(v, word(*source.other));
    return source.constant ? b.CreateOr(v, source.constant) : v;
}

Result<Access> HandlePass::bind_image(llvm::CallInst* call, Intrinsic id, const HandleSource& source) {
    const ImgDesc desc = ImgDesc::unpack(*constant_u32(call->getArgOperand(1)));
    if (source.other || source.constant)
        return refuse(*call, LossCode::handle, "an image handle made of two parts is not implemented");
    Binding fresh;
    fresh.bank = static_cast<uint8_t>(source.word.bank);
    fresh.offset = source.word.offset;
    if (const auto slot =
            source.word.bank == abi_.handle_bank ? abi_.images.entry(source.word.offset) : std::nullopt) {
        fresh.kind = BindingKind::image;
        fresh.slot = *slot;
        fresh.count = source.word.index ? std::min(source.word.count, abi_.images.count - *slot) : 1;
    } else if (source.word.bank == abi_.handle_bank && abi_.images.base != kNone) {
        return refuse(*call, LossCode::handle,
                      "image handle word c" + std::to_string(source.word.bank) + "[" +
                          hex(source.word.offset) + "] is not in the image table");
    } else {
        fresh.kind = BindingKind::image_in_bank;
        fresh.slot = source.word.offset;
        fresh.count = source.word.index ? std::min(source.word.count, kUnboundedElements) : 1;
    }
    fresh.dim = desc.dim;
    fresh.arrayed = desc.arrayed;
    fresh.access = desc.access;
    const ResourceFact* f = fact(fresh.kind, fresh.slot);
    fresh.numeric = desc.access == ImageAccess::formatted ? (f ? f->numeric : Numeric::real) : Numeric::uint;
    Access access;
    access.texture = find_or_add(bindings_, fresh, [&](const Binding& b) {
        return b.kind == fresh.kind && b.slot == fresh.slot && b.bank == fresh.bank &&
               b.offset == fresh.offset && b.count == fresh.count && b.dim == fresh.dim &&
               b.arrayed == fresh.arrayed && b.access == fresh.access && b.numeric == fresh.numeric;
    });
    bindings_[access.texture].written |= id != Intrinsic::img_load;
    bindings_[access.texture].atomic |= id == Intrinsic::img_atomic;
    access.texture_index = source.word.index ? source.word.index : zero_;
    return access;
}

llvm::Value* HandlePass::emit(llvm::IRBuilder<>& b, llvm::CallInst* call, Intrinsic id,
                              const Access& access) {
    const Binding& binding = bindings_[access.texture];
    llvm::SmallVector<llvm::Value*, 20> operands{b.getInt32(access.texture), access.texture_index};
    if (is_image_op(id)) {
        ImgDesc desc = ImgDesc::unpack(*constant_u32(call->getArgOperand(1)));
        desc.numeric = binding.numeric;
        operands.push_back(b.getInt32(desc.pack()));
    } else {
        operands.push_back(b.getInt32(static_cast<uint32_t>(access.sampler)));
        operands.push_back(access.sampler >= 0 ? access.sampler_index : zero_);
        TexDesc desc = TexDesc::unpack(*constant_u32(call->getArgOperand(1)));
        desc.numeric = binding.numeric;
        desc.dim = binding.dim;
        desc.arrayed = binding.arrayed;
        desc.multisampled = binding.multisampled;
        if (is_query(id))
            desc.depth = binding.depth;
        operands.push_back(b.getInt32(desc.pack()));
    }
    for (unsigned k = 2; k < call->arg_size(); ++k)
        operands.push_back(call->getArgOperand(k));
    if (is_image_op(id))
        clamp_to_edge(b, operands);
    llvm::CallInst* bound = dmsh::call(b, bound_form(id), operands);
    bound->setMetadata("dmsh.pc", call->getMetadata("dmsh.pc"));
    return bound;
}

// The bounds mode that takes the nearest texel becomes arithmetic on the coordinates; operands are those of
// the bound form.
void HandlePass::clamp_to_edge(llvm::IRBuilder<>& b, llvm::MutableArrayRef<llvm::Value*> operands) {
    ImgDesc desc = ImgDesc::unpack(*constant_u32(operands[2]));
    if (desc.bounds != ImgDesc::near)
        return;
    desc.bounds = ImgDesc::ignore;
    operands[2] = b.getInt32(desc.pack());
    llvm::Value* size = dmsh::call(b, Intrinsic::bimg_size, {operands[0], operands[1], operands[2]});
    const unsigned axes = desc.dim == ImageDim::d3 ? 3 : desc.dim == ImageDim::d2 ? 2 : 1;
    const auto clamp = [&](llvm::Value*& v, unsigned axis) {
        llvm::Value* last = b.CreateSub(b.CreateExtractElement(size, axis), b.getInt32(1));
        v = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, b.getInt32(0));
        v = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, last);
    };
    for (unsigned axis = 0; axis < axes; ++axis)
        clamp(operands[3 + axis], axis);
    if (desc.arrayed) // the layer is unsigned; the size has it where a third dimension would be
        clamp(operands[6], 2);
}

llvm::Value* HandlePass::emit_image_size(llvm::IRBuilder<>& b, llvm::CallInst* call, uint32_t binding,
                                         llvm::Value* index) {
    ImgDesc desc;
    desc.dim = bindings_[binding].dim;
    desc.arrayed = bindings_[binding].arrayed;
    desc.access = bindings_[binding].access;
    desc.numeric = bindings_[binding].numeric;
    llvm::CallInst* bound =
        dmsh::call(b, Intrinsic::bimg_size, {b.getInt32(binding), index, b.getInt32(desc.pack())});
    bound->setMetadata("dmsh.pc", call->getMetadata("dmsh.pc"));
    return bound;
}

Result<void> HandlePass::rewrite(llvm::CallInst* call, Intrinsic id) {
    const HandleVerdict verdict = tracer_.trace(call->getArgOperand(0));
    if (shader_.input.trace_handles)
        shader_.handle_trace.push_back(std::string(intrinsic_info(id).name) + " at " + hex(pc_of(*call)) +
                                       ": " + handle_text(verdict));
    if (verdict.sources.empty() && pool_serves(call, id)) {
        llvm::IRBuilder<> b(call);
        const Access access = bind_pools(call, id);
        call->replaceAllUsesWith(emit(b, call, id, access));
        call->eraseFromParent();
        return {};
    }
    if (verdict.sources.empty())
        return refuse(*call, LossCode::handle,
                      std::string("the handle of ") + intrinsic_info(id).name +
                          " cannot be traced: " + verdict.reason);
    if (verdict.by_value && intrinsic_info(id).cls == IntrinsicClass::effect)
        return refuse(*call, LossCode::handle,
                      std::string("the handle of ") + intrinsic_info(id).name +
                          " is one of several among other values, which only reads may have");

    if (id == Intrinsic::tex_size && verdict.sources.size() == 1)
        if (const auto slot = image_slot_of_query(verdict.sources[0])) {
            Binding fresh;
            fresh.kind = BindingKind::image;
            fresh.slot = *slot;
            fresh.bank = static_cast<uint8_t>(abi_.handle_bank);
            fresh.offset = verdict.sources[0].word.offset;
            fresh.count = verdict.sources[0].word.index
                              ? std::min(verdict.sources[0].word.count, abi_.images.count - *slot)
                              : 1;
            const ResourceFact* f = fact(BindingKind::image, *slot);
            if (f && f->dim) {
                fresh.dim = *f->dim;
                fresh.arrayed = f->arrayed;
            }
            fresh.numeric = f ? f->numeric : Numeric::real;
            const uint32_t binding = find_or_add(bindings_, fresh, [&](const Binding& b) {
                return b.kind == BindingKind::image && b.slot == fresh.slot && b.count == fresh.count &&
                       (!(f && f->dim) || (b.dim == fresh.dim && b.arrayed == fresh.arrayed));
            });
            llvm::IRBuilder<> b(call);
            llvm::Value* index = verdict.sources[0].word.index ? verdict.sources[0].word.index : zero_;
            call->replaceAllUsesWith(emit_image_size(b, call, binding, index));
            call->eraseFromParent();
            return {};
        }

    llvm::SmallVector<Access, 4> accesses;
    for (const HandleSource& source : verdict.sources) {
        auto access = is_image_op(id) ? bind_image(call, id, source) : bind(call, id, source);
        if (!access)
            return access.error();
        accesses.push_back(*access);
    }
    llvm::IRBuilder<> b(call);
    if (accesses.size() == 1) {
        llvm::Value* bound = emit(b, call, id, accesses[0]);
        if (!call->getType()->isVoidTy())
            call->replaceAllUsesWith(bound);
        call->eraseFromParent();
        return {};
    }
    const IntrinsicClass cls = intrinsic_info(id).cls;
    if (cls == IntrinsicClass::effect) {
        switch_over(call, verdict.selector, static_cast<unsigned>(accesses.size()),
                    [&](unsigned k, llvm::IRBuilder<>& in) { return emit(in, call, id, accesses[k]); });
        return {};
    }
    // Reads: read each and select, so that implicit derivatives stay where all lanes of the quad are.
    llvm::Value* value = emit(b, call, id, accesses.back());
    for (unsigned k = static_cast<unsigned>(accesses.size()) - 1; k-- > 0;) {
        llvm::Value* chosen = verdict.by_value
                                  ? b.CreateICmpEQ(call->getArgOperand(0), value_of(b, verdict.sources[k]))
                                  : b.CreateICmpEQ(verdict.selector, b.getInt32(k));
        value = b.CreateSelect(chosen, emit(b, call, id, accesses[k]), value);
    }
    call->replaceAllUsesWith(value);
    call->eraseFromParent();
    return {};
}

Result<void> HandlePass::run() {
    const auto calls = collect_calls(*shader_.main);
    // Later rounds take types from earlier ones.
    const auto round_of = [](Intrinsic id) { return is_query(id) ? 2 : id == Intrinsic::tex_fetch ? 1 : 0; };
    for (const int round : {0, 1, 2})
        for (const auto& [call, id] : calls)
            if ((is_texture_op(id) || is_image_op(id)) && round_of(id) == round)
                if (auto r = rewrite(call, id); !r)
                    return r;
    return {};
}

} // namespace

Result<void> trace_handles(ShaderModule& shader) {
    return HandlePass(shader).run();
}

} // namespace dmsh
