// State of a running IrMachine that the host functions behind dmsh.* reach.
#pragma once
#include "compiler/sim/jit/ir_machine.h"
#include "compiler/sim/jit/lane_fibers.h"
#include <functional>
#include <map>

namespace dmsh::sim {

enum class LaneOp : uint8_t { none, barrier, vote_all, vote_any, vote_eq, ballot, shfl, shfl_valid, fswzadd, ddx, ddy, quad };

struct IrThread {
    std::vector<uint8_t> local;
    std::array<uint32_t, 3> tid{};
    uint32_t lane = 0, warp = 0, linear = 0;
    Invocation* invocation = nullptr;
    LaneOp waiting = LaneOp::none;
    std::array<uint32_t, 4> in{};
    uint32_t out = 0;
    std::array<float, 3> dx{}, dy{}; // quad: how its three words change, as floats
    bool dead() const { return invocation && invocation->dead(); }
};

struct IrRun {
    const Launch* launch = nullptr;
    const ShaderInterface* interface = nullptr; // bindings of bound intrinsics
    const GuestAbi* abi = nullptr;
    void (*entry)() = nullptr;
    TextureSet* textures = nullptr;
    Group group; // workgroup, shared memory, global ranges
    const std::map<uint32_t, std::span<uint8_t>>* buffers = nullptr; // IrMachine::buffers; `group` has them at address_of_buffer
    const std::map<uint32_t, uint32_t>* specials = nullptr; // IrMachine::specials
    std::array<uint32_t, 16> arrived{}; // BAR.ARV, by barrier
    std::vector<IrThread> threads;
    IrThread* now = nullptr;
    LaneFibers* fibers = nullptr; // null: nothing waits, one thread runs after another
    uint64_t blocks_left = 0;
    bool endless = false;
    std::string* faults = nullptr;
    std::vector<Probe>* probes = nullptr;
};

extern thread_local IrRun* ir_run;

// Where a binding's own buffer lies among the global ranges: above every address of a guest or a device.
constexpr uint64_t address_of_buffer(uint32_t binding) { return uint64_t{1} << 63 | uint64_t{binding} << 32; }
// What a barrier that reduces nothing has for its mode.
constexpr uint32_t kNoReduction = ~0u;

void ir_fault(const std::string& text);

// Waits until the lanes of the warp have met at `site`; the operation's result.
uint32_t ir_wait(LaneOp op, uintptr_t site, std::array<uint32_t, 4> in);
// Runs the threads of one workgroup to their ends.
void ir_run_group();

// Texture and image functions, as the map below lists them.
void add_texture_functions(std::map<std::string, void*>& map);
// The word at byte `offset` of constant bank `bank` in the run.
uint32_t ir_constant(uint32_t bank, uint32_t offset);
const Binding& ir_binding(uint32_t index);
// old value op value, as dmsh.*.atomic does it.
uint32_t ir_apply_atomic(uint32_t op, uint32_t old, uint32_t value, uint32_t comparand);

// The function behind every dmsh.* name that the machine knows.
const std::map<std::string, void*>& ir_host_functions();

// Gives NaNs that arithmetic makes the interpreter's bits.
void ir_definite_nans(llvm::Function& f);
// That, ordered zeros to minima and maxima, one rounding to half fused products, and counts loop heads.
// Answers whether the program may wait or loop, so that its threads need stacks of their own.
bool ir_prepare(llvm::Function& main);

} // namespace dmsh::sim
