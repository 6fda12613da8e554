// Maps large files and reads small ones.
#include "archivers/core/blob.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dmsh {
namespace {

// Smaller files are read: that is faster, and a process can only hold so many mappings.
constexpr size_t kMapFrom = 256 << 10;

} // namespace

void let_go(Bytes mapped) {
    constexpr uintptr_t kPage = 4096;
    const auto begin = (reinterpret_cast<uintptr_t>(mapped.data()) + kPage - 1) / kPage * kPage;
    const auto end = (reinterpret_cast<uintptr_t>(mapped.data()) + mapped.size()) / kPage * kPage;
    if (begin < end)
        madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<Blob> map_file(const std::string& path) {
    const auto failed = [&](const char* what) {
        return Error{std::string(what) + ": " + std::strerror(errno), path};
    };
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failed("cannot be opened");
    struct stat st = {};
    if (fstat(fd, &st) != 0) {
        const Error e = failed("cannot be read");
        close(fd);
        return e;
    }
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return Error{"is not a file", path};
    }
    const size_t size = static_cast<size_t>(st.st_size);
    if (!size) {
        close(fd);
        return Blob{};
    }
    if (size < kMapFrom) {
        NewBlob copy(size);
        size_t got = 0;
        while (got < size) {
            const ssize_t n = read(fd, copy.data() + got, size - got);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0) {
                const Error e = failed("cannot be read");
                close(fd);
                return e;
            }
            if (n == 0)
                break; // became shorter meanwhile
            got += static_cast<size_t>(n);
        }
        close(fd);
        return std::move(copy).finish(got);
    }
    void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    close(fd);
    errno = error;
    if (at == MAP_FAILED)
        return failed("cannot be mapped");
    madvise(at, size, MADV_SEQUENTIAL); // read ahead, and let go of what was read
    std::shared_ptr<const void> owner(at, [size](const void* p) { munmap(const_cast<void*>(p), size); });
    return Blob{Bytes(static_cast<const uint8_t*>(at), size), std::move(owner), true};
}

} // namespace dmsh
