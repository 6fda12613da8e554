// A stand-in for the user's Oodle library: same exported function, a toy format, and every way to misbehave.
#include <cstdint>
#include <cstdlib>
#include <new>

// Stream: 8c, then 'd' and the data XORed with 55; other letters crash, abort, loop or want memory.
extern "C" int64_t OodleLZ_Decompress(const void* in, int64_t in_size, void* out, int64_t out_size, int fuzz_safe, int, int,
                                      void*, int64_t, void*, void*, void*, int64_t, int thread_phase) {
    const auto* from = static_cast<const volatile uint8_t*>(in);
    if (in_size < 2 || from[0] != 0x8c || fuzz_safe != 1 || thread_phase != 3)
        return 0;
    switch (from[1]) {
    case 'd': break;
    case 'c': return *reinterpret_cast<const volatile int*>(uintptr_t{8});
    case 'a': std::abort();
    case 'm': return ::operator new(size_t{4} << 30, std::nothrow) ? out_size : -1;
    case 'l':
        while (from[1] == 'l') {
        }
        break;
    default: return 0;
    }
    if (in_size - 2 != out_size)
        return 0;
    for (int64_t i = 0; i < out_size; ++i)
        static_cast<uint8_t*>(out)[i] = from[2 + i] ^ 0x55;
    return out_size;
}
