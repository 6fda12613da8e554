// Entry points as values: parameters and outputs out of AIR metadata.
#include "compiler/sim/air/program.h"
#include <fmt/format.h>

namespace dmsh::sim {

AirType air_type(llvm::Type* type, const llvm::DataLayout& layout) {
    AirType t;
    t.bytes = static_cast<uint32_t>(layout.getTypeAllocSize(type).getFixedSize());
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
        t.count = vector->getNumElements();
        type = vector->getElementType();
    } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
        t.count = static_cast<uint32_t>(array->getNumElements());
        type = array->getElementType();
    }
    if (type->isPointerTy()) {
        t.bits = 64;
    } else if (auto* integer = llvm::dyn_cast<llvm::IntegerType>(type); integer && integer->getBitWidth() <= 64) {
        t.bits = static_cast<uint8_t>(integer->getBitWidth());
    } else if (type->isHalfTy() || type->isFloatTy() || type->isDoubleTy()) {
        t.scalar = AirType::Scalar::real;
        t.bits = static_cast<uint8_t>(type->getScalarSizeInBits());
    } else if (type->isBFloatTy()) {
        t.scalar = AirType::Scalar::brain;
        t.bits = 16;
    } else {
        t.scalar = AirType::Scalar::aggregate;
    }
    return t;
}

namespace {

// "air.x" as "x".
std::string bare(std::string_view text) { return std::string(text.starts_with("air.") ? text.substr(4) : text); }

// Reads a node's operands from `first` on.
void read_parameter(const llvm::MDNode& node, unsigned first, AirParameter& p) {
    const auto next_int = [&](unsigned& i) { return static_cast<uint32_t>(md_int(md_operand(node, ++i)).value_or(0)); };
    for (unsigned i = first; i < node.getNumOperands(); ++i) {
        const auto word = md_string(node.getOperand(i).get());
        if (!word)
            continue;
        if (*word == "air.location_index") {
            p.location = next_int(i);
            p.count = next_int(i);
        } else if (*word == "air.address_space") {
            p.space = next_int(i);
        } else if (*word == "air.buffer_size") {
            p.bytes = next_int(i);
        } else if (*word == "air.arg_type_name") {
            p.type_name = md_string(md_operand(node, ++i)).value_or("");
        } else if (*word == "air.arg_name") {
            p.name = md_string(md_operand(node, ++i)).value_or("");
        } else if (*word == "air.flat") {
            p.flat = true;
        } else if (*word == "air.centroid") {
            p.centroid = true;
        } else if (*word == "air.sample" && p.kind == "fragment_input") {
            p.per_sample = true;
        } else if (*word == "air.no_perspective") {
            p.perspective = false;
        } else if (*word == "air.interpolation_function") {
            p.pulled = true;
        } else if (*word == "air.arg_unused") {
            p.used = false;
        } else if (word->starts_with("user(") || word->starts_with("generated(")) {
            p.link = *word;
        }
    }
}

} // namespace

Result<void> describe_entry(const AirEntry& entry, AirProgram& program) {
    const llvm::Function& f = *entry.function;
    const llvm::DataLayout& layout = f.getParent()->getDataLayout();
    program.kind = entry.kind;
    program.name = f.getName().str();
    if (entry.kind != "vertex" && entry.kind != "fragment" && entry.kind != "kernel")
        return Error{fmt::format("{}: {} functions are not executed", program.name, entry.kind)};
    program.parameters.resize(f.arg_size());
    for (unsigned i = 0; i < f.arg_size(); ++i) {
        program.parameters[i].type = air_type(f.getArg(i)->getType(), layout);
        if (!f.getArg(i)->getType()->isSized())
            return Error{fmt::format("{}: parameter {} has no size", program.name, i)};
    }
    for (unsigned i = 0; i < entry.inputs->getNumOperands(); ++i) {
        const auto* node = llvm::dyn_cast_or_null<llvm::MDNode>(entry.inputs->getOperand(i).get());
        const auto index = node ? md_int(md_operand(*node, 0)) : std::nullopt;
        if (!index || *index >= f.arg_size())
            return Error{fmt::format("{}: input node {} names no parameter", program.name, i)};
        unsigned at = 1;
        if (md_string(md_operand(*node, 1)) == "air.function_constant")
            at = 3;
        const auto kind = md_string(md_operand(*node, at));
        if (!kind)
            return Error{fmt::format("{}: input node {} has no kind", program.name, i)};
        AirParameter& p = program.parameters[*index];
        p.kind = bare(*kind);
        if (p.kind == "render_target") // framebuffer fetch: one number
            p.location = static_cast<uint32_t>(md_int(md_operand(*node, at + 1)).value_or(0));
        const auto* pointer = llvm::dyn_cast<llvm::PointerType>(f.getArg(static_cast<unsigned>(*index))->getType());
        if (pointer)
            p.space = pointer->getAddressSpace();
        read_parameter(*node, at + 1, p);
    }
    for (const AirParameter& p : program.parameters)
        if (p.kind.empty())
            return Error{fmt::format("{}: a parameter has no node", program.name)};

    llvm::Type* result = f.getReturnType();
    program.result_bytes = result->isVoidTy() ? 0 : static_cast<uint32_t>(layout.getTypeAllocSize(result).getFixedSize());
    auto* members = llvm::dyn_cast<llvm::StructType>(result);
    for (unsigned i = 0; i < entry.outputs->getNumOperands(); ++i) {
        const auto* node = llvm::dyn_cast_or_null<llvm::MDNode>(entry.outputs->getOperand(i).get());
        if (!node)
            return Error{fmt::format("{}: output {} is no node", program.name, i)};
        unsigned at = 0;
        if (md_string(md_operand(*node, 0)) == "air.function_constant")
            at = 2;
        AirOutput o;
        o.kind = bare(md_string(md_operand(*node, at)).value_or("?"));
        if (o.kind == "render_target") {
            o.location = static_cast<uint32_t>(md_int(md_operand(*node, at + 1)).value_or(0));
            o.index = static_cast<uint32_t>(md_int(md_operand(*node, at + 2)).value_or(0));
        }
        AirParameter names;
        read_parameter(*node, at + 1, names);
        o.link = names.link;
        o.name = names.name;
        llvm::Type* type = result;
        if (members) {
            if (i >= members->getNumElements())
                return Error{fmt::format("{}: output {} has no member", program.name, i)};
            type = members->getElementType(i);
            o.offset = static_cast<uint32_t>(layout.getStructLayout(members)->getElementOffset(i));
        } else if (result->isVoidTy() || i > 0) {
            return Error{fmt::format("{}: output {} has no member", program.name, i)};
        }
        o.type = air_type(type, layout);
        program.outputs.push_back(std::move(o));
    }
    for (const llvm::Metadata* extra : entry.extras)
        if (const auto* node = llvm::dyn_cast_or_null<llvm::MDNode>(extra); node && md_string(md_operand(*node, 0)) == "air.max_work_group_size")
            program.max_threads = static_cast<uint32_t>(md_int(md_operand(*node, 1)).value_or(0));
    return {};
}

} // namespace dmsh::sim
