// Writer of library packs: collects translated programs and gives deterministic bytes.
#pragma once
#include "runtime/abi/library_format.h"
#include "runtime/pack/reflection.h"

namespace dmsh {

// How slices are stored. `automatic` takes zstd where it saves at least an eighth.
enum class PackCompression : uint8_t { automatic, none, zstd };

// One program, encoded: what a worker thread prepares and LibraryWriter keeps.
struct EncodedProgram {
    uint64_t key = 0;
    uint16_t variant = 0;
    Stage stage = Stage::compute;
    Arch arch = Arch::sm53;
    SliceKind kind = SliceKind::none;
    SliceCodec codec = SliceCodec::stored;
    bool has_losses = false;
    uint32_t slice_bytes = 0;
    std::vector<uint8_t> slice; // as stored
    std::vector<uint8_t> reflection;
};

// Encodes reflection and slice. Pure: call it from any thread. Refuses what a reader would refuse (sizes,
// bindings).
Result<EncodedProgram> encode_program(uint64_t key, const ProgramReflection& reflection, SliceKind kind,
                                        std::span<const uint8_t> slice,
                                        PackCompression compression = PackCompression::automatic,
                                        uint16_t variant = 0);

class LibraryWriter {
  public:
    // `target` at most 16 bytes ("vulkan", "macos", "ios"), `stamp` at most 32: the identity of everything
    // that determines the slices (P-005).
    LibraryWriter(std::string target, std::string stamp);

    // Programs may come in any order; the bytes do not depend on it. Not thread-safe.
    void add(EncodedProgram program);
    size_t size() const { return programs_.size(); }

    // The whole file. Refuses two programs of one key and variant with different content; equal ones count
    // once. Equal slices are stored once. The writer is empty afterwards.
    Result<std::vector<uint8_t>> finish();
    // finish() into `path`, through a temporary file beside it that is renamed when complete.
    Result<void> write(const std::string& path);

  private:
    std::string target_, stamp_;
    std::vector<EncodedProgram> programs_;
};

} // namespace dmsh
