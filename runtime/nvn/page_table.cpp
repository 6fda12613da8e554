// Implements the page table of virtual pools.
#include "runtime/nvn/virtual_pool.h"

namespace dmsh::nvn {

void PageTable::unmap(uint64_t from, uint64_t size) {
    const uint64_t to = from + size;
    auto it = pieces_.upper_bound(from);
    if (it != pieces_.begin() && std::prev(it)->first + std::prev(it)->second.size > from)
        --it;
    while (it != pieces_.end() && it->first < to) {
        const uint64_t at = it->first, end = at + it->second.size;
        const Piece piece = it->second;
        it = pieces_.erase(it);
        if (at < from) {
            Piece head = piece;
            head.size = from - at;
            pieces_[at] = head;
        }
        if (end > to) {
            Piece tail = piece;
            tail.size = end - to;
            tail.physical += to - at;
            it = pieces_.emplace(to, tail).first;
            ++it;
        }
    }
}

void PageTable::map(uint64_t from, const Piece& piece) {
    unmap(from, piece.size);
    pieces_[from] = piece;
}

bool PageTable::any(uint64_t from, uint64_t size) const {
    auto it = pieces_.upper_bound(from);
    if (it != pieces_.begin() && std::prev(it)->first + std::prev(it)->second.size > from)
        return size != 0;
    return it != pieces_.end() && it->first < from + size;
}

std::vector<PageTable::Span> PageTable::runs(uint64_t from, uint64_t size) const {
    std::vector<Span> out;
    Span run;
    const auto close = [&] {
        if (run.size && run.from <= from + size && run.from + run.size >= from)
            out.push_back(run);
    };
    for (const auto& [at, piece] : pieces_) {
        if (run.size && run.from + run.size == at) {
            run.size += piece.size;
            continue;
        }
        close();
        run = {at, piece.size};
        if (at > from + size)
            break;
    }
    close();
    return out;
}

} // namespace dmsh::nvn
