// Shaders from textual IR, for tests of single passes: text in, text out.
#pragma once
#include "compiler/lift/intrinsics.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/pipeline.h"
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace dmsh::test {

// A shader whose main holds `body` (instructions and labels, without the function's frame). Declarations of
// the dmsh.* operations that the text names come from the dictionary.
inline ShaderModule shader_from(const std::string& body, Stage stage = Stage::fragment,
                                GuestAbiId abi = GuestAbiId::nvn) {
    ShaderModule s;
    s.context = std::make_unique<llvm::LLVMContext>();
    s.context->setOpaquePointers(false);
    llvm::Module declarations("d", *s.context);
    for (unsigned i = 0; i < static_cast<unsigned>(Intrinsic::count); ++i)
        if (body.find(std::string("@") + intrinsic_info(static_cast<Intrinsic>(i)).name + "(") != body.npos)
            declare(declarations, static_cast<Intrinsic>(i));
    std::string text;
    llvm::raw_string_ostream out(text);
    declarations.print(out, nullptr);
    out << "define void @main() {\n" << body << "\n}\n";
    out << "declare i32 @llvm.umin.i32(i32, i32)\n";
    llvm::SMDiagnostic error;
    s.module = llvm::parseAssemblyString(out.str(), error, *s.context);
    if (!s.module) {
        ADD_FAILURE() << error.getMessage().str() << " in line " << error.getLineContents().str();
        abort();
    }
    s.main = s.module->getFunction("main");
    s.input.stage = s.interface.stage = stage;
    s.input.abi = &guest_abi(abi);
    return s;
}

inline std::string text_of(const ShaderModule& s) {
    std::string text;
    llvm::raw_string_ostream out(text);
    s.main->print(out);
    return out.str();
}

// The IR after `pass`, which must succeed.
inline std::string after(ShaderModule& s, Result<void> (*pass)(ShaderModule&)) {
    auto r = pass(s);
    EXPECT_TRUE(r) << r.error().text() << "\n" << text_of(s);
    std::string broken;
    llvm::raw_string_ostream out(broken);
    EXPECT_FALSE(llvm::verifyModule(*s.module, &out)) << out.str() << text_of(s);
    return text_of(s);
}

inline size_t count(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
        ++n;
    return n;
}

} // namespace dmsh::test
