// What a Metal target means in numbers: AIR, language and container versions, triple, OS. One row per target.
#pragma once
#include "compiler/passes/pipeline.h"
#include <array>
#include <cstdint>
#include <string_view>

namespace dmsh {

// A later AIR is a new row: everything that writes a version reads it from here (docs/air.md, "Versions").
struct AirVersion {
    Target target;
    uint8_t air_major, air_minor;
    uint8_t language_major, language_minor;
    uint8_t container_patch; // 1.2.patch
    uint8_t platform;        // Mach-O platform with bit 7 = 64-bit
    bool macos;              // bit 15 of the container's major version
    uint16_t os_major;
    uint8_t os_minor, os_update;
    const char* triple;
    std::array<uint32_t, 2> sdk;
};

inline constexpr AirVersion kAirVersions[] = {
    {Target::macos, 2, 6, 3, 1, 7, 0x81, true, 14, 0, 0, "air64-apple-macosx14.0.0", {14, 0}},
    {Target::ios, 2, 6, 3, 1, 7, 0x82, false, 17, 0, 0, "air64-apple-ios17.0.0", {17, 0}},
};

// The row of a Metal target; nullptr for Target::vulkan.
constexpr const AirVersion* air_version(Target target) {
    for (const AirVersion& v : kAirVersions)
        if (v.target == target)
            return &v;
    return nullptr;
}

// Highest AIR minor of a container patch level and the AIR version that an OS major brought (checks of
// foreign files).
struct AirRelease {
    uint8_t air_major, air_minor;
    uint8_t macos_major, macos_minor; // first system
    uint8_t ios_major;
    uint8_t language_major, language_minor; // highest
    uint8_t patch;                          // container level that its linkers write
};
inline constexpr AirRelease kAirReleases[] = {
    {1, 8, 10, 11, 9, 1, 1, 2},  {2, 0, 10, 13, 11, 2, 0, 2}, {2, 1, 10, 14, 12, 2, 1, 3},
    {2, 2, 10, 15, 13, 2, 2, 4}, {2, 3, 11, 0, 14, 2, 3, 5},  {2, 4, 12, 0, 15, 2, 4, 6},
    {2, 5, 13, 0, 16, 3, 0, 7},  {2, 6, 14, 0, 17, 3, 1, 7},  {2, 7, 15, 0, 18, 3, 2, 8},
    {2, 8, 26, 0, 26, 4, 0, 9},  {2, 9, 27, 0, 27, 4, 1, 9},
};

inline constexpr std::string_view kAirDataLayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-"
                                                   "f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-"
                                                   "v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:"
                                                   "256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32";

} // namespace dmsh
