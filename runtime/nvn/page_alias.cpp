// Implements page aliases with mmap and memory files (Linux) or vm_remap (macOS).
#include "runtime/nvn/page_alias.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach/mach.h>
#include <mach/mach_vm.h>
#endif

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace dmsh::nvn {

uint64_t host_page_bytes() {
    static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

uint8_t* reserve_range(uint64_t size) {
    void* p = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : static_cast<uint8_t*>(p);
}

void release_range(uint8_t* base, uint64_t size) {
    munmap(base, size);
}

void close_pages(uint8_t* at, uint64_t size) {
    mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool SharedPages::open(uint8_t* memory, uint64_t size) {
#ifndef __APPLE__
    const int file = memfd_create("dmrt pool", MFD_CLOEXEC);
    if (file < 0)
        return false;
    void* copy = ftruncate(file, static_cast<off_t>(size)) == 0
                     ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                     : MAP_FAILED;
    if (copy == MAP_FAILED) {
        close(file);
        return false;
    }
    std::memcpy(copy, memory, size);
    munmap(copy, size);
    if (mmap(memory, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
        close(file);
        return false;
    }
    file_ = file;
#endif
    memory_ = memory;
    size_ = size;
    return true;
}

SharedPages::~SharedPages() {
    if (file_ < 0)
        return;
    // The allocator that the memory goes back to counts on private pages.
    void* own = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own != MAP_FAILED) {
        std::memcpy(own, memory_, size_);
#ifdef __linux__
        if (mremap(own, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, memory_) == MAP_FAILED)
            munmap(own, size_);
#endif
    }
    close(file_);
}

bool SharedPages::alias(uint8_t* at, uint64_t offset, uint64_t size) const {
#ifdef __APPLE__
    auto to = reinterpret_cast<mach_vm_address_t>(at);
    vm_prot_t current = 0, most = 0;
    return mach_vm_remap(mach_task_self(), &to, size, 0, VM_FLAGS_FIXED | VM_FLAGS_OVERWRITE, mach_task_self(),
                         reinterpret_cast<mach_vm_address_t>(memory_ + offset), FALSE, &current, &most,
                         VM_INHERIT_NONE) == KERN_SUCCESS;
#else
    return mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, static_cast<off_t>(offset)) !=
           MAP_FAILED;
#endif
}

} // namespace dmsh::nvn
