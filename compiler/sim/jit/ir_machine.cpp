// Compiles shaders with one ORC JIT of the process and runs them workgroup after workgroup.
#include "compiler/sim/jit/ir_machine.h"
#include "compiler/sim/jit/ir_run.h"
#include "compiler/sim/texture/texture_set.h"
#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/Support/TargetSelect.h>
#include <mutex>

namespace dmsh::sim {
namespace {

constexpr size_t kStackBytes = 64 * 1024;

std::string text_of(llvm::Error e) { return llvm::toString(std::move(e)); }

// The process's JIT with every host function in it; null and `why` where the machine has none.
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

std::string fresh_name() {
    static std::mutex mutex;
    static uint64_t count = 0;
    const std::lock_guard lock(mutex);
    return fmt::format("dmsh_main_{}", count++);
}

} // namespace

struct IrMachine::Program {
    llvm::orc::ResourceTrackerSP tracker;
    void (*entry)() = nullptr;
    bool waits = false;
    ShaderInterface interface;
    const GuestAbi* abi = nullptr;
    Stage stage = Stage::compute;
    std::vector<std::unique_ptr<uint8_t[]>> stacks;

    Program() = default;
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        if (tracker)
            llvm::consumeError(tracker->remove());
    }
};

IrMachine::IrMachine(std::unique_ptr<Program> program) : program_(std::move(program)) {}
IrMachine::IrMachine(IrMachine&&) noexcept = default;
IrMachine& IrMachine::operator=(IrMachine&&) noexcept = default;
IrMachine::~IrMachine() = default;

Result<IrMachine> IrMachine::compile(ShaderModule shader) {
    std::string why;
    llvm::orc::LLJIT* jit = the_jit(why);
    if (!jit)
        return Error{why};
    auto program = std::make_unique<Program>();
    program->waits = ir_prepare(*shader.main);
    for (const llvm::Function& f : *shader.module)
        if (f.isDeclaration() && f.getName().startswith("dmsh.") && !f.use_empty() && !ir_host_functions().count(f.getName().str()))
            return Error{"the machine has no " + f.getName().str()};
    program->interface = shader.interface;
    program->abi = shader.input.abi ? shader.input.abi : &guest_abi(GuestAbiId::nvn);
    shader.module->setDataLayout(jit->getDataLayout());
    const std::string name = fresh_name();
    shader.main->setName(name);
    shader.main->setLinkage(llvm::GlobalValue::ExternalLinkage);
    program->tracker = jit->getMainJITDylib().createResourceTracker();
    shader.main = nullptr;
    if (auto e = jit->addIRModule(program->tracker, llvm::orc::ThreadSafeModule(std::move(shader.module), std::move(shader.context))))
        return Error{text_of(std::move(e))};
    auto symbol = jit->lookup(name);
    if (!symbol)
        return Error{text_of(symbol.takeError())};
    program->entry = symbol->toPtr<void()>();
    return IrMachine(std::move(program));
}

Result<void> IrMachine::run(const Launch& launch) {
    IrRun state;
    Launch with_buffers = launch;
    for (const auto& [binding, bytes] : buffers)
        with_buffers.global.push_back({address_of_buffer(binding), bytes});
    state.launch = &with_buffers;
    state.buffers = &buffers;
    state.specials = &specials;
    state.interface = &program_->interface;
    state.abi = program_->abi;
    state.entry = program_->entry;
    TextureSet made_up; // for launches that bring none
    state.textures = launch.textures ? launch.textures : &made_up;
    state.blocks_left = max_blocks;
    state.faults = &faults;
    state.probes = &probes;
    state.group.launch = &with_buffers;
    state.group.sort_ranges();
    probes.clear();
    Graphics* graphics = launch.graphics;
    const std::array<uint32_t, 3> block = graphics ? std::array<uint32_t, 3>{static_cast<uint32_t>(graphics->invocations.size()), 1, 1} : launch.block;
    const std::array<uint32_t, 3> grid = graphics ? std::array<uint32_t, 3>{1, 1, 1} : launch.grid;
    const uint32_t count = block[0] * block[1] * block[2];
    while (program_->waits && program_->stacks.size() < count)
        program_->stacks.emplace_back(new uint8_t[kStackBytes]);
    ir_run = &state;
    for (uint32_t z = 0; z < grid[2] && !state.endless; ++z)
        for (uint32_t y = 0; y < grid[1] && !state.endless; ++y)
            for (uint32_t x = 0; x < grid[0] && !state.endless; ++x) {
                state.group.ctaid = {x, y, z};
                state.group.shared.assign(launch.shared_bytes, 0);
                state.arrived = {};
                state.threads.clear();
                state.threads.resize(count);
                for (uint32_t i = 0; i < count; ++i) {
                    IrThread& t = state.threads[i];
                    t.linear = i;
                    t.lane = i % kLanes;
                    t.warp = i / kLanes;
                    t.tid = {i % block[0], i / block[0] % block[1], i / (block[0] * block[1])};
                    t.local.assign(launch.local_bytes, 0);
                    if (graphics)
                        t.invocation = &graphics->invocations[i];
                }
                ir_run_group(program_->stacks, kStackBytes);
            }
    ir_run = nullptr;
    if (state.endless)
        return Error{"the program does not end"};
    return {};
}

} // namespace dmsh::sim
