// SharedFacts: what readers publish for other files of the scan (zstd dictionaries, layouts, keys).
#pragma once
#include "archivers/core/blob.h"
#include <map>
#include <mutex>
#include <string>

namespace dmsh {

// Files are read in rounds. What is published in a round can be seen from the next one on, so that no answer
// depends on which file a worker read first; a file that asked in vain is read again in the next round. In the
// last round the answer "nobody has it" stands.
class SharedFacts {
  public:
    // Thread-safe. Among publishers of one key the first by `file`, then by `origin`, wins.
    void publish(std::string_view kind, std::string_view key, const Blob& bytes, size_t file,
                 const std::string& origin);
    // What earlier rounds published. Not while next_round() runs.
    std::optional<Blob> find(std::string_view kind, std::string_view key) const;

    // Makes what was published visible. True: something is new, so that reading again can help.
    bool next_round();
    bool sealed() const { return sealed_; }
    void seal() { sealed_ = true; }

  private:
    using Key = std::pair<std::string, std::string>;
    struct Entry {
        size_t file = 0;
        std::string origin;
        Blob bytes;
    };
    std::map<Key, Entry> visible_, coming_;
    std::mutex mutex_;
    bool sealed_ = false;
};

} // namespace dmsh
