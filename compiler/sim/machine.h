// The SASS interpreter: lanes, warps, workgroups and memory of a Maxwell SM, written for reading, not for speed.
//
// It is the written-down meaning of each instruction, made without LLVM and without the lifter, so that the two can be
// held against each other. Floats follow docs/numerics.md in exact mode: .FTZ flushes operands and results, MUFU is
// correctly rounded with flushed denormals, a NaN that arithmetic makes is 0x7fffffff.
#pragma once
#include "compiler/isa/isa.h"
#include "runtime/abi/result.h"
#include "runtime/abi/stage.h"
#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace dmsh::sim {

class TextureSet; // texture/texture_set.h
struct Texture;

constexpr unsigned kLanes = 32;

// Words of attribute space, by attribute address / 4.
using AttributeWords = std::array<uint32_t, 256>;

// What one lane of a graphics stage is given, and what it makes.
struct Invocation {
    // Given. Inputs by input vertex: one where the stage has one; fragment: a itself at the pixel's centre, not a / w.
    std::vector<AttributeWords> in{AttributeWords{}};
    AttributeWords step_x{}, step_y{}; // fragment: change of in[0], as floats, one pixel to the right and down
    uint32_t invocation_id = 0, invocation_info = 0, sample_id = 0;
    bool helper = false;
    // Made.
    AttributeWords out{};
    std::bitset<256> written;
    std::array<uint32_t, 32> colour{}; // by target * 4 + component
    uint32_t colours_written = 0;      // bit per word of `colour`
    std::optional<uint32_t> depth, mask;
    bool killed = false;
    struct Emitted {
        uint32_t stream;
        bool cut; // the strip ends here; `out` is empty
        AttributeWords out;
    };
    std::vector<Emitted> emitted;

    bool dead() const { return helper || killed; } // its stores and outputs have no effect
};

// A graphics stage's launch: invocation n runs in lane n % 32 of warp n / 32; fragments come as quads, lane bit 0 = x, bit 1 = y.
struct Graphics {
    Stage stage = Stage::vertex;
    std::vector<Invocation> invocations;
    std::bitset<256> perspective;    // fragment: IPA of this word gives a / w
    uint32_t targets = 0;            // fragment: bit 4 * target + component, as the header says
    bool mask_output = false, depth_output = false;
    std::vector<AttributeWords> vertices_out; // tess_control: outputs by vertex
    AttributeWords patch{};          // tess_control: written; tess_evaluation: read
};

// a[offset] of a fragment as interpolation gives it: location 0 centre, 1 centroid, 2 at `shift` (two signed 16-bit fields, 1/4096
// pixel). A centroid lies a quarter of a pixel right of and below the centre here.
uint32_t interpolate(const Invocation& invocation, uint32_t offset, uint32_t location, uint32_t shift);

// What one thread did, for finding the first difference: registers, predicates (from 255) and flags (Z S C O from 262) that changed.
struct TraceStep {
    uint32_t pc = 0;
    bool executed = false; // its guard held
    std::vector<std::pair<uint16_t, uint32_t>> writes;
};
struct Trace {
    uint32_t thread = 0; // in its workgroup
    std::array<uint32_t, 3> group{};
    size_t limit = 1'000'000;
    std::vector<TraceStep> steps;
};
constexpr uint16_t kTracePredicates = 255, kTraceFlags = 262;

// A piece of global memory: `bytes` lies at guest address `address`.
struct GlobalRange {
    uint64_t address = 0;
    std::span<uint8_t> bytes;
};

// One grid of a compute kernel.
struct Launch {
    std::span<const uint8_t> code; // from the first instruction group
    std::array<std::span<const uint8_t>, 32> banks{}; // constant banks; reads past the end give 0
    std::vector<GlobalRange> global;
    std::array<uint32_t, 3> block{1, 1, 1};
    std::array<uint32_t, 3> grid{1, 1, 1};
    uint32_t shared_bytes = 0;
    uint32_t local_bytes = 0;          // scratch per thread
    uint32_t shared_window = 0x01;     // generic addresses: bits 24..31 of the low word name the window
    uint32_t local_window = 0x02;
    uint64_t max_steps = 200'000'000;  // instructions times groups, then the launch stops with an error
    // Accesses outside every range read zeros and write nothing, instead of ending the launch with an error.
    bool forgiving = false;
    Graphics* graphics = nullptr; // null: compute; block and grid are not used otherwise
    Trace* trace = nullptr;
    TextureSet* textures = nullptr; // null: texture and surface instructions end the launch with an error
    uint32_t handle_bank = 2;       // bank of the handles that bound texture instructions name
    uint32_t y_direction = 0x3f800000; // SR_Y_DIRECTION: +1.0f, or -1.0f where the window's origin is at the lower left
};

// Kinds of the reconvergence stack's entries.
enum class Token : uint8_t { ssy, pbk, pcnt, pret, call };

struct StackEntry {
    Token token;
    uint32_t position; // where SYNC, BRK, CONT, RET goes on
};

struct Lane {
    std::array<uint32_t, 256> r{}; // r[255] is RZ and stays 0
    uint8_t p = 0x80;              // bit i = P[i]; bit 7 is PT
    bool z = false, s = false, c = false, o = false; // condition code
    bool live = false;
    bool waits = false;            // at barrier `barrier`
    uint8_t barrier = 0;
    uint32_t reduced = 0;          // what the last BAR.RED that it passed counted
    bool reduced_predicate = false; // and its AND or OR
    uint32_t id = 0;     // in its warp
    uint32_t position = 0;
    std::vector<StackEntry> stack;
    std::vector<uint8_t> local;
    std::array<uint32_t, 3> tid{};
    Invocation* invocation = nullptr; // graphics
    bool dead() const { return invocation && invocation->dead(); }

    void set(uint32_t reg, uint32_t value) {
        if (reg != isa::kRz)
            r[reg] = value;
    }
    uint64_t pair(uint32_t reg) const { // RZ pairs read as 0
        return reg == isa::kRz ? 0 : r[reg] | uint64_t{r[reg + 1]} << 32;
    }
    void set_pair(uint32_t reg, uint64_t value) {
        set(reg, static_cast<uint32_t>(value));
        if (reg != isa::kRz)
            set(reg + 1, static_cast<uint32_t>(value >> 32));
    }
    bool pred(uint32_t index, bool negated = false) const { return ((p >> index & 1) != 0) != negated; }
    void set_pred(uint32_t index, bool value) {
        if (index != isa::kPt)
            p = static_cast<uint8_t>((p & ~(1u << index)) | uint32_t{value} << index);
    }
    void set_flags(bool zero, bool sign, bool carry, bool overflow) { z = zero, s = sign, c = carry, o = overflow; }
};

enum class Space : uint8_t { global, generic, shared, local };

// State of the running workgroup that instructions can reach.
struct Group {
    const Launch* launch = nullptr;
    std::array<uint32_t, 3> ctaid{};
    std::vector<uint8_t> shared;
    // A barrier in progress: who has arrived, how many are awaited (0: everyone), and the reduction so far.
    struct Barrier {
        uint32_t arrived = 0, awaited = 0;
        uint32_t count = 0;
        bool all = true, any = false, reduces_and = false;
    };
    std::array<Barrier, 16> barriers{};
    uint32_t constant(uint32_t bank, uint32_t offset) const;
    // Pointer to `size` bytes of a space, or nullptr when they are not all inside. `generic` global addresses may name the windows.
    uint8_t* at(Space space, std::vector<uint8_t>& local, uint64_t address, uint32_t size);
    void sort_ranges();

  private:
    std::vector<GlobalRange> ranges_; // by address
    size_t last_range_ = 0;
};

// Executes one instruction for one lane whose guard holds. Answers nothing, or what is not supported.
using Answer = const char*;
inline constexpr Answer kOk = nullptr;
inline constexpr char kNotMineText[] = "is not implemented"; // an array: one address in all files
inline constexpr Answer kNotMine = kNotMineText;             // the family does not have this mnemonic

// Families of lane operations, asked in turn.
Answer float_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer double_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer half_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer integer_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer video_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer convert_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer predicate_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer memory_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer stage_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer surface_op(Lane& lane, const isa::Instruction& i, Group& group);
Answer special_op(Lane& lane, const isa::Instruction& i, Group& group, unsigned lane_id);

// Operations across the lanes of `mask` (those that execute, guard included).
Answer warp_op(std::span<Lane> warp, uint32_t active, uint32_t mask, const isa::Instruction& i);

Answer texture_op(std::span<Lane> warp, uint32_t mask, const isa::Instruction& i, Group& group);

// The level of detail of an implicit look-up whose coordinates change by dx and dy over the quad; 0 outside of fragment stages.
float implicit_level(const Texture& texture, const std::array<float, 3>& at, const std::array<float, 3>& dx, const std::array<float, 3>& dy, Stage stage);

// What a fragment's registers hold when it ends becomes its colours, mask and depth.
void finish_fragment(Lane& lane, const Graphics& graphics);

// Does the 5-bit condition-code test hold?
bool condition_holds(const Lane& lane, uint32_t test);

// Runs the whole grid, workgroup after workgroup. An error names the instruction, its address and its bits.
Result<void> run(const Launch& launch);

} // namespace dmsh::sim
