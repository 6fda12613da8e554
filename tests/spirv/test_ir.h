// Shaders for tests from textual final IR: every dmsh.* operation is declared in front of the text.
#pragma once
#include "compiler/emit/spirv/spirv_emitter.h"
#include "compiler/lift/intrinsics.h"
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

namespace dmsh::test {

inline const char* ir_type(char code) {
    switch (code) {
    case 'b': return "i1";
    case 'B': return "i8";
    case 'H': return "i16";
    case 'i': return "i32";
    case 'l': return "i64";
    case 'h': return "half";
    case 'f': return "float";
    case 'd': return "double";
    case 'F': return "<4 x float>";
    case 'I': return "<4 x i32>";
    default: return "void";
    }
}

inline std::string declarations() {
    std::string s;
    for (unsigned i = 0; i < static_cast<unsigned>(Intrinsic::count); ++i) {
        const IntrinsicInfo& info = intrinsic_info(static_cast<Intrinsic>(i));
        s += std::string("declare ") + ir_type(info.result) + " @" + info.name + "(";
        for (const char* p = info.operands; *p; ++p)
            s += (p != info.operands ? std::string(", ") : std::string()) + ir_type(*p);
        s += ")\n";
    }
    return s;
}

// `body` is the text of @main's blocks; `more` declares llvm.* functions.
inline ShaderModule shader_from(Stage stage, const std::string& body, const std::string& more = "") {
    ShaderModule shader;
    shader.context = std::make_unique<llvm::LLVMContext>();
    shader.context->setOpaquePointers(false);
    llvm::SMDiagnostic problem;
    shader.module = llvm::parseAssemblyString(
        declarations() + more + "\ndefine void @main() {\n" + body + "\n}\n", problem, *shader.context);
    if (!shader.module) {
        ADD_FAILURE() << problem.getMessage().str() << ": " << problem.getLineContents().str();
        return shader;
    }
    shader.main = shader.module->getFunction("main");
    shader.interface.stage = stage;
    return shader;
}

inline Binding storage_binding() {
    Binding b;
    b.kind = BindingKind::storage;
    b.written = true;
    return b;
}

// Emits and validates; failures carry the disassembly.
inline std::vector<uint32_t> emit_valid(const ShaderModule& shader, const SpirvOptions& options = {}) {
    if (!shader.module)
        return {};
    auto words = emit_spirv(shader, options);
    if (!words) {
        ADD_FAILURE() << words.error().text();
        return {};
    }
    if (auto valid = validate_spirv(*words); !valid)
        ADD_FAILURE() << valid.error().text() << "\n" << disassemble_spirv(*words);
    return *words;
}

} // namespace dmsh::test
