// Reads and writes whole files.
#include "compiler/build/files.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace dmsh {
namespace {

struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Close>;

Error system_error(const std::string& path, const char* what) {
    return Error{std::string(what) + ": " + std::strerror(errno), path};
}

} // namespace

Result<std::vector<uint8_t>> read_file(const std::string& path) {
    File f(std::fopen(path.c_str(), "rb"));
    if (!f)
        return system_error(path, "cannot be opened");
    std::vector<uint8_t> bytes;
    char buffer[1 << 16];
    size_t n;
    while ((n = std::fread(buffer, 1, sizeof buffer, f.get())) != 0)
        bytes.insert(bytes.end(), buffer, buffer + n);
    if (std::ferror(f.get()))
        return system_error(path, "cannot be read");
    return bytes;
}

Result<void> write_file(const std::string& path, std::span<const uint8_t> bytes) {
    if (path == "-") {
        if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0)
            return system_error("standard output", "cannot be written");
        return {};
    }
    const std::string temporary = path + ".part";
    {
        File f(std::fopen(temporary.c_str(), "wb"));
        if (!f)
            return system_error(temporary, "cannot be created");
        if (std::fwrite(bytes.data(), 1, bytes.size(), f.get()) != bytes.size() || std::fflush(f.get()) != 0) {
            const Error e = system_error(temporary, "cannot be written");
            f.reset();
            ::unlink(temporary.c_str());
            return e;
        }
    }
    if (std::rename(temporary.c_str(), path.c_str()) != 0)
        return system_error(path, "cannot be written");
    return {};
}

Result<void> write_file(const std::string& path, std::string_view text) {
    return write_file(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

} // namespace dmsh
