// Reads every file on a pool of workers and puts the results together in the files' order.
#include "archivers/scan/scan.h"
#include "archivers/scan/cover.h"
#include "archivers/scan/file_scan.h"
#include "archivers/scan/source_tree.h"
#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <thread>
#include <tuple>

namespace dmsh {
namespace {

// Numbers by hash: open addressing over a table that is large enough from the start.
class Index {
  public:
    explicit Index(size_t most) : slots_(std::bit_ceil(2 * most + 2), kFree) {}

    // Where the number of an equal thing is, or belongs. `same(number)`: is it the thing looked for?
    template <class Same>
    uint32_t& at(uint64_t hash, Same same) {
        for (size_t i = hash;; ++i) {
            uint32_t& slot = slots_[i & (slots_.size() - 1)];
            if (slot == kFree || same(slot))
                return slot;
        }
    }
    static constexpr uint32_t kFree = 0xffffffff;

  private:
    std::vector<uint32_t> slots_;
};

// Distinct programs, each with the first of its origins.
class Programs {
  public:
    Programs(std::vector<ShaderProgram>& list, size_t most) : list_(list), index_(most) {}

    bool contains(const ShaderProgram& p) { return slot(p) != Index::kFree; }
    void add(ShaderProgram&& p) {
        uint32_t& number = slot(p);
        if (number != Index::kFree)
            return;
        number = static_cast<uint32_t>(list_.size());
        list_.push_back(std::move(p));
    }

  private:
    uint32_t& slot(const ShaderProgram& p) {
        uint64_t hash = p.stages; // keys are hashes already
        for (const uint64_t key : p.keys)
            hash = std::rotl(hash, 7) ^ key;
        return index_.at(hash, [&](uint32_t i) { return list_[i].stages == p.stages && list_[i].keys == p.keys; });
    }

    std::vector<ShaderProgram>& list_;
    Index index_;
};

// Puts the files' findings, which it uses up, into one result, in the files' order.
class Merger {
  public:
    Merger(ScanResult& result, std::vector<FileFindings>& files)
        : result_(result), files_(files), by_key_(count(&FileFindings::records)) {
        size_t programs = 0;
        for (const FileFindings& f : files)
            programs += f.programs;
        for (auto* const list : {&linked_, &listed_})
            list->emplace(list == &linked_ ? result.programs : result.listed, programs);
        entries_.reserve(count(&FileFindings::records));
    }

    void run() {
        for (FileFindings& f : files_)
            add(f);
        add_covers();
        finish();
    }

  private:
    // A distinct shader: where it was found first.
    struct Entry {
        FoundRecord* first;
        uint64_t copies;
    };

    template <class T>
    size_t count(std::vector<T> FileFindings::* list) const {
        size_t n = 0;
        for (const FileFindings& f : files_)
            n += (f.*list).size();
        return n;
    }

    void add(FileFindings& f) {
        // Links first: they name records of this file.
        std::vector<std::pair<ShaderProgram, Evidence>> programs(f.programs);
        for (const FoundLink& link : f.links) {
            const FoundRecord& r = f.records[link.record];
            auto& [p, evidence] = programs[link.program - 1];
            evidence = link.evidence;
            p.keys[static_cast<size_t>(r.stage)] = r.key;
            p.stages |= static_cast<uint8_t>(1u << static_cast<unsigned>(r.stage));
            if (p.origin.empty())
                p.origin = r.origin;
        }
        for (auto& [program, evidence] : programs)
            if (program.stages && !std::has_single_bit(program.stages))
                (evidence == Evidence::linked ? linked_ : listed_)->add(std::move(program));
        const std::string* chain = nullptr;
        FormatCounts *of_format = nullptr, *of_chain = nullptr;
        for (FoundRecord& r : f.records) {
            if (r.chain != chain) {
                chain = r.chain;
                of_format = &result_.formats[std::string(Chains::format(*chain))];
                of_chain = &result_.tree[*chain];
            }
            result_.found += 1 + r.copies;
            of_format->shaders += 1 + r.copies;
            of_chain->shaders += 1 + r.copies;
            uint32_t& number = entry_of(r.key);
            if (number == Index::kFree) {
                number = static_cast<uint32_t>(entries_.size());
                entries_.push_back({&r, r.copies});
                if (r.cover)
                    covered_.push_back(r.key);
                continue;
            }
            Entry& known = entries_[number];
            known.copies += 1 + r.copies;
            if (known.first->bytes != r.bytes || known.first->stage != r.stage)
                result_.errors.push_back(
                    {"another shader of this key is in " + known.first->origin + " (this one is left out)", r.origin,
                     r.offset, key_text(r.key)});
        }
        for (Error& e : f.errors)
            result_.errors.push_back(std::move(e));
        for (std::string& n : f.notes)
            result_.notes.push_back(std::move(n));
        for (const auto& [chain_of, n] : f.containers) {
            result_.formats[std::string(Chains::format(*chain_of))].containers += n;
            result_.tree[*chain_of].containers += n;
        }
        result_.members += f.members;
        result_.lone_controls += f.lone_controls;
    }

    uint32_t& entry_of(uint64_t key) {
        return by_key_.at(key, [&](uint32_t i) { return entries_[i].first->key == key; });
    }
    const FoundRecord& found(uint64_t key) { return *entries_[entry_of(key)].first; }

    void finish() {
        std::vector<std::pair<uint64_t, uint32_t>> order(entries_.size());
        for (uint32_t i = 0; i < order.size(); ++i)
            order[i] = {entries_[i].first->key, i};
        std::sort(order.begin(), order.end());
        result_.records.reserve(order.size());
        for (const auto& [key, i] : order) {
            FoundRecord& r = *entries_[i].first;
            result_.records.push_back({key, r.stage, r.arch, r.bytes->control, r.bytes->code, r.bytes->control_bytes,
                                       r.bytes->code_bytes, std::move(r.origin), std::string(Chains::format(*r.chain)),
                                       r.offset, entries_[i].copies});
        }
        for (std::vector<ShaderProgram>* list : {&result_.programs, &result_.listed})
            std::sort(list->begin(), list->end(), [](const ShaderProgram& a, const ShaderProgram& b) {
                return std::tie(a.stages, a.keys) < std::tie(b.stages, b.keys);
            });
    }

    // L-004: engines that bind each stage at draw time get every vertex shader with a cover of the pixel shaders'
    // inputs. In order of keys, so that the order of files does not matter.
    void add_covers() {
        std::sort(covered_.begin(), covered_.end());
        covered_.erase(std::unique(covered_.begin(), covered_.end()), covered_.end());
        for (const Arch arch : {Arch::sm53, Arch::sm86}) {
            std::vector<uint64_t> vertex, chosen;
            std::vector<CoverInput> pixel;
            for (const uint64_t key : covered_) {
                const FoundRecord& r = found(key);
                if (r.arch != arch)
                    continue;
                if (r.stage == Stage::vertex)
                    vertex.push_back(key);
                else if (r.stage == Stage::fragment)
                    pixel.push_back({key, r.bytes->inputs});
            }
            chosen = smallest_cover(std::move(pixel));
            // Apart from the engines' lists, which have a size known beforehand.
            std::vector<ShaderProgram> covers;
            for (const uint64_t v : vertex)
                for (const uint64_t p : chosen) {
                    ShaderProgram program;
                    program.keys[static_cast<size_t>(Stage::vertex)] = v;
                    program.keys[static_cast<size_t>(Stage::fragment)] = p;
                    program.stages = 1u << static_cast<unsigned>(Stage::vertex) | 1u << static_cast<unsigned>(Stage::fragment);
                    program.origin = found(v).origin;
                    if (!linked_->contains(program) && !listed_->contains(program))
                        covers.push_back(std::move(program));
                }
            std::move(covers.begin(), covers.end(), std::back_inserter(result_.listed));
        }
    }

    ScanResult& result_;
    std::vector<FileFindings>& files_;
    Index by_key_;
    std::vector<Entry> entries_;
    std::vector<uint64_t> covered_;
    std::optional<Programs> linked_, listed_;
};

} // namespace

const ShaderRecord* ScanResult::find(uint64_t key) const {
    const auto it = std::lower_bound(records.begin(), records.end(), key,
                                     [](const ShaderRecord& r, uint64_t k) { return r.key < k; });
    return it != records.end() && it->key == key ? &*it : nullptr;
}

namespace {

// Reads the files; `result` has the errors of listing them.
Result<void> scan_files(const std::vector<SourceFile>& files, const ScanOptions& options, ScanResult& result) {
    uint64_t all_bytes = 0;
    for (const SourceFile& f : files)
        all_bytes += f.size;

    ShaderStore store(options.skip, options.keep_bytes);
    SharedFacts facts;
    std::unique_ptr<Oodle> oodle;
    if (!options.oodle.empty()) {
        auto started = Oodle::start(options.oodle, options.oodle_host);
        if (!started)
            return started.error();
        oodle = *std::move(started);
    }
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    WorkQueue queue(std::min(options.workers ? options.workers : cores, kMaxWorkers));
    ScanShared shared{store, facts, oodle.get(),
                      [&](const std::string& origin) { return open_source(files, origin); }, &queue};
    std::vector<FileFindings> findings(files.size());
    std::atomic<bool> cancelled{false};

    // Large files first, so that none is left for the end; the results go to their places anyhow.
    std::vector<size_t> order(files.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return files[a].size > files[b].size; });

    const auto read_one = [&](size_t index) {
        const SourceFile& file = files[index];
        FileFindings& f = findings[index];
        auto blob = file.open();
        if (!blob) {
            f.errors.push_back({blob.error().message + " (its shaders are left out)", file.origin});
            f.asked_in_vain = false;
            return;
        }
        const uint64_t size = blob->size();
        scan_file(file.origin, index, *std::move(blob), size, shared, nullptr,
                  [&f](FileFindings found) { f = std::move(found); });
    };
    const auto progress = [&] {
        const ScanCounters& c = shared.counters;
        options.progress({std::min<uint64_t>(c.bytes, all_bytes), all_bytes, c.members, c.shaders});
    };
    const auto read_all = [&](const std::vector<size_t>& list) {
        std::atomic<size_t> next{0};
        const auto next_file = [&] {
            if (options.cancel && options.cancel->load())
                cancelled = true;
            const size_t i = cancelled ? list.size() : next.fetch_add(1);
            if (i >= list.size())
                return false;
            read_one(list[i]);
            return true;
        };
        queue.run(next_file, options.progress ? std::function<void()>(progress) : nullptr);
    };
    read_all(order);
    // What asked for something that another file publishes is read again, with everything published so far in
    // sight; when nothing more turns up, a last time with the answer that nobody has it.
    while (!facts.sealed()) {
        std::erase_if(order, [&](size_t i) { return !findings[i].asked_in_vain; });
        if (order.empty() || cancelled)
            break;
        if (!facts.next_round())
            facts.seal();
        read_all(order);
    }
    if (options.progress)
        progress();

    Merger(result, findings).run();
    result.files = files.size();
    result.bytes = all_bytes;
    result.cancelled = cancelled;
    return {};
}

} // namespace

Result<ScanResult> scan(const ScanOptions& options) {
    auto tree = list_sources(options);
    if (!tree)
        return tree.error();
    ScanResult result;
    result.errors = std::move(tree->errors);
    if (const auto ok = scan_files(tree->files, options, result); !ok)
        return ok.error();
    return result;
}

Result<ScanResult> scan_memory(std::vector<NamedBlob> files, const ScanOptions& options) {
    std::vector<SourceFile> list;
    for (NamedBlob& f : files) {
        const uint64_t size = f.blob.size();
        list.push_back({std::move(f.name), "", std::move(f.blob), size});
    }
    std::sort(list.begin(), list.end(),
              [](const SourceFile& a, const SourceFile& b) { return a.origin < b.origin; });
    ScanResult result;
    if (const auto ok = scan_files(list, options, result); !ok)
        return ok.error();
    return result;
}

ScanResult scan_blob(const std::string& name, const Blob& blob, KeySkip skip, uint64_t budget_bytes) {
    ShaderStore store(skip);
    SharedFacts facts;
    ScanShared shared{store, facts};
    const auto read = [&] { return scan_file(name, 0, blob, budget_bytes ? budget_bytes : blob.size(), shared); };
    std::vector<FileFindings> findings;
    findings.push_back(read());
    while (findings[0].asked_in_vain && !facts.sealed()) { // its members may have it
        if (!facts.next_round())
            facts.seal();
        findings[0] = read();
    }
    ScanResult result;
    Merger(result, findings).run();
    result.files = 1;
    result.bytes = blob.size();
    return result;
}

} // namespace dmsh
