// Deep copies of shaders, so that each target legalises IR of its own.
#include "compiler/passes/pipeline.h"
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>

namespace dmsh {

// LLVM clones modules within a context only; a context per shader is what lets workers run side by side, so
// the copy goes through bitcode in memory.
ShaderModule clone_shader(const ShaderModule& shader) {
    ShaderModule copy;
    copy.context = std::make_unique<llvm::LLVMContext>();
    copy.context->setOpaquePointers(false);
    llvm::SmallVector<char, 0> bytes;
    llvm::BitcodeWriter writer(bytes);
    writer.writeModule(*shader.module);
    writer.writeStrtab();
    auto module = llvm::parseBitcodeFile(
        llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "clone"), *copy.context);
    copy.module = llvm::cantFail(std::move(module)); // what the writer wrote, the reader reads
    copy.main = copy.module->getFunction(shader.main->getName());
    copy.interface = shader.interface;
    copy.losses = shader.losses;
    copy.handle_trace = shader.handle_trace;
    copy.instruction_count = shader.instruction_count;
    copy.input = shader.input;
    return copy;
}

} // namespace dmsh
