// Reads every file on a pool of workers and puts the results together in the files' order.
#include "archivers/scan/scan.h"
#include "archivers/scan/file_scan.h"
#include "archivers/scan/source_tree.h"
#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <new>
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
            result_.formats[std::string(r.format)].shaders += 1 + r.copies;
            const auto [it, first] = seen_.try_emplace(r.key, result_.records.size());
            if (first) {
                first_bytes_.push_back(r.bytes);
                result_.records.push_back({r.key, r.stage, r.arch, r.bytes->control, r.bytes->code,
                                           std::move(r.origin), std::string(r.format), r.offset, r.copies});
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
        for (const auto& [format, n] : f.containers)
            result_.formats[std::string(format)].containers += n;
        result_.members += f.members;
        result_.lone_controls += f.lone_controls;
    }

    void finish() {
        std::sort(result_.records.begin(), result_.records.end(),
                  [](const ShaderRecord& a, const ShaderRecord& b) { return a.key < b.key; });
        for (std::vector<ShaderProgram>* list : {&result_.programs, &result_.listed})
            std::sort(list->begin(), list->end(), [](const ShaderProgram& a, const ShaderProgram& b) {
                return std::tie(a.stages, a.keys) < std::tie(b.stages, b.keys);
            });
    }

  private:
    ScanResult& result_;
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

// Runs `work` on `count` threads; on this one if one is enough and nobody watches.
void run_workers(size_t count, const std::function<void()>& work, const std::function<void()>& watch) {
    if (count <= 1 && !watch)
        return work();
    std::mutex mutex;
    std::condition_variable ended;
    size_t running = count;
    std::vector<std::thread> pool;
    for (size_t i = 0; i < count; ++i)
        pool.emplace_back([&] {
            work();
            const std::lock_guard lock(mutex);
            --running;
            ended.notify_one();
        });
    {
        std::unique_lock lock(mutex);
        while (running) {
            ended.wait_for(lock, std::chrono::milliseconds(250));
            if (watch)
                watch();
        }
    }
    for (std::thread& t : pool)
        t.join();
}

// Reads the files; `result` has the errors of listing them.
Result<void> scan_files(const std::vector<SourceFile>& files, const ScanOptions& options, ScanResult& result) {
    uint64_t all_bytes = 0;
    for (const SourceFile& f : files)
        all_bytes += f.size;

    ShaderStore store(options.skip);
    SharedFacts facts;
    std::unique_ptr<Oodle> oodle;
    if (!options.oodle.empty()) {
        auto started = Oodle::start(options.oodle, options.oodle_host);
        if (!started)
            return started.error();
        oodle = *std::move(started);
    }
    ScanShared shared{store, facts, oodle.get(),
                      [&](const std::string& origin) { return open_source(files, origin); }};
    std::vector<FileFindings> findings(files.size());
    std::atomic<uint64_t> done_bytes{0}, shaders{0};
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
        try {
            if (const auto blob = file.open())
                f = scan_file(file.origin, index, *blob, blob->size(), shared);
            else
                f.errors.push_back({blob.error().message + " (its shaders are left out)", file.origin});
        } catch (const std::bad_alloc&) {
            f = {};
            f.errors.push_back({"not enough memory (its shaders are left out)", file.origin});
        }
        if (!f.asked_in_vain) {
            done_bytes += file.size;
            shaders += f.records.size();
        }
    };
    const auto read_all = [&](const std::vector<size_t>& list) {
        std::atomic<size_t> next{0};
        const auto work = [&] {
            for (size_t i; (i = next.fetch_add(1)) < list.size();) {
                if (options.cancel && options.cancel->load()) {
                    cancelled = true;
                    return;
                }
                read_one(list[i]);
            }
        };
        const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
        const size_t count = std::min<size_t>(options.workers ? options.workers : cores, list.size());
        std::function<void()> watch;
        if (options.progress)
            watch = [&] { options.progress(done_bytes, all_bytes, shaders); };
        run_workers(count, work, watch);
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
        options.progress(done_bytes, all_bytes, shaders);

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
