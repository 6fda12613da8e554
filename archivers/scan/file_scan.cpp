// Runs readers on a file and its members, depth first.
#include "archivers/scan/file_scan.h"
#include "archivers/scan/readers.h"

namespace dmsh {
namespace {

class FileScan : public Output {
  public:
    FileScan(const std::string& origin, uint64_t budget_bytes, ShaderStore& store)
        : origin_(origin), budget_(budget_bytes), store_(store) {}

    FileFindings run(const Blob& blob) {
        read(blob, reader_for(blob.bytes));
        return std::move(f_);
    }

    Result<void> member(std::string_view name, uint64_t stored, const Blob& bytes,
                        const Reader* as) override {
        if (const auto ok = budget_.charge_stored(stored); !ok)
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
        FoundRecord r;
        r.key = program_key(s.control.bytes, s.code.bytes, store_.skip());
        r.stage = s.stage;
        r.arch = s.arch;
        r.bytes = store_.put(r.key, s.control, s.code);
        r.origin = s.label.empty() ? origin_ : origin_ + " (" + s.label + ")";
        r.format = format_;
        r.offset = s.offset;
        r.program = s.program;
        f_.records.push_back(std::move(r));
        return {};
    }

    uint32_t new_program() override { return ++programs_; }

    void fail(std::string_view name, Error e) override {
        e.origin = name.empty() ? origin_ : origin_ + "/" + printable(name);
        e.message += " (its shaders are left out)";
        f_.errors.push_back(std::move(e));
    }

    void note(std::string text) override { f_.notes.push_back(origin_ + ": " + std::move(text)); }
    void lone_control(uint64_t) override { ++f_.lone_controls; }
    WorkBudget& budget() override { return budget_; }

  private:
    void read(const Blob& blob, const Reader& reader) {
        const size_t mark = f_.records.size();
        ++f_.containers[reader.format];
        format_ = reader.format;
        if (const auto ok = reader.read(blob, *this); !ok) {
            f_.records.erase(f_.records.begin() + static_cast<ptrdiff_t>(mark), f_.records.end());
            fail("", ok.error());
        }
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
    FileFindings f_;
};

} // namespace

FileFindings scan_file(const std::string& origin, const Blob& blob, uint64_t budget_bytes,
                       ShaderStore& store) {
    return FileScan(origin, budget_bytes, store).run(blob);
}

} // namespace dmsh
