// Keeps what readers publish until the round is over.
#include "archivers/scan/shared_facts.h"
#include <tuple>

namespace dmsh {

void SharedFacts::publish(std::string_view kind, std::string_view key, const Blob& bytes, size_t file,
                          const std::string& origin) {
    // A copy, so that a small dictionary does not hold the archive around it.
    NewBlob copy(bytes.size());
    if (bytes.size())
        std::memcpy(copy.data(), bytes.bytes.data(), bytes.size());
    const std::lock_guard lock(mutex_);
    Key k(kind, key);
    if (visible_.contains(k))
        return;
    const auto [it, first] = coming_.try_emplace(std::move(k));
    Entry& e = it->second;
    if (first || std::tie(file, origin) < std::tie(e.file, e.origin))
        e = {file, origin, std::move(copy).finish()};
}

std::optional<Blob> SharedFacts::find(std::string_view kind, std::string_view key) const {
    const auto it = visible_.find(Key(kind, key));
    return it == visible_.end() ? std::nullopt : std::optional(it->second.bytes);
}

bool SharedFacts::next_round() {
    const bool any = !coming_.empty();
    visible_.merge(coming_);
    coming_.clear();
    return any;
}

} // namespace dmsh
