// Reader: what one container format is to the scan, and Output: where a reader puts what it found.
#pragma once
#include "archivers/core/decode_context.h"
#include "archivers/core/find_magic.h"
#include "runtime/abi/stage.h"
#include <functional>
#include <string>

namespace dmsh {

// One stage as found. `control` and `code` are bounded by S-003/S-004 and +0x704; both view the blob that was
// read.
struct FoundShader {
    Stage stage = Stage::vertex;
    Arch arch = Arch::sm53;
    Blob control;
    Blob code;
    uint64_t offset = 0;  // of the control section in the innermost container
    std::string label;    // place within the container, for people: "variation 3"; may be empty
    uint32_t program = 0; // from Output::new_program(): stages of one program share it; 0 = stands alone
    // Stands alone because its engine binds each stage at draw time: it gets partners from a cover of the
    // inputs (L-004). Without it, a stage that stands alone has no partners.
    bool cover = false;
};

// How a container knows that stages belong together.
enum class Evidence : uint8_t {
    linked, // one program, variation or output holds them: shader_pairs.tsv
    listed, // a list of the engine names them, and others can meet too: pso_pairs.tsv (L-002)
};

struct Reader;

// Given to a reader. Everything is charged to the budget of the input file. An error that comes back from any
// call must be returned as it is: it may mean that the file is read again later (DecodeContext::shared).
class Output : public DecodeContext {
  public:
    // A member to be read in turn. `stored`: bytes that it takes in the archive, which is its size unless the
    // reader decoded it (the codec then charged the expansion). Streams that are the whole file have an empty
    // name and do not show in the origin. `as`: the reader to use; without one the content decides.
    virtual Result<void> member(std::string_view name, uint64_t stored, const Blob& bytes,
                                const Reader* as = nullptr) = 0;

    // Decodes a member; runs on any worker, so it owns (by value: blobs are cheap) whatever it looks at.
    using Decode = std::function<Result<Blob>(DecodeContext&)>;
    // The first bytes of a member, at most `n`, without decoding the rest; not charged.
    using Peek = std::function<Result<Blob>(uint64_t n)>;
    // A member that is decoded when its turn comes, perhaps by another worker: the form for every compressed
    // member of an archive. If decoding fails, that member alone is left out with a line. With a `peek` the
    // rest is decoded only if the first bytes do not prove that no shader can follow.
    virtual Result<void> packed_member(std::string_view name, uint64_t stored, Decode decode,
                                       Peek peek = nullptr, const Reader* as = nullptr) = 0;

    virtual Result<void> shader(FoundShader shader) = 0;
    virtual uint32_t new_program(Evidence evidence = Evidence::linked) = 0;
    // Something in the blob is wrong, yet the rest of it can be read: one error line for `name` (may be
    // empty).
    virtual void fail(std::string_view name, Error error) = 0;
    // Something worth a line that loses no shader.
    virtual void note(std::string text) = 0;
    // A control section for which no code was found.
    virtual void lone_control(uint64_t offset) = 0;

    // Puts something in reach of every other file of the scan, for shared() there: zstd dictionaries
    // (kDictionaryFact, key zstd_dictionary_key(id)), type layouts, keys. The first in the order of files wins.
    virtual void publish(std::string_view kind, std::string_view key, const Blob& bytes) = 0;
    // Name of what is being read (last part of its path); for the few formats whose names are part of them.
    virtual std::string_view name() const = 0;
    // Another file of the input, by its path from the folder of the file that this reader is in
    // ("data.trpfd", "../x/y"), later roots first; nothing if there is none. Members of archives have the
    // neighbours of the file around them. Its size is added to what the budgets are 16 times of.
    virtual Result<std::optional<Blob>> sibling(std::string_view path) = 0;

    // Every place of the magics in a large blob, by offset, looked for by all workers that have time.
    virtual std::vector<MagicHit> find_all(const Blob& in, const std::array<uint32_t, 3>& magics) = 0;
};

// For docs/formats.md, which is made from the list of readers. One line of Markdown each.
struct FormatFacts {
    std::string_view name;    // "SARC archive (.sarc, .pack)"
    std::string_view magic;   // what it is recognised by
    std::string_view source;  // the reader's file: "archivers/nintendo/sarc.cpp"
    std::string_view known;   // what is read
    std::string_view unknown; // what is not known or not read, "nothing" included
};

// One container format. Probes look at bytes only, never at names, and cost next to nothing.
struct Reader {
    std::string_view format; // in reports: "sarc"
    bool (*probe)(Bytes bytes);
    // Gives members and shaders to `out`. On an error what it gave before is dropped, with one line.
    Result<void> (*read)(const Blob& in, Output& out);
    FormatFacts facts = {};
    // Decodes the whole file at once: no two large ones are read at the same time.
    bool one_stream = false;
    // Only for formats that A-104 excepts because nothing in their bytes tells them: the name must please too.
    bool (*probe_name)(std::string_view name) = nullptr;
};

} // namespace dmsh
