// Oodle: streams decoded by a shared library of the user's, in child processes that may crash or hang.
#pragma once
#include "archivers/core/blob.h"
#include "archivers/core/budget.h"
#include <mutex>

namespace dmsh {

// Limits of one child (A-110: bad input must cost an error, never the scan).
struct OodleLimits {
    unsigned seconds = 20;            // for one stream
    uint64_t memory = 3ull << 30;     // address space of the child
};

// Thread-safe: each caller has a child of its own while it decodes; children are kept for the next caller.
class Oodle {
  public:
    // `library`: exports OodleLZ_Decompress. `host`: the program dmsh-oodle-host; empty = the one beside the
    // running program. Starts a child once, so that a library that does not load is said at once.
    static Result<std::unique_ptr<Oodle>> start(const std::string& library, const std::string& host = "",
                                                OodleLimits limits = {});
    ~Oodle();

    // One stream, decoded to exactly `size` bytes.
    Result<Blob> decode(Bytes in, uint64_t size, WorkBudget& budget);

  private:
    struct Child {
        int pid = -1;
        int socket = -1;
    };
    Oodle() = default;
    Result<Child> spawn() const;
    static void end(Child child);
    // False: the child is of no use any more.
    bool ask(const Child& child, Bytes in, uint8_t* out, uint64_t size, int64_t& answer) const;

    std::string library_, host_;
    OodleLimits limits_;
    std::mutex mutex_;
    std::vector<Child> idle_;
};

} // namespace dmsh
