// Windows, events, device tables of both consoles, remaining builders; and that recording takes no heap memory.
#include "runtime/nvn/recorder.h"
#include "tests/nvn/count_allocations.h"
#include "tests/nvn/guest.h"

namespace dmsh::nvn {
namespace {

class Objects : public FreshHost {};

int integer(int item) {
    int v = -1;
    nvnDeviceGetInteger(nullptr, static_cast<NVNdeviceInfo>(item), &v);
    return v;
}

TEST_F(Objects, VersionsFollowTheSdk) {
    Host::get().set_sdk(sdk_of(false, 10, 4));
    EXPECT_EQ(integer(0), 53);
    EXPECT_EQ(integer(1), 313);
    EXPECT_EQ(integer(0x30), 16);
    Host::get().set_sdk(sdk_of(false, 12, 3));
    EXPECT_EQ(integer(0), 55);
    EXPECT_EQ(integer(1), 15);
    EXPECT_EQ(integer(0x5a), 0);
    EXPECT_EQ(Host::get().gob_order, GobOrder::tegra_x1);
    Host::get().set_sdk(sdk_of(true, 20, 5));
    EXPECT_EQ(integer(0), 231);
    EXPECT_EQ(integer(1), 30);
    EXPECT_EQ(integer(0x30), 17);
    EXPECT_EQ(Host::get().gob_order, GobOrder::switch2);
    Host::get().set_sdk(sdk_of(true, 21, 4));
    EXPECT_EQ(integer(1), 39);
    EXPECT_EQ(integer(0x30), 20);
}

TEST_F(Objects, SecondConsolesConstants) {
    Host::get().set_sdk(sdk_of(true, 21, 4));
    const struct {
        int item, value;
    } rows[] = {{0x1a, 16384}, {0x1f, 1024}, {0x2c, 16},  {0x2e, 201}, {0x2f, 201},
                {0x31, 0},     {0x4e, 2048}, {0x06, 16},  {0x0e, 16},  {0x5f, 32},
                {0x13, 4},     {0x15, 512},  {0x69, 0},   {0xa9, 0},   {0xaa, 231}};
    for (const auto& r : rows)
        EXPECT_EQ(integer(r.item), r.value) << std::hex << r.item;
    EXPECT_GE(integer(0x20), 65536);
    EXPECT_EQ(report_count(Report::bad_argument), 2u); // 0x69 and 0xa9 are not known
}

TEST_F(Objects, PrivateFlagStaysZero) { EXPECT_EQ(nvnPrivate0, 0u); }

TEST_F(Objects, QueueBuilderKeepsPriorityAndRayTracingSize) {
    Guest<NVNqueueBuilder> b;
    nvnQueueBuilderSetDevice(b, nullptr);
    nvnQueueBuilderSetDefaults(b);
    EXPECT_EQ(nvnQueueBuilderGetQueuePriority(b), NVN_QUEUE_PRIORITY_NORMAL);
    int size = -1;
    EXPECT_FALSE(nvnQueueBuilderGetRayTracingMemorySize(b, &size));
    nvnQueueBuilderSetRayTracingMemorySize(b, 0x30000);
    nvnQueueBuilderSetQueuePriority(b, NVN_QUEUE_PRIORITY_HIGH);
    EXPECT_TRUE(nvnQueueBuilderGetRayTracingMemorySize(b, &size));
    EXPECT_EQ(size, 0x30000);
    EXPECT_EQ(nvnQueueBuilderGetQueuePriority(b), NVN_QUEUE_PRIORITY_HIGH);
}

TEST_F(Objects, SampleLocationsAreKept) {
    NVNmultisampleState s{};
    nvnMultisampleStateSetDefaults(&s);
    EXPECT_FALSE(nvnMultisampleStateGetSampleLocationsEnable(&s));
    nvnMultisampleStateSetSampleLocationsEnable(&s, 1);
    nvnMultisampleStateSetSampleLocationsGridEnable(&s, 1);
    EXPECT_TRUE(nvnMultisampleStateGetSampleLocationsEnable(&s));
    EXPECT_TRUE(nvnMultisampleStateGetSampleLocationsGridEnable(&s));
    const float xy[4] = {0.25f, 0.75f, -1.0f, 7.0f};
    nvnMultisampleStateSetSampleLocations(&s, 3, 2, xy);
    EXPECT_EQ(s.positions[3], 0xc4);
    EXPECT_EQ(s.positions[4], 0xf0);
    EXPECT_EQ(s.positions[5], 0x88);
    nvnMultisampleStateSetSampleLocations(&s, 15, 2, xy);
    EXPECT_EQ(report_count(Report::bad_argument), 1u);
    nvnMultisampleStateSetSamples(&s, 8);
    int w = 0, h = 0;
    nvnMultisampleStateGetSampleLocationsGrid(&s, &w, &h);
    EXPECT_EQ(w * 100 + h, 201);
}

// Three textures of a window.
struct WindowGuest {
    GuestPool pool{0x100000};
    Guest<NVNtexture> textures[3];
    Guest<NVNwindow> window;
    WindowGuest() {
        Guest<NVNtextureBuilder> b;
        nvnTextureBuilderSetDevice(b, nullptr);
        nvnTextureBuilderSetDefaults(b);
        nvnTextureBuilderSetFormat(b, NVN_FORMAT_RGBA8);
        nvnTextureBuilderSetSize2D(b, 160, 90);
        NVNtexture* list[3];
        for (int i = 0; i < 3; ++i) {
            nvnTextureBuilderSetStorage(b, pool.get(), i * 0x20000);
            EXPECT_TRUE(nvnTextureInitialize(textures[i], b));
            list[i] = textures[i];
        }
        Guest<NVNwindowBuilder> wb;
        nvnWindowBuilderSetDevice(wb, nullptr);
        nvnWindowBuilderSetDefaults(wb);
        nvnWindowBuilderSetNativeWindow(wb, &pool);
        nvnWindowBuilderSetTextures(wb, 3, list);
        nvnWindowBuilderSetPresentInterval(wb, 2);
        EXPECT_EQ(nvnWindowBuilderGetNumTextures(wb), 3);
        EXPECT_EQ(nvnWindowBuilderGetTexture(wb, 2), textures[2].get());
        EXPECT_EQ(nvnWindowBuilderGetTexture(wb, 3), nullptr);
        EXPECT_EQ(nvnWindowBuilderGetNativeWindow(wb), &pool);
        EXPECT_TRUE(nvnWindowInitialize(window, wb));
    }
};

TEST_F(Objects, WindowsTellCropIntervalAndTextures) {
    WindowGuest g;
    EXPECT_EQ(nvnWindowGetPresentInterval(g.window), 2);
    nvnWindowSetPresentInterval(g.window, 1);
    EXPECT_EQ(nvnWindowGetPresentInterval(g.window), 1);
    NVNrectangle r{};
    nvnWindowGetCrop(g.window, &r);
    EXPECT_EQ(r.width * 1000 + r.height, 160090); // the whole first texture
    nvnWindowSetCrop(g.window, 1, 2, 30, 40);
    nvnWindowGetCrop(g.window, &r);
    EXPECT_EQ(r.x * 1000 + r.height, 1040);
    int index[5];
    Guest<NVNsync> sync;
    nvnSyncInitialize(sync, nullptr);
    for (int& i : index)
        EXPECT_EQ(nvnWindowAcquireTexture(g.window, sync, &i), NVN_WINDOW_ACQUIRE_TEXTURE_RESULT_SUCCESS);
    EXPECT_EQ(index[0] * 100 + index[1] * 10 + index[2], 12);
    EXPECT_EQ(index[3], 0);
    EXPECT_EQ(nvnSyncWait(sync, 0), NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED); // never presented
    nvnWindowSetNumActiveTextures(g.window, 2);
    EXPECT_EQ(nvnWindowGetNumActiveTextures(g.window), 2);
    EXPECT_EQ(nvnWindowGetNumTextures(g.window), 3);
    for (int& i : index) {
        nvnWindowAcquireTexture(g.window, sync, &i);
        EXPECT_LT(i, 2);
    }
    nvnWindowFinalize(g.window);
    EXPECT_EQ(nvnWindowAcquireTexture(g.window, sync, &index[0]),
              NVN_WINDOW_ACQUIRE_TEXTURE_RESULT_NATIVE_ERROR);
}

TEST_F(Objects, WindowsRefuseWhatIsNoTexture) {
    Guest<NVNwindowBuilder> b;
    nvnWindowBuilderSetDevice(b, nullptr);
    nvnWindowBuilderSetDefaults(b);
    Guest<NVNwindow> w;
    EXPECT_FALSE(nvnWindowInitialize(w, b)); // no textures
    NVNtexture* wild[2] = {reinterpret_cast<NVNtexture*>(0x1230), reinterpret_cast<NVNtexture*>(~uint64_t{7})};
    nvnWindowBuilderSetTextures(b, 2, wild);
    EXPECT_FALSE(nvnWindowInitialize(w, b));
    nvnWindowBuilderSetTextures(b, 5, wild);
    EXPECT_GE(report_count(Report::bad_argument) + report_count(Report::bad_object), 3u);
}

TEST_F(Objects, EventsAreWordsInTheirPool) {
    GuestPool pool(0x10000);
    Guest<NVNeventBuilder> b;
    nvnEventBuilderSetDefaults(b);
    nvnEventBuilderSetStorage(b, pool.get(), 0x40);
    int64_t offset = 0;
    EXPECT_EQ(nvnEventBuilderGetStorage(b, &offset), pool.get());
    EXPECT_EQ(offset, 0x40);
    EXPECT_EQ(nvnEventBuilderGetMemoryOffset(b), 0x40);
    Guest<NVNevent> e;
    ASSERT_TRUE(nvnEventInitialize(e, b));
    EXPECT_EQ(nvnEventGetMemoryPool(e), pool.get());
    EXPECT_EQ(nvnEventGetMemoryOffset(e), 0x40);
    nvnEventSignal(e, NVN_EVENT_SIGNAL_MODE_WRITE, 7);
    nvnEventSignal(e, NVN_EVENT_SIGNAL_MODE_ADD, 5);
    uint32_t word;
    std::memcpy(&word, pool.memory() + 0x40, 4);
    EXPECT_EQ(word, 12u);
    EXPECT_EQ(nvnEventGetValue(e), 12u);
    nvnEventBuilderSetStorage(b, pool.get(), 0x10000 - 2);
    EXPECT_FALSE(nvnEventInitialize(e, b));
    nvnEventBuilderSetStorage(b, nullptr, 0);
    EXPECT_FALSE(nvnEventInitialize(e, b));
    Guest<NVNevent> never;
    EXPECT_EQ(nvnEventGetValue(never), 0u);
}

TEST_F(Objects, DebugDatabaseNamesLiveObjects) {
    GuestPool pool(0x10000);
    Guest<NVNsync> syncs[2];
    for (auto& s : syncs)
        nvnSyncInitialize(s, nullptr);
    nvnSyncFinalize(syncs[0]);
    std::vector<void*> seen;
    const auto walk = [&](NVNdebugObjectType type) {
        seen.clear();
        nvnDeviceWalkDebugDatabase(
            nullptr, type,
            [](void* object, void* user) { static_cast<std::vector<void*>*>(user)->push_back(object); }, &seen);
    };
    walk(NVN_DEBUG_OBJECT_TYPE_SYNC);
    EXPECT_EQ(seen, std::vector<void*>{syncs[1].get()});
    walk(NVN_DEBUG_OBJECT_TYPE_MEMORY_POOL);
    EXPECT_EQ(seen, std::vector<void*>{pool.get()});
    walk(NVN_DEBUG_OBJECT_TYPE_WINDOW);
    EXPECT_TRUE(seen.empty());
}

TEST_F(Objects, SparseTileLayoutOfTextures) {
    Guest<NVNtextureBuilder> b;
    nvnTextureBuilderSetDevice(b, nullptr);
    nvnTextureBuilderSetDefaults(b);
    nvnTextureBuilderSetFormat(b, NVN_FORMAT_RGBA8);
    nvnTextureBuilderSetSize2D(b, 2048, 2048);
    nvnTextureBuilderSetLevels(b, 12);
    nvnTextureBuilderSetFlags(b, NVN_TEXTURE_FLAGS_SPARSE);
    NVNtextureSparseTileLayout t;
    std::memset(&t, 0xff, sizeof t);
    nvnTextureBuilderGetSparseTileLayout(b, &t);
    EXPECT_EQ(t.tiled_levels, 5);
    EXPECT_EQ(t.width * 1000 + t.height, 128128);
    EXPECT_EQ(t.depth, 1);
    for (const uint8_t r : t.reserved)
        EXPECT_EQ(r, 0);
}

// Recording.

struct Recording {
    GuestPool pool{0x40000};
    alignas(8) uint8_t control[4096];
    Guest<NVNcommandBuffer> cmd;
    Recording() {
        EXPECT_TRUE(nvnCommandBufferInitialize(cmd, nullptr));
        nvnCommandBufferAddCommandMemory(cmd, pool.get(), 0, 0x20000);
        nvnCommandBufferAddControlMemory(cmd, control, sizeof control);
    }
};

TEST_F(Objects, RecordingTakesNoHeapMemory) {
    Recording r;
    NVNblendState blend{};
    nvnBlendStateSetDefaults(&blend);
    const uint64_t buffer = r.pool.address() + 0x30000;
    const uint8_t data[64] = {};
    const NVNtextureHandle handles[3] = {256, 257, 258};
    const uint64_t before = g_allocations;
    for (int frame = 0; frame < 3; ++frame) {
        nvnCommandBufferAddCommandMemory(r.cmd, r.pool.get(), 0, 0x20000);
        nvnCommandBufferAddControlMemory(r.cmd, r.control, sizeof r.control);
        nvnCommandBufferBeginRecording(r.cmd);
        for (int i = 0; i < 200; ++i) {
            nvnCommandBufferBindBlendState(r.cmd, &blend);
            nvnCommandBufferBindUniformBuffer(r.cmd, NVN_SHADER_STAGE_VERTEX, 0, buffer, 256);
            nvnCommandBufferBindTexture(r.cmd, NVN_SHADER_STAGE_FRAGMENT, 0, 256);
            nvnCommandBufferBindTextures(r.cmd, NVN_SHADER_STAGE_FRAGMENT, 1, 3, handles);
            nvnCommandBufferUpdateUniformBuffer(r.cmd, buffer, 256, 0, sizeof data, data);
            nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
            nvnCommandBufferDrawArraysIndirect(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, buffer);
            nvnCommandBufferReportCounter(r.cmd, NVN_COUNTER_TYPE_TIMESTAMP, buffer);
        }
        EXPECT_NE(nvnCommandBufferEndRecording(r.cmd), 0u);
    }
    EXPECT_EQ(g_allocations, before);
}

// The guest may put any bytes into its object: a record never leaves the granted memory.
TEST_F(Objects, HostileCommandBufferBytesAreRefused) {
    Recording r;
    nvnCommandBufferBeginRecording(r.cmd);
    nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    uint8_t saved[kGuestBytes<NVNcommandBuffer>];
    std::memcpy(saved, r.cmd.bytes(), sizeof saved);
    for (size_t i = 0; i < sizeof saved; ++i)
        for (const uint8_t b : {0x00, 0xff, 0x7f}) {
            std::memcpy(r.cmd.bytes(), saved, sizeof saved);
            r.cmd.bytes()[i] = b;
            nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
        }
    std::memcpy(r.cmd.bytes(), saved, sizeof saved);
    nvnCommandBufferDrawArrays(r.cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    for (size_t i = 0x20000; i < 0x40000; ++i)
        ASSERT_EQ(r.pool.memory()[i], 0);
}

TEST_F(Objects, FinalisedPoolsTakeTheirSegmentsAway) {
    Guest<NVNcommandBuffer> cmd;
    ASSERT_TRUE(nvnCommandBufferInitialize(cmd, nullptr));
    alignas(8) uint8_t control[256];
    {
        GuestPool pool(0x10000);
        nvnCommandBufferAddCommandMemory(cmd, pool.get(), 0, 0x10000);
        nvnCommandBufferAddControlMemory(cmd, control, sizeof control);
        nvnCommandBufferBeginRecording(cmd);
        nvnCommandBufferDrawArrays(cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3);
    }
    nvnCommandBufferDrawArrays(cmd, NVN_DRAW_PRIMITIVE_TRIANGLES, 0, 3); // goes to lent memory
    EXPECT_NE(nvnCommandBufferEndRecording(cmd), 0u);
    EXPECT_GT(Host::get().lent_bytes(), 0u);
}

TEST_F(Objects, GrantsWithoutAPoolAreLent) {
    Guest<NVNcommandBuffer> cmd;
    ASSERT_TRUE(nvnCommandBufferInitialize(cmd, nullptr));
    for (int i = 0; i < 100; ++i)
        nvnCommandBufferAddCommandMemory(cmd, nullptr, 0, 512);
    EXPECT_EQ(nvnCommandBufferGetCommandMemorySize(cmd), 512u);
    EXPECT_EQ(nvnCommandBufferGetCommandMemoryFree(cmd), 4096u);
    EXPECT_EQ(Host::get().lent_bytes(), 4096u);
}

TEST_F(Objects, CommandBuffersDroppedWithoutAFinaliseAreSwept) {
    alignas(16) uint8_t memory[kGuestBytes<NVNcommandBuffer>];
    for (uint32_t i = 0; i < 3 * Recorders::kMost; ++i) {
        std::memset(memory, 0, sizeof memory);
        ASSERT_TRUE(nvnCommandBufferInitialize(reinterpret_cast<NVNcommandBuffer*>(memory), nullptr)) << i;
    }
}

} // namespace
} // namespace dmsh::nvn
