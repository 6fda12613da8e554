// Runs shader and IR side by side and finds where they part.
#include "compiler/sim/verify/verify.h"
#include "compiler/lift/lifter.h"
#include "compiler/lift/probe.h"
#include "compiler/lift/ssa_builder.h"
#include "compiler/passes/pipeline.h"
#include "compiler/sim/air/guest.h"
#include "compiler/sim/jit/ir_machine.h"
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/raw_ostream.h>
#include <map>

namespace dmsh::sim {
namespace {

bool is_nan(uint32_t w) { return (w & 0x7fffffff) > 0x7f800000; }
// Words of the interpreter and of the IR: equal bits, or NaN and NaN; of a packed pair a half that the interpreter's arithmetic made NaN
// equals any NaN.
bool half_equal(uint16_t a, uint16_t b) { return a == b || (a == 0x7fff && (b & 0x7fff) > 0x7c00); }
bool equal(uint32_t a, uint32_t b) {
    return a == b || (is_nan(a) && is_nan(b)) ||
           (half_equal(static_cast<uint16_t>(a), static_cast<uint16_t>(b)) && half_equal(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16)));
}

std::string two(uint32_t a, uint32_t b) {
    return fmt::format("0x{:08x} ({:g}) in the interpreter, 0x{:08x} ({:g}) in the IR", a, std::bit_cast<float>(a), b, std::bit_cast<float>(b));
}

std::optional<std::string> compare(const Invocation& a, const Invocation& b, Stage stage) {
    if (a.killed != b.killed)
        return fmt::format("discard: {} in the interpreter, {} in the IR", a.killed, b.killed);
    if (a.killed)
        return std::nullopt;
    for (uint32_t k = 0; k < a.out.size() && stage != Stage::fragment; ++k)
        if (a.written[k] != b.written[k] || !equal(a.out[k], b.out[k]))
            return fmt::format("a[0x{:x}]: {}", 4 * k, a.written[k] == b.written[k] ? two(a.out[k], b.out[k]) : "written by one alone");
    for (uint32_t k = 0; k < a.colour.size(); ++k)
        if ((a.colours_written ^ b.colours_written) >> k & 1 || !equal(a.colour[k], b.colour[k]))
            return fmt::format("colour {}.{}: {}", k / 4, "xyzw"[k % 4], two(a.colour[k], b.colour[k]));
    if (a.depth.has_value() != b.depth.has_value() || (a.depth && !equal(*a.depth, *b.depth)))
        return "depth: " + two(a.depth.value_or(0), b.depth.value_or(0));
    if (a.mask != b.mask)
        return "sample mask: " + two(a.mask.value_or(0), b.mask.value_or(0));
    if (a.emitted.size() != b.emitted.size())
        return fmt::format("{} emitted vertices and cuts in the interpreter, {} in the IR", a.emitted.size(), b.emitted.size());
    for (size_t n = 0; n < a.emitted.size(); ++n) {
        const auto &x = a.emitted[n], &y = b.emitted[n];
        if (x.stream != y.stream || x.cut != y.cut)
            return fmt::format("emission {}: another stream or kind", n);
        for (uint32_t k = 0; k < x.out.size(); ++k)
            if (!equal(x.out[k], y.out[k]))
                return fmt::format("emitted vertex {}, a[0x{:x}]: {}", n, 4 * k, two(x.out[k], y.out[k]));
    }
    return std::nullopt;
}

std::string variable_name(uint16_t v) {
    if (v < kTracePredicates)
        return fmt::format("R{}", v);
    if (v < kTraceFlags)
        return fmt::format("P{}", v - kTracePredicates);
    return std::string("CC.") + "ZSCO"[v - kTraceFlags];
}

// The operand of each probe as IR text.
using ProbeTexts = std::map<std::pair<uint32_t, uint16_t>, std::string>;
ProbeTexts probe_texts(const ShaderModule& shader) {
    ProbeTexts texts;
    for (const llvm::Instruction& i : llvm::instructions(*shader.main)) {
        const auto* found = llvm::dyn_cast<llvm::CallInst>(&i);
        if (!found || !found->getCalledFunction() || found->getCalledFunction()->getName() != kProbeFunction)
            continue;
        const llvm::CallInst& call = *found;
        std::string text;
        llvm::raw_string_ostream out(text);
        call.getArgOperand(2)->print(out);
        out.flush();
        texts[{static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(0))->getZExtValue()),
               static_cast<uint16_t>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue())}] = text.substr(text.find_first_not_of(' '));
    }
    return texts;
}

// Registers that an instruction's source fields name, with the values that they had.
std::string operand_text(const isa::Instruction& i, const std::array<uint32_t, 266>& state) {
    std::string text;
    for (const isa::F f : {isa::F::src_a, isa::F::src_b, isa::F::src_c})
        if (i.has(f) && i.get(f) != isa::kRz) {
            const auto r = static_cast<uint32_t>(i.get(f));
            text += fmt::format("{}R{} = 0x{:08x}", text.empty() ? "" : ", ", r, state[r]);
        }
    return text;
}

// The form of the shader that a level names.
Result<ShaderModule> module_at(const ShaderInput& input, IrLevel level) {
    auto shader = lift(input);
    if (!shader || level == IrLevel::lifted)
        return shader;
    if (auto r = run_passes(*shader); !r)
        return r.error();
    if (level != IrLevel::bound)
        if (auto r = level == IrLevel::air ? legalize_metal(*shader) : legalize_vulkan(*shader); !r)
            return r.error();
    return shader;
}

// Walks the thread's interpreter steps along its probes; fills the first difference in. False: the registers agree.
bool blame(const ShaderInput& input, const Trace& trace, const std::vector<Probe>& probes, const ProbeTexts& texts, Difference& d) {
    std::array<uint32_t, 266> state{}, before{};
    size_t at = 0;            // the step that the probes are in
    bool begun = false;       // steps[at] was applied
    std::vector<bool> seen(kVariableCount);
    const auto apply = [&](const TraceStep& s) {
        before = state;
        for (const auto& [v, value] : s.writes)
            state[v] = value;
        std::fill(seen.begin(), seen.end(), false);
    };
    const auto tell = [&](const Probe& p, uint32_t expected) {
        d.pc = p.pc;
        d.reg = variable_name(p.variable);
        d.expected = expected;
        d.got = p.value;
        if (const auto it = texts.find({p.pc, p.variable}); it != texts.end())
            d.ir = it->second;
        uint64_t word = 0;
        if (p.pc + 8 <= input.code.size())
            std::memcpy(&word, input.code.data() + p.pc, 8);
        if (const auto i = isa::decode(isa::Arch::sm_53, word, 0, p.pc)) {
            d.sass = isa::disassemble(*i);
            d.operands = operand_text(*i, before);
        }
    };
    // Two predicate results that name the same predicate are written one after the other: the second counts.
    const auto twice = [&](uint32_t pc) {
        uint64_t word = 0;
        if (pc + 8 <= input.code.size())
            std::memcpy(&word, input.code.data() + pc, 8);
        const auto i = isa::decode(isa::Arch::sm_53, word, 0, pc);
        return i && i->has(isa::F::dst_pred2) && i->get(isa::F::dst_pred) == i->get(isa::F::dst_pred2);
    };
    for (size_t n = 0; n < probes.size(); ++n) {
        const Probe& p = probes[n];
        const bool follows = n && probes[n - 1].pc == p.pc;
        if (!follows || (seen[p.variable] && !twice(p.pc))) {
            size_t next = begun ? at + 1 : 0;
            while (next < trace.steps.size() && trace.steps[next].pc != p.pc)
                apply(trace.steps[next++]);
            if (next >= trace.steps.size()) {
                if (trace.steps.size() >= trace.limit)
                    return false;
                tell(p, 0);
                d.reg = "not reached by the interpreter; " + d.reg;
                return true;
            }
            apply(trace.steps[next]);
            at = next;
            begun = true;
        }
        const bool overwritten = n + 1 < probes.size() && probes[n + 1].pc == p.pc && probes[n + 1].variable == p.variable && twice(p.pc);
        seen[p.variable] = true;
        if (!overwritten && !equal(state[p.variable], p.value)) {
            tell(p, state[p.variable]);
            return true;
        }
    }
    return false;
}

// Looks for the first register that differs in every thread that may have made the difference.
void find_register(const ShaderInput& input, const Job& job, const Place& place, Difference& d) {
    const LiftProbes probes;
    auto shader = lift(input);
    if (!shader)
        return;
    const ProbeTexts texts = probe_texts(*shader);
    auto machine = IrMachine::compile(std::move(*shader));
    if (!machine)
        return;
    const uint32_t threads = job.graphics ? static_cast<uint32_t>(job.graphics->invocations.size()) : job.block[0] * job.block[1] * job.block[2];
    const std::array<uint32_t, 3> grid = job.graphics ? std::array<uint32_t, 3>{1, 1, 1} : job.grid;
    for (uint32_t g = 0; g < grid[0] * grid[1] * grid[2]; ++g)
        for (uint32_t t = 0; t < threads; ++t) {
            if (place.invocation && t != *place.invocation)
                continue;
            Trace trace;
            trace.thread = t;
            trace.group = {g % grid[0], g / grid[0] % grid[1], g / (grid[0] * grid[1])};
            Job one = job, other = job;
            Launch launch = one.launch(input.code);
            launch.trace = &trace;
            (void)run(launch);
            Launch again = other.launch(input.code);
            Trace which = trace;
            which.steps.clear();
            again.trace = &which;
            (void)machine->run(again);
            if (blame(input, trace, machine->probes, texts, d)) {
                d.thread = fmt::format("thread {} of group {},{},{}", t, trace.group[0], trace.group[1], trace.group[2]);
                return;
            }
        }
}

// What a Metal stage returns of the interpreter's results, so that the rest can be compared: its depth range, and no more words than the
// guest wrote, since it returns whole vectors.
void as_metal(Job& expected, Job& got) {
    if (!expected.graphics)
        return;
    constexpr uint32_t kZ = 0x78 / 4, kW = 0x7c / 4;
    for (size_t i = 0; i < expected.graphics->invocations.size(); ++i) {
        Invocation &a = expected.graphics->invocations[i], &b = got.graphics->invocations[i];
        if (expected.graphics->stage == Stage::vertex && b.written[kZ]) {
            a.out[kZ] = metal_position_z(a.out[kZ], a.written[kW] ? a.out[kW] : std::bit_cast<uint32_t>(1.0f));
            a.written[kZ] = true;
        }
        for (size_t k = 0; k < a.out.size(); ++k)
            if (!a.written[k]) {
                b.written[k] = false;
                b.out[k] = a.out[k];
            }
        for (uint32_t k = 0; k < a.colour.size(); ++k)
            if (!(a.colours_written >> k & 1)) {
                b.colours_written &= ~(1u << k);
                b.colour[k] = a.colour[k];
            }
    }
}

class Verifier {
  public:
    Verifier(const ShaderInput& input, unsigned levels, bool air) : input_(input) {
        for (unsigned k = 0; k < kIrLevels; ++k) {
            const bool is_air = k == static_cast<unsigned>(IrLevel::air);
            if (is_air ? !air : k >= levels)
                continue;
            // A level stands on the one before it; AIR beside Vulkan's, on the bound one.
            const unsigned below = is_air ? static_cast<unsigned>(IrLevel::bound) : k ? k - 1 : 0;
            if (k && verdict.refused[below]) {
                verdict.refused[k] = verdict.refused[below];
                continue;
            }
            auto shader = module_at(input, static_cast<IrLevel>(k));
            if (!shader) {
                verdict.refused[k] = shader.error();
                continue;
            }
            if (k == static_cast<unsigned>(IrLevel::bound) || (is_air && !interface))
                interface = shader->interface;
            if (is_air) {
                auto guest = AirGuest::compile(*shader);
                if (!guest)
                    verdict.refused[k] = guest.error();
                else
                    air_.emplace(*std::move(guest));
                continue;
            }
            auto machine = IrMachine::compile(std::move(*shader));
            if (!machine)
                verdict.refused[k] = machine.error();
            else
                machines_[k].emplace(*std::move(machine));
        }
    }

    // False: nothing more to compare.
    bool compare_on(const Job& job, unsigned index) {
        Job expected = job;
        Launch launch = expected.launch(input_.code);
        launch.max_steps = max_steps;
        if (const auto ran = run(launch); !ran) {
            if (ran.error().message.find("too many steps") != std::string::npos) {
                ++verdict.skipped;
                return true;
            }
            verdict.not_interpreted = ran.error();
            return false;
        }
        for (unsigned k = 0; k < kIrLevels; ++k) {
            const bool is_air = k == static_cast<unsigned>(IrLevel::air);
            if (is_air ? !air_.has_value() : !machines_[k])
                continue;
            Job got = job;
            const Launch other = got.launch(input_.code);
            const auto ran = is_air ? air_->run(other) : machines_[k]->run(other);
            if (is_air)
                as_metal(expected, got);
            std::optional<Place> place;
            if (!ran)
                place = Place{ran.error().message + " in the IR", std::nullopt};
            else
                place = first_difference(expected, got);
            if (!place)
                continue;
            Difference d;
            d.case_index = index;
            d.level = level_name(static_cast<IrLevel>(k));
            d.inputs = job.kind;
            d.output = place->text;
            if (place->invocation)
                d.thread = fmt::format("invocation {}", *place->invocation);
            if (k == static_cast<unsigned>(IrLevel::lifted)) // where the passes made it, the registers agree
                find_register(input_, job, *place, d);
            verdict.difference = std::move(d);
            return false;
        }
        ++verdict.cases;
        return true;
    }

    Verdict verdict;
    std::optional<ShaderInterface> interface;
    uint64_t max_steps = Launch{}.max_steps;

  private:
    const ShaderInput& input_;
    std::array<std::optional<IrMachine>, kIrLevels> machines_;
    std::optional<AirGuest> air_;
};

} // namespace

std::string_view level_name(IrLevel level) {
    constexpr std::string_view names[kIrLevels] = {"lifted IR", "final IR", "IR legalised for Vulkan", "AIR"};
    return names[static_cast<unsigned>(level)];
}

std::optional<Place> first_difference(const Job& a, const Job& b) {
    if (a.graphics && b.graphics) {
        for (uint32_t k = 0; k < a.graphics->invocations.size(); ++k)
            if (auto text = compare(a.graphics->invocations[k], b.graphics->invocations[k], a.graphics->stage))
                return Place{*text, k};
        for (uint32_t k = 0; k < a.graphics->patch.size(); ++k)
            if (!equal(a.graphics->patch[k], b.graphics->patch[k]))
                return Place{fmt::format("patch a[0x{:x}]: {}", 4 * k, two(a.graphics->patch[k], b.graphics->patch[k])), std::nullopt};
        for (uint32_t v = 0; v < a.graphics->vertices_out.size(); ++v)
            for (uint32_t k = 0; k < a.graphics->patch.size(); ++k)
                if (!equal(a.graphics->vertices_out[v][k], b.graphics->vertices_out[v][k]))
                    return Place{fmt::format("vertex {} a[0x{:x}]: {}", v, 4 * k, two(a.graphics->vertices_out[v][k], b.graphics->vertices_out[v][k])),
                                 std::nullopt};
    }
    if (auto text = a.textures.difference(b.textures); !text.empty())
        return Place{text, std::nullopt};
    for (size_t m = 0; m < a.memory.size(); ++m) {
        const auto &x = a.memory[m].bytes, &y = b.memory[m].bytes;
        for (size_t k = 0; k + 4 <= x.size(); k += 4) {
            uint32_t u, v;
            std::memcpy(&u, x.data() + k, 4);
            std::memcpy(&v, y.data() + k, 4);
            if (!equal(u, v))
                return Place{fmt::format("memory 0x{:x}: {}", a.memory[m].address + k, two(u, v)), std::nullopt};
        }
    }
    return std::nullopt;
}

std::string Difference::text() const {
    std::string s = fmt::format("case {} ({}): the {} differs\n", case_index, inputs, level);
    if (!thread.empty())
        s += "  " + thread + "\n";
    if (!sass.empty()) {
        s += fmt::format("  at 0x{:04x}: {}\n  {} = {}\n", pc, sass, reg, two(expected, got));
        if (!operands.empty())
            s += "  operands: " + operands + "\n";
        if (!ir.empty())
            s += "  IR: " + ir + "\n";
    }
    return s + "  " + output + "\n";
}

Verdict verify_shader_code(const ShaderInput& input, const VerifyOptions& options) {
    Verifier v(input, options.levels, options.air);
    v.max_steps = options.max_steps;
    if (v.verdict.refused[0])
        return v.verdict;
    Random seeds(options.seed);
    for (unsigned k = 0; k < options.cases; ++k) {
        const Job job = random_job(input, v.interface ? &*v.interface : nullptr, seeds.next(), static_cast<Draw>(k % kDraws));
        if (!v.compare_on(job, k))
            break;
    }
    return v.verdict;
}

Verdict verify_jobs(const ShaderInput& input, std::span<const Job> jobs, unsigned levels, bool air) {
    Verifier v(input, levels, air);
    if (v.verdict.refused[0])
        return v.verdict;
    for (unsigned k = 0; k < jobs.size(); ++k)
        if (!v.compare_on(jobs[k], k))
            break;
    return v.verdict;
}

} // namespace dmsh::sim
