// Lists RomFS images. Layout: reference/containers/nintendo.md, section 1.
#include "archivers/nintendo/romfs.h"
#include "archivers/core/budget.h"
#include "archivers/nintendo/readers.h"
#include <unordered_set>

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 0x50;
constexpr uint32_t kNone = 0xffffffff;
constexpr uint64_t kDirectoryEntry = 0x18, kFileEntry = 0x20;
constexpr unsigned kMaxDepth = 64;
constexpr uint64_t kMaxPath = 1024; // the console's own limit is below

// Does a level-3 header begin at `at`? Its tables lie in order behind the header; and in the image, unless
// the image may be cut short.
bool level3_at(Bytes image, uint64_t at, bool whole = true) {
    const Bytes b = image.clamp(at);
    if (!b.has(0, kHeader) || b.u64(0) != kHeader)
        return false;
    uint64_t end = kHeader;
    for (uint64_t field = 0x08; field < 0x48; field += 16) {
        const uint64_t offset = b.u64(field), size = b.u64(field + 8);
        if (offset < end || (whole && !b.has(offset, size)) || offset + size < offset)
            return false;
        end = offset + size;
    }
    return b.u64(0x48) >= kHeader && (!whole || b.has(b.u64(0x48), 0));
}

// Where the level-3 image begins: at 0, or inside an IVFC image. The stored level count may include the
// master hash, and the levels' offsets may count from the data behind the header, so the place that holds a
// level-3 header is taken.
std::optional<uint64_t> find_level3(Bytes image) {
    if (level3_at(image, 0))
        return 0;
    if (!image.starts_with("IVFC"))
        return std::nullopt;
    const uint64_t master = image.u32(8), levels = std::min<uint32_t>(image.u32(12), 8);
    for (uint64_t level = levels; level-- > 0;) {
        const uint64_t record = 0x10 + 0x18 * level;
        const uint64_t offset = image.u64(record), block = image.u32(record + 16);
        if (level3_at(image, offset))
            return offset;
        const uint64_t header = 0x10 + 0x18 * levels + master;
        const uint64_t mask = block < 32 ? (1ull << block) - 1 : 0;
        for (const uint64_t base : {header, (header + mask) & ~mask})
            if (offset <= image.size() && level3_at(image, base + offset))
                return base + offset;
    }
    return std::nullopt;
}

class Lister {
  public:
    Lister(Bytes image, uint64_t base) : base_(base), b_(image.clamp(base)), image_size_(image.size()) {
        directories_ = b_.clamp(b_.u64(0x18), b_.u64(0x20));
        files_ = b_.clamp(b_.u64(0x38), b_.u64(0x40));
    }

    Result<RomfsListing> list() {
        if (!directories_.has(0, kDirectoryEntry))
            return Error{"RomFS: no root directory"};
        seen_directories_.insert(0);
        if (const auto ok = directory(0, "", 0); !ok)
            return ok.error();
        return std::move(out_);
    }

  private:
    Result<void> directory(uint32_t at, const std::string& path, unsigned depth) {
        if (depth > kMaxDepth)
            return Error{"RomFS: directories nest more than 64 deep"};
        for (uint32_t file = directories_.u32(at + 12); file != kNone; file = files_.u32(uint64_t{file} + 4))
            if (const auto ok = one_file(file, path); !ok)
                return ok;
        for (uint32_t child = directories_.u32(at + 8); child != kNone;
             child = directories_.u32(uint64_t{child} + 4)) {
            if (!directories_.has(child, kDirectoryEntry))
                return Error{"RomFS: a directory link leaves the table"};
            if (!seen_directories_.insert(child).second)
                return Error{"RomFS: directory links form a circle"};
            if (seen_directories_.size() > directories_.size() / kDirectoryEntry)
                return Error{"RomFS: more directories than the table can hold"};
            const auto name = entry_name(directories_, child, 20, kDirectoryEntry, path);
            if (!name)
                continue;
            if (const auto ok = directory(child, *name, depth + 1); !ok)
                return ok;
        }
        return {};
    }

    Result<void> one_file(uint32_t at, const std::string& path) {
        if (!files_.has(at, kFileEntry))
            return Error{"RomFS: a file link leaves the table"};
        if (!seen_files_.insert(at).second)
            return Error{"RomFS: file links form a circle"};
        if (seen_files_.size() > files_.size() / kFileEntry)
            return Error{"RomFS: more files than the table can hold"};
        const auto name = entry_name(files_, at, 28, kFileEntry, path);
        if (!name)
            return {};
        const uint64_t offset = files_.u64(uint64_t{at} + 8), size = files_.u64(uint64_t{at} + 16);
        const uint64_t data = b_.u64(0x48);
        if (offset > b_.size() || !b_.has(data + offset, size)) {
            out_.errors.push_back({"RomFS: file leaves the image", *name});
            return {};
        }
        total_ += size;
        if (total_ / kBudgetFactor > image_size_)
            return Error{"RomFS: the files add up to more than 16 times the image"};
        out_.files.push_back({*name, base_ + data + offset, size});
        return {};
    }

    // The entry's path, or nothing (with an error) if its name is none.
    std::optional<std::string> entry_name(Bytes table, uint32_t at, uint32_t length_field, uint64_t fixed,
                                          const std::string& parent) {
        const auto bytes = table.slice(at + fixed, table.u32(uint64_t{at} + length_field));
        const std::string name = bytes && parent.size() + bytes->size() < kMaxPath
                                     ? std::string(bytes->data(), bytes->data() + bytes->size())
                                     : "";
        if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos ||
            name.find('\0') != name.npos) {
            out_.errors.push_back({"RomFS: an entry's name is no file name", parent});
            return std::nullopt;
        }
        return parent.empty() ? name : parent + "/" + name;
    }

    uint64_t base_;
    Bytes b_, directories_, files_;
    uint64_t image_size_;
    std::unordered_set<uint32_t> seen_directories_, seen_files_;
    uint64_t total_ = 0;
    RomfsListing out_;
};

Result<void> read_romfs(const Blob& in, Output& out) {
    const auto listing = list_romfs(in.bytes);
    if (!listing)
        return listing.error();
    for (const Error& e : listing->errors)
        out.fail(e.origin, {e.message});
    for (const RomfsFile& f : listing->files)
        if (const auto ok = out.member(f.path, f.size, in.clamp(f.offset, f.size)); !ok)
            return ok;
    return {};
}

} // namespace

bool is_romfs(Bytes image) {
    return level3_at(image, 0, false) || image.starts_with("IVFC");
}

Result<RomfsListing> list_romfs(Bytes image) {
    const auto base = find_level3(image);
    if (!base)
        return Error{"RomFS: no file tables where the header says"};
    return Lister(image, *base).list();
}

constexpr Reader kRomfsReader = {
    "romfs",
    is_romfs,
    read_romfs,
    {"RomFS image", "u64 0x50 and tables in order, or `IVFC`", "archivers/nintendo/romfs.cpp",
     "level 3 and the hashed image around it, read in place", "the hashes are not checked"}};

} // namespace dmsh
