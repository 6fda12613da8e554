// Access to the dmsh.* dictionary: enumeration, declaration, call building, and the constant operand codes.
#pragma once
#include "compiler/lift/llvm_headers.h"
#include "runtime/abi/binding_kinds.h"
#include <cstdint>
#include <optional>

namespace dmsh {

enum class Intrinsic : uint16_t {
#define DMSH_INTRINSIC(e, name, result, operands, cls, meaning) e,
#include "compiler/lift/intrinsics.def"
    count
};

enum class IntrinsicClass : uint8_t { pure, read, effect, lanes };

struct IntrinsicInfo {
    const char* name;
    char result;
    const char* operands;
    IntrinsicClass cls;
    const char* meaning;
};

const IntrinsicInfo& intrinsic_info(Intrinsic id);

// The declaration of `id` in `module`, made with its attributes on first use.
llvm::Function* declare(llvm::Module& module, Intrinsic id);

// Emits a call; operand types must match the dictionary (asserted).
llvm::CallInst* call(llvm::IRBuilderBase& b, Intrinsic id, llvm::ArrayRef<llvm::Value*> operands);

// Which intrinsic a call is, or nothing for other instructions. Constant time: declarations are cached by name prefix.
std::optional<Intrinsic> intrinsic_of(const llvm::Instruction& inst);

// ---- constant operands -----------------------------------------------------------------------------------------------

enum class AtomicOp : uint8_t { add, smin, smax, umin, umax, inc, dec, and_, or_, xor_, exch, cas, fadd_ftz, hadd2, dadd };

enum class MufuOp : uint8_t { cos, sin, ex2, lg2, rcp, rsq, sqrt, tanh };

// Special registers of S2R that keep a meaning in our IR (names as NVIDIA's without SR_).
enum class SpecialRegister : uint8_t {
    laneid, tid_x, tid_y, tid_z, ctaid_x, ctaid_y, ctaid_z, invocation_id, invocation_info, y_direction, front_facing_unused,
    eqmask, ltmask, lemask, gtmask, gemask, sample_id, tid_packed, virtual_id, ntid_unused, draw_id_unused,
    base_instance, // made by bind_constant_banks out of the driver word (B-008): the target's own base instance
    prim_type,      // SR_PRIM_TYPE: bits 8..15 hold the number of vertices of the input patch; the rest reads as 0
    sample_mask_in, // PIXLD.COVMASK: the samples of this pixel that the primitive covers
};

// DESC of texture operations, packed in an i32.
struct TexDesc {
    ImageDim dim = ImageDim::d2; // bits 0..3
    bool arrayed = false;        // 4
    bool depth = false;          // 5: depth compare
    bool multisampled = false;   // 6
    enum Lod : uint8_t { implicit = 0, bias = 1, level = 2, zero = 3 } lod = implicit; // 8..10
    bool lod_clamp = false;      // 11 (refused until a shader needs it)
    enum Offset : uint8_t { no_offset = 0, aoffi = 1, ptp = 2 } offset = no_offset; // 12..13
    uint8_t component = 0;       // 16..17: gather component
    bool no_derivatives = false; // 18: .NDV
    Numeric numeric = Numeric::real; // 24..25, filled by the handle pass from facts

    uint32_t pack() const {
        return static_cast<uint32_t>(dim) | uint32_t{arrayed} << 4 | uint32_t{depth} << 5 |
               uint32_t{multisampled} << 6 | uint32_t{lod} << 8 | uint32_t{lod_clamp} << 11 | uint32_t{offset} << 12 |
               uint32_t{component} << 16 | uint32_t{no_derivatives} << 18 | static_cast<uint32_t>(numeric) << 24;
    }
    static TexDesc unpack(uint32_t v) {
        TexDesc d;
        d.dim = static_cast<ImageDim>(v & 15);
        d.arrayed = v >> 4 & 1;
        d.depth = v >> 5 & 1;
        d.multisampled = v >> 6 & 1;
        d.lod = static_cast<Lod>(v >> 8 & 7);
        d.lod_clamp = v >> 11 & 1;
        d.offset = static_cast<Offset>(v >> 12 & 3);
        d.component = v >> 16 & 3;
        d.no_derivatives = v >> 18 & 1;
        d.numeric = static_cast<Numeric>(v >> 24 & 3);
        return d;
    }
};

// DESC of image operations.
struct ImgDesc {
    ImageDim dim = ImageDim::d2;                   // bits 0..3
    bool arrayed = false;                          // 4
    ImageAccess access = ImageAccess::formatted;   // 8..10
    uint8_t mask = 0xf;                            // 12..15: components stored
    enum Bounds : uint8_t { ignore = 0, trap = 1, near = 2 } bounds = ignore; // 16..17 as encoded
    Numeric numeric = Numeric::real;               // 24..25

    uint32_t pack() const {
        return static_cast<uint32_t>(dim) | uint32_t{arrayed} << 4 | static_cast<uint32_t>(access) << 8 |
               uint32_t{mask} << 12 | uint32_t{bounds} << 16 | static_cast<uint32_t>(numeric) << 24;
    }
    static ImgDesc unpack(uint32_t v) {
        ImgDesc d;
        d.dim = static_cast<ImageDim>(v & 15);
        d.arrayed = v >> 4 & 1;
        d.access = static_cast<ImageAccess>(v >> 8 & 7);
        d.mask = v >> 12 & 15;
        d.bounds = static_cast<Bounds>(v >> 16 & 3);
        d.numeric = static_cast<Numeric>(v >> 24 & 3);
        return d;
    }
};

} // namespace dmsh
