// The word builder: a hash table over the words of the global section finds what was declared before.
#include "compiler/emit/spirv/spirv_builder.h"
#include <algorithm>

namespace dmsh {
namespace {

// Version 1.5; generator 0 is "unregistered".
constexpr uint32_t kVersion = 0x00010500;

bool has_result_type(spv::Op op) {
    return op < spv::OpTypeVoid || op > spv::OpTypeForwardPointer;
}

} // namespace

SpirvBuilder::SpirvBuilder() {
    table_.resize(256);
    globals.reserve(1024);
    annotations.reserve(512);
    glsl_ = new_id();
}

void SpirvBuilder::put_string(SpirvWords& to, spv::Op op, llvm::ArrayRef<uint32_t> before,
                              std::string_view text, llvm::ArrayRef<uint32_t> after) {
    const size_t words = text.size() / 4 + 1;
    to.push_back(static_cast<uint32_t>(1 + before.size() + words + after.size()) << 16 | op);
    to.insert(to.end(), before.begin(), before.end());
    for (size_t i = 0; i < words; ++i) {
        uint32_t w = 0;
        for (size_t k = 0; k < 4 && 4 * i + k < text.size(); ++k)
            w |= uint32_t{static_cast<uint8_t>(text[4 * i + k])} << (8 * k);
        to.push_back(w);
    }
    to.insert(to.end(), after.begin(), after.end());
}

void SpirvBuilder::capability(spv::Capability c) {
    if (std::find(capabilities_.begin(), capabilities_.end(), c) == capabilities_.end())
        capabilities_.push_back(c);
}

void SpirvBuilder::extension(std::string_view name) {
    if (std::find(extensions_.begin(), extensions_.end(), name) == extensions_.end())
        extensions_.push_back(name);
}

void SpirvBuilder::grow() {
    std::vector<Slot> old(table_.size() * 2);
    old.swap(table_);
    for (const Slot& s : old) {
        if (!s.id)
            continue;
        uint32_t i = s.hash;
        while (table_[i & (table_.size() - 1)].id)
            ++i;
        table_[i & (table_.size() - 1)] = s;
    }
}

uint32_t SpirvBuilder::global(spv::Op op, uint32_t type, llvm::ArrayRef<uint32_t> operands) {
    uint32_t h = 0x811c9dc5u;
    const auto mix = [&h](uint32_t w) { h = (h ^ w) * 0x01000193u, h ^= h >> 13; };
    mix(op);
    mix(type);
    for (uint32_t w : operands)
        mix(w);
    const bool typed = has_result_type(op);
    const uint32_t head = static_cast<uint32_t>(operands.size() + 2 + typed) << 16 | op;
    uint32_t i = h;
    for (;; ++i) {
        const Slot& s = table_[i & (table_.size() - 1)];
        if (!s.id)
            break;
        if (s.hash != h || globals[s.offset] != head || (typed && globals[s.offset + 1] != type))
            continue;
        const uint32_t* at = &globals[s.offset] + 2 + typed;
        if (std::equal(operands.begin(), operands.end(), at))
            return s.id;
    }
    const uint32_t id = new_id();
    table_[i & (table_.size() - 1)] = {h, static_cast<uint32_t>(globals.size()), id};
    if (place_.size() <= id)
        place_.resize(id + 256);
    place_[id] = static_cast<uint32_t>(globals.size()) + 1;
    globals.push_back(head);
    if (typed)
        globals.push_back(type);
    globals.push_back(id);
    globals.insert(globals.end(), operands.begin(), operands.end());
    if (++used_ * 2 > table_.size())
        grow();
    return id;
}

void SpirvBuilder::decorate(uint32_t id, spv::Decoration d, llvm::ArrayRef<uint32_t> operands) {
    annotations.push_back(static_cast<uint32_t>(3 + operands.size()) << 16 | spv::OpDecorate);
    annotations.push_back(id);
    annotations.push_back(d);
    annotations.insert(annotations.end(), operands.begin(), operands.end());
}

void SpirvBuilder::decorate_member(uint32_t id, uint32_t member, spv::Decoration d,
                                   llvm::ArrayRef<uint32_t> operands) {
    annotations.push_back(static_cast<uint32_t>(4 + operands.size()) << 16 | spv::OpMemberDecorate);
    annotations.push_back(id);
    annotations.push_back(member);
    annotations.push_back(d);
    annotations.insert(annotations.end(), operands.begin(), operands.end());
}

void SpirvBuilder::drop_decorations(const std::vector<bool>& gone) {
    size_t to = 0;
    for (size_t from = 0, n; from < annotations.size(); from += n) {
        n = annotations[from] >> 16;
        if ((annotations[from] & 0xffff) == spv::OpDecorate && annotations[from + 1] < gone.size() && gone[annotations[from + 1]])
            continue;
        std::copy_n(annotations.begin() + static_cast<long>(from), n, annotations.begin() + static_cast<long>(to));
        to += n;
    }
    annotations.resize(to);
}

uint32_t SpirvBuilder::variable(spv::StorageClass storage, uint32_t type) {
    const uint32_t id = new_id();
    declare_variable(id, storage, type);
    return id;
}

void SpirvBuilder::declare_variable(uint32_t id, spv::StorageClass storage, uint32_t type) {
    put(globals, spv::OpVariable, {pointer_type(storage, type), id, static_cast<uint32_t>(storage)});
    interface_.push_back(id);
}

SpirvWords SpirvBuilder::finish() {
    SpirvWords out;
    out.reserve(64 + globals.size() + annotations.size() + functions.size() + execution_modes.size());
    out.insert(out.end(), {spv::MagicNumber, kVersion, 0u, bound_, 0u});
    std::sort(capabilities_.begin(), capabilities_.end());
    for (uint32_t c : capabilities_)
        put(out, spv::OpCapability, {c});
    std::sort(extensions_.begin(), extensions_.end());
    for (std::string_view e : extensions_)
        put_string(out, spv::OpExtension, {}, e);
    put_string(out, spv::OpExtInstImport, {glsl_}, "GLSL.std.450");
    put(out, spv::OpMemoryModel,
        {physical_addresses ? spv::AddressingModelPhysicalStorageBuffer64 : spv::AddressingModelLogical, spv::MemoryModelGLSL450});
    for (const EntryPoint& e : entry_points)
        put_string(out, spv::OpEntryPoint, {static_cast<uint32_t>(e.model), e.function}, e.name, interface_);
    for (const SpirvWords* s : {&execution_modes, &names, &annotations, &globals, &functions})
        out.insert(out.end(), s->begin(), s->end());
    return out;
}

} // namespace dmsh
