// Runs readers on a file and its members, depth first.
#include "archivers/scan/file_scan.h"
#include "archivers/scan/readers.h"
#include <tuple>

namespace dmsh {
namespace {

constexpr uint64_t kMemberCost = 16; // stored bytes that even an empty member stands for
constexpr uint64_t kErrorLines = 64; // of one file; the rest is counted

class FileScan : public Output {
  public:
    FileScan(const std::string& origin, uint64_t budget_bytes, ShaderStore& store)
        : origin_(origin), budget_(budget_bytes), store_(store) {}

    FileFindings run(const Blob& blob) {
        read(blob, reader_for(blob.bytes));
        if (more_errors_)
            f_.errors.push_back({"and " + std::to_string(more_errors_) + " more errors", origin_});
        return std::move(f_);
    }

    Result<void> member(std::string_view name, uint64_t stored, const Blob& bytes,
                        const Reader* as) override {
        if (const auto ok = budget_.charge_stored(stored + kMemberCost); !ok)
            return ok;
        if (depth_ == kMaxNesting) {
            fail(name, {"archives nest more than 16 deep"});
            return {};
        }
        ++f_.members;
        const size_t length = origin_.size();
        if (!name.empty())
            (origin_ += '/') += printable(name);
        const std::string_view format = format_;
        ++depth_;
        read(bytes, as ? *as : reader_for(bytes.bytes));
        --depth_;
        format_ = format;
        origin_.resize(length);
        return {};
    }

    Result<void> shader(FoundShader s) override {
        // Containers name one shader many times: it is hashed and kept once.
        const auto [it, first] =
            seen_.try_emplace({s.control.bytes.data(), s.code.bytes.data(), s.code.size()},
                              static_cast<uint32_t>(f_.records.size()));
        if (first) {
            FoundRecord r;
            r.key = program_key(s.control.bytes, s.code.bytes, store_.skip());
            r.stage = s.stage;
            r.arch = s.arch;
            r.bytes = store_.put(r.key, s.control, s.code);
            r.origin = s.label.empty() ? origin_ : origin_ + " (" + s.label + ")";
            r.format = format_;
            r.offset = s.offset;
            f_.records.push_back(std::move(r));
        } else {
            ++f_.records[it->second].copies;
        }
        if (s.program)
            f_.links.push_back({s.program, it->second});
        return {};
    }

    uint32_t new_program() override { return ++programs_; }

    void fail(std::string_view name, Error e) override {
        e.origin = name.empty() ? origin_ : origin_ + "/" + printable(name);
        e.message += " (its shaders are left out)";
        if (f_.errors.size() < kErrorLines)
            f_.errors.push_back(std::move(e));
        else
            ++more_errors_;
    }

    void note(std::string text) override { f_.notes.push_back(origin_ + ": " + std::move(text)); }
    void lone_control(uint64_t) override { ++f_.lone_controls; }
    WorkBudget& budget() override { return budget_; }

  private:
    void read(const Blob& blob, const Reader& reader) {
        const size_t records = f_.records.size(), links = f_.links.size();
        seen_.clear();
        ++f_.containers[reader.format];
        format_ = reader.format;
        if (const auto ok = reader.read(blob, *this); !ok) {
            f_.records.erase(f_.records.begin() + static_cast<ptrdiff_t>(records), f_.records.end());
            f_.links.resize(links);
            fail("", ok.error());
        }
        seen_.clear(); // the blob may go, and others may take its place
    }

    // Names come from files and go to terminals: one line, no control characters, not endless.
    static std::string printable(std::string_view name) {
        std::string s(name.substr(0, 512));
        for (char& c : s)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                c = '?';
        return s;
    }

    std::string origin_;
    std::string_view format_;
    unsigned depth_ = 0;
    WorkBudget budget_;
    ShaderStore& store_;
    uint32_t programs_ = 0;
    uint64_t more_errors_ = 0;
    // Records of the container being read, by where control section and code lie.
    std::map<std::tuple<const uint8_t*, const uint8_t*, uint64_t>, uint32_t> seen_;
    FileFindings f_;
};

} // namespace

FileFindings scan_file(const std::string& origin, const Blob& blob, uint64_t budget_bytes,
                       ShaderStore& store) {
    return FileScan(origin, budget_bytes, store).run(blob);
}

} // namespace dmsh
