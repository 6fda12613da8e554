// The one LLJIT of the process.
#include "compiler/sim/jit/orc.h"
#include "compiler/sim/jit/ir_run.h"
#include <atomic>
#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/Support/TargetSelect.h>

namespace dmsh::sim {
namespace {

std::string text_of(llvm::Error e) { return llvm::toString(std::move(e)); }

// Null and `why` where the machine has none.
llvm::orc::LLJIT* the_jit(std::string& why) {
    struct Jit {
        std::unique_ptr<llvm::orc::LLJIT> jit;
        std::string error;
        Jit() {
            llvm::InitializeNativeTarget();
            llvm::InitializeNativeTargetAsmPrinter();
            auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
            if (!builder) {
                error = text_of(builder.takeError());
                return;
            }
            builder->setCodeGenOptLevel(llvm::CodeGenOpt::None);
            auto made = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*builder)).create();
            if (!made) {
                error = text_of(made.takeError());
                return;
            }
            jit = std::move(*made);
            llvm::orc::SymbolMap symbols;
            for (const auto& [name, function] : ir_host_functions())
                symbols[jit->mangleAndIntern(name)] =
                    llvm::JITEvaluatedSymbol(llvm::pointerToJITTargetAddress(function), llvm::JITSymbolFlags::Exported);
            auto& library = jit->getMainJITDylib();
            if (auto e = library.define(llvm::orc::absoluteSymbols(symbols)))
                error = text_of(std::move(e));
            auto generator = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix());
            if (!generator)
                error = text_of(generator.takeError());
            else
                library.addGenerator(std::move(*generator)); // libm and the half conversions of libgcc
        }
    };
    static Jit jit;
    why = jit.error;
    return jit.error.empty() ? jit.jit.get() : nullptr;
}

} // namespace

struct JitCode::Tracker {
    llvm::orc::ResourceTrackerSP tracker;
};

JitCode::~JitCode() {
    if (tracker_)
        llvm::consumeError(tracker_->tracker->remove());
}

Result<std::unique_ptr<JitCode>> JitCode::compile(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context,
                                                  const std::vector<std::string>& exported) {
    std::string why;
    llvm::orc::LLJIT* jit = the_jit(why);
    if (!jit)
        return Error{why};
    module->setDataLayout(jit->getDataLayout());
    std::unique_ptr<JitCode> code(new JitCode);
    code->tracker_ = std::make_unique<Tracker>();
    code->tracker_->tracker = jit->getMainJITDylib().createResourceTracker();
    if (auto e = jit->addIRModule(code->tracker_->tracker, llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
        return Error{text_of(std::move(e))};
    for (const std::string& name : exported) {
        auto symbol = jit->lookup(name);
        if (!symbol)
            return Error{text_of(symbol.takeError())};
        code->addresses_.push_back(symbol->toPtr<void*>());
    }
    return code;
}

std::string jit_name() {
    static std::atomic<uint64_t> count{0};
    return fmt::format("dmsh_main_{}", count++);
}

} // namespace dmsh::sim
