// Maps large files and reads small ones.
#include "archivers/core/blob.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dmsh {
namespace {

// Smaller files are read: that is faster, and a process can only hold so many mappings.
constexpr size_t kMapFrom = 256 << 10;
constexpr uint64_t kHoleFrom = 1ull << 20; // smaller holes are read as the zeros that they are
constexpr size_t kHoles = 4096;            // so many of one file are remembered

// File systems that know no holes say that all is data.
std::vector<Mapping::Hole> find_holes(int fd, uint64_t size) {
    std::vector<Mapping::Hole> holes;
#ifdef SEEK_HOLE
    for (uint64_t at = 0; at < size && holes.size() < kHoles;) {
        const off_t begin = lseek(fd, static_cast<off_t>(at), SEEK_HOLE);
        if (begin < 0 || static_cast<uint64_t>(begin) >= size)
            break;
        const off_t data = lseek(fd, begin, SEEK_DATA);
        const uint64_t end = data < 0 ? size : std::min(size, static_cast<uint64_t>(data));
        if (end - static_cast<uint64_t>(begin) >= kHoleFrom)
            holes.push_back({static_cast<uint64_t>(begin), end});
        at = std::max(end, static_cast<uint64_t>(begin) + 1);
    }
#endif
    return holes;
}

// Of the blob in its file.
uint64_t file_offset(const Blob& blob) {
    return static_cast<uint64_t>(blob.bytes.data() - blob.mapped->base);
}

// The first hole that ends behind `at` (of the file).
std::vector<Mapping::Hole>::const_iterator hole_from(const Mapping& m, uint64_t at) {
    return std::upper_bound(m.holes.begin(), m.holes.end(), at,
                            [](uint64_t offset, const Mapping::Hole& h) { return offset < h.end; });
}

} // namespace

Mapping::~Mapping() {
    munmap(const_cast<uint8_t*>(base), size);
}

uint64_t skip_hole(const Blob& blob, uint64_t at, uint64_t keep) {
    if (!blob.mapped || blob.mapped->holes.empty())
        return at;
    const uint64_t base = file_offset(blob);
    const auto hole = hole_from(*blob.mapped, base + at);
    if (hole == blob.mapped->holes.end() || hole->begin > base + at || hole->end - keep <= base + at)
        return at;
    return std::min(blob.size(), hole->end - keep - base);
}

uint64_t next_hole(const Blob& blob, uint64_t at) {
    if (!blob.mapped || blob.mapped->holes.empty())
        return blob.size();
    const uint64_t base = file_offset(blob);
    auto hole = hole_from(*blob.mapped, base + at);
    if (hole != blob.mapped->holes.end() && hole->begin <= base + at)
        ++hole; // `at` is its kept end
    return hole == blob.mapped->holes.end() ? blob.size() : std::min(blob.size(), hole->begin - base);
}

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
    if (at == MAP_FAILED) {
        const Error e = failed("cannot be mapped");
        close(fd);
        return e;
    }
    const auto mapping = std::make_shared<Mapping>(static_cast<const uint8_t*>(at), size);
    mapping->holes = find_holes(fd, size);
    close(fd);
    madvise(at, size, MADV_SEQUENTIAL); // read ahead, and let go of what was read
    return Blob{Bytes(mapping->base, size), mapping, mapping.get()};
}

} // namespace dmsh
