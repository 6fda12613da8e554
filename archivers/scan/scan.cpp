// Reads every file on a pool of workers and puts the results together in the files' order.
#include "archivers/scan/scan.h"
#include "archivers/scan/cover.h"
#include "archivers/scan/file_scan.h"
#include "archivers/scan/source_tree.h"
#include <algorithm>
#include <bit>
#include <set>
#include <thread>

namespace dmsh {
namespace {

// Puts the files' findings into one result; called in the files' order.
class Merger {
  public:
    explicit Merger(ScanResult& result) : result_(result) {}

    void add(FileFindings&& f) {
        // Links first: they name records of this file.
        std::map<uint32_t, ShaderProgram> programs;
        std::map<uint32_t, Evidence> evidence;
        for (const FoundLink& link : f.links) {
            const FoundRecord& r = f.records[link.record];
            ShaderProgram& p = programs[link.program];
            evidence[link.program] = link.evidence;
            p.keys[static_cast<size_t>(r.stage)] = r.key;
            p.stages |= static_cast<uint8_t>(1u << static_cast<unsigned>(r.stage));
            if (p.origin.empty())
                p.origin = r.origin;
        }
        for (auto& [number, program] : programs)
            if (!std::has_single_bit(program.stages)) {
                const bool linked = evidence[number] == Evidence::linked;
                if ((linked ? linked_ : listed_).insert({program.stages, program.keys}).second)
                    (linked ? result_.programs : result_.listed).push_back(std::move(program));
            }
        for (FoundRecord& r : f.records) {
            result_.found += 1 + r.copies;
            const std::string format(Chains::format(*r.chain));
            result_.formats[format].shaders += 1 + r.copies;
            result_.tree[*r.chain].shaders += 1 + r.copies;
            const auto [it, first] = seen_.try_emplace(r.key, result_.records.size());
            if (first) {
                first_bytes_.push_back(r.bytes);
                result_.records.push_back({r.key, r.stage, r.arch, r.bytes->control, r.bytes->code,
                                           r.bytes->control_bytes, r.bytes->code_bytes, std::move(r.origin),
                                           format, r.offset, r.copies});
                if (r.cover)
                    covered_.push_back(r.key);
                continue;
            }
            ShaderRecord& record = result_.records[it->second];
            record.copies += 1 + r.copies;
            if (first_bytes_[it->second] != r.bytes || record.stage != r.stage)
                result_.errors.push_back(
                    {"another shader of this key is in " + record.origin + " (this one is left out)",
                     r.origin, r.offset, key_text(r.key)});
        }
        for (Error& e : f.errors)
            result_.errors.push_back(std::move(e));
        for (std::string& n : f.notes)
            result_.notes.push_back(std::move(n));
        for (const auto& [chain, n] : f.containers) {
            result_.formats[std::string(Chains::format(*chain))].containers += n;
            result_.tree[*chain].containers += n;
        }
        result_.members += f.members;
        result_.lone_controls += f.lone_controls;
    }

    void finish() {
        add_covers();
        std::sort(result_.records.begin(), result_.records.end(),
                  [](const ShaderRecord& a, const ShaderRecord& b) { return a.key < b.key; });
        for (std::vector<ShaderProgram>* list : {&result_.programs, &result_.listed})
            std::sort(list->begin(), list->end(), [](const ShaderProgram& a, const ShaderProgram& b) {
                return std::tie(a.stages, a.keys) < std::tie(b.stages, b.keys);
            });
    }

  private:
    // L-004: engines that bind each stage at draw time get every vertex shader with a cover of the pixel shaders'
    // inputs. In order of keys, so that the order of files does not matter.
    void add_covers() {
        std::sort(covered_.begin(), covered_.end());
        covered_.erase(std::unique(covered_.begin(), covered_.end()), covered_.end());
        for (const Arch arch : {Arch::sm53, Arch::sm86}) {
            std::vector<uint64_t> vertex, chosen;
            std::vector<CoverInput> pixel;
            for (const uint64_t key : covered_) {
                const ShaderRecord& r = result_.records[seen_.at(key)];
                if (r.arch != arch)
                    continue;
                if (r.stage == Stage::vertex)
                    vertex.push_back(key);
                else if (r.stage == Stage::fragment)
                    pixel.push_back({key, first_bytes_[seen_.at(key)]->inputs});
            }
            chosen = smallest_cover(std::move(pixel));
            for (const uint64_t v : vertex)
                for (const uint64_t p : chosen) {
                    ShaderProgram program;
                    program.keys[static_cast<size_t>(Stage::vertex)] = v;
                    program.keys[static_cast<size_t>(Stage::fragment)] = p;
                    program.stages = 1u << static_cast<unsigned>(Stage::vertex) | 1u << static_cast<unsigned>(Stage::fragment);
                    program.origin = result_.records[seen_.at(v)].origin;
                    if (!linked_.contains({program.stages, program.keys}) &&
                        listed_.insert({program.stages, program.keys}).second)
                        result_.listed.push_back(std::move(program));
                }
        }
    }

    ScanResult& result_;
    std::vector<uint64_t> covered_;
    std::unordered_map<uint64_t, size_t> seen_;
    std::vector<const ShaderBytes*> first_bytes_;
    std::set<std::pair<uint8_t, std::array<uint64_t, kStageCount>>> linked_, listed_;
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

    Merger merger(result);
    for (FileFindings& f : findings)
        merger.add(std::move(f));
    merger.finish();
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
    FileFindings findings = read();
    while (findings.asked_in_vain && !facts.sealed()) { // its members may have it
        if (!facts.next_round())
            facts.seal();
        findings = read();
    }
    ScanResult result;
    Merger merger(result);
    merger.add(std::move(findings));
    merger.finish();
    result.files = 1;
    result.bytes = blob.size();
    return result;
}

} // namespace dmsh
