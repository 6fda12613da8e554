// Windows: textures that take turns on the display, acquired through a sync or through the queue.
#include "runtime/nvn/host.h"
#include "runtime/nvn/safe_memory.h"
#include <algorithm>

namespace dmsh::nvn {
namespace {

constexpr int kMost = 4, kLeast = 2, kMaxInterval = 5; // device integers 0x58, 0x59, 0x46

bool live(const NVNwindow* w) {
    if (w && w->magic == kWindowMagic)
        return true;
    report(Report::bad_object, "window %p", static_cast<const void*>(w));
    return false;
}

int clamp_interval(int interval) {
    if (interval >= 0 && interval <= kMaxInterval)
        return interval;
    report(Report::bad_argument, "present interval %d", interval);
    return std::clamp(interval, 0, kMaxInterval);
}

// The next texture and the receipt behind its last present; false: the window is gone.
bool acquire(const NVNwindow* window, int* index, uint64_t& receipt) {
    if (!live(window) || !index)
        return false;
    return Host::get().change_window(window->serial, [&](Window& w) {
        w.next = w.next >= w.active ? 0 : w.next;
        *index = w.next;
        receipt = w.presented[static_cast<size_t>(w.next)];
        ++w.next;
    });
}

} // namespace

bool Host::change_window(uint32_t serial, const std::function<void(Window&)>& change) {
    const std::lock_guard hold(windows_lock_);
    const auto it = windows_.find(serial);
    if (it == windows_.end())
        return false;
    change(it->second);
    return true;
}

uint32_t Host::add_window(const Window& window) {
    const uint32_t serial = next_serial();
    const std::lock_guard hold(windows_lock_);
    windows_[serial] = window;
    return serial;
}

void Host::remove_window(uint32_t serial) {
    const std::lock_guard hold(windows_lock_);
    windows_.erase(serial);
}

} // namespace dmsh::nvn

using namespace dmsh::nvn;

extern "C" {

void nvnWindowBuilderSetDevice(NVNwindowBuilder* b, NVNdevice* device) {
    b->device = device;
}
void nvnWindowBuilderSetDefaults(NVNwindowBuilder* b) {
    const NVNdevice* device = b->device;
    *b = {};
    b->device = device;
    b->interval = 1;
}
void nvnWindowBuilderSetNativeWindow(NVNwindowBuilder* b, NVNnativeWindow native) {
    b->native = native;
}
void nvnWindowBuilderSetTextures(NVNwindowBuilder* b, int count, NVNtexture* const* textures) {
    if (count < 0 || count > kMost || (count && !textures)) {
        report(Report::bad_argument, "%d window textures", count);
        return;
    }
    for (int i = 0; i < kMost; ++i)
        b->textures[i] = i < count ? textures[i] : nullptr;
    b->count = b->active = static_cast<uint8_t>(count);
}
void nvnWindowBuilderSetPresentInterval(NVNwindowBuilder* b, int interval) {
    b->interval = clamp_interval(interval);
}
NVNnativeWindow nvnWindowBuilderGetNativeWindow(const NVNwindowBuilder* b) {
    return b->native;
}
int nvnWindowBuilderGetPresentInterval(const NVNwindowBuilder* b) {
    return b->interval;
}
const NVNdevice* nvnWindowBuilderGetDevice(const NVNwindowBuilder* b) {
    return b->device;
}
int nvnWindowBuilderGetNumTextures(const NVNwindowBuilder* b) {
    return b->count;
}
const NVNtexture* nvnWindowBuilderGetTexture(const NVNwindowBuilder* b, int index) {
    return index >= 0 && index < std::min<int>(b->count, kMost) ? b->textures[index] : nullptr;
}
void nvnWindowBuilderSetNumActiveTextures(NVNwindowBuilder* b, int count) {
    b->active = static_cast<uint8_t>(std::clamp<int>(count, 1, std::max<int>(1, b->count)));
}
int nvnWindowBuilderGetNumActiveTextures(const NVNwindowBuilder* b) {
    return b->active;
}

NVNboolean nvnWindowInitialize(NVNwindow* window, const NVNwindowBuilder* b) {
    if (!window || !b)
        return 0;
    Window w;
    w.count = b->count;
    w.active = std::clamp<int>(b->active, 1, std::max<int>(1, b->count));
    if (b->count < kLeast || b->count > kMost) {
        report(Report::bad_argument, "window with %d textures", b->count);
        return 0;
    }
    for (int i = 0; i < w.count; ++i) {
        NVNtexture t{};
        if (safe_read(reinterpret_cast<uint64_t>(b->textures[i]), &t, sizeof t) != sizeof t ||
            t.magic != kTextureMagic) {
            report(Report::bad_object, "window texture %p", static_cast<const void*>(b->textures[i]));
            return 0;
        }
        w.textures[static_cast<size_t>(i)] = t.desc;
    }
    window->magic = kWindowMagic;
    window->native = b->native;
    window->interval = clamp_interval(b->interval);
    std::fill(std::begin(window->crop), std::end(window->crop), 0);
    window->serial = Host::get().add_window(w);
    Host::get().track(NVN_DEBUG_OBJECT_TYPE_WINDOW, window);
    return 1;
}
void nvnWindowFinalize(NVNwindow* window) {
    if (!live(window))
        return;
    Host::get().remove_window(window->serial);
    Host::get().untrack(NVN_DEBUG_OBJECT_TYPE_WINDOW, window);
    window->magic = 0;
}
void nvnWindowSetDebugLabel(NVNwindow*, const char*) {}

NVNwindowAcquireTextureResult nvnWindowAcquireTexture(NVNwindow* window, NVNsync* sync, int* index) {
    uint64_t receipt = 0;
    if (!acquire(window, index, receipt))
        return NVN_WINDOW_ACQUIRE_TEXTURE_RESULT_NATIVE_ERROR;
    if (sync && sync->magic == kSyncMagic)
        sync->fence.store(receipt, std::memory_order_release);
    return NVN_WINDOW_ACQUIRE_TEXTURE_RESULT_SUCCESS;
}
// API 53: later work of the queue waits, no sync of the guest does.
NVNqueueAcquireTextureResult nvnQueueAcquireTexture(NVNqueue* queue, NVNwindow* window, int* index) {
    uint64_t receipt = 0;
    if (!queue || queue->magic != kQueueMagic || !acquire(window, index, receipt))
        return NVN_QUEUE_ACQUIRE_TEXTURE_RESULT_NATIVE_ERROR;
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor())
        e->wait_receipt(queue->serial, receipt);
    return NVN_QUEUE_ACQUIRE_TEXTURE_RESULT_SUCCESS;
}
void nvnQueuePresentTexture(NVNqueue* queue, NVNwindow* window, int index) {
    if (!queue || queue->magic != kQueueMagic) {
        report(Report::bad_object, "queue %p", static_cast<const void*>(queue));
        return;
    }
    if (!live(window))
        return;
    Present present;
    present.window = window->serial;
    present.interval = window->interval;
    bool valid = false;
    Host::get().change_window(window->serial, [&](Window& w) {
        valid = index >= 0 && index < w.count;
        if (valid)
            present.texture = w.textures[static_cast<size_t>(index)];
    });
    if (!valid) {
        report(Report::bad_argument, "present of window texture %d", index);
        return;
    }
    NVNrectangle crop{};
    nvnWindowGetCrop(window, &crop);
    present.crop = crop;
    const std::lock_guard hold(Host::get().submit_lock());
    if (Executor* e = Host::get().executor()) {
        const uint64_t receipt = e->present(queue->serial, present);
        Host::get().change_window(window->serial,
                                  [&](Window& w) { w.presented[static_cast<size_t>(index)] = receipt; });
    }
}

NVNnativeWindow nvnWindowGetNativeWindow(const NVNwindow* window) {
    return live(window) ? window->native : nullptr;
}
int nvnWindowGetPresentInterval(const NVNwindow* window) {
    return live(window) ? window->interval : 0;
}
void nvnWindowSetPresentInterval(NVNwindow* window, int interval) {
    if (live(window))
        window->interval = clamp_interval(interval);
}
void nvnWindowSetCrop(NVNwindow* window, int x, int y, int w, int h) {
    if (!live(window))
        return;
    const int values[4] = {x, y, w, h};
    std::copy(values, values + 4, window->crop);
}
void nvnWindowGetCrop(const NVNwindow* window, NVNrectangle* rectangle) {
    if (!live(window) || !rectangle)
        return;
    *rectangle = {window->crop[0], window->crop[1], window->crop[2], window->crop[3]};
    if (rectangle->width == 0 && rectangle->height == 0)
        Host::get().change_window(window->serial, [&](Window& w) {
            *rectangle = {0, 0, static_cast<int>(w.textures[0].width), static_cast<int>(w.textures[0].height)};
        });
}
void nvnWindowSetNumActiveTextures(NVNwindow* window, int count) {
    if (live(window))
        Host::get().change_window(window->serial,
                                  [&](Window& w) { w.active = std::clamp(count, 1, w.count); });
}
int nvnWindowGetNumActiveTextures(const NVNwindow* window) {
    int n = 0;
    if (live(window))
        Host::get().change_window(window->serial, [&](Window& w) { n = w.active; });
    return n;
}
int nvnWindowGetNumTextures(const NVNwindow* window) {
    int n = 0;
    if (live(window))
        Host::get().change_window(window->serial, [&](Window& w) { n = w.count; });
    return n;
}

} // extern "C"
