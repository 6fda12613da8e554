// Stages and architectures: the numbers used in packs, keys, reports and on the command line.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace dmsh {

// The numbers are NVN's own stage numbers for the first six (control section +0x714) and NVN2's for task and mesh.
enum class Stage : uint8_t {
    vertex = 0,
    fragment = 1,
    geometry = 2,
    tess_control = 3,
    tess_evaluation = 4,
    compute = 5,
    task = 6,
    mesh = 7,
};
constexpr unsigned kStageCount = 8;

enum class Arch : uint8_t { sm53 = 53, sm86 = 86 };

constexpr std::string_view stage_name(Stage s) {
    constexpr std::string_view names[kStageCount] = {"vertex",          "fragment", "geometry", "tess_control",
                                                     "tess_evaluation", "compute",  "task",     "mesh"};
    return names[static_cast<unsigned>(s) % kStageCount];
}

constexpr std::optional<Stage> stage_from_name(std::string_view name) {
    for (unsigned i = 0; i < kStageCount; ++i)
        if (stage_name(static_cast<Stage>(i)) == name)
            return static_cast<Stage>(i);
    return std::nullopt;
}

constexpr std::string_view arch_name(Arch a) { return a == Arch::sm53 ? "sm53" : "sm86"; }

} // namespace dmsh
