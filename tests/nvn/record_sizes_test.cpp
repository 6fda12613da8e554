// The table of record sizes in docs/nvn.md: measured as a guest measures them, by command memory used.
#include "tests/nvn/guest.h"
#include <fstream>
#include <functional>
#include <sstream>

namespace dmsh::nvn {
namespace {

struct Subject {
    GuestPool pool{0x40000};
    alignas(8) uint8_t control[1024];
    Guest<NVNcommandBuffer> cmd;
    Guest<NVNtexture> texture;
    Guest<NVNprogram> program;
    Guest<NVNtexturePool> textures;
    Guest<NVNsamplerPool> samplers;
    Guest<NVNsync> sync;
    Guest<NVNevent> event;
    uint64_t address = 0;
    Subject() {
        address = pool.address() + 0x30000;
        nvnCommandBufferInitialize(cmd, nullptr);
        Guest<NVNtextureBuilder> b;
        nvnTextureBuilderSetDevice(b, nullptr);
        nvnTextureBuilderSetDefaults(b);
        nvnTextureBuilderSetFormat(b, NVN_FORMAT_RGBA8);
        nvnTextureBuilderSetSize2D(b, 16, 16);
        nvnTextureBuilderSetStorage(b, pool.get(), 0x20000);
        nvnTextureInitialize(texture, b);
        nvnProgramInitialize(program, nullptr);
        nvnTexturePoolInitialize(textures, pool.get(), 0x28000, 300);
        nvnSamplerPoolInitialize(samplers, pool.get(), 0x2c000, 300);
        nvnSyncInitialize(sync, nullptr);
        Guest<NVNeventBuilder> eb;
        nvnEventBuilderSetDefaults(eb);
        nvnEventBuilderSetStorage(eb, pool.get(), 0x38000);
        nvnEventInitialize(event, eb);
    }
    size_t measure(const std::function<void(Subject&)>& call) {
        nvnCommandBufferAddCommandMemory(cmd, pool.get(), 0, 0x10000);
        nvnCommandBufferAddControlMemory(cmd, control, sizeof control);
        nvnCommandBufferBeginRecording(cmd);
        call(*this);
        const size_t used = nvnCommandBufferGetCommandMemoryUsed(cmd);
        nvnCommandBufferEndRecording(cmd);
        return used;
    }
};

const NVNcopyRegion kRegion{0, 0, 0, 4, 4, 1};
const float kFloats[32] = {};
const NVNbufferRange kRanges[4] = {};
const NVNtextureHandle kHandles[4] = {};

// Several calls in a row are separated by slashes; `+ each` rows give one element and what each more adds.
struct Row {
    const char* calls;
    std::function<void(Subject&)> one;
    std::function<void(Subject&)> two; // empty: no elements
};

const Row kRows[] = {
    {"BindTexture, BindImage, BindSeparateTexture, BindSeparateSampler (handle at +0x10)",
     [](Subject& s) { nvnCommandBufferBindTexture(s.cmd, NVN_SHADER_STAGE_VERTEX, 0, 256); }, {}},
    {"BindTextures and the other plural handle binds",
     [](Subject& s) { nvnCommandBufferBindTextures(s.cmd, NVN_SHADER_STAGE_VERTEX, 0, 1, kHandles); },
     [](Subject& s) { nvnCommandBufferBindTextures(s.cmd, NVN_SHADER_STAGE_VERTEX, 0, 2, kHandles); }},
    {"BindTexturesDeferred",
     [](Subject& s) { nvnCommandBufferBindTexturesDeferred(s.cmd, NVN_SHADER_STAGE_VERTEX, 0, 4, s.address); }, {}},
    {"BindUniformBuffers and the other buffer binds",
     [](Subject& s) { nvnCommandBufferBindUniformBuffers(s.cmd, NVN_SHADER_STAGE_VERTEX, 0, 1, kRanges); },
     [](Subject& s) { nvnCommandBufferBindUniformBuffers(s.cmd, NVN_SHADER_STAGE_VERTEX, 0, 2, kRanges); }},
    {"BindProgram", [](Subject& s) { nvnCommandBufferBindProgram(s.cmd, s.program, 1); }, {}},
    {"SetTexturePool, SetSamplerPool", [](Subject& s) { nvnCommandBufferSetTexturePool(s.cmd, s.textures); }, {}},
    {"BindBlendState",
     [](Subject& s) {
         const NVNblendState state{};
         nvnCommandBufferBindBlendState(s.cmd, &state);
     },
     {}},
    {"BindDepthStencilState",
     [](Subject& s) {
         const NVNdepthStencilState state{};
         nvnCommandBufferBindDepthStencilState(s.cmd, &state);
     },
     {}},
    {"BindColorState, BindChannelMaskState, BindPolygonState, BindMultisampleState",
     [](Subject& s) {
         const NVNcolorState state{};
         nvnCommandBufferBindColorState(s.cmd, &state);
     },
     {}},
    {"BindMultisampleState with sample locations",
     [](Subject& s) {
         NVNmultisampleState state{};
         nvnMultisampleStateSetSampleLocationsEnable(&state, 1);
         nvnCommandBufferBindMultisampleState(s.cmd, &state);
     },
     {}},
    {"BindVertexAttribState",
     [](Subject& s) {
         const NVNvertexAttribState state[2] = {};
         nvnCommandBufferBindVertexAttribState(s.cmd, 1, state);
     },
     [](Subject& s) {
         const NVNvertexAttribState state[2] = {};
         nvnCommandBufferBindVertexAttribState(s.cmd, 2, state);
     }},
    {"BindVertexStreamState",
     [](Subject& s) {
         const NVNvertexStreamState state[2] = {};
         nvnCommandBufferBindVertexStreamState(s.cmd, 1, state);
     },
     [](Subject& s) {
         const NVNvertexStreamState state[2] = {};
         nvnCommandBufferBindVertexStreamState(s.cmd, 2, state);
     }},
    {"SetViewports", [](Subject& s) { nvnCommandBufferSetViewports(s.cmd, 0, 1, kFloats); },
     [](Subject& s) { nvnCommandBufferSetViewports(s.cmd, 0, 2, kFloats); }},
    {"SetScissors", [](Subject& s) { nvnCommandBufferSetScissor(s.cmd, 0, 0, 1, 1); },
     [](Subject& s) {
         const int rects[8] = {};
         nvnCommandBufferSetScissors(s.cmd, 0, 2, rects);
     }},
    {"SetDepthRanges", [](Subject& s) { nvnCommandBufferSetDepthRanges(s.cmd, 0, 1, kFloats); },
     [](Subject& s) { nvnCommandBufferSetDepthRanges(s.cmd, 0, 2, kFloats); }},
    {"SetStencilRef, SetStencilMask, SetStencilValueMask",
     [](Subject& s) { nvnCommandBufferSetStencilRef(s.cmd, NVN_FACE_FRONT, 1); }, {}},
    {"SetPatchSize, SetLineWidth and the other single values",
     [](Subject& s) { nvnCommandBufferSetPatchSize(s.cmd, 3); }, {}},
    {"SetBlendColor, SetOuterTessellationLevels",
     [](Subject& s) { nvnCommandBufferSetBlendColor(s.cmd, kFloats); }, {}},
    {"SetPolygonOffsetClamp", [](Subject& s) { nvnCommandBufferSetPolygonOffsetClamp(s.cmd, 0, 0, 0); }, {}},
    {"SetDepthBounds, SetInnerTessellationLevels",
     [](Subject& s) { nvnCommandBufferSetDepthBounds(s.cmd, 1, 0, 1); }, {}},
    {"SetRenderTargets",
     [](Subject& s) {
         const NVNtexture* t[2] = {s.texture, s.texture};
         nvnCommandBufferSetRenderTargets(s.cmd, 1, t, nullptr, nullptr, nullptr);
     },
     [](Subject& s) {
         const NVNtexture* t[2] = {s.texture, s.texture};
         nvnCommandBufferSetRenderTargets(s.cmd, 2, t, nullptr, nullptr, nullptr);
     }},
    {"ClearColor", [](Subject& s) { nvnCommandBufferClearColor(s.cmd, 0, kFloats, 15); }, {}},
    {"ClearDepthStencil", [](Subject& s) { nvnCommandBufferClearDepthStencil(s.cmd, 1, 1, 0, 0); }, {}},
    {"DrawArrays", [](Subject& s) { nvnCommandBufferDrawArrays(s.cmd, NVN_DRAW_PRIMITIVE_POINTS, 0, 1); }, {}},
    {"DrawArraysInstanced",
     [](Subject& s) { nvnCommandBufferDrawArraysInstanced(s.cmd, NVN_DRAW_PRIMITIVE_POINTS, 0, 1, 1, 2); }, {}},
    {"DrawElements",
     [](Subject& s) {
         nvnCommandBufferDrawElements(s.cmd, NVN_DRAW_PRIMITIVE_POINTS, NVN_INDEX_TYPE_UNSIGNED_INT, 1, s.address);
     },
     {}},
    {"DrawElementsBaseVertex, DrawElementsInstanced",
     [](Subject& s) {
         nvnCommandBufferDrawElementsBaseVertex(s.cmd, NVN_DRAW_PRIMITIVE_POINTS, NVN_INDEX_TYPE_UNSIGNED_INT, 1,
                                                s.address, 1);
     },
     {}},
    {"DrawArraysIndirect",
     [](Subject& s) { nvnCommandBufferDrawArraysIndirect(s.cmd, NVN_DRAW_PRIMITIVE_POINTS, s.address); }, {}},
    {"DrawElementsIndirect",
     [](Subject& s) {
         nvnCommandBufferDrawElementsIndirect(s.cmd, NVN_DRAW_PRIMITIVE_POINTS, NVN_INDEX_TYPE_UNSIGNED_INT, s.address,
                                              s.address);
     },
     {}},
    {"MultiDrawArraysIndirectCount",
     [](Subject& s) {
         nvnCommandBufferMultiDrawArraysIndirectCount(s.cmd, NVN_DRAW_PRIMITIVE_POINTS, s.address, s.address, 2, 16);
     },
     {}},
    {"MultiDrawElementsIndirectCount",
     [](Subject& s) {
         nvnCommandBufferMultiDrawElementsIndirectCount(s.cmd, NVN_DRAW_PRIMITIVE_POINTS, NVN_INDEX_TYPE_UNSIGNED_INT,
                                                        s.address, s.address, s.address, 2, 20);
     },
     {}},
    {"DrawMeshTasks, DrawMeshTasks3D", [](Subject& s) { nvnCommandBufferDrawMeshTasks(s.cmd, 1, 0); }, {}},
    {"DrawMeshTasksIndirect", [](Subject& s) { nvnCommandBufferDrawMeshTasksIndirect(s.cmd, s.address); }, {}},
    {"DispatchCompute", [](Subject& s) { nvnCommandBufferDispatchCompute(s.cmd, 1, 1, 1); }, {}},
    {"DispatchComputeIndirect", [](Subject& s) { nvnCommandBufferDispatchComputeIndirect(s.cmd, s.address); }, {}},
    {"transform feedback", [](Subject& s) { nvnCommandBufferBeginTransformFeedback(s.cmd, s.address); }, {}},
    {"ReportCounter, ResetCounter, ReportValue, SetRenderEnable(Conditional)",
     [](Subject& s) { nvnCommandBufferReportCounter(s.cmd, NVN_COUNTER_TYPE_TIMESTAMP, s.address); }, {}},
    {"CopyBufferToBuffer", [](Subject& s) { nvnCommandBufferCopyBufferToBuffer(s.cmd, s.address, s.address, 4, 0); },
     {}},
    {"CopyBufferToTexture, CopyTextureToBuffer",
     [](Subject& s) { nvnCommandBufferCopyBufferToTexture(s.cmd, s.address, s.texture, nullptr, &kRegion, 0); }, {}},
    {"the same with a copy stride set",
     [](Subject& s) {
         nvnCommandBufferSetCopyRowStride(s.cmd, 64);
         nvnCommandBufferCopyBufferToTexture(s.cmd, s.address, s.texture, nullptr, &kRegion, 0);
         nvnCommandBufferSetCopyRowStride(s.cmd, 0);
     },
     {}},
    {"CopyTextureToTexture",
     [](Subject& s) {
         nvnCommandBufferCopyTextureToTexture(s.cmd, s.texture, nullptr, &kRegion, s.texture, nullptr, &kRegion, 0);
     },
     {}},
    {"ClearTexture",
     [](Subject& s) { nvnCommandBufferClearTexture(s.cmd, s.texture, nullptr, &kRegion, kFloats, 15); }, {}},
    {"Downsample", [](Subject& s) { nvnCommandBufferDownsample(s.cmd, s.texture, s.texture); }, {}},
    {"ClearBuffer", [](Subject& s) { nvnCommandBufferClearBuffer(s.cmd, s.address, 4, 0); }, {}},
    {"UpdateUniformBuffer of 4 bytes, each 4 more",
     [](Subject& s) { nvnCommandBufferUpdateUniformBuffer(s.cmd, s.address, 256, 0, 4, kFloats); },
     [](Subject& s) { nvnCommandBufferUpdateUniformBuffer(s.cmd, s.address, 256, 0, 8, kFloats); }},
    {"PushGraphicsConstants, PushComputeConstants of 4 bytes, each 4 more",
     [](Subject& s) { nvnCommandBufferPushGraphicsConstants(s.cmd, 0, 4, kFloats); },
     [](Subject& s) { nvnCommandBufferPushGraphicsConstants(s.cmd, 0, 8, kFloats); }},
    {"Barrier", [](Subject& s) { nvnCommandBufferBarrier(s.cmd, 1); }, {}},
    {"FenceSync, WaitSync",
     [](Subject& s) {
         nvnCommandBufferFenceSync(s.cmd, s.sync, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
     },
     {}},
    {"WaitEvent, SignalEvent",
     [](Subject& s) { nvnCommandBufferWaitEvent(s.cmd, s.event, NVN_EVENT_WAIT_MODE_EQUAL, 1); }, {}},
    {"SetViewportSwizzles",
     [](Subject& s) {
         const NVNviewportSwizzle w[8] = {};
         nvnCommandBufferSetViewportSwizzles(s.cmd, 0, 1, w);
     },
     [](Subject& s) {
         const NVNviewportSwizzle w[8] = {};
         nvnCommandBufferSetViewportSwizzles(s.cmd, 0, 2, w);
     }},
    {"BindCoverageModulationTable", [](Subject& s) { nvnCommandBufferBindCoverageModulationTable(s.cmd, kFloats); },
     {}},
    {"SetCopyRowStride, SetCopyImageStride, debug groups, tiling and depth hints",
     [](Subject& s) {
         nvnCommandBufferSetCopyImageStride(s.cmd, 64);
         nvnCommandBufferSetCopyImageStride(s.cmd, 0);
         nvnCommandBufferInsertDebugMarker(s.cmd, "x");
     },
     {}},
};

// DMSH_UPDATE_DOCS=1 writes the table instead of comparing.
TEST(Records, DocumentedSizesAreCurrent) {
    Host::get().reset();
    set_report_sink([](Report, const char*, void*) {}, nullptr);
    std::string table = "| call | bytes |\n| --- | --- |\n";
    {
        Subject s;
        for (const Row& r : kRows) {
            const size_t one = s.measure(r.one);
            table += std::string("| ") + r.calls + " | " + std::to_string(one);
            if (r.two)
                table += ", each more " + std::to_string(s.measure(r.two) - one);
            table += " |\n";
        }
    }
    Host::get().reset();
    set_report_sink(nullptr, nullptr);
    const std::string path = std::string(DMSH_SOURCE_DIR) + "/docs/nvn.md";
    std::ifstream in(path);
    if (!in)
        GTEST_SKIP() << "docs/nvn.md is not there";
    std::stringstream text;
    text << in.rdbuf();
    const std::string page = text.str(), begin = "<!-- records begin -->\n", end = "<!-- records end -->";
    const size_t from = page.find(begin), to = page.find(end);
    ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
    const std::string wanted = page.substr(0, from + begin.size()) + table + page.substr(to);
    if (std::getenv("DMSH_UPDATE_DOCS")) {
        std::ofstream(path) << wanted;
        return;
    }
    EXPECT_TRUE(page == wanted) << "run DMSH_UPDATE_DOCS=1 test_nvn --gtest_filter=*Documented*";
}

} // namespace
} // namespace dmsh::nvn
