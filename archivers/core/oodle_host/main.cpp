// dmsh-oodle-host: the child process that loads the user's Oodle library and decodes for its parent.
#include "archivers/core/oodle_protocol.h"
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

using dmsh::OodleAnswer;
using dmsh::OodleRequest;

// Parameters in order: reference/containers/README.md, "Oodle: user-supplied decoder".
using Decompress = int64_t (*)(const void* in, int64_t in_size, void* out, int64_t out_size, int fuzz_safe,
                               int check_crc, int verbosity, void* base, int64_t base_size, void* callback,
                               void* callback_data, void* memory, int64_t memory_size, int thread_phase);
constexpr int kUnthreaded = 3;
constexpr uint64_t kSpare = 64; // bytes behind the output that the library may write

constexpr int kSocket = STDIN_FILENO;

bool move(void* data, uint64_t size, bool in) {
    for (uint64_t done = 0; done < size;) {
        char* at = static_cast<char*>(data) + done;
        const ssize_t n = in ? read(kSocket, at, size - done) : write(kSocket, at, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += static_cast<uint64_t>(n);
    }
    return true;
}

void limit(int what, uint64_t value) {
    const rlimit l = {value, value};
    setrlimit(static_cast<__rlimit_resource>(what), &l);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4)
        return 2;
    limit(RLIMIT_AS, std::strtoull(argv[2], nullptr, 10));
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    const auto decompress =
        library ? reinterpret_cast<Decompress>(dlsym(library, "OodleLZ_Decompress")) : nullptr;
    if (!decompress)
        return 1;
    uint32_t ready = dmsh::kOodleReady;
    if (!move(&ready, sizeof ready, false))
        return 1;
    std::vector<uint8_t> in, out;
    for (OodleRequest request; move(&request, sizeof request, true);) {
        in.resize(request.stored);
        out.resize(request.decoded + kSpare);
        if (!move(in.data(), in.size(), true))
            return 1;
        OodleAnswer answer;
        answer.decoded = decompress(in.data(), static_cast<int64_t>(in.size()), out.data(),
                                    static_cast<int64_t>(request.decoded), 1, 0, 0, nullptr, 0, nullptr,
                                    nullptr, nullptr, 0, kUnthreaded);
        if (!move(&answer, sizeof answer, false))
            return 1;
        if (answer.decoded == static_cast<int64_t>(request.decoded) &&
            !move(out.data(), request.decoded, false))
            return 1;
    }
    return 0;
}
