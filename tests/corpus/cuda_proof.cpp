// Runs sm_53 kernels of the cuda corpus three ways and compares their buffers with the golden output: the SPIR-V on lavapipe, the
// machine code in the interpreter, the lifted IR in the executor. The last two have the 32 lanes that the driver lacks.
#include "compiler/lift/lifter.h"
#include "compiler/sim/machine.h"
#include "runtime/abi/stage_state.h"
#include "tests/corpus/verdict.h"
#include "tests/support/cuda_kernel.h"
#include "tests/support/ir_machine.h"
#include <algorithm>

namespace dmsh::test {
namespace {

constexpr uint32_t kBankBytes = kUniformBufferBytes;
constexpr unsigned kBanks = 18;

ShaderInput input_of(const CudaKernel& k, const Corpus& corpus) {
    ShaderInput in;
    in.code = k.code;
    in.constants = k.banks[2];
    in.local_size = k.block;
    in.shared_bytes = k.shared_bytes;
    in.local_bytes = k.local_bytes;
    in.abi = corpus.abi;
    return in;
}

// Each runs a copy of the kernel: "" = the golden output, else the first difference; an error says why it cannot run.
Result<std::string> run_interpreter(CudaKernel k) {
    sim::Launch launch;
    launch.code = k.code;
    for (unsigned b = 0; b < 32; ++b)
        launch.banks[b] = k.banks[b];
    for (CudaKernel::Buffer& b : k.buffers)
        launch.global.push_back({b.address, b.bytes});
    launch.block = k.block;
    launch.grid = k.grid;
    launch.shared_bytes = k.shared_bytes;
    launch.local_bytes = k.local_bytes;
    if (auto r = sim::run(launch); !r)
        return r.error();
    return k.difference();
}

Result<std::string> run_executor(CudaKernel k, const Corpus& corpus) {
    IrMachine m;
    m.block = k.block;
    m.grid = k.grid;
    m.shared_bytes = k.shared_bytes;
    m.local_bytes = k.local_bytes;
    // One array of memory: the kernel's addresses become places in it.
    constexpr size_t kGap = 256;
    std::vector<size_t> places;
    for (const CudaKernel::Buffer& b : k.buffers) {
        const size_t at = (m.global.size() + kGap - 1) / kGap * kGap;
        places.push_back(at);
        m.global.resize(at + b.bytes.size() + kGap);
        std::copy(b.bytes.begin(), b.bytes.end(), m.global.begin() + static_cast<long>(at));
        if (b.kind == "global") // its address is in the code
            return Error{"initialised global data"};
        const uint64_t address = IrMachine::kGlobalBase + at;
        std::copy_n(reinterpret_cast<const uint8_t*>(&address), 8, k.banks[0].begin() + b.c0_offset);
    }
    for (unsigned b = 0; b < kBanks; ++b)
        m.banks[b] = k.banks[b];
    ShaderInput in = input_of(k, corpus);
    in.float_mode = FloatMode::exact;
    auto shader = lift(in);
    if (!shader)
        return shader.error();
    if (auto r = m.run(*std::move(shader)); !r)
        return r.error();
    for (size_t i = 0; i < places.size(); ++i)
        std::copy_n(m.global.begin() + static_cast<long>(places[i]), k.buffers[i].bytes.size(), k.buffers[i].bytes.begin());
    return m.faults.empty() ? k.difference() : "faults: " + m.faults.substr(0, 100);
}

Result<std::string> run_vulkan(CudaKernel k, const Corpus& corpus, const ProofOptions& options) {
    ShaderInput in = input_of(k, corpus);
    in.float_mode = FloatMode::exact;
    auto t = translate(in, {.validate = false});
    if (!t)
        return t.error();
    auto harness = VulkanHarness::create(options.validation);
    if (!harness)
        return harness.error();
    constexpr uint32_t kWarp = 32;
    if (t->interface.uses_lanes && (*harness)->subgroup_size() != kWarp)
        return Error{"needs 32 lanes, the device has " + std::to_string((*harness)->subgroup_size())};
    Job job;
    for (const auto& b : k.buffers)
        job.buffers.push_back({b.bytes});
    const auto bank = [&](std::vector<uint8_t> bytes) {
        bytes.resize(kBankBytes);
        job.buffers.push_back({std::move(bytes)});
        return static_cast<uint32_t>(job.buffers.size() - 1);
    };
    for (uint32_t index = 0; index < t->interface.bindings.size(); ++index) {
        const Binding& b = t->interface.bindings[index];
        Descriptor d{kVulkanSetBindings, static_cast<uint32_t>(Stage::compute) * kMaxBindings + index, 0};
        d.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        switch (b.kind) {
        case BindingKind::driver:
        case BindingKind::constants:
        case BindingKind::uniform: d.resource = bank(k.banks[b.bank & 31]); break;
        case BindingKind::storage_in_bank: {
            const auto p = std::find_if(k.buffers.begin(), k.buffers.end(), [&](const CudaKernel::Buffer& q) {
                return q.kind != "global" && q.c0_offset == b.offset;
            });
            if (p == k.buffers.end())
                return Error{"no buffer parameter at c[0][" + std::to_string(b.offset) + "]"};
            d.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            d.resource = static_cast<uint32_t>(p - k.buffers.begin());
            break;
        }
        default: return Error{"binding kind " + std::string(binding_kind_name(b.kind)) + " is not bound here"};
        }
        job.descriptors.push_back(d);
    }
    job.groups = k.grid;
    const std::vector<uint32_t> words = with_float_controls(t->spirv, {(*harness)->keeps_nans(), 0});
    job.stages.push_back({VK_SHADER_STAGE_COMPUTE_BIT, words, "main0", {}});
    auto got = (*harness)->run(job);
    if (!got)
        return got.error();
    for (size_t i = 0; i < k.buffers.size(); ++i)
        k.buffers[i].bytes = got->buffers[i];
    return k.difference();
}

} // namespace

void prove_cuda(Verdict& v, const Corpus& corpus, const CorpusEntry& entry, const ProofOptions& options) {
    auto kernel = CudaKernel::load(corpus.folder.string() + "/", entry.program, entry.variant);
    if (!kernel) {
        v.status = Status::reference_failed;
        v.text = kernel.error().text();
        v.mark(Check::decode) = v.mark(Check::oracle) = Mark::failed;
        return;
    }
    ShaderInput in = input_of(*kernel, corpus);
    in.arch = entry.arch;
    // The listing and the decoder know nothing of relocations: the file itself.
    const auto listing = corpus.folder / (entry.program + "." + entry.variant + ".dis");
    const bool translated = check_translation(v, in, listing, options).has_value();
    const bool has_oracle = kernel->golden && !kernel->uses_textures && entry.arch == Arch::sm53;
    if (!has_oracle) {
        if (translated) {
            v.status = Status::not_compared;
            v.text = kernel->golden ? "textures and surfaces" : "no golden output";
        }
        v.mark(Check::oracle) = kernel->golden ? Mark::failed : Mark::none;
        return;
    }
    struct Way {
        const char* name;
        Result<std::string> result;
        bool ours; // shows that the translation is right, not only the machine code
    };
    const Way ways[] = {{"lavapipe", translated ? run_vulkan(*kernel, corpus, options) : Result<std::string>(Error{"refused"}), true},
                        {"executor", run_executor(*kernel, corpus), true},
                        {"interpreter", run_interpreter(*kernel), false}};
    bool proven = false, differs = false;
    std::string text;
    for (const Way& w : ways) {
        text += (text.empty() ? "" : "; ") + std::string(w.name) + ": ";
        if (!w.result) {
            text += w.result.error().text();
            continue;
        }
        text += w.result->empty() ? "golden" : *w.result;
        proven |= w.ours && w.result->empty();
        differs |= !w.result->empty();
    }
    v.compared = v.changed = 1;
    v.different = differs;
    v.text = text;
    if (translated)
        v.status = differs ? Status::differs : proven ? Status::matches : Status::not_compared;
    v.mark(Check::oracle) = proven && !differs ? Mark::passed : Mark::failed;
}

} // namespace dmsh::test
