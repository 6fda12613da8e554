// Runs readers on a file and its members, depth first; members of large files on several workers.
//
// Whatever the number of workers, the findings are those of one: each member that another worker reads leaves
// a gap in its parent's lists, which its own fill later. The budgets are shared, so only a file that breaks
// them could see the workers' order; such a file is read again by one worker alone.
#include "archivers/scan/file_scan.h"
#include "archivers/nvn/code_area.h"
#include "archivers/scan/readers.h"
#include <new>
#include <tuple>

namespace dmsh {
namespace {

constexpr uint64_t kMemberCost = 16;        // stored bytes that even an empty member stands for
constexpr uint64_t kErrorLines = 64;        // of one file; the rest is counted
constexpr uint64_t kPeek = 256;             // bytes of a packed member that are looked at first
constexpr uint64_t kPeekFrom = 64ull << 10; // stored bytes from which; less is decoded as fast as looked at
constexpr uint64_t kSplitFrom = 1ull << 20; // files from here give members to other workers
constexpr uint64_t kTaskFrom = 8ull << 10;  // stored bytes of a member that is worth a task
constexpr uint64_t kRange = 16ull << 20;    // of a large file that is searched by several workers

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

// Names come from files, alone or in messages, and go to terminals: one line, no control characters, not endless.
std::string printable(std::string_view name) {
    std::string s(name.substr(0, 512));
    for (char& c : s)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    return s;
}

// Locations that a pixel shader reads: bit 4 * location for generics, and the words of colours and texture
// coordinates. What the rasteriser makes (position, primitive ID, ...) no partner has to write.
AttributeSet inputs_of(const FoundShader& s) {
    const auto control = read_control(s.control.bytes);
    const auto area = control ? layout_code(*control, s.code.bytes) : Result<CodeArea>(control.error());
    const auto sph = area && s.stage == Stage::fragment ? read_sph(s.code.bytes.clamp(area->sph))
                                                        : Result<Sph>(Error{"not a pixel shader"});
    AttributeSet set;
    if (!sph)
        return set;
    for (unsigned location = 0; location < 32; ++location)
        set[4 * location] = sph->generic_inputs(location) != 0;
    for (unsigned word = 0x280 / 4; word < 0x2c0 / 4; ++word)
        set[word] = sph->inputs[word];
    for (unsigned word = 0x300 / 4; word < 0x3a0 / 4; ++word)
        set[word] = sph->inputs[word];
    return set;
}

// What one worker found in a part of a file, and where the parts of others belong in it.
struct Part {
    FileFindings f;
    struct Gap {
        size_t records = 0, errors = 0, notes = 0; // of `f` that come before
        bool dropped = false;                      // its container was refused: no records from here
        std::unique_ptr<Part> part;
    };
    std::vector<Gap> gaps;
};

// Puts parts together, in the order in which one worker would have met them.
class Flattener {
  public:
    explicit Flattener(FileFindings& out) : out_(out) {}

    void add(Part& p, bool dropped) {
        std::vector<uint32_t> place(p.f.records.size());
        size_t record = 0, error = 0, note = 0;
        const auto take = [&](size_t records, size_t errors, size_t notes) {
            for (; record < records; ++record) {
                place[record] = static_cast<uint32_t>(out_.records.size());
                if (!dropped)
                    out_.records.push_back(std::move(p.f.records[record]));
            }
            for (; error < errors; ++error)
                if (out_.errors.size() < kErrorLines)
                    out_.errors.push_back(std::move(p.f.errors[error]));
                else
                    ++more_errors_;
            for (; note < notes; ++note)
                out_.notes.push_back(std::move(p.f.notes[note]));
        };
        for (Part::Gap& gap : p.gaps) {
            take(gap.records, gap.errors, gap.notes);
            add(*gap.part, dropped || gap.dropped);
        }
        take(p.f.records.size(), p.f.errors.size(), p.f.notes.size());
        if (!dropped)
            for (const FoundLink& link : p.f.links)
                out_.links.push_back({out_.programs + link.program, place[link.record], link.evidence});
        out_.programs += p.f.programs;
        for (const auto& [chain, count] : p.f.containers)
            out_.containers[chain] += count;
        out_.members += p.f.members;
        out_.lone_controls += p.f.lone_controls;
        more_errors_ += p.f.more_errors;
        for (const auto& [archive, count] : p.f.undecoded)
            out_.undecoded[archive] += count;
    }
    void finish(const std::string& origin) {
        for (const auto& [archive, count] : out_.undecoded)
            out_.errors.push_back(
                {std::to_string(count) + " members need an Oodle decoder (--oodle) (its shaders are left out)", archive});
        if (more_errors_)
            out_.errors.push_back({"and " + std::to_string(more_errors_) + " more errors", origin});
    }

  private:
    FileFindings& out_;
    uint64_t more_errors_ = 0;
};

// One file while it is read. Goes with the last worker that has a part of it.
struct File {
    std::string origin;
    size_t index;
    Blob blob;
    uint64_t budget_bytes;
    ScanShared& shared;
    const Reader* as;
    std::function<void(FileFindings)> done;
    bool alone; // on one worker
    WorkBudget budget;
    std::atomic<bool> asked_in_vain{false}, no_memory{false};
    std::atomic<uint64_t> reported{0}; // bytes of it that the progress line has seen
    Part root;

    File(std::string name, size_t i, Blob b, uint64_t bytes, ScanShared& s, const Reader* reader,
         std::function<void(FileFindings)> then, bool one_worker)
        : origin(std::move(name)), index(i), blob(std::move(b)), budget_bytes(bytes), shared(s), as(reader),
          done(std::move(then)), alone(one_worker), budget(bytes) {}
    ~File() {
        try {
            finish();
        } catch (const std::bad_alloc&) {
            FileFindings f;
            f.errors.push_back({"not enough memory (its shaders are left out)", origin});
            done(std::move(f));
        }
    }

    void report(uint64_t bytes) {
        const uint64_t before = reported.fetch_add(bytes);
        if (before < blob.size())
            shared.counters.bytes += std::min(bytes, blob.size() - before);
    }

  private:
    void finish();
};

class FileScan : public Output {
  public:
    FileScan(std::shared_ptr<File> file, Part& part, std::string origin, unsigned depth, const std::string* chain)
        : file_(std::move(file)), shared_(file_->shared), part_(part), f_(part.f), origin_(std::move(origin)),
          depth_(depth), chain_(chain) {}

    void run_file(const Blob& blob) { read(blob, file_->as ? *file_->as : reader_for(blob.bytes, name())); }

    // A member that was given away: what open() does, in a part of its own.
    void run_member(const Blob& bytes, const Reader* as) { read(bytes, as ? *as : reader_for(bytes.bytes, name())); }
    void run_packed(const std::string& archive, uint64_t stored, const Decode& decode, const Reader* as, bool peeks) {
        if (const auto blob = decoded(archive, "", stored, decode))
            run_member(*blob, packed_as(*blob, as, peeks));
    }

    Result<void> member(std::string_view name, uint64_t stored, const Blob& bytes,
                        const Reader* as) override {
        if (const auto go = enter(name, stored); !go || !*go)
            return go ? Result<void>() : go.error();
        if (give_away(stored)) {
            spawn(name, stored, [bytes, as](FileScan& s) { s.run_member(bytes, as); });
            return {};
        }
        inside(name, bytes, as);
        if (depth_ == 0)
            file_->report(stored);
        return {};
    }

    Result<void> packed_member(std::string_view name, uint64_t stored, Decode decode, Peek peek,
                               const Reader* as) override {
        if (const auto go = enter(name, stored); !go || !*go)
            return go ? Result<void>() : go.error();
        if (peek && !as && stored >= kPeekFrom) {
            const auto head = peek(kPeek);
            if (head && cannot_hold_shaders(head->bytes)) {
                inside(name, *head, &kLeafReader);
                return {};
            }
        }
        if (give_away(stored)) {
            spawn(name, stored, [archive = origin_, stored, as, peeks = bool(peek), decode = std::move(decode)](FileScan& s) {
                s.run_packed(archive, stored, decode, as, peeks);
            });
            return {};
        }
        if (const auto blob = decoded(origin_, name, stored, decode))
            inside(name, *blob, packed_as(*blob, as, bool(peek)));
        if (depth_ == 0)
            file_->report(stored);
        return {};
    }

    Result<void> shader(FoundShader s) override {
        // Containers name one shader many times: it is hashed and kept once.
        const auto [it, first] =
            frame_->seen.try_emplace({s.control.bytes.data(), s.code.bytes.data(), s.code.size()},
                                     static_cast<uint32_t>(f_.records.size()));
        if (first) {
            FoundRecord r;
            r.stage = s.stage;
            r.arch = s.arch;
            r.bytes = shared_.store.put(s.control, s.code, s.cover ? inputs_of(s) : AttributeSet());
            r.key = r.bytes->key;
            r.origin.reserve(origin_.size() + (s.label.empty() ? 0 : s.label.size() + 3));
            r.origin = origin_;
            if (!s.label.empty())
                ((r.origin += " (") += printable(s.label)) += ')';
            r.chain = chain_;
            r.offset = s.offset;
            r.cover = s.cover;
            f_.records.push_back(std::move(r));
            ++shared_.counters.shaders;
        } else {
            ++f_.records[it->second].copies;
        }
        if (s.program)
            f_.links.push_back({s.program, it->second, evidence_[s.program - 1]});
        return {};
    }

    uint32_t new_program(Evidence evidence) override {
        evidence_.push_back(evidence);
        return f_.programs = static_cast<uint32_t>(evidence_.size());
    }

    void fail(std::string_view name, Error e) override {
        e.origin = name.empty() ? origin_ : origin_ + "/" + printable(name);
        e.message = printable(e.message) + " (its shaders are left out)";
        if (f_.errors.size() < kErrorLines)
            f_.errors.push_back(std::move(e));
        else
            ++f_.more_errors;
    }

    void note(std::string text) override { f_.notes.push_back(origin_ + ": " + printable(text)); }
    void lone_control(uint64_t) override { ++f_.lone_controls; }
    WorkBudget& budget() override { return file_->budget; }

    void publish(std::string_view kind, std::string_view key, const Blob& bytes) override {
        shared_.facts.publish(kind, key, bytes, file_->index, origin_);
    }

    Result<std::optional<Blob>> shared(std::string_view kind, std::string_view key) override {
        auto found = shared_.facts.find(kind, key);
        if (found || shared_.facts.sealed())
            return found;
        file_->asked_in_vain = true;
        return Error{"waits for another file of the input"};
    }

    Result<Blob> oodle(Bytes in, uint64_t size) override {
        if (shared_.oodle)
            return shared_.oodle->decode(in, size, file_->budget);
        no_oodle_ = true;
        return Error{"needs an Oodle decoder (--oodle)"};
    }

    std::string_view name() const override {
        return std::string_view(origin_).substr(origin_.rfind('/') + 1);
    }

    Result<std::optional<Blob>> sibling(std::string_view path) override {
        const auto origin = resolve(file_->origin, path);
        if (!origin || !shared_.open)
            return std::optional<Blob>();
        auto blob = shared_.open(*origin);
        if (blob && *blob)
            file_->budget.grow((*blob)->size());
        return blob;
    }

    std::vector<MagicHit> find_all(const Blob& in, const std::array<uint32_t, 3>& magics) override {
        const uint64_t size = in.size();
        const size_t count = static_cast<size_t>((size + kRange - 1) / kRange);
        std::vector<std::vector<MagicHit>> found(count);
        const auto one = [&](size_t i) {
            const uint64_t begin = i * kRange, end = std::min(size, begin + kRange);
            // No magic lies in a hole, but one may begin in its last three zeros.
            for (uint64_t at = begin; (at = skip_hole(in, at, 3)) < end;) {
                const uint64_t stop = std::min(end, next_hole(in, at));
                const Bytes part = in.bytes.clamp(0, std::min(size, stop + 3));
                while (const auto hit = find_magic(part, at, magics)) {
                    if (hit->offset >= stop)
                        break;
                    found[i].push_back(*hit);
                    at = hit->offset + 1;
                }
                at = stop;
            }
            if (in.mapped)
                let_go(in.bytes.clamp(begin, end - begin));
            if (depth_ == 0)
                file_->report(end - begin);
        };
        if (shared_.queue && !file_->alone)
            shared_.queue->ranges(count, one);
        else
            for (size_t i = 0; i < count; ++i)
                one(i);
        std::vector<MagicHit> all;
        for (const auto& list : found)
            all.insert(all.end(), list.begin(), list.end());
        return all;
    }

  private:
    // Of the container being read.
    struct Frame {
        // Its records, by where control section and code lie.
        std::map<std::tuple<const uint8_t*, const uint8_t*, uint64_t>, uint32_t> seen;
        size_t first_gap = 0;
    };

    // Charges and counts a member. False: it is left out, with its line.
    Result<bool> enter(std::string_view name, uint64_t stored) {
        if (const auto ok = file_->budget.charge_stored(stored + kMemberCost); !ok)
            return ok.error();
        if (depth_ == kMaxNesting) {
            fail(name, {"archives nest more than 16 deep"});
            return false;
        }
        ++f_.members;
        ++shared_.counters.members;
        return true;
    }

    // A member's bytes, or nothing if they were left out, with the line or the count that says so.
    std::optional<Blob> decoded(const std::string& archive, std::string_view name, uint64_t stored, const Decode& decode) {
        const WorkQueue::Large large(shared_.queue, stored);
        no_oodle_ = false;
        auto blob = decode(*this);
        if (blob)
            return *std::move(blob);
        if (no_oodle_)
            ++f_.undecoded[archive];
        else
            fail(name, blob.error());
        return std::nullopt;
    }

    // Members too small for a look at their head first are judged by it when they are decoded.
    static const Reader* packed_as(const Blob& bytes, const Reader* as, bool peeks) {
        return !as && peeks && cannot_hold_shaders(bytes.bytes) ? &kLeafReader : as;
    }

    bool give_away(uint64_t stored) const {
        return shared_.queue && shared_.queue->workers() > 1 && !file_->alone && file_->blob.size() >= kSplitFrom &&
               stored >= kTaskFrom;
    }

    // Leaves a gap for the member, and gives it to another worker if one has time.
    template <class Work>
    void spawn(std::string_view name, uint64_t stored, Work work) {
        Part::Gap gap;
        gap.records = f_.records.size(), gap.errors = f_.errors.size(), gap.notes = f_.notes.size();
        gap.part = std::make_unique<Part>();
        Part* const part = gap.part.get();
        part_.gaps.push_back(std::move(gap));
        std::string origin = name.empty() ? origin_ : origin_ + "/" + printable(name);
        const bool top = depth_ == 0;
        const auto task = [file = file_, part, origin = std::move(origin), depth = depth_ + 1, chain = chain_, top,
                           stored, work = std::move(work)] {
            try {
                FileScan scan(file, *part, origin, depth, chain);
                work(scan);
            } catch (const std::bad_alloc&) {
                file->no_memory = true;
            }
            if (top)
                file->report(stored);
        };
        if (!shared_.queue->offer(task))
            task();
    }

    void inside(std::string_view name, const Blob& bytes, const Reader* as) {
        const size_t length = origin_.size();
        if (!name.empty())
            (origin_ += '/') += printable(name);
        ++depth_;
        read(bytes, as ? *as : reader_for(bytes.bytes, this->name()));
        --depth_;
        origin_.resize(length);
    }

    void read(const Blob& blob, const Reader& reader) {
        const size_t records = f_.records.size(), links = f_.links.size();
        Frame frame;
        frame.first_gap = part_.gaps.size();
        Frame* const outer = std::exchange(frame_, &frame);
        const std::string* const outer_chain = std::exchange(chain_, shared_.chains.get(chain_, reader.format));
        ++f_.containers[chain_];
        const WorkQueue::Large large(shared_.queue, reader.one_stream ? blob.size() : 0);
        if (const auto ok = reader.read(blob, *this); !ok) {
            f_.records.erase(f_.records.begin() + static_cast<ptrdiff_t>(records), f_.records.end());
            f_.links.resize(links);
            for (size_t g = frame.first_gap; g < part_.gaps.size(); ++g) {
                part_.gaps[g].records = records;
                part_.gaps[g].dropped = true;
            }
            fail("", ok.error());
        }
        frame_ = outer;
        chain_ = outer_chain;
    }

    std::shared_ptr<File> file_;
    ScanShared& shared_;
    Part& part_;
    FileFindings& f_;
    std::string origin_;
    unsigned depth_;
    const std::string* chain_;
    std::vector<Evidence> evidence_; // by program
    bool no_oodle_ = false;
    Frame* frame_ = nullptr;
};

void start(std::string origin, size_t index, Blob blob, uint64_t budget_bytes, ScanShared& shared, const Reader* as,
           std::function<void(FileFindings)> done, bool alone) {
    const auto file = std::make_shared<File>(std::move(origin), index, std::move(blob), budget_bytes, shared, as,
                                             std::move(done), alone);
    try {
        FileScan(file, file->root, file->origin, 0, nullptr).run_file(file->blob);
    } catch (const std::bad_alloc&) {
        file->no_memory = true;
    }
}

void File::finish() {
    const bool split = !root.gaps.empty();
    if (split && budget.exhausted()) {
        root = {};
        start(origin, index, std::move(blob), budget_bytes, shared, as, std::move(done), true);
        return;
    }
    FileFindings f;
    if (no_memory) {
        f.errors.push_back({"not enough memory (its shaders are left out)", origin});
    } else {
        Flattener flat(f);
        flat.add(root, false);
        flat.finish(origin);
    }
    f.asked_in_vain = asked_in_vain;
    if (!asked_in_vain)
        report(blob.size());
    done(std::move(f));
}

} // namespace

const std::string* Chains::get(const std::string* outer, std::string_view format) {
    const std::lock_guard lock(mutex_);
    auto& chain = chains_[{outer, format}];
    if (!chain)
        chain = std::make_unique<const std::string>((outer ? *outer + " > " : "") + std::string(format));
    return chain.get();
}

std::string_view Chains::format(const std::string& chain) {
    const size_t at = chain.rfind(" > ");
    return std::string_view(chain).substr(at == chain.npos ? 0 : at + 3);
}

void scan_file(const std::string& origin, size_t index, Blob blob, uint64_t budget_bytes, ScanShared& shared,
               const Reader* as, std::function<void(FileFindings)> done) {
    start(origin, index, std::move(blob), budget_bytes, shared, as, std::move(done), false);
}

FileFindings scan_file(const std::string& origin, size_t index, const Blob& blob, uint64_t budget_bytes,
                       ScanShared& shared, const Reader* as) {
    FileFindings findings;
    start(origin, index, blob, budget_bytes, shared, as, [&](FileFindings f) { findings = std::move(f); }, true);
    return findings;
}

} // namespace dmsh
