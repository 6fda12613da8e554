// Implements the null backend.
#include "runtime/replay/null/null_backend.h"
#include <cstring>

namespace dmsh::replay {

// A pool table's two slots count as one word: table and log stand together.
void NullBackend::encode(const BoundWork& work) {
    for (const Resource& r : *work.resources)
        if (r.kind == ResourceKind::pool_table) {
            pool_tables().note(words.size(), *r.pools);
            words.push_back(*r.pools);
        }
}

void NullBackend::commit() {
    if (words.empty())
        return;
    pool_tables().commit(*this, [&](uint64_t word, const std::shared_ptr<const PoolTable>& table) { words[word] = table; });
    if (on_commit)
        on_commit(words);
    words.clear();
}

void NullBackend::draw(const DrawCall& call) {
    ++draws;
    encode(call.work);
    if (on_draw)
        on_draw(call);
}

void NullBackend::dispatch(const DispatchCall& call) {
    ++dispatches;
    encode(call.work);
    if (on_dispatch)
        on_dispatch(call);
}

// The interpreter has checked that all ranges lie in pools.
void NullBackend::copy_buffer(uint64_t source, uint64_t destination, uint64_t size) {
    std::memmove(reinterpret_cast<void*>(destination), reinterpret_cast<const void*>(source), size);
}

void NullBackend::fill_buffer(uint64_t address, uint64_t size, uint32_t value) {
    for (uint64_t i = 0; i + 4 <= size; i += 4)
        std::memcpy(reinterpret_cast<void*>(address + i), &value, 4);
}

void NullBackend::update_buffer(uint64_t address, const uint8_t* data, uint32_t size) {
    std::memcpy(reinterpret_cast<void*>(address), data, size);
}

void NullBackend::report(uint64_t value, uint64_t address) {
    const uint64_t data[2] = {value, 0};
    std::memcpy(reinterpret_cast<void*>(address), data, sizeof data);
}

bool NullBackend::read_memory(uint64_t address, void* out, uint32_t bytes) {
    if (!nvn::Host::get().covers(address, bytes))
        return false;
    std::memcpy(out, reinterpret_cast<const void*>(address), bytes);
    return true;
}

} // namespace dmsh::replay
