// Writes .metallib containers: header, function list, metadata groups, wrapped modules (layout: docs/air.md,
// "Container").
#include "compiler/emit/air/air_emitter.h"
#include "compiler/emit/air/air_versions.h"
#include "compiler/emit/air/metallib_reader.h"
#include <algorithm>
#include <fmt/format.h>
#include <llvm/Support/SHA256.h>
#include <set>

namespace dmsh {
namespace {

// Grows a byte vector; numbers are little-endian.
class Bytes {
  public:
    std::vector<uint8_t> data;
    void number(uint64_t v, unsigned n) {
        for (unsigned i = 0; i < n; ++i)
            data.push_back(static_cast<uint8_t>(v >> (8 * i)));
    }
    void text(std::string_view s) { data.insert(data.end(), s.begin(), s.end()); }
    void append(std::span<const uint8_t> b) { data.insert(data.end(), b.begin(), b.end()); }
    void tag(std::string_view name, const Bytes& payload) {
        text(name);
        number(payload.data.size(), 2);
        append(payload.data);
    }
    void patch(size_t pos, uint64_t v, unsigned n) {
        for (unsigned i = 0; i < n; ++i)
            data[pos + i] = static_cast<uint8_t>(v >> (8 * i));
    }
};

Bytes text_payload(std::string_view s) {
    Bytes b;
    b.text(s);
    b.number(0, 1);
    return b;
}

Bytes number_payload(uint64_t v, unsigned n) {
    Bytes b;
    b.number(v, n);
    return b;
}

// A metadata group: its size word counts itself, as the linker inside `metal` writes it.
void append_group(Bytes& part, const Bytes& tags) {
    part.number(4 + tags.data.size() + 4, 4);
    part.append(tags.data);
    part.text("ENDT");
}

std::optional<MetalFunctionType> function_type(Stage stage) {
    switch (stage) {
    case Stage::vertex: return MetalFunctionType::vertex;
    case Stage::fragment: return MetalFunctionType::fragment;
    case Stage::compute: return MetalFunctionType::kernel;
    case Stage::mesh: return MetalFunctionType::mesh;
    case Stage::task: return MetalFunctionType::object;
    default: return std::nullopt;
    }
}

// Darwin wrapper, bitcode, zeros to a multiple of 16.
std::vector<uint8_t> wrap(std::span<const uint8_t> bitcode) {
    Bytes b;
    b.number(0x0b17c0de, 4);
    b.number(0, 4);
    b.number(20, 4);
    b.number(bitcode.size(), 4);
    b.number(0xffffffff, 4); // any CPU
    b.append(bitcode);
    b.data.resize((b.data.size() + 15) / 16 * 16);
    return std::move(b.data);
}

} // namespace

Result<std::vector<uint8_t>> write_metallib(std::span<const AirFunction> functions, Target target) {
    const AirVersion* version = air_version(target);
    if (!version)
        return Error{"a metallib needs a Metal target"};
    Bytes list, public_part, private_part, modules;
    llvm::SHA256 all;
    std::set<std::string_view> names;
    list.number(functions.size(), 4);
    for (const AirFunction& f : functions) {
        const auto type = function_type(f.stage);
        if (!type)
            return Error{fmt::format("function {}: Metal has no function type for a {} stage", f.name,
                                     stage_name(f.stage))};
        if (f.name.empty() || f.name.size() > 0xfffe || f.name.find('\0') != std::string::npos)
            return Error{"a metallib function needs a name of 1 to 65534 characters"};
        if (!names.insert(f.name).second)
            return Error{fmt::format("function {} is given twice", f.name)};
        if (f.bitcode.empty() || f.bitcode.size() % 4 != 0 || f.bitcode.size() > 0x7fffffff)
            return Error{fmt::format("function {}: {} bytes of bitcode", f.name, f.bitcode.size())};
        const std::vector<uint8_t> module = wrap(f.bitcode);
        const auto hash = llvm::SHA256::hash(llvm::ArrayRef<uint8_t>(module.data(), module.size()));
        all.update(llvm::ArrayRef<uint8_t>(hash.data(), hash.size()));

        Bytes offsets;
        offsets.number(public_part.data.size(), 8);
        offsets.number(private_part.data.size(), 8);
        offsets.number(modules.data.size(), 8);
        Bytes versions;
        for (const unsigned v :
             {version->air_major, version->air_minor, version->language_major, version->language_minor})
            versions.number(v, 2);
        Bytes hash_bytes;
        hash_bytes.append(hash);
        Bytes group;
        group.tag("NAME", text_payload(f.name));
        group.tag("TYPE", number_payload(static_cast<unsigned>(*type), 1));
        group.tag("HASH", hash_bytes);
        group.tag("OFFT", offsets);
        group.tag("VERS", versions);
        group.tag("MDSZ", number_payload(module.size(), 8));
        list.number(4 + group.data.size() + 4, 4);
        list.append(group.data);
        list.text("ENDT");

        // Vertex functions without attributes must not have the pair of tags.
        Bytes meta;
        if (!f.attributes.empty()) {
            Bytes vatt, vaty;
            vatt.number(f.attributes.size(), 2);
            vaty.number(f.attributes.size(), 2);
            for (const auto& a : f.attributes) {
                vatt.text(a.name);
                vatt.number(0, 1);
                vatt.number(a.index | (a.used ? 0x8000u : 0u), 2);
                vaty.number(a.type, 1);
            }
            if (vatt.data.size() > 0xffff)
                return Error{
                    fmt::format("function {}: attribute names take {} bytes", f.name, vatt.data.size())};
            meta.tag("VATT", vatt);
            meta.tag("VATY", vaty);
        }
        append_group(public_part, meta);
        append_group(private_part, {});
        modules.append(module);
    }

    // An identifier that depends on the modules only keeps builds reproducible; version and variant bits as
    // in Apple's.
    const auto digest = all.final();
    Bytes uuid;
    uuid.append(std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(digest.data()), 16));
    uuid.data[6] = static_cast<uint8_t>((uuid.data[6] & 0x0f) | 0x40);
    uuid.data[8] = static_cast<uint8_t>((uuid.data[8] & 0x3f) | 0x80);
    Bytes extension;
    extension.tag("UUID", uuid);
    extension.text("ENDT");

    Bytes out;
    out.text("MTLB");
    out.number(1u | (version->macos ? 0x8000u : 0u), 2);
    out.number(2, 2);
    out.number(version->container_patch, 2);
    out.number(0, 1); // executable
    out.number(version->platform, 1);
    out.number(version->os_major, 2);
    out.number(version->os_minor, 1);
    out.number(version->os_update, 1);
    uint64_t pos = 88;
    const uint64_t total = pos + list.data.size() + extension.data.size() + public_part.data.size() +
                           private_part.data.size() + modules.data.size();
    out.number(total, 8);
    out.number(pos, 8);
    out.number(list.data.size() - 4, 8); // leaves the count word out
    pos += list.data.size() + extension.data.size();
    for (const Bytes* part : {&public_part, &private_part, &modules}) {
        out.number(pos, 8);
        out.number(part->data.size(), 8);
        pos += part->data.size();
    }
    for (const Bytes* part : {&list, &extension, &public_part, &private_part, &modules})
        out.append(part->data);
    return std::move(out.data);
}

} // namespace dmsh
