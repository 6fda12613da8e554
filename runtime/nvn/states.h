// Bit fields of the packed fixed-function states, shared by the state calls and the replay.
#pragma once
#include <cstdint>

namespace dmsh::nvn {

template <unsigned At, unsigned Width>
struct Field {
    static constexpr uint64_t kMask = (uint64_t{1} << Width) - 1;
    static constexpr unsigned get(uint64_t word) { return static_cast<unsigned>(word >> At & kMask); }
    template <class W>
    static constexpr void set(W& word, uint64_t value) {
        word = static_cast<W>((static_cast<uint64_t>(word) & ~(kMask << At)) | (value & kMask) << At);
    }
};

// Factors reach 0x64: 7 bits.
namespace blend {
using Target = Field<0, 3>;
using SrcRgb = Field<3, 7>;
using DstRgb = Field<10, 7>;
using SrcAlpha = Field<17, 7>;
using DstAlpha = Field<24, 7>;
using EquationRgb = Field<31, 3>;
using EquationAlpha = Field<34, 3>;
using Advanced = Field<37, 6>;
using Overlap = Field<43, 2>;
using Premultiplied = Field<45, 1>;
using Normalized = Field<46, 1>;
} // namespace blend

namespace color {
using Enables = Field<0, 8>;
using Logic = Field<8, 4>;
using Alpha = Field<12, 4>;
} // namespace color

namespace multisample {
using Enable = Field<0, 1>;
using Samples = Field<1, 5>;
using AlphaToCoverage = Field<6, 1>;
using Dither = Field<7, 1>;
using RasterSamples = Field<8, 5>;
using Modulation = Field<13, 2>;
using CoverageToColor = Field<15, 1>;
using CoverageOutput = Field<16, 3>;
using LocationsEnable = Field<19, 1>;
using GridEnable = Field<20, 1>;
} // namespace multisample

namespace polygon {
using Cull = Field<0, 2>;
using Front = Field<2, 1>;
using Mode = Field<3, 2>;
using OffsetEnables = Field<5, 3>;
} // namespace polygon

// Front and back in the same order.
namespace depth_stencil {
using DepthTest = Field<0, 1>;
using DepthWrite = Field<1, 1>;
using DepthFunc = Field<2, 4>;
using StencilTest = Field<6, 1>;
using FrontFunc = Field<8, 4>;
using FrontFail = Field<12, 4>;
using FrontDepthFail = Field<16, 4>;
using FrontPass = Field<20, 4>;
using BackFunc = Field<24, 4>;
using BackFail = Field<28, 4>;
using BackDepthFail = Field<32, 4>;
using BackPass = Field<36, 4>;
} // namespace depth_stencil

namespace attrib {
using Format = Field<0, 8>;
using Stream = Field<8, 5>;
using Offset = Field<13, 19>;
} // namespace attrib

namespace sampler {
using Min = Field<0, 3>;
using Mag = Field<3, 1>;
using WrapS = Field<4, 3>;
using WrapT = Field<7, 3>;
using WrapR = Field<10, 3>;
using CompareMode = Field<13, 1>;
using CompareFunc = Field<14, 4>;
using Reduction = Field<18, 2>;
} // namespace sampler

} // namespace dmsh::nvn
