// Safe reading of command records: any bytes may lie there.
#pragma once
#include "runtime/nvn/host.h"
#include "runtime/nvn/records.h"
#include <array>
#include <cstring>

namespace dmsh::replay {

// A fixed record copied out of memory that the guest may change meanwhile.
template <class R>
bool get(R& out, const uint8_t* record, size_t bytes) {
    if (bytes < sizeof(R))
        return false;
    std::memcpy(static_cast<void*>(&out), record, sizeof(R));
    return true;
}

// `count` elements of `each` bytes behind a fixed record of `fixed` bytes.
inline bool has(size_t bytes, size_t fixed, size_t count, size_t each) {
    return bytes - fixed >= count * each;
}

template <class T, size_t N>
bool get_array(std::array<T, N>& out, const uint8_t* record, size_t bytes, uint32_t& first, uint32_t& count) {
    nvn::CountedRecord r;
    if (!get(r, record, bytes) || r.first > N || r.count > N - r.first ||
        !has(bytes, sizeof r, r.count, sizeof(T)))
        return false;
    first = r.first;
    count = r.count;
    if (count)
        std::memcpy(static_cast<void*>(out.data() + first), record + sizeof r, count * sizeof(T));
    return true;
}

// True if the range is not empty and lies in a pool; reported if it lies in none.
inline bool in_pool(uint64_t address, uint64_t bytes, const char* what) {
    if (bytes && nvn::Host::get().covers(address, bytes))
        return true;
    if (bytes && nvn::Host::get().in_reservation(address)) // the GPU reads zeros there and drops stores
        nvn::report(nvn::Report::unmapped_page, "%s of %llu bytes at 0x%llx", what,
                    static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(address));
    else if (bytes)
        nvn::report(nvn::Report::bad_address, "%s of %llu bytes at 0x%llx", what,
                    static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(address));
    return false;
}

} // namespace dmsh::replay
