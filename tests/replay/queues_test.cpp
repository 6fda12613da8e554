// Queues: parking behind events and syncs, receipts, time-outs, presents in order, lifetimes of parked work.
#include "runtime/nvn/recorder.h"
#include "runtime/replay/interpreter.h"
#include "runtime/replay/null/null_backend.h"
#include "tests/nvn/guest.h"
#include <chrono>
#include <thread>

namespace dmsh::replay {
namespace {

using nvn::Guest;
using nvn::GuestPool;
using nvn::Host;
using nvn::Report;

constexpr uint64_t kSecond = 1000000000;

// Two queues, a list recorder for each, an event, a buffer word per step that lists leave behind.
class Queues : public ::testing::Test {
  protected:
    struct Recorder {
        Guest<NVNcommandBuffer> cmd;
        alignas(8) uint8_t control[1024];
    };

    void SetUp() override {
        nvn::set_report_sink([](Report, const char*, void*) {}, nullptr);
        nvn::reset_reports();
        Host::get().reset();
        interpreter_ = std::make_unique<Interpreter>(backend_);
        Host::get().set_executor(interpreter_.get());
        pool_ = std::make_unique<GuestPool>(0x40000);
        for (auto& q : queues_) {
            Guest<NVNqueueBuilder> b;
            nvnQueueBuilderSetDevice(b, nullptr);
            nvnQueueBuilderSetDefaults(b);
            ASSERT_TRUE(nvnQueueInitialize(q, b));
        }
        Guest<NVNeventBuilder> eb;
        nvnEventBuilderSetDefaults(eb);
        nvnEventBuilderSetStorage(eb, pool_->get(), 0x3f000);
        ASSERT_TRUE(nvnEventInitialize(event_, eb));
        ASSERT_TRUE(nvnSyncInitialize(sync_, nullptr));
    }
    void TearDown() override {
        for (auto& q : queues_)
            nvnQueueFinalize(q);
        pool_.reset();
        Host::get().reset();
        nvn::set_report_sink(nullptr, nullptr);
    }

    // Records with `calls` and submits to queue `q`. Each list has its own command memory, as a guest's would.
    template <class Calls>
    void submit(int q, Calls calls) {
        auto& r = *recorders_.emplace_back(std::make_unique<Recorder>());
        ASSERT_TRUE(nvnCommandBufferInitialize(r.cmd, nullptr));
        nvnCommandBufferAddCommandMemory(r.cmd, pool_->get(), next_, 0x800);
        nvnCommandBufferAddControlMemory(r.cmd, r.control, sizeof r.control);
        nvnCommandBufferBeginRecording(r.cmd);
        calls(r.cmd.get());
        const NVNcommandHandle h = nvnCommandBufferEndRecording(r.cmd);
        nvnQueueSubmitCommands(queues_[q], 1, &h);
        // What was submitted is the host's: the guest may reuse its memory at once.
        std::memset(pool_->memory() + next_, 0xff, 0x800);
        std::memset(r.control, 0xff, sizeof r.control);
        next_ += 0x800;
    }
    uint64_t word_address(int i) { return pool_->address() + 0x3e000 + static_cast<uint64_t>(i) * 16; }
    void mark(NVNcommandBuffer* cmd, int i) { nvnCommandBufferClearBuffer(cmd, word_address(i), 4, 1); }
    bool marked(int i) { return pool_->memory()[0x3e000 + i * 16] == 1; }

    NullBackend backend_;
    std::unique_ptr<Interpreter> interpreter_;
    std::unique_ptr<GuestPool> pool_;
    Guest<NVNqueue> queues_[2];
    Guest<NVNevent> event_;
    Guest<NVNsync> sync_;
    std::vector<std::unique_ptr<Recorder>> recorders_;
    ptrdiff_t next_ = 0;
};

TEST_F(Queues, EventPredicates) {
    const struct {
        NVNeventWaitMode mode;
        uint32_t value, target;
        bool passes;
    } rows[] = {
        {NVN_EVENT_WAIT_MODE_EQUAL, 5, 5, true},
        {NVN_EVENT_WAIT_MODE_EQUAL, 6, 5, false},
        {NVN_EVENT_WAIT_MODE_EQUAL, 4, 5, false},
        {NVN_EVENT_WAIT_MODE_GEQUAL_WRAP, 6, 5, true},
        {NVN_EVENT_WAIT_MODE_GEQUAL_WRAP, 5, 5, true},
        {NVN_EVENT_WAIT_MODE_GEQUAL_WRAP, 4, 5, false},
        {NVN_EVENT_WAIT_MODE_GEQUAL_WRAP, 2, 0xfffffff0, true},
        {NVN_EVENT_WAIT_MODE_GEQUAL_WRAP, 0xfffffff0, 2, false},
        {NVN_EVENT_WAIT_MODE_GEQUAL_WRAP, 0x80000004, 5, true},
        {NVN_EVENT_WAIT_MODE_GEQUAL_WRAP, 0x80000005, 5, false},
    };
    int step = 0;
    for (const auto& r : rows) {
        nvnEventSignal(event_, NVN_EVENT_SIGNAL_MODE_WRITE, r.value);
        submit(0, [&](NVNcommandBuffer* cmd) {
            nvnCommandBufferWaitEvent(cmd, event_, r.mode, r.target);
            mark(cmd, step);
        });
        EXPECT_EQ(marked(step), r.passes) << step;
        if (!r.passes) // any later value that passes lets the queue go on
            nvnEventSignal(event_, NVN_EVENT_SIGNAL_MODE_WRITE, r.target);
        EXPECT_TRUE(marked(step)) << step;
        ++step;
    }
}

TEST_F(Queues, AConsumerSubmittedFirstParksAlone) {
    submit(0, [&](NVNcommandBuffer* cmd) {
        mark(cmd, 0);
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 9);
        mark(cmd, 1);
    });
    submit(0, [&](NVNcommandBuffer* cmd) { mark(cmd, 2); }); // stays behind in its queue
    EXPECT_TRUE(marked(0));
    EXPECT_FALSE(marked(1) || marked(2));
    submit(1, [&](NVNcommandBuffer* cmd) {
        mark(cmd, 3);
        nvnCommandBufferSignalEvent(cmd, event_, NVN_EVENT_SIGNAL_MODE_WRITE, NVN_EVENT_SIGNAL_LOCATION_BOTTOM, 0,
                                    9);
    });
    EXPECT_TRUE(marked(1) && marked(2) && marked(3));
    nvnQueueFinish(queues_[0]);
    EXPECT_EQ(nvnEventGetValue(event_), 9u);
}

TEST_F(Queues, PlainStoresOfTheCpuCountToo) {
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 3);
        mark(cmd, 0);
    });
    std::thread cpu([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        __atomic_store_n(reinterpret_cast<uint32_t*>(pool_->memory() + 0x3f000), 3, __ATOMIC_RELEASE);
    });
    nvnQueueFinish(queues_[0]);
    cpu.join();
    EXPECT_TRUE(marked(0));
}

// A write under way releases a waiter when it is encoded, an addition only when it has landed.
TEST_F(Queues, WritesUnderWayReleaseAdditionsDoNot) {
    backend_.complete = 0; // the GPU holds everything back
    const auto signal = [&](NVNeventSignalMode mode, uint32_t value) {
        submit(1, [&](NVNcommandBuffer* cmd) {
            nvnCommandBufferSignalEvent(cmd, event_, mode, NVN_EVENT_SIGNAL_LOCATION_TOP, 0, value);
        });
    };
    signal(NVN_EVENT_SIGNAL_MODE_WRITE, 4);
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 4);
        mark(cmd, 0);
    });
    EXPECT_TRUE(marked(0));
    EXPECT_EQ(nvnEventGetValue(event_), 0u); // not published before completion
    signal(NVN_EVENT_SIGNAL_MODE_ADD, 2);
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 6);
        mark(cmd, 1);
    });
    EXPECT_FALSE(marked(1));
    backend_.complete = ~uint64_t{0};
    EXPECT_EQ(nvnEventGetValue(event_), 6u);
    nvnQueueFinish(queues_[0]);
    EXPECT_TRUE(marked(1));
}

TEST_F(Queues, SignalsDoNotCutASubmission) {
    submit(0, [&](NVNcommandBuffer* cmd) {
        const uint64_t flushes = backend_.fence;
        (void)flushes;
        for (uint32_t i = 1; i < 20; ++i) {
            nvnCommandBufferSignalEvent(cmd, event_, NVN_EVENT_SIGNAL_MODE_WRITE,
                                        NVN_EVENT_SIGNAL_LOCATION_BOTTOM, 0, i);
            mark(cmd, static_cast<int>(i));
        }
    });
    EXPECT_EQ(backend_.fence, 0u);
    EXPECT_EQ(nvnEventGetValue(event_), 19u);
}

TEST_F(Queues, WaitsOnSyncsNeverFencedPass) {
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitSync(cmd, sync_);
        mark(cmd, 0);
    });
    EXPECT_TRUE(marked(0));
    EXPECT_TRUE(nvnQueueWaitSync(queues_[0], sync_));
    submit(0, [&](NVNcommandBuffer* cmd) { mark(cmd, 1); });
    EXPECT_TRUE(marked(1));
}

TEST_F(Queues, AFenceOnParkedWorkIsNotAnotherQueuesCompletion) {
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 1);
        mark(cmd, 0);
    });
    nvnQueueFenceSync(queues_[0], sync_, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
    submit(1, [&](NVNcommandBuffer* cmd) { mark(cmd, 1); });
    nvnQueueFinish(queues_[1]);
    EXPECT_TRUE(marked(1));
    EXPECT_EQ(nvnSyncWait(sync_, 0), NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED);
    EXPECT_EQ(nvnSyncWait(sync_, 1000000), NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED);
    // Work of the other queue behind this sync parks, and keeps the receipt it saw although the sync moves on.
    EXPECT_TRUE(nvnQueueWaitSync(queues_[1], sync_));
    submit(1, [&](NVNcommandBuffer* cmd) { mark(cmd, 2); });
    EXPECT_FALSE(marked(2));
    nvnQueueFenceSync(queues_[1], sync_, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
    nvnEventSignal(event_, NVN_EVENT_SIGNAL_MODE_WRITE, 1);
    EXPECT_TRUE(marked(0) && marked(2));
    EXPECT_EQ(nvnSyncWait(sync_, kSecond), NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED);
}

TEST_F(Queues, FencesInParkedListsArmAtSubmission) {
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 1);
        nvnCommandBufferFenceSync(cmd, sync_, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
        mark(cmd, 0);
    });
    EXPECT_EQ(nvnSyncWait(sync_, 0), NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED);
    submit(1, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitSync(cmd, sync_);
        mark(cmd, 1);
    });
    EXPECT_FALSE(marked(1));
    nvnEventSignal(event_, NVN_EVENT_SIGNAL_MODE_WRITE, 1);
    EXPECT_TRUE(marked(0) && marked(1));
    EXPECT_EQ(nvnSyncWait(sync_, 0), NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED);
}

TEST_F(Queues, ATimeoutIsOneBudget) {
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 1);
    });
    nvnQueueFenceSync(queues_[0], sync_, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(nvnSyncWait(sync_, kSecond / 20), NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
    std::thread cpu([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        nvnEventSignal(event_, NVN_EVENT_SIGNAL_MODE_WRITE, 1);
    });
    EXPECT_EQ(nvnSyncWait(sync_, 20 * kSecond), NVN_SYNC_WAIT_RESULT_CONDITION_SATISFIED);
    cpu.join();
}

TEST_F(Queues, FinishOfAQueueThatNeverGoesOnIsReported) {
    Host::get().stall_limit_ns = kSecond / 100;
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 77);
        mark(cmd, 0);
    });
    nvnQueueFinish(queues_[0]);
    EXPECT_EQ(nvn::report_count(Report::stalled), 1u);
    EXPECT_FALSE(marked(0));
    nvnQueueFenceSync(queues_[0], sync_, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
    nvnQueueFinalize(queues_[0]); // drops it; nobody waits for it any longer
    EXPECT_EQ(nvnSyncWait(sync_, 0), NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED);
    Guest<NVNqueueBuilder> b;
    nvnQueueBuilderSetDevice(b, nullptr);
    nvnQueueBuilderSetDefaults(b);
    ASSERT_TRUE(nvnQueueInitialize(queues_[0], b)); // reused storage starts anew
    submit(0, [&](NVNcommandBuffer* cmd) { mark(cmd, 1); });
    EXPECT_TRUE(marked(1));
}

TEST_F(Queues, ParkedWorkKeepsItsPrograms) {
    Guest<NVNprogram> program;
    ASSERT_TRUE(nvnProgramInitialize(program, nullptr));
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 1);
        nvnCommandBufferBindProgram(cmd, program, NVN_SHADER_STAGE_COMPUTE_BIT);
        nvnCommandBufferDispatchCompute(cmd, 1, 1, 1);
    });
    nvnProgramFinalize(program);
    nvnEventSignal(event_, NVN_EVENT_SIGNAL_MODE_WRITE, 1);
    // The bind found the program; it has no shader, so that is all that could go wrong.
    EXPECT_EQ(nvn::report_count(Report::bad_program), 0u);
    EXPECT_EQ(interpreter_->counts().skipped, 1u);
    EXPECT_EQ(interpreter_->state(queues_[0]->serial)->programs[5], nullptr); // forgotten behind it
}

TEST_F(Queues, PresentsStayInQueueOrder) {
    Guest<NVNtextureBuilder> b;
    nvnTextureBuilderSetDevice(b, nullptr);
    nvnTextureBuilderSetDefaults(b);
    nvnTextureBuilderSetFormat(b, NVN_FORMAT_RGBA8);
    nvnTextureBuilderSetSize2D(b, 16, 16);
    Guest<NVNtexture> textures[2];
    NVNtexture* list[2];
    for (int i = 0; i < 2; ++i) {
        nvnTextureBuilderSetStorage(b, pool_->get(), 0x30000 + i * 0x1000);
        ASSERT_TRUE(nvnTextureInitialize(textures[i], b));
        list[i] = textures[i];
    }
    Guest<NVNwindowBuilder> wb;
    nvnWindowBuilderSetDevice(wb, nullptr);
    nvnWindowBuilderSetDefaults(wb);
    nvnWindowBuilderSetTextures(wb, 2, list);
    Guest<NVNwindow> window;
    ASSERT_TRUE(nvnWindowInitialize(window, wb));
    std::vector<uint64_t> shown;
    backend_.on_present = [&](const nvn::Present& p) {
        shown.push_back((p.texture.address - pool_->address() - 0x30000) / 0x1000);
        EXPECT_EQ(p.crop.width, 16);
        EXPECT_EQ(marked(0), !shown.empty()); // the work before it ran
    };
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_EQUAL, 1);
        mark(cmd, 0);
    });
    int index = -1;
    ASSERT_EQ(nvnQueueAcquireTexture(queues_[0], window, &index), NVN_QUEUE_ACQUIRE_TEXTURE_RESULT_SUCCESS);
    nvnQueuePresentTexture(queues_[0], window, index);
    EXPECT_TRUE(shown.empty());
    // The sync form of the next turn of the same texture waits for that present.
    nvnWindowAcquireTexture(window, sync_, &index);
    nvnWindowAcquireTexture(window, sync_, &index);
    EXPECT_EQ(index, 0);
    EXPECT_EQ(nvnSyncWait(sync_, 0), NVN_SYNC_WAIT_RESULT_TIMEOUT_EXPIRED);
    nvnQueuePresentTexture(queues_[0], window, 1);
    nvnEventSignal(event_, NVN_EVENT_SIGNAL_MODE_WRITE, 1);
    EXPECT_EQ(shown, (std::vector<uint64_t>{0, 1}));
    EXPECT_EQ(nvnSyncWait(sync_, 0), NVN_SYNC_WAIT_RESULT_ALREADY_SIGNALED);
    nvnQueuePresentTexture(queues_[0], window, 2);
    EXPECT_EQ(nvn::report_count(Report::bad_argument), 1u);
    nvnWindowFinalize(window);
}

TEST_F(Queues, QueuesOnTwoThreadsHandEventsToAndFro) {
    constexpr uint32_t kRounds = 50;
    std::thread other([&] {
        for (uint32_t i = 0; i < kRounds; ++i) {
            Guest<NVNsync> done;
            nvnSyncInitialize(done, nullptr);
            nvnQueueFenceSync(queues_[1], done, NVN_SYNC_CONDITION_ALL_GPU_COMMANDS_COMPLETE, 0);
            EXPECT_NE(nvnSyncWait(done, kSecond), NVN_SYNC_WAIT_RESULT_FAILED);
            nvnEventSignal(event_, NVN_EVENT_SIGNAL_MODE_ADD, 1);
        }
    });
    submit(0, [&](NVNcommandBuffer* cmd) {
        nvnCommandBufferWaitEvent(cmd, event_, NVN_EVENT_WAIT_MODE_GEQUAL_WRAP, kRounds);
        mark(cmd, 0);
    });
    nvnQueueFinish(queues_[0]);
    other.join();
    EXPECT_TRUE(marked(0));
}

} // namespace
} // namespace dmsh::replay
