// Reads .metallib containers of every known patch level and checks them (facts: docs/air.md, "Container").
#pragma once
#include "runtime/abi/result.h"
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dmsh {

// Numbers of the TYPE tag.
enum class MetalFunctionType : uint8_t {
    vertex = 0,
    fragment = 1,
    kernel = 2,
    unqualified = 3,
    visible = 4,
    external = 5,
    intersection = 6,
    mesh = 7,
    object = 8,
    none = 255,
};
std::string_view metal_function_type_name(MetalFunctionType type); // "?" for unknown numbers

struct MetallibPart {
    uint64_t offset = 0; // from the start of the file
    uint64_t size = 0;
};

struct MetallibAttribute {
    std::string name;
    uint16_t index = 0; // attribute index
    uint8_t usage = 0;  // 0 per vertex, 1 per patch, 2 control point
    bool active = false;
    uint8_t type = 0; // MTLDataType, 0 when VATY is missing
};

struct MetallibConstant {
    std::string name;
    uint8_t type = 0; // MTLDataType
    uint16_t index = 0;
    bool required = false;
};

// One row of the function list. Spans point into the bytes given to read_metallib.
struct MetallibFunction {
    std::string name;
    MetalFunctionType type = MetalFunctionType::none;
    std::array<uint8_t, 32> hash{};
    uint64_t public_offset = 0, private_offset = 0, module_offset = 0; // from the start of their parts
    std::array<uint16_t, 4> version{};                        // AIR major, minor, language major, minor
    std::optional<uint64_t> module_size;                      // MDSZ
    std::optional<uint8_t> layer_type;                        // LAYR
    std::optional<uint8_t> tessellation;                      // TESS
    std::optional<uint64_t> source_offset, reflection_offset; // SOFF, RFLT
    std::vector<MetallibAttribute> attributes;                // VATT + VATY
    std::vector<MetallibConstant> constants;                  // CNST
    std::optional<uint8_t> return_type;                       // RETR, Core Image only
    std::vector<MetallibConstant> arguments;                  // ARGR, Core Image only
    bool has_vatt = false, has_vaty = false;
    std::span<const uint8_t> module;  // as stored: wrapper, bitcode, padding
    std::span<const uint8_t> bitcode; // inside the wrapper
    std::span<const uint8_t> record;  // the tag group of the function list, size word and ENDT included
};

struct Metallib {
    std::span<const uint8_t> bytes;
    bool macos = false; // bit 15 of the major version
    uint16_t major = 0, minor = 0, patch = 0;
    uint8_t kind = 0;     // 0 executable, 1 Core Image, 2 dynamic, 3 symbol companion
    uint8_t platform = 0; // Mach-O platform, bit 7 = 64-bit; 0 before patch 6
    uint16_t os_major = 0;
    uint8_t os_minor = 0, os_update = 0;
    uint64_t file_size = 0;
    MetallibPart function_list, public_metadata, private_metadata, modules;
    uint64_t function_list_end = 0; // byte after the last function group
    uint64_t extension_end = 0;     // byte after the extension's ENDT; = function_list_end before patch 3
    std::optional<std::array<uint8_t, 16>> uuid;
    std::vector<std::pair<std::string, MetallibPart>> tails; // HSRC, HSRD, HDYN, RLST, SLST, VLST, ILST
    std::vector<MetallibFunction> functions;
};

// One library of a fat file, or the whole file (cpu_type 0).
struct MetallibSlice {
    uint32_t cpu_type = 0;
    std::span<const uint8_t> bytes;
};

// Splits a fat file; a plain file gives one slice. Slices that are not metallibs (native code) are returned
// too.
Result<std::vector<MetallibSlice>> split_metallib(std::span<const uint8_t> bytes);

// Parses one container. Every length is checked against its part; errors carry the offset in `bytes`.
Result<Metallib> read_metallib(std::span<const uint8_t> bytes);

// The container rules that need no look into the bitcode: tiling, sizes, wrappers, padding, hashes, tag
// pairs. One line per violation, empty when all hold.
std::vector<std::string> verify_container(const Metallib& library);

} // namespace dmsh
