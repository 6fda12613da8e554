// Compiles shaders with the JIT and runs them workgroup after workgroup.
#include "compiler/sim/jit/ir_machine.h"
#include "compiler/sim/jit/ir_run.h"
#include "compiler/sim/jit/orc.h"
#include "compiler/sim/texture/texture_set.h"

namespace dmsh::sim {

struct IrMachine::Program {
    std::unique_ptr<JitCode> code;
    void (*entry)() = nullptr;
    bool waits = false;
    ShaderInterface interface;
    const GuestAbi* abi = nullptr;
    Stage stage = Stage::compute;
    LaneFibers fibers;
};

IrMachine::IrMachine(std::unique_ptr<Program> program) : program_(std::move(program)) {}
IrMachine::IrMachine(IrMachine&&) noexcept = default;
IrMachine& IrMachine::operator=(IrMachine&&) noexcept = default;
IrMachine::~IrMachine() = default;

Result<IrMachine> IrMachine::compile(ShaderModule shader) {
    auto program = std::make_unique<Program>();
    program->waits = ir_prepare(*shader.main);
    for (const llvm::Function& f : *shader.module)
        if (f.isDeclaration() && f.getName().startswith("dmsh.") && !f.use_empty() && !ir_host_functions().count(f.getName().str()))
            return Error{"the machine has no " + f.getName().str()};
    program->interface = shader.interface;
    program->abi = shader.input.abi ? shader.input.abi : &guest_abi(GuestAbiId::nvn);
    const std::string name = jit_name();
    shader.main->setName(name);
    shader.main->setLinkage(llvm::GlobalValue::ExternalLinkage);
    shader.main = nullptr;
    auto code = JitCode::compile(std::move(shader.module), std::move(shader.context), {name});
    if (!code)
        return code.error();
    program->code = std::move(*code);
    program->entry = reinterpret_cast<void (*)()>(program->code->address(0));
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
    state.fibers = program_->waits ? &program_->fibers : nullptr;
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
                ir_run_group();
            }
    ir_run = nullptr;
    if (state.endless)
        return Error{"the program does not end"};
    return {};
}

} // namespace dmsh::sim
