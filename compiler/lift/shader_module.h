// ShaderModule: one shader on its way through the compiler: IR, interface, losses. Also what lifting needs to know.
#pragma once
#include "compiler/lift/llvm_headers.h"
#include "compiler/lift/losses.h"
#include "runtime/abi/driver_segments.h"
#include "runtime/abi/interface.h"
#include "runtime/abi/result.h"
#include <memory>
#include <span>

namespace dmsh {

// Float behaviour (numerics.md): `ship` flushes denormals in .FTZ comparisons only, `exact` wherever .FTZ says so.
enum class FloatMode : uint8_t { ship, exact };

// Something that a pass could not prove: code, instruction address, text. Codes: compiler/lift/losses.def.
struct Loss {
    uint16_t code = 0; // printed as L0012
    uint32_t pc = 0;
    std::string text;
};

// What is known of a resource beside the code (profile facts, corpus descriptions). Unlisted slots are `real`.
struct ResourceFact {
    BindingKind kind = BindingKind::texture;
    uint32_t slot = 0;
    Numeric numeric = Numeric::real;
    std::optional<ImageDim> dim = std::nullopt; // answers TXQ on a slot that nothing else shows the type of (B-027)
    bool arrayed = false;
};

// One shader as found: everything that lifting reads. Spans must outlive the lift.
struct ShaderInput {
    Arch arch = Arch::sm53;
    Stage stage = Stage::compute;
    std::span<const uint8_t> sph;       // 0x50 (sm53) or 0x80 (sm86) bytes; empty for compute
    std::span<const uint8_t> code;      // instructions from the exact program start
    std::span<const uint8_t> constants; // c[1] (cuda: c[2]); may be empty
    std::array<uint32_t, 3> local_size{1, 1, 1};
    uint32_t shared_bytes = 0;
    uint32_t local_bytes = 0; // compute: scratch bytes; graphics: from the SPH
    bool early_tests = false;
    const GuestAbi* abi = nullptr;
    std::optional<ComputeLayout> layout; // NVN2 compute: what c[0] holds in place of the tables of `abi`
    FloatMode float_mode = FloatMode::ship;
    std::vector<ResourceFact> facts;
    std::vector<std::pair<uint8_t, Numeric>> vertex_inputs;   // location, type; unlisted: real
    std::vector<std::pair<uint8_t, Numeric>> colour_outputs;  // target, type; unlisted: real
    // What the guest's draw state decides: vertices of a geometry shader's input primitive (1, 2, 3, 4, 6; 0: taken from
    // the vertices that the code reads), how a tess_evaluation shader's patches are divided.
    uint8_t input_primitive = 0;
    TessMode tess;
    bool sample_shading = false; // fragment: runs once per sample; centroids are then the sample's own place
    bool trace_handles = false; // --trace-handles: explain each handle in ShaderModule::handle_trace
};

struct ShaderModule {
    std::unique_ptr<llvm::LLVMContext> context; // typed pointers: setOpaquePointers(false)
    std::unique_ptr<llvm::Module> module;       // one definition: void @main()
    llvm::Function* main = nullptr;
    ShaderInterface interface;
    std::vector<Loss> losses;
    std::vector<std::string> handle_trace; // a line per texture and image access (T-012), if asked for
    uint32_t instruction_count = 0; // guest instructions
    ShaderInput input;
};

// Checks what LLVM's verifier cannot: every dmsh.* call is in the dictionary with constant operands where it says so;
// after `bound` = true no raw intrinsic is left. Returns the first violation.
Result<void> verify_dictionary(const ShaderModule& shader, bool bound);

// The same after LLVM's own verifier, which takes longer than most passes.
Result<void> verify_shader(const ShaderModule& shader, bool bound);

} // namespace dmsh
