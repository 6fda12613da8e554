// Runs an archive's reader with an Output that writes members to files and passes over shaders.
#include "archivers/scan/unpack.h"
#include "archivers/core/codecs.h"
#include "archivers/core/oodle.h"
#include "archivers/scan/readers.h"
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

namespace dmsh {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPart = 200; // bytes of a path's part: below every file system's limit

std::string printable(std::string_view name) {
    std::string s(name.substr(0, 1024));
    for (char& c : s)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    return s;
}

class Unpacker : public Output {
  public:
    Unpacker(const UnpackOptions& options, uint64_t bytes, Oodle* oodle, UnpackResult& result)
        : options_(options), budget_(bytes), oodle_(oodle), result_(result) {}

    Result<void> run(const Blob& blob, const Reader& reader) {
        result_.format += (result_.format.empty() ? "" : " > ") + std::string(reader.format);
        return reader.read(blob, *this);
    }

    Result<void> member(std::string_view name, uint64_t stored, const Blob& bytes, const Reader* as) override {
        if (const auto ok = budget_.charge_stored(stored + 16); !ok)
            return ok;
        const Reader& reader = as ? *as : reader_for(bytes.bytes, name);
        if (name.empty() && ++depth_ <= kMaxNesting)
            return run(bytes, reader);
        UnpackedMember m;
        m.name = printable(name);
        m.format = std::string(reader.format);
        m.stored = stored;
        m.size = bytes.size();
        if (!options_.output.empty())
            m.file = write(name, bytes.bytes);
        result_.members.push_back(std::move(m));
        return {};
    }

    Result<void> packed_member(std::string_view name, uint64_t stored, Decode decode, Peek, const Reader* as) override {
        const auto bytes = decode(*this);
        if (!bytes) {
            fail(name, bytes.error());
            return {};
        }
        return member(name, stored, *bytes, as);
    }

    Result<void> shader(FoundShader) override { return {}; }
    uint32_t new_program(Evidence) override { return ++programs_; }
    void fail(std::string_view name, Error e) override {
        e.origin = options_.path + (name.empty() ? "" : "/" + printable(name));
        result_.errors.push_back(std::move(e));
    }
    void note(std::string) override {}
    void lone_control(uint64_t) override {}
    WorkBudget& budget() override { return budget_; }
    void publish(std::string_view, std::string_view, const Blob&) override {}
    std::string_view name() const override {
        return std::string_view(options_.path).substr(options_.path.rfind('/') + 1);
    }

    Result<std::optional<Blob>> shared(std::string_view kind, std::string_view key) override {
        if (kind == kDictionaryFact)
            for (const std::string& path : options_.dictionaries) {
                auto d = map_file(path);
                if (!d)
                    return d.error();
                if (zstd_dictionary_key(zstd_dictionary_id(d->bytes)) == key)
                    return std::optional(*std::move(d));
            }
        return std::optional<Blob>();
    }
    Result<Blob> oodle(Bytes in, uint64_t size) override {
        return oodle_ ? oodle_->decode(in, size, budget_) : Result<Blob>(Error{"needs an Oodle decoder (--oodle)"});
    }
    Result<std::optional<Blob>> sibling(std::string_view path) override {
        const fs::path file = fs::path(options_.path).parent_path() / harmless_path(path);
        std::error_code ec;
        if (!fs::is_regular_file(file, ec))
            return std::optional<Blob>();
        auto blob = map_file(file.string());
        if (!blob)
            return blob.error();
        budget_.grow(blob->size());
        return std::optional(*std::move(blob));
    }
    // Shaders are passed over: there is nothing to find.
    std::vector<MagicHit> find_all(const Blob&, const std::array<uint32_t, 3>&) override { return {}; }

  private:
    // Answers the file's path below the output folder; empty if it could not be written.
    std::string write(std::string_view name, Bytes bytes) {
        std::string path = harmless_path(name);
        const std::string wanted = path;
        // Two members of one name, or one whose name is another's folder.
        for (unsigned n = 2; !free(path); ++n)
            path = "~" + std::to_string(n) + "/" + wanted;
        taken_.insert(path);
        for (size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1))
            folders_.insert(path.substr(0, at));
        const fs::path file = fs::path(options_.output) / path;
        std::error_code ec;
        fs::create_directories(file.parent_path(), ec);
        std::FILE* f = ec ? nullptr : std::fopen(file.c_str(), "wbx");
        const bool ok = f && (bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size());
        const bool closed = f && std::fclose(f) == 0;
        if (ok && closed)
            return path;
        result_.output_errors.push_back({"cannot be written", file.string()});
        return "";
    }
    bool free(const std::string& path) const {
        if (taken_.contains(path) || folders_.contains(path))
            return false;
        for (size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1))
            if (taken_.contains(path.substr(0, at)))
                return false;
        return true;
    }

    const UnpackOptions& options_;
    WorkBudget budget_;
    Oodle* oodle_;
    UnpackResult& result_;
    unsigned depth_ = 0;
    uint32_t programs_ = 0;
    std::set<std::string> taken_, folders_;
};

} // namespace

std::string harmless_path(std::string_view name) {
    std::string out;
    for (size_t at = 0; at <= name.size() && out.size() < 2048;) {
        const size_t end = std::min(name.find_first_of("/\\", at), name.size());
        std::string part(name.substr(at, std::min(end - at, kMaxPart)));
        at = end + 1;
        for (char& c : part)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == ':')
                c = '_';
        if (part.empty() || part == ".")
            continue;
        if (part == "..")
            part = "__";
        (out += out.empty() ? "" : "/") += part;
    }
    return out.empty() ? "_" : out;
}

Result<UnpackResult> unpack(const UnpackOptions& options) {
    const auto blob = map_file(options.path);
    if (!blob)
        return blob.error();
    std::error_code ec;
    if (!options.output.empty() && fs::exists(options.output, ec) && !fs::is_empty(options.output, ec))
        return Error{"the output folder is not empty", options.output};
    std::unique_ptr<Oodle> oodle;
    if (!options.oodle.empty()) {
        auto started = Oodle::start(options.oodle, options.oodle_host);
        if (!started)
            return started.error();
        oodle = *std::move(started);
    }
    UnpackResult result;
    Unpacker unpacker(options, blob->size(), oodle.get(), result);
    const std::string name = fs::path(options.path).filename().string();
    if (const auto ok = unpacker.run(*blob, reader_for(blob->bytes, name)); !ok) {
        Error e = ok.error();
        e.origin = options.path;
        if (result.members.empty())
            return e;
        result.errors.push_back(std::move(e));
    }
    return result;
}

} // namespace dmsh
