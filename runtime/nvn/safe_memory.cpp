// Implements fault-tolerant reads through the kernel's own copy routines.
#include "runtime/nvn/safe_memory.h"
#ifdef __APPLE__
#include <mach/mach.h>
#include <mach/mach_vm.h>
#else
#include <sys/uio.h>
#include <unistd.h>
#endif

namespace dmsh::nvn {

size_t safe_read(uint64_t address, void* out, size_t bytes) {
#ifdef __APPLE__
    mach_vm_size_t got = 0;
    if (mach_vm_read_overwrite(mach_task_self(), address, bytes, reinterpret_cast<mach_vm_address_t>(out),
                               &got) != 0)
        return 0;
    return static_cast<size_t>(got);
#else
    constexpr uint64_t kPage =
        4096; // one vector element per page: the kernel stops at the first that it cannot read
    size_t done = 0;
    while (done < bytes) {
        iovec to[16], from[16];
        unsigned n = 0;
        size_t planned = 0;
        for (; n < 16 && done + planned < bytes; ++n) {
            const uint64_t at = address + done + planned;
            size_t part = static_cast<size_t>(kPage - at % kPage);
            if (part > bytes - done - planned)
                part = bytes - done - planned;
            to[n] = {static_cast<uint8_t*>(out) + done + planned, part};
            from[n] = {reinterpret_cast<void*>(at), part};
            planned += part;
        }
        const ssize_t got = process_vm_readv(getpid(), to, n, from, n, 0);
        if (got <= 0)
            break;
        done += static_cast<size_t>(got);
        if (static_cast<size_t>(got) < planned)
            break;
    }
    return done;
#endif
}

} // namespace dmsh::nvn
