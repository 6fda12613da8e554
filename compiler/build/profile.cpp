// Reads and checks profile files.
#include "compiler/build/profile.h"
#include <algorithm>
#include <fstream>
#include <sstream>
#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dmsh {
namespace {

// Collects the first error of a walk over the document, with its line.
class Reader {
  public:
    explicit Reader(std::string origin) : origin_(std::move(origin)) {}

    void fail(const toml::node* node, std::string message) {
        if (error_)
            return;
        Error e{std::move(message), origin_};
        if (node)
            e.origin += fmt::format(":{}", node->source().begin.line);
        error_ = std::move(e);
    }

    // Complains about keys of `table` outside `known`.
    void only(const toml::table& table, std::initializer_list<std::string_view> known) {
        for (const auto& [key, value] : table)
            if (std::find(known.begin(), known.end(), key.str()) == known.end())
                fail(&value, fmt::format("unknown key '{}'", key.str()));
    }

    std::string text(const toml::table& table, std::string_view key, bool required = true) {
        const toml::node* node = table.get(key);
        if (!node) {
            if (required)
                fail(&table, fmt::format("'{}' is missing", key));
            return {};
        }
        if (!node->is_string()) {
            fail(node, fmt::format("'{}' must be a string", key));
            return {};
        }
        return node->as_string()->get();
    }

    uint32_t number(const toml::table& table, std::string_view key, uint32_t limit) {
        const toml::node* node = table.get(key);
        if (!node || !node->is_integer()) {
            fail(node ? node : &table, fmt::format("'{}' must be an integer", key));
            return 0;
        }
        const int64_t v = node->as_integer()->get();
        if (v < 0 || v >= limit) {
            fail(node, fmt::format("'{}' = {} is not below {}", key, v, limit));
            return 0;
        }
        return static_cast<uint32_t>(v);
    }

    Numeric numeric(const toml::table& table) {
        const std::string name = text(table, "type");
        if (name == "uint")
            return Numeric::uint;
        if (name == "sint")
            return Numeric::sint;
        if (name != "float")
            fail(&table, fmt::format("type '{}' is none of float, sint, uint", name));
        return Numeric::real;
    }

    GuestAbiId abi(const toml::table& table, std::string_view key) {
        const std::string name = text(table, key);
        if (const GuestAbi* abi = guest_abi_by_name(name))
            return abi->id;
        fail(table.get(key), fmt::format("guest ABI '{}' is none of nvn, cuda, nvk, headsurface", name));
        return GuestAbiId::nvn;
    }

    // Calls `f` for each table of the array at `key`.
    template <class Function> void each(const toml::table& table, std::string_view key, Function f) {
        const toml::node* node = table.get(key);
        if (!node)
            return;
        const toml::array* array = node->as_array();
        if (!array)
            return fail(node, fmt::format("'{}' must be an array of tables", key));
        for (const toml::node& element : *array) {
            if (const toml::table* t = element.as_table())
                f(*t);
            else
                fail(&element, fmt::format("'{}' must hold tables", key));
        }
    }

    const std::optional<Error>& error() const { return error_; }

  private:
    std::string origin_;
    std::optional<Error> error_;
};

std::optional<KeySkip> parse_skip(const std::string& text) {
    unsigned offset = 0, length = 0;
    int used = 0;
    if (std::sscanf(text.c_str(), "%i+%i%n", reinterpret_cast<int*>(&offset), reinterpret_cast<int*>(&length),
                    &used) != 2 ||
        static_cast<size_t>(used) != text.size() || offset >= kKeyControlBytes ||
        length > kKeyControlBytes - offset)
        return std::nullopt;
    return KeySkip{offset, length};
}

std::optional<uint64_t> parse_key(const std::string& text) {
    if (text.size() != 16 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        return std::nullopt;
    return std::stoull(text, nullptr, 16);
}

std::optional<ImageDim> dim_by_name(const std::string& name) {
    constexpr std::string_view names[] = {"1d", "2d", "3d", "cube", "buffer"};
    for (unsigned i = 0; i < std::size(names); ++i)
        if (names[i] == name)
            return static_cast<ImageDim>(i);
    return std::nullopt;
}

void read_facts(Reader& r, const toml::table& t, Profile& profile) {
    r.only(t, {"key", "texture", "image", "vertex_input", "colour", "note"});
    const std::string text = r.text(t, "key");
    const auto key = parse_key(text);
    if (!key)
        return r.fail(&t, fmt::format("key '{}' is not 16 hexadecimal digits", text));
    ShaderFacts& facts = profile.facts[*key];
    const auto resource = [&](BindingKind kind) {
        return [&, kind](const toml::table& row) {
            r.only(row, {"slot", "type", "dim", "array"});
            ResourceFact fact{.kind = kind, .slot = r.number(row, "slot", 256), .numeric = Numeric::real};
            if (row.contains("type"))
                fact.numeric = r.numeric(row);
            if (row.contains("dim")) {
                fact.dim = dim_by_name(r.text(row, "dim"));
                if (!fact.dim)
                    r.fail(&row, "dim is none of 1d, 2d, 3d, cube, buffer");
            }
            if (const auto* b = row.get("array"))
                fact.arrayed = b->value_or(false);
            facts.resources.push_back(fact);
        };
    };
    r.each(t, "texture", resource(BindingKind::texture));
    r.each(t, "image", resource(BindingKind::image));
    r.each(t, "vertex_input", [&](const toml::table& row) {
        r.only(row, {"location", "type"});
        facts.vertex_inputs.emplace_back(r.number(row, "location", 32), r.numeric(row));
    });
    r.each(t, "colour", [&](const toml::table& row) {
        r.only(row, {"target", "type"});
        facts.colour_outputs.emplace_back(r.number(row, "target", 8), r.numeric(row));
    });
}

} // namespace

const GuestAbi& Profile::abi_for(std::string_view origin) const {
    size_t best = 0;
    GuestAbiId id = abi;
    for (const auto& [prefix, other] : abi_by_prefix)
        if (origin.substr(0, prefix.size()) == prefix && prefix.size() >= best)
            best = prefix.size(), id = other;
    return guest_abi(id);
}

const ShaderFacts* Profile::facts_for(uint64_t key) const {
    const auto it = facts.find(key);
    return it == facts.end() ? nullptr : &it->second;
}

uint64_t Profile::digest() const {
    std::string s = fmt::format("{}+{};{};", key_skip.offset, key_skip.length, static_cast<int>(abi));
    for (const auto& [prefix, id] : abi_by_prefix)
        s += fmt::format("{}={};", prefix, static_cast<int>(id));
    for (const auto& [key, f] : facts) {
        s += fmt::format("{:016x}:", key);
        for (const ResourceFact& x : f.resources)
            s += fmt::format("r{},{},{},{},{};", static_cast<int>(x.kind), x.slot, static_cast<int>(x.numeric),
                             x.dim ? static_cast<int>(*x.dim) : -1, x.arrayed);
        for (const auto& [location, n] : f.vertex_inputs)
            s += fmt::format("v{},{};", location, static_cast<int>(n));
        for (const auto& [target, n] : f.colour_outputs)
            s += fmt::format("c{},{};", target, static_cast<int>(n));
    }
    return XXH3_64bits(s.data(), s.size());
}

Result<Profile> parse_profile(std::string_view text, const std::string& origin) {
    const toml::parse_result parsed = toml::parse(text, origin);
    if (!parsed)
        return Error{std::string(parsed.error().description()),
                     fmt::format("{}:{}", origin, parsed.error().source().begin.line)};
    const toml::table& root = parsed.table();
    Reader r(origin);
    Profile profile;
    r.only(root, {"title", "shader_key_skip", "abi", "path", "shader"});
    profile.title = r.text(root, "title");
    if (root.contains("shader_key_skip")) {
        const std::string skip = r.text(root, "shader_key_skip");
        if (const auto parsed_skip = parse_skip(skip))
            profile.key_skip = *parsed_skip;
        else
            r.fail(root.get("shader_key_skip"), fmt::format("'{}' is not offset+length inside 0x880 bytes", skip));
    }
    if (root.contains("abi"))
        profile.abi = r.abi(root, "abi");
    r.each(root, "path", [&](const toml::table& t) {
        r.only(t, {"prefix", "abi"});
        profile.abi_by_prefix.emplace_back(r.text(t, "prefix"), r.abi(t, "abi"));
    });
    r.each(root, "shader", [&](const toml::table& t) { read_facts(r, t, profile); });
    if (r.error())
        return *r.error();
    return profile;
}

Result<Profile> load_profile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return Error{"cannot be opened", path};
    std::stringstream text;
    text << file.rdbuf();
    return parse_profile(text.str(), path);
}

} // namespace dmsh
