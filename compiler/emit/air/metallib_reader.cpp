// Bounds-checked parser of .metallib containers and the checks on their form.
#include "compiler/emit/air/metallib_reader.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <llvm/Support/SHA256.h>
#include <map>

namespace dmsh {
namespace {

constexpr uint32_t kHeaderBytes = 88;
constexpr uint32_t kWrapperMagic = 0x0b17c0de;
constexpr uint32_t kWrapperBytes = 20;
constexpr size_t kMaxFunctions = 1u << 20;

// A position in a span; every read says whether it fitted.
class Cursor {
  public:
    Cursor(std::span<const uint8_t> bytes, uint64_t pos, uint64_t end)
        : bytes_(bytes), pos_(pos), end_(std::min<uint64_t>(end, bytes.size())) {}
    uint64_t pos() const { return pos_; }
    bool ok() const { return ok_; }
    bool has(uint64_t n) const { return pos_ <= end_ && n <= end_ - pos_; }
    uint64_t number(unsigned n) {
        if (!take(n))
            return 0;
        uint64_t v = 0;
        for (unsigned i = 0; i < n; ++i)
            v |= uint64_t{bytes_[pos_ - n + i]} << (8 * i);
        return v;
    }
    std::span<const uint8_t> span(uint64_t n) {
        return take(n) ? bytes_.subspan(pos_ - n, n) : std::span<const uint8_t>{};
    }
    std::string c_string() {
        uint64_t i = pos_;
        while (ok_ && i < end_ && bytes_[i])
            ++i;
        if (!ok_ || i >= end_) {
            ok_ = false;
            return {};
        }
        std::string s(reinterpret_cast<const char*>(bytes_.data()) + pos_, i - pos_);
        pos_ = i + 1;
        return s;
    }

  private:
    bool take(uint64_t n) {
        ok_ = ok_ && has(n);
        if (ok_)
            pos_ += n;
        return ok_;
    }
    std::span<const uint8_t> bytes_;
    uint64_t pos_, end_;
    bool ok_ = true;
};

struct Tag {
    std::string_view name;
    uint64_t offset = 0; // of the payload
    std::span<const uint8_t> payload;
};

Error at(uint64_t offset, std::string message) {
    return Error{.message = std::move(message), .offset = offset};
}

// Reads tags up to and with ENDT; returns the offset after it.
Result<uint64_t> read_tags(std::span<const uint8_t> bytes, uint64_t pos, uint64_t end, const char* where,
                           std::vector<Tag>& tags) {
    Cursor c(bytes, pos, end);
    for (;;) {
        const uint64_t start = c.pos();
        const auto name = c.span(4);
        if (!c.ok())
            return at(start, fmt::format("{}: tag group without ENDT", where));
        const std::string_view text(reinterpret_cast<const char*>(name.data()), 4);
        if (text == "ENDT")
            return c.pos();
        const uint64_t length = c.number(text == "RBUF" || text == "SBUF" || text == "RBUZ" ? 4 : 2);
        const uint64_t offset = c.pos();
        const auto payload = c.span(length);
        if (!c.ok())
            return at(start, fmt::format("{}: tag at the end of its part is cut", where));
        tags.push_back({text, offset, payload});
    }
}

uint64_t little(std::span<const uint8_t> b, size_t pos, unsigned n) {
    uint64_t v = 0;
    for (unsigned i = 0; i < n; ++i)
        v |= uint64_t{b[pos + i]} << (8 * i);
    return v;
}

// A function's public metadata: VATT, VATY, CNST, RETR, ARGR.
Result<void> read_public(std::span<const uint8_t> bytes, const std::vector<Tag>& tags, MetallibFunction& f) {
    std::vector<uint8_t> types;
    for (const Tag& t : tags) {
        Cursor c(bytes, t.offset, t.offset + t.payload.size());
        if (t.name == "VATT") {
            f.has_vatt = true;
            const auto n = c.number(2);
            for (uint64_t i = 0; i < n && c.ok(); ++i) {
                MetallibAttribute a;
                a.name = c.c_string();
                const auto info = c.number(2);
                a.index = info & 0x1fff;
                a.usage = info >> 13 & 3;
                a.active = info >> 15;
                f.attributes.push_back(std::move(a));
            }
        } else if (t.name == "VATY") {
            f.has_vaty = true;
            const auto n = c.number(2);
            for (uint64_t i = 0; i < n && c.ok(); ++i)
                types.push_back(static_cast<uint8_t>(c.number(1)));
        } else if (t.name == "CNST") {
            const auto n = c.number(2);
            for (uint64_t i = 0; i < n && c.ok(); ++i) {
                MetallibConstant k;
                k.name = c.c_string();
                k.type = static_cast<uint8_t>(c.number(1));
                k.index = static_cast<uint16_t>(c.number(2));
                k.required = c.number(1) != 0;
                f.constants.push_back(std::move(k));
            }
        } else if (t.name == "RETR") {
            f.return_type = static_cast<uint8_t>(c.number(1));
        } else if (t.name == "ARGR") {
            const auto n = c.number(1);
            for (uint64_t i = 0; i < n && c.ok(); ++i) {
                MetallibConstant k;
                k.name = c.c_string();
                k.type = static_cast<uint8_t>(c.number(1));
                f.arguments.push_back(std::move(k));
            }
        }
        if (!c.ok())
            return at(t.offset, fmt::format("{} of function {} is cut", t.name, f.name));
    }
    if (f.has_vaty) {
        if (types.size() != f.attributes.size())
            return at(f.public_offset, fmt::format("function {}: VATY has {} types for {} attributes", f.name,
                                                   types.size(), f.attributes.size()));
        for (size_t i = 0; i < types.size(); ++i)
            f.attributes[i].type = types[i];
    }
    return {};
}

Result<MetallibFunction> read_function(std::span<const uint8_t> bytes, const std::vector<Tag>& tags,
                                       uint64_t start) {
    MetallibFunction f;
    unsigned seen = 0;
    for (const Tag& t : tags) {
        const auto need = [&](size_t n) { return t.payload.size() == n; };
        bool good = true;
        if (t.name == "NAME") {
            Cursor c(bytes, t.offset, t.offset + t.payload.size());
            f.name = c.c_string();
            good = c.ok();
            seen |= 1;
        } else if (t.name == "TYPE") {
            if ((good = need(1)))
                f.type = static_cast<MetalFunctionType>(t.payload[0]);
            seen |= 2;
        } else if (t.name == "HASH") {
            if ((good = need(32)))
                std::copy(t.payload.begin(), t.payload.end(), f.hash.begin());
            seen |= 4;
        } else if (t.name == "OFFT") {
            if ((good = need(24))) {
                f.public_offset = little(t.payload, 0, 8);
                f.private_offset = little(t.payload, 8, 8);
                f.module_offset = little(t.payload, 16, 8);
            }
            seen |= 8;
        } else if (t.name == "VERS") {
            if ((good = need(8)))
                for (unsigned i = 0; i < 4; ++i)
                    f.version[i] = static_cast<uint16_t>(little(t.payload, 2 * i, 2));
            seen |= 16;
        } else if (t.name == "MDSZ") {
            if ((good = need(8)))
                f.module_size = little(t.payload, 0, 8);
        } else if (t.name == "LAYR") {
            if ((good = need(1)))
                f.layer_type = t.payload[0];
        } else if (t.name == "TESS") {
            if ((good = need(1)))
                f.tessellation = t.payload[0];
        } else if (t.name == "SOFF") {
            if ((good = need(8)))
                f.source_offset = little(t.payload, 0, 8);
        } else if (t.name == "RFLT") {
            if ((good = need(8)))
                f.reflection_offset = little(t.payload, 0, 8);
        }
        if (!good)
            return at(t.offset, fmt::format("function tag {} has {} bytes", t.name, t.payload.size()));
    }
    if (seen != 31)
        return at(start, "function group lacks NAME, TYPE, HASH, OFFT or VERS");
    return f;
}

// True if [offset, offset + size) lies in the file after the header.
bool inside(const MetallibPart& p, uint64_t file) {
    return p.offset <= file && p.size <= file - p.offset;
}

} // namespace

std::string_view metal_function_type_name(MetalFunctionType type) {
    switch (type) {
    case MetalFunctionType::vertex: return "vertex";
    case MetalFunctionType::fragment: return "fragment";
    case MetalFunctionType::kernel: return "kernel";
    case MetalFunctionType::unqualified: return "unqualified";
    case MetalFunctionType::visible: return "visible";
    case MetalFunctionType::external: return "extern";
    case MetalFunctionType::intersection: return "intersection";
    case MetalFunctionType::mesh: return "mesh";
    case MetalFunctionType::object: return "object";
    case MetalFunctionType::none: return "none";
    }
    return "?";
}

Result<std::vector<MetallibSlice>> split_metallib(std::span<const uint8_t> bytes) {
    // Big-endian header of Mach-O fat files; 0xcbfebabe is the spelling seen for files with native slices.
    const auto big = [&](size_t pos) {
        return uint32_t{bytes[pos]} << 24 | uint32_t{bytes[pos + 1]} << 16 | uint32_t{bytes[pos + 2]} << 8 |
               bytes[pos + 3];
    };
    std::vector<MetallibSlice> slices;
    if (bytes.size() < 8 || (big(0) != 0xcafebabe && big(0) != 0xcbfebabe)) {
        slices.push_back({0, bytes});
        return slices;
    }
    const uint32_t count = big(4);
    constexpr uint32_t kArchBytes = 20;
    if (count == 0 || count > (bytes.size() - 8) / kArchBytes)
        return at(4, fmt::format("fat header names {} slices", count));
    for (uint32_t i = 0; i < count; ++i) {
        const size_t row = 8 + size_t{i} * kArchBytes;
        const MetallibPart part{big(row + 8), big(row + 12)};
        if (!inside(part, bytes.size()) || part.offset < 8 + uint64_t{count} * kArchBytes)
            return at(row, fmt::format("fat slice {} lies outside the file", i));
        slices.push_back({big(row), bytes.subspan(part.offset, part.size)});
    }
    return slices;
}

Result<Metallib> read_metallib(std::span<const uint8_t> bytes) {
    Metallib lib;
    lib.bytes = bytes;
    if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), "MTLB", 4) != 0)
        return at(0, "not a metallib (no MTLB header)");
    const auto version = static_cast<uint16_t>(little(bytes, 4, 2));
    lib.macos = version >> 15;
    lib.major = version & 0x7fff;
    lib.minor = static_cast<uint16_t>(little(bytes, 6, 2));
    lib.patch = static_cast<uint16_t>(little(bytes, 8, 2));
    if (lib.major != 1 || lib.minor != 2 || lib.patch < 2 || lib.patch > 9)
        return at(4, fmt::format("container version {}.{}.{} is not known (1.2.2 to 1.2.9)", lib.major,
                                 lib.minor, lib.patch));
    lib.kind = bytes[10];
    lib.platform = bytes[11];
    lib.os_major = static_cast<uint16_t>(little(bytes, 12, 2));
    lib.os_minor = bytes[14];
    lib.os_update = bytes[15];
    lib.file_size = little(bytes, 16, 8);
    MetallibPart* parts[] = {&lib.function_list, &lib.public_metadata, &lib.private_metadata, &lib.modules};
    for (unsigned i = 0; i < 4; ++i) {
        *parts[i] = {little(bytes, 24 + 16 * i, 8), little(bytes, 32 + 16 * i, 8)};
        if (!inside(*parts[i], bytes.size()))
            return at(24 + 16 * i, "a part of the header lies outside the file");
    }

    // Function list.
    Cursor c(bytes, lib.function_list.offset, bytes.size());
    const uint64_t count = c.number(4);
    if (!c.ok() || count > kMaxFunctions || count > bytes.size() / 8)
        return at(lib.function_list.offset, fmt::format("function count {} does not fit the file", count));
    uint64_t pos = c.pos();
    for (uint64_t i = 0; i < count; ++i) {
        if (bytes.size() - pos < 8)
            return at(pos, "function list is cut");
        const uint64_t size = little(bytes, pos, 4);
        if (size < 8 || size > bytes.size() - pos)
            return at(pos, fmt::format("function group of {} bytes", size));
        std::vector<Tag> tags;
        auto end = read_tags(bytes, pos + 4, pos + size, "function list", tags);
        if (!end)
            return end.error();
        if (*end != pos + size)
            return at(pos, "function group's size does not match its ENDT");
        auto f = read_function(bytes, tags, pos);
        if (!f)
            return f.error();
        f->record = bytes.subspan(pos, size);
        lib.functions.push_back(std::move(*f));
        pos += size;
    }
    lib.function_list_end = lib.extension_end = pos;

    // Header extension (patch 3 and up): runs to ENDT.
    if (lib.patch >= 3) {
        std::vector<Tag> tags;
        auto end = read_tags(bytes, pos, bytes.size(), "header extension", tags);
        if (!end)
            return end.error();
        lib.extension_end = *end;
        for (const Tag& t : tags) {
            if (t.name == "UUID") {
                if (t.payload.size() != 16)
                    return at(t.offset, "UUID tag without 16 bytes");
                lib.uuid.emplace();
                std::copy(t.payload.begin(), t.payload.end(), lib.uuid->begin());
            } else if (t.payload.size() == 16) {
                const MetallibPart part{little(t.payload, 0, 8), little(t.payload, 8, 8)};
                if (!inside(part, bytes.size()))
                    return at(t.offset, fmt::format("part {} lies outside the file", t.name));
                lib.tails.emplace_back(std::string(t.name), part);
            }
        }
    }

    // Metadata groups and modules.
    std::vector<uint64_t> starts;
    for (const MetallibFunction& f : lib.functions)
        starts.push_back(f.module_offset);
    std::sort(starts.begin(), starts.end());
    for (MetallibFunction& f : lib.functions) {
        const auto group = [&](const MetallibPart& part, uint64_t offset,
                               std::vector<Tag>& tags) -> Result<uint64_t> {
            if (offset > part.size || part.size - offset < 8)
                return at(part.offset, fmt::format("function {}: metadata offset {} lies outside its part",
                                                   f.name, offset));
            return read_tags(bytes, part.offset + offset + 4, part.offset + part.size, "metadata", tags);
        };
        std::vector<Tag> tags;
        if (auto end = group(lib.public_metadata, f.public_offset, tags); !end)
            return end.error();
        if (auto done = read_public(bytes, tags, f); !done)
            return done.error();
        tags.clear();
        if (auto end = group(lib.private_metadata, f.private_offset, tags); !end)
            return end.error();
        // Without MDSZ (old macOS linkers) a module reaches to the next one.
        uint64_t size = f.module_size.value_or(0);
        if (!f.module_size) {
            const auto next = std::upper_bound(starts.begin(), starts.end(), f.module_offset);
            const uint64_t stop = next == starts.end() ? lib.modules.size : *next;
            size = stop >= f.module_offset ? stop - f.module_offset : 0;
        }
        if (f.module_offset > lib.modules.size || size > lib.modules.size - f.module_offset)
            return at(lib.modules.offset,
                      fmt::format("function {}: module lies outside the module list", f.name));
        f.module = bytes.subspan(lib.modules.offset + f.module_offset, size);
        if (size < kWrapperBytes || little(f.module, 0, 4) != kWrapperMagic)
            return at(lib.modules.offset + f.module_offset,
                      fmt::format("function {}: module has no bitcode wrapper", f.name));
        const uint64_t start = little(f.module, 8, 4), length = little(f.module, 12, 4);
        if (start > size || length > size - start)
            return at(lib.modules.offset + f.module_offset + 8,
                      fmt::format("function {}: wrapper names bytes past its module", f.name));
        f.bitcode = f.module.subspan(start, length);
    }
    return lib;
}

std::vector<std::string> verify_container(const Metallib& lib) {
    std::vector<std::string> faults;
    const auto fault = [&](std::string s) { faults.push_back(std::move(s)); };
    const auto bytes = lib.bytes;
    if (lib.file_size != bytes.size())
        fault(fmt::format("header: file size {} but {} bytes are there", lib.file_size, bytes.size()));
    if (lib.function_list.offset != kHeaderBytes)
        fault(fmt::format("header: function list at {} instead of 88", lib.function_list.offset));
    // The list's size leaves out its count word.
    if (lib.function_list_end - lib.function_list.offset != lib.function_list.size + 4)
        fault(fmt::format("function list: size {} but its groups take {}", lib.function_list.size,
                          lib.function_list_end - lib.function_list.offset - 4));
    if (lib.patch < 6 && (lib.platform || lib.os_major || lib.os_minor || lib.os_update))
        fault("header: platform or OS version before container 1.2.6");
    if (lib.patch >= 6) {
        if (!(lib.platform & 0x80) || (lib.platform & 0x7f) == 0 || (lib.platform & 0x7f) > 12)
            fault(fmt::format("header: platform byte 0x{:02x}", lib.platform));
        if (lib.macos != ((lib.platform & 0x7f) == 1))
            fault("header: macOS flag and platform disagree");
    }
    if ((lib.kind & 0x7f) > 3)
        fault(fmt::format("header: file kind {}", lib.kind & 0x7f));

    // Tiling: all parts in order, no gap, no overlap.
    uint64_t pos = lib.extension_end;
    const auto next = [&](const char* name, const MetallibPart& p, uint64_t slack) {
        if (p.offset != pos)
            fault(fmt::format("{} starts at {} instead of {}", name, p.offset, pos));
        pos = p.offset + p.size + slack;
    };
    next("public metadata", lib.public_metadata, 0);
    next("private metadata", lib.private_metadata, 0);
    next("module list", lib.modules, 0);
    auto tails = lib.tails;
    std::stable_sort(tails.begin(), tails.end(),
                     [](const auto& a, const auto& b) { return a.second.offset < b.second.offset; });
    for (const auto& [name, part] : tails)
        next(name.c_str(), part, 0);
    if (pos != bytes.size())
        fault(fmt::format("parts end at {} but the file at {}", pos, bytes.size()));

    // Metadata groups tile their parts; a size word counts itself or not (both linkers exist).
    const auto groups = [&](const char* name, const MetallibPart& part, auto offset_of) {
        std::map<uint64_t, std::string> starts;
        for (const MetallibFunction& f : lib.functions)
            starts.emplace(offset_of(f), f.name);
        uint64_t at_byte = 0;
        for (const auto& [start, owner] : starts) {
            if (start != at_byte)
                fault(fmt::format("{}: group of {} at {} instead of {}", name, owner, start, at_byte));
            std::vector<Tag> tags;
            const auto end = read_tags(bytes, part.offset + start + 4, part.offset + part.size, name, tags);
            if (!end)
                return fault(end.error().text());
            const uint64_t size = little(bytes, part.offset + start, 4), real = *end - part.offset - start;
            if (size != real && size + 4 != real)
                fault(fmt::format("{}: group of {} says {} bytes, has {}", name, owner, size, real));
            at_byte = start + real;
        }
        if (at_byte != part.size)
            fault(fmt::format("{}: groups end at {} of {}", name, at_byte, part.size));
    };
    groups("public metadata", lib.public_metadata, [](const MetallibFunction& f) { return f.public_offset; });
    groups("private metadata", lib.private_metadata,
           [](const MetallibFunction& f) { return f.private_offset; });

    // Modules.
    std::map<uint64_t, const MetallibFunction*> modules;
    std::map<std::string, unsigned> names;
    for (const MetallibFunction& f : lib.functions) {
        modules.emplace(f.module_offset, &f);
        if (names[f.name]++ == 1)
            fault(fmt::format("function {} is listed twice", f.name));
        if (f.name.empty())
            fault("a function has no name");
        if (metal_function_type_name(f.type) == "?")
            fault(fmt::format("function {}: TYPE {}", f.name, static_cast<unsigned>(f.type)));
        if (little(f.module, 4, 4) != 0 || little(f.module, 8, 4) != kWrapperBytes ||
            little(f.module, 16, 4) != 0xffffffff)
            fault(fmt::format("function {}: wrapper words differ from 0, 20, 0xffffffff", f.name));
        if (f.bitcode.size() % 4 != 0)
            fault(
                fmt::format("function {}: bitcode of {} bytes is not whole words", f.name, f.bitcode.size()));
        const uint64_t used = kWrapperBytes + f.bitcode.size();
        if (f.module_size && (used > f.module.size() || f.module.size() >= used + 16))
            fault(fmt::format("function {}: {} stored bytes for a module of {}", f.name, f.module.size(),
                              used));
        if (used <= f.module.size() && std::any_of(f.module.begin() + static_cast<ptrdiff_t>(used),
                                                   f.module.end(), [](uint8_t b) { return b; }))
            fault(fmt::format("function {}: padding is not zero", f.name));
        const auto digest = llvm::SHA256::hash(llvm::ArrayRef<uint8_t>(f.module.data(), f.module.size()));
        if (digest != f.hash)
            fault(fmt::format("function {}: HASH is not the SHA-256 of its module", f.name));
        if (f.has_vatt != f.has_vaty)
            fault(fmt::format("function {}: VATT and VATY must come together", f.name));
        if (f.has_vatt && f.attributes.empty())
            fault(fmt::format("function {}: VATT without attributes", f.name));
    }
    uint64_t module_pos = 0;
    for (const auto& [start, f] : modules) {
        if (start != module_pos)
            fault(fmt::format("module list: module of {} at {} instead of {}", f->name, start, module_pos));
        module_pos = start + f->module.size();
    }
    if (module_pos != lib.modules.size && !lib.functions.empty())
        fault(fmt::format("module list: modules end at {} of {}", module_pos, lib.modules.size));
    return faults;
}

} // namespace dmsh
