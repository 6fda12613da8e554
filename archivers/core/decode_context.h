// DecodeContext: what decoding a member may draw on: the file's budget, dictionaries of other files, Oodle.
#pragma once
#include "archivers/core/blob.h"
#include "archivers/core/budget.h"
#include <string_view>

namespace dmsh {

constexpr std::string_view kDictionaryFact = "zstd dictionary"; // Output::publish's kind

// Key of a zstd dictionary among the shared facts.
inline std::string zstd_dictionary_key(uint32_t id) {
    return std::to_string(id);
}

class DecodeContext {
  public:
    virtual ~DecodeContext() = default;

    virtual WorkBudget& budget() = 0;

    // What another file published under this kind and key, or nothing if none did. An error comes back while
    // other files may still publish it: it must be returned, and the file is read again after all the others.
    // So the answer does not depend on the order of files.
    virtual Result<std::optional<Blob>> shared(std::string_view kind, std::string_view key) = 0;

    // Decodes one Oodle stream of known decoded size with the library that the user named. Without one the
    // member is counted, and the archive gets one line.
    virtual Result<Blob> oodle(Bytes in, uint64_t size) = 0;
};

// zstd frames with the dictionary that they ask for, if any (nintendo.md, section 8).
Result<Blob> decode_zstd_shared(Bytes in, DecodeContext& context);

} // namespace dmsh
