// Parsing of AIR bitcode and reading of its entry-point metadata.
#include "compiler/emit/air/air_module.h"
#include <fmt/format.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/MemoryBuffer.h>

namespace dmsh {

Result<AirModule> parse_air(std::span<const uint8_t> bitcode) {
    AirModule m;
    m.context = std::make_unique<llvm::LLVMContext>();
    m.context->setOpaquePointers(false);
    // LLVM's default handler ends the process on an error.
    m.context->setDiagnosticHandlerCallBack([](const llvm::DiagnosticInfo&, void*) {}, nullptr);
    const llvm::StringRef text(reinterpret_cast<const char*>(bitcode.data()), bitcode.size());
    const auto refusal = [](llvm::Error e) {
        return Error{fmt::format("bitcode does not parse: {}", llvm::toString(std::move(e)))};
    };
    // Function by function: materialising the whole module would also verify debug information, which Apple's
    // linker leaves in states that LLVM complains of on the standard error stream.
    auto parsed = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(text, "module"), *m.context);
    if (!parsed)
        return refusal(parsed.takeError());
    m.module = std::move(*parsed);
    if (auto e = m.module->materializeMetadata())
        return refusal(std::move(e));
    for (llvm::Function& f : *m.module)
        if (auto e = f.materialize())
            return refusal(std::move(e));
    return m;
}

std::vector<AirEntry> air_entries(const llvm::Module& module, unsigned* malformed) {
    static constexpr const char* kinds[] = {"vertex", "fragment", "kernel",      "object",
                                            "mesh",   "visible",  "intersection"};
    std::vector<AirEntry> entries;
    for (const char* kind : kinds) {
        const llvm::NamedMDNode* list = module.getNamedMetadata(std::string("air.") + kind);
        if (!list)
            continue;
        for (const llvm::MDNode* row : list->operands()) {
            AirEntry e;
            e.kind = kind;
            if (row->getNumOperands() >= 3) {
                if (const auto* v =
                        llvm::dyn_cast_or_null<llvm::ConstantAsMetadata>(row->getOperand(0).get()))
                    e.function = llvm::dyn_cast<llvm::Function>(v->getValue()->stripPointerCasts());
                e.outputs = llvm::dyn_cast_or_null<llvm::MDNode>(row->getOperand(1).get());
                e.inputs = llvm::dyn_cast_or_null<llvm::MDNode>(row->getOperand(2).get());
                for (unsigned i = 3; i < row->getNumOperands(); ++i)
                    e.extras.push_back(row->getOperand(i).get());
            }
            if (e.function && e.outputs && e.inputs)
                entries.push_back(std::move(e));
            else if (malformed)
                ++*malformed;
        }
    }
    return entries;
}

std::optional<std::string_view> md_string(const llvm::Metadata* m) {
    if (const auto* s = llvm::dyn_cast_or_null<llvm::MDString>(m))
        return std::string_view(s->getString().data(), s->getString().size());
    return std::nullopt;
}

std::optional<uint64_t> md_int(const llvm::Metadata* m) {
    if (const auto* v = llvm::dyn_cast_or_null<llvm::ConstantAsMetadata>(m))
        if (const auto* i = llvm::dyn_cast<llvm::ConstantInt>(v->getValue()))
            if (i->getBitWidth() <= 64)
                return i->getZExtValue();
    return std::nullopt;
}

const llvm::Metadata* md_operand(const llvm::MDNode& node, unsigned i) {
    return i < node.getNumOperands() ? node.getOperand(i).get() : nullptr;
}

std::string md_text(const llvm::Metadata* m, unsigned depth) {
    if (const auto s = md_string(m))
        return s->find_first_of(" {}") == std::string_view::npos && !s->empty() ? std::string(*s)
                                                                                : fmt::format("\"{}\"", *s);
    if (const auto v = md_int(m))
        return std::to_string(*v);
    if (const auto* v = llvm::dyn_cast_or_null<llvm::ConstantAsMetadata>(m))
        return "@" + v->getValue()->stripPointerCasts()->getName().str();
    if (const auto* node = llvm::dyn_cast_or_null<llvm::MDNode>(m)) {
        if (depth > 6)
            return "{...}";
        std::string text;
        for (const llvm::MDOperand& op : node->operands())
            text += (text.empty() ? "" : " ") + md_text(op.get(), depth + 1);
        return depth == 0 ? text : "{" + text + "}";
    }
    return "null";
}

} // namespace dmsh
