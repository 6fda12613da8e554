// Runs readers on a file and its members, depth first.
#include "archivers/scan/file_scan.h"
#include "archivers/scan/readers.h"
#include <tuple>

namespace dmsh {
namespace {

constexpr uint64_t kMemberCost = 16; // stored bytes that even an empty member stands for
constexpr uint64_t kErrorLines = 64; // of one file; the rest is counted
constexpr uint64_t kPeek = 256;      // bytes of a packed member that are looked at first

// "a/b/c" and "../x" give "a/x"; nothing if the path leaves the tree.
std::optional<std::string> resolve(const std::string& file, std::string_view path) {
    std::vector<std::string_view> parts;
    const auto add = [&](std::string_view text) {
        for (size_t at = 0; at <= text.size();) {
            const size_t end = std::min(text.find('/', at), text.size());
            const std::string_view part = text.substr(at, end - at);
            at = end + 1;
            if (part == "..") {
                if (parts.empty())
                    return false;
                parts.pop_back();
            } else if (!part.empty() && part != ".") {
                parts.push_back(part);
            }
        }
        return true;
    };
    const size_t slash = file.rfind('/');
    if (!add(std::string_view(file).substr(0, slash == file.npos ? 0 : slash)) || !add(path))
        return std::nullopt;
    std::string out;
    for (const std::string_view p : parts)
        (out += out.empty() ? "" : "/") += p;
    return out;
}

class FileScan : public Output {
  public:
    FileScan(const std::string& origin, size_t index, uint64_t budget_bytes, ScanShared& shared)
        : file_(origin), origin_(origin), index_(index), budget_(budget_bytes), shared_(shared) {}

    FileFindings run(const Blob& blob, const Reader* as) {
        read(blob, as ? *as : reader_for(blob.bytes, name()));
        if (more_errors_)
            f_.errors.push_back({"and " + std::to_string(more_errors_) + " more errors", origin_});
        return std::move(f_);
    }

    Result<void> member(std::string_view name, uint64_t stored, const Blob& bytes,
                        const Reader* as) override {
        return open(name, stored, as, [&]() -> Result<Blob> { return bytes; });
    }

    Result<void> packed_member(std::string_view name, uint64_t stored, Decode decode, Peek peek,
                               const Reader* as) override {
        if (peek && !as) {
            const auto head = peek(kPeek);
            if (head && cannot_hold_shaders(head->bytes))
                return open(name, stored, &kLeafReader, [&]() -> Result<Blob> { return head; });
        }
        return open(name, stored, as, [&] { return decode(*this); });
    }

    Result<void> shader(FoundShader s) override {
        // Containers name one shader many times: it is hashed and kept once.
        const auto [it, first] =
            frame_->seen.try_emplace({s.control.bytes.data(), s.code.bytes.data(), s.code.size()},
                                     static_cast<uint32_t>(f_.records.size()));
        if (first) {
            FoundRecord r;
            r.key = program_key(s.control.bytes, s.code.bytes, shared_.store.skip());
            r.stage = s.stage;
            r.arch = s.arch;
            r.bytes = shared_.store.put(r.key, s.control, s.code);
            r.origin = s.label.empty() ? origin_ : origin_ + " (" + printable(s.label) + ")";
            r.format = frame_->format;
            r.offset = s.offset;
            r.cover = s.cover;
            f_.records.push_back(std::move(r));
        } else {
            ++f_.records[it->second].copies;
        }
        if (s.program)
            f_.links.push_back({s.program, it->second, evidence_[s.program - 1]});
        return {};
    }

    uint32_t new_program(Evidence evidence) override {
        evidence_.push_back(evidence);
        return static_cast<uint32_t>(evidence_.size());
    }

    void fail(std::string_view name, Error e) override {
        e.origin = name.empty() ? origin_ : origin_ + "/" + printable(name);
        e.message = printable(e.message) + " (its shaders are left out)";
        if (f_.errors.size() < kErrorLines)
            f_.errors.push_back(std::move(e));
        else
            ++more_errors_;
    }

    void note(std::string text) override { f_.notes.push_back(origin_ + ": " + printable(text)); }
    void lone_control(uint64_t) override { ++f_.lone_controls; }
    WorkBudget& budget() override { return budget_; }

    void publish(std::string_view kind, std::string_view key, const Blob& bytes) override {
        shared_.facts.publish(kind, key, bytes, index_, origin_);
    }

    Result<std::optional<Blob>> shared(std::string_view kind, std::string_view key) override {
        auto found = shared_.facts.find(kind, key);
        if (found || shared_.facts.sealed())
            return found;
        f_.asked_in_vain = true;
        return Error{"waits for another file of the input"};
    }

    Result<Blob> oodle(Bytes in, uint64_t size) override {
        if (shared_.oodle)
            return shared_.oodle->decode(in, size, budget_);
        no_oodle_ = true;
        return Error{"needs an Oodle decoder (--oodle)"};
    }

    std::string_view name() const override {
        return std::string_view(origin_).substr(origin_.rfind('/') + 1);
    }

    Result<std::optional<Blob>> sibling(std::string_view path) override {
        const auto origin = resolve(file_, path);
        if (!origin || !shared_.open)
            return std::optional<Blob>();
        auto blob = shared_.open(*origin);
        if (blob && *blob)
            budget_.grow((*blob)->size());
        return blob;
    }

  private:
    // Of the container being read.
    struct Frame {
        std::string_view format;
        // Its records, by where control section and code lie.
        std::map<std::tuple<const uint8_t*, const uint8_t*, uint64_t>, uint32_t> seen;
        uint64_t undecoded = 0; // members left out because no Oodle decoder is given
    };

    template <class Open>
    Result<void> open(std::string_view name, uint64_t stored, const Reader* as, Open bytes) {
        if (const auto ok = budget_.charge_stored(stored + kMemberCost); !ok)
            return ok;
        if (depth_ == kMaxNesting) {
            fail(name, {"archives nest more than 16 deep"});
            return {};
        }
        ++f_.members;
        no_oodle_ = false;
        const auto blob = bytes();
        if (!blob && no_oodle_) {
            ++frame_->undecoded;
            return {};
        }
        if (!blob) {
            fail(name, blob.error());
            return {};
        }
        const size_t length = origin_.size();
        if (!name.empty())
            (origin_ += '/') += printable(name);
        ++depth_;
        read(*blob, as ? *as : reader_for(blob->bytes, this->name()));
        --depth_;
        origin_.resize(length);
        return {};
    }

    void read(const Blob& blob, const Reader& reader) {
        const size_t records = f_.records.size(), links = f_.links.size();
        Frame frame;
        frame.format = reader.format;
        Frame* const outer = std::exchange(frame_, &frame);
        ++f_.containers[reader.format];
        if (const auto ok = reader.read(blob, *this); !ok) {
            f_.records.erase(f_.records.begin() + static_cast<ptrdiff_t>(records), f_.records.end());
            f_.links.resize(links);
            fail("", ok.error());
        }
        if (frame.undecoded)
            fail("", {std::to_string(frame.undecoded) + " members need an Oodle decoder (--oodle)"});
        frame_ = outer;
    }

    // Names come from files, alone or in messages, and go to terminals: one line, no control characters, not endless.
    static std::string printable(std::string_view name) {
        std::string s(name.substr(0, 512));
        for (char& c : s)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                c = '?';
        return s;
    }

    std::string file_, origin_;
    size_t index_;
    unsigned depth_ = 0;
    WorkBudget budget_;
    ScanShared& shared_;
    std::vector<Evidence> evidence_; // by program
    uint64_t more_errors_ = 0;
    bool no_oodle_ = false;
    Frame* frame_ = nullptr;
    FileFindings f_;
};

} // namespace

FileFindings scan_file(const std::string& origin, size_t index, const Blob& blob, uint64_t budget_bytes,
                       ScanShared& shared, const Reader* as) {
    return FileScan(origin, index, budget_bytes, shared).run(blob, as);
}

} // namespace dmsh
