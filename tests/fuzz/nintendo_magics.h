// The formats of the target `nintendo`, by the number that its input's first byte gives.
#pragma once
#include <cstddef>
#include <string_view>

namespace dmsh::fuzz {

struct Magic {
    std::string_view bytes;
    size_t at = 0;
};

constexpr Magic kNintendoMagics[] = {
    {"FSHA    "},
    {"BAHS"},
    {"FRES    "},
    {"VFXB    "},
    {"SCNE"},
    {"\x55\xaa\x38\x2d"},
    {"\x2d\x38\xaa\x55"},
    {"NARC"},
    {"GFLXPACK"},
    {{"ONEPACK\0", 8}},
    {"\x58\x24\xf3\xa9"},
    {"\x28\xb5\x2f\xfd", 4},
    {"\x04\x22\x4d\x18", 4},
};

} // namespace dmsh::fuzz
