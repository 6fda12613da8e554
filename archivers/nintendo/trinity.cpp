// Trinity: Game Freak's one archive of packs (.trpfs), the packs' names beside it (.trpfd). Layout:
// reference/containers/nintendo.md, section 11.
#include "archivers/nintendo/flat_buffer.h"
#include "archivers/nintendo/readers.h"
#include <algorithm>
#include <cstdio>
#include <unordered_map>

namespace dmsh {
namespace {

constexpr uint64_t kHeader = 0x10;
constexpr uint64_t kNameMax = 512; // longest pack name
constexpr unsigned kOodle = 3, kStored = 0xff;

uint64_t fnv1a(Bytes text) {
    uint64_t h = 0xcbf29ce484222645; // as the engine has it, not the usual basis
    for (const uint8_t c : text.span())
        h = (h ^ c) * 0x100000001b3;
    return h;
}

std::string hex(uint64_t hash) {
    char text[24];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

// One pack: a FlatBuffer of files, each packed by itself. Not a reader of its own: an archive has thousands,
// and what its Oodle files need is said once.
Result<void> read_pack(const std::string& pack, const Blob& in, Output& out) {
    const Bytes b = in.bytes;
    const auto bad = [&](const std::string& what) {
        out.fail(pack, {"Trinity pack: " + what});
        return Result<void>();
    };
    const auto root = FlatTable::root(b);
    if (!root)
        return bad("its tables leave it");
    const auto hashes = root->vector(0, 8), files = root->vector(1, 4);
    if (!hashes || !files)
        return bad("its tables leave it");
    if (hashes->count != files->count)
        return bad("not as many names as files");
    for (uint64_t i = 0; i < files->count; ++i) {
        const auto file = FlatTable::table(b, *files, i);
        const auto data = file ? file->vector(4, 1) : Result<FlatVector>(file.error());
        if (!data)
            return bad("file " + std::to_string(i) + " leaves it");
        const std::string name = pack + "/" + hex(b.u64(hashes->begin + 8 * i));
        const Blob bytes = in.clamp(data->begin, data->count);
        const uint64_t size = file->u64(3);
        Result<void> ok;
        switch (const unsigned compression = file->u8(1)) {
        case kStored: ok = out.member(name, bytes.size(), bytes); break;
        case kOodle:
            ok = out.packed_member(name, bytes.size(),
                                   [bytes, size](DecodeContext& c) { return c.oodle(bytes.bytes, size); });
            break;
        default:
            out.fail(name, {"Trinity pack: file " + std::to_string(i) + " has compression " +
                            std::to_string(compression) + ", which is not known"});
        }
        if (!ok)
            return ok;
    }
    return {};
}

struct NamedPack {
    std::string name;
    uint64_t size = 0;
};

// Packs by the hash of their names, from the descriptor beside the archive.
Result<std::unordered_map<uint64_t, NamedPack>> read_names(Bytes b) {
    const auto root = FlatTable::root(b);
    const auto names = root ? root->vector(1, 4) : Result<FlatVector>(root.error());
    const auto packs = root ? root->vector(3, 4) : Result<FlatVector>(root.error());
    if (!names || !packs || names->count != packs->count)
        return Error{"Trinity: data.trpfd does not fit"};
    std::unordered_map<uint64_t, NamedPack> found;
    uint64_t characters = 0;
    for (uint64_t i = 0; i < names->count; ++i) {
        const auto name = FlatTable::text(b, *names, i);
        const auto pack = FlatTable::table(b, *packs, i);
        if (!name || name->size() > kNameMax || !pack || (characters += name->size()) > b.size())
            return Error{"Trinity: data.trpfd does not fit"};
        found[fnv1a(*name)] = {std::string(name->data(), name->data() + name->size()), pack->u64(0)};
    }
    return found;
}

bool probe_trpfs(Bytes b) {
    return b.starts_with(std::string_view("ONEPACK\0", 8));
}

Result<void> read_trpfs(const Blob& in, Output& out) {
    const uint64_t table_at = in.bytes.u64(0x08);
    if (!in.bytes.has(0, kHeader) || !in.bytes.has(table_at, 4))
        return Error{"Trinity: the file system leaves the file"};
    const Bytes b = in.bytes.clamp(table_at);
    const auto root = FlatTable::root(b);
    if (!root)
        return root.error();
    const auto hashes = root->vector(0, 8), offsets = root->vector(1, 8);
    if (!hashes || !offsets || hashes->count != offsets->count)
        return Error{"Trinity: the file system does not fit"};

    std::unordered_map<uint64_t, NamedPack> names;
    const auto descriptor = out.sibling("data.trpfd");
    if (!descriptor)
        return descriptor.error();
    if (*descriptor) {
        auto read = read_names((*descriptor)->bytes);
        if (!read)
            return read.error();
        names = *std::move(read);
    }
    struct Pack {
        uint64_t offset, hash;
    };
    std::vector<Pack> packs;
    for (uint64_t i = 0; i < hashes->count; ++i)
        packs.push_back({b.u64(offsets->begin + 8 * i), b.u64(hashes->begin + 8 * i)});
    std::stable_sort(packs.begin(), packs.end(),
                     [](const Pack& x, const Pack& y) { return x.offset < y.offset; });
    for (size_t i = 0; i < packs.size(); ++i) {
        // Without a name the next pack bounds this one.
        const uint64_t next = i + 1 < packs.size() ? packs[i + 1].offset : table_at;
        const auto named = names.find(packs[i].hash);
        const std::string name = named != names.end() ? named->second.name : hex(packs[i].hash);
        const uint64_t size = named != names.end()     ? named->second.size
                              : next > packs[i].offset ? next - packs[i].offset
                                                       : 0;
        const auto pack = in.slice(packs[i].offset, size);
        if (!pack) {
            out.fail(name, {"Trinity: pack leaves the file"});
            continue;
        }
        if (const auto ok = out.budget().charge_stored(size); !ok) // packs may overlap
            return ok;
        if (const auto ok = read_pack(name, *pack, out); !ok)
            return ok;
    }
    return {};
}

} // namespace

constexpr Reader kTrinityReader = {
    "trpfs",
    probe_trpfs,
    read_trpfs,
    {"Trinity archive (.trpfs with .trpfd)", "`ONEPACK` and a zero byte", "archivers/nintendo/trinity.cpp",
     "packs, by name where `data.trpfd` lies beside it, and their files", "paths of files"}};

} // namespace dmsh
