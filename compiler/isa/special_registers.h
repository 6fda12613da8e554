// Names of the special registers that S2R and CS2R read.
#pragma once
#include <cstdint>
#include <string>

#include "compiler/isa/isa.h"

namespace dmsh::isa {

struct SpecialRegister {
    uint8_t number;
    std::string_view name;
};

// Numbers that both architectures share, as NVIDIA's disassembler names them; the graphics ones (17 to 31)
// are Mesa's names.
inline constexpr SpecialRegister kSpecialRegisters[] = {
    {0, "SR_LANEID"},       {3, "SR_VIRTID"},           {17, "SR_INVOCATION_ID"}, {18, "SR_Y_DIRECTION"},
    {19, "SR_THREAD_KILL"}, {29, "SR_INVOCATION_INFO"}, {32, "SR_TID"},           {33, "SR_TID.X"},
    {34, "SR_TID.Y"},       {35, "SR_TID.Z"},           {37, "SR_CTAID.X"},       {38, "SR_CTAID.Y"},
    {39, "SR_CTAID.Z"},     {50, "SR_SMEMSZ"},          {56, "SR_EQMASK"},        {57, "SR_LTMASK"},
    {58, "SR_LEMASK"},      {59, "SR_GTMASK"},          {60, "SR_GEMASK"},        {80, "SR_CLOCKLO"},
    {81, "SR_CLOCKHI"},     {82, "SR_GLOBALTIMERLO"},   {83, "SR_GLOBALTIMERHI"},
};
inline constexpr SpecialRegister kMaxwellSpecialRegisters[] = {
    {2, "SR_VIRTCFG"},
    {4, "SR_PM0"},
    {5, "SR_PM1"},
    {6, "SR_PM2"},
};
inline constexpr SpecialRegister kAmpereSpecialRegisters[] = {
    {1, "SR_CLOCK"}, {16, "SR_PRIM_TYPE"}, {20, "SM_SHADER_TYPE"}, {42, "SR_NLATC"}, {67, "SR_VIRTUALSMID"},
    {100, "SR_PM0"}, {102, "SR_PM1"},      {103, "SR_PM_HI1"},     {112, "SR_PM6"},  {255, "SRZ"},
};

inline std::string special_register_name(Arch arch, uint32_t number) {
    for (const SpecialRegister& known : kSpecialRegisters)
        if (known.number == number)
            return std::string(known.name);
    auto own = arch == Arch::sm_53 ? std::span<const SpecialRegister>(kMaxwellSpecialRegisters)
                                   : std::span<const SpecialRegister>(kAmpereSpecialRegisters);
    for (const SpecialRegister& known : own)
        if (known.number == number)
            return std::string(known.name);
    return "SR" + std::to_string(number);
}

} // namespace dmsh::isa
