// corpus_runner: proves the corpora shader by shader, each in a child process with a time limit.
#include "tests/corpus/verdict.h"
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dmsh::test {
namespace {

constexpr const char* kUsage = R"(usage: corpus_runner [DIR] [options] [NAME-PART...]
DIR holds a manifest.json like those under ../shared/corpus; the default is ../shared/corpus/maxwell-gfx.
  --set NAME           the folder NAME of ../shared/corpus
  --list               names only
  --one NAME           run one shader in this process, print its verdict as JSON
  --json               all verdicts as one JSON array instead of the table
  --reference-only     run each reference twice and compare it with itself
  --validate           with the Vulkan validation layer
  --dump DIR           write both SPIR-V modules of each shader there
  --expected FILE      compare with a list of NAME<tab>STATUS; exit 1 where one got worse
  --update FILE        write that list
  --jobs N             children at a time (default 2)
  --seconds N          time limit per shader (default 30)
Marks: + passed, - failed, x failed or not to be asked here and listed in exceptions.tsv with its proof, . not asked.
Exits 1 where a mark is '-'; with --expected where an entry got worse. Without a corpus it says so and exits 0.
)";

struct Child {
    std::string name;
    pid_t pid = 0;
    int fd = -1;
    std::string output;
    std::chrono::steady_clock::time_point deadline;
};

Child start(const std::string& name, const std::vector<std::string>& passed, int seconds) {
    Child c;
    c.name = name;
    int fds[2];
    if (pipe(fds) != 0)
        return c;
    c.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    c.pid = fork();
    if (c.pid == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        std::vector<std::string> args{"corpus_runner", "--one", name};
        args.insert(args.end(), passed.begin(), passed.end());
        std::vector<char*> argv;
        for (auto& a : args)
            argv.push_back(a.data());
        argv.push_back(nullptr);
        execv("/proc/self/exe", argv.data());
        _exit(127);
    }
    close(fds[1]);
    c.fd = fds[0];
    return c;
}

Verdict finish(Child& c, bool timed_out, const std::map<std::string, Verdict>& known) {
    if (timed_out)
        kill(c.pid, SIGKILL);
    int status = 0;
    waitpid(c.pid, &status, 0);
    close(c.fd);
    const auto at = c.output.rfind("{\"c");
    const auto j = nlohmann::json::parse(at == std::string::npos ? "" : c.output.substr(at), nullptr, false);
    if (!timed_out && !j.is_discarded())
        return verdict_from_json(j);
    Verdict v = known.at(c.name);
    v.status = timed_out ? Status::timeout : Status::crashed;
    v.mark(Check::oracle) = Mark::failed;
    v.text = timed_out             ? "stopped"
             : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                   : "exit " + std::to_string(WEXITSTATUS(status));
    return v;
}

std::vector<Verdict> run_all(const std::vector<std::string>& names,
                             const std::map<std::string, Verdict>& known,
                             const std::vector<std::string>& passed, size_t jobs, int seconds) {
    std::vector<Verdict> verdicts;
    std::vector<Child> children;
    size_t next = 0;
    while (next < names.size() || !children.empty()) {
        while (children.size() < jobs && next < names.size())
            children.push_back(start(names[next++], passed, seconds));
        std::vector<pollfd> fds;
        for (const auto& c : children)
            fds.push_back({c.fd, POLLIN, 0});
        poll(fds.data(), fds.size(), 200);
        for (size_t i = children.size(); i-- > 0;) {
            Child& c = children[i];
            bool ended = false;
            if (fds[i].revents) {
                char buffer[4096];
                const ssize_t n = read(c.fd, buffer, sizeof buffer);
                if (n > 0)
                    c.output.append(buffer, static_cast<size_t>(n));
                else
                    ended = true;
            }
            const bool late = std::chrono::steady_clock::now() > c.deadline;
            if (ended || late) {
                verdicts.push_back(finish(c, !ended && late, known));
                children.erase(children.begin() + static_cast<long>(i));
            }
        }
    }
    std::sort(verdicts.begin(), verdicts.end(),
              [](const Verdict& a, const Verdict& b) { return a.name < b.name; });
    return verdicts;
}

void print_table(const std::vector<Verdict>& verdicts) {
    std::map<Stage, std::map<Status, int>> totals;
    std::map<Status, int> all;
    int cross = 0, cross_right = 0;
    int failed = 0, excepted = 0;
    printf("%-40s %-15s %-16s %-8s %6s %8s  %s\n", "entry", "stage", "status", "DLTSMZVO", "instr.", "bytes",
           "(decode, listing, translate, spirv-val, MSL, size, verify, oracle)");
    for (const auto& v : verdicts) {
        std::string text = v.text.substr(0, v.text.find('\n')).substr(0, 160);
        if (!v.exception.empty())
            text += (text.empty() ? "" : " | ") + v.exception;
        std::string marks;
        for (const Mark m : v.marks)
            marks += static_cast<char>(m);
        printf("%-40s %-15s %-16s %-8s %6u %8zu  %s\n", v.name.c_str(), std::string(stage_name(v.stage)).c_str(),
               std::string(status_name(v.status)).c_str(), marks.c_str(), v.instructions, v.spirv_bytes,
               text.c_str());
        failed += !v.passed();
        excepted += v.passed() && !v.exception.empty();
        ++totals[v.stage][v.status];
        ++all[v.status];
        cross += v.cross_checked;
        cross_right += v.cross_checked && v.status == Status::matches;
    }
    auto line = [](const char* name, const std::map<Status, int>& counts) {
        int n = 0;
        for (const auto& [s, k] : counts)
            n += k;
        printf("%-16s %4d:", name, n);
        for (const auto& [s, k] : counts)
            printf("  %s %d", std::string(status_name(s)).c_str(), k);
        printf("\n");
    };
    printf("\n");
    for (const auto& [stage, counts] : totals)
        line(std::string(stage_name(stage)).c_str(), counts);
    line("all", all);
    printf("cross-checked    %4d:  matches %d\n", cross, cross_right);
    double largest = 0, share = 0;
    uint32_t duplicated = 0;
    for (const auto& v : verdicts) {
        largest = std::max(largest, v.peak_mb);
        duplicated += v.duplicated_blocks;
        if (const size_t limit = size_limit(v.reference_bytes, v.instructions))
            share = std::max(share, static_cast<double>(v.spirv_bytes) / static_cast<double>(limit));
    }
    printf("largest module %.0f %% of its limit, %u blocks written twice, peak of one worker %.0f MB\n", share * 100, duplicated,
           largest);
    printf("passed %zu, excepted %d, failed %d\n", verdicts.size() - static_cast<size_t>(failed + excepted), excepted, failed);
}

int compare_expected(const std::vector<Verdict>& verdicts, const std::string& file) {
    std::ifstream in(file);
    if (!in) {
        std::cerr << file << ": cannot be read\n";
        return 1;
    }
    std::map<std::string, Status> expected;
    std::string name, status;
    while (in >> name >> status)
        for (int s = 0; s <= static_cast<int>(Status::reference_failed); ++s)
            if (status_name(static_cast<Status>(s)) == status)
                expected[name] = static_cast<Status>(s);
    int worse = 0;
    for (const auto& v : verdicts) {
        const auto it = expected.find(v.name);
        if (it == expected.end() || v.status == it->second)
            continue;
        const bool bad = v.status > it->second;
        worse += bad;
        printf("%s: %s is %s, expected %s: %s\n", bad ? "WORSE" : "better", v.name.c_str(),
               std::string(status_name(v.status)).c_str(), std::string(status_name(it->second)).c_str(),
               v.text.c_str());
    }
    return worse ? 1 : 0;
}

int run(int argc, char** argv) {
    std::vector<std::string> parts, passed;
    std::string one, expected, update;
    std::filesystem::path folder;
    bool list = false, json = false;
    size_t jobs = 2;
    int seconds = 30;
    ProofOptions options;
    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
        if (a == "--set") {
            folder = value();
            if (const auto root = corpus_folder())
                folder = *root / folder;
        } else if (a == "--folder") { // how children are told
            folder = value();
        } else if (a == "--list")
            list = true;
        else if (a == "--one")
            one = value();
        else if (a == "--json")
            json = true;
        else if (a == "--reference-only") {
            options.reference_only = true;
            passed.push_back(a);
        } else if (a == "--validate") {
            options.validation = true;
            passed.push_back(a);
        } else if (a == "--dump") {
            options.dump = value();
            passed.insert(passed.end(), {a, options.dump});
        } else if (a == "--expected")
            expected = value();
        else if (a == "--update")
            update = value();
        else if (a == "--jobs")
            jobs = std::max(1, atoi(value().c_str()));
        else if (a == "--seconds")
            seconds = std::max(1, atoi(value().c_str()));
        else if (a.starts_with("-")) {
            fputs(kUsage, stderr);
            return 2;
        } else if (folder.empty() && std::filesystem::is_directory(a))
            folder = a;
        else
            parts.push_back(a);
    }
    // One rasterizer thread: the order of atomics is then the same for both modules.
    setenv("LP_NUM_THREADS", "1", 0);
    if (folder.empty())
        if (const auto root = corpus_folder())
            folder = *root / "maxwell-gfx";
    if (folder.empty() || !std::filesystem::exists(folder)) {
        printf("skipped: no corpus at %s\n", folder.empty() ? "../shared/corpus" : folder.c_str());
        return 0;
    }
    const auto corpus = load_corpus(folder);
    if (!corpus) {
        std::cerr << corpus.error().text() << "\n";
        return 1;
    }
    if (!one.empty()) {
        const auto entry = std::find_if(corpus->entries.begin(), corpus->entries.end(),
                                        [&](const CorpusEntry& e) { return e.name == one; });
        if (entry == corpus->entries.end()) {
            std::cerr << one << ": no such entry\n";
            return 1;
        }
        std::cout << to_json(prove(*corpus, *entry, options))
                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                  << std::endl;
        // Driver threads may still be winding down; there is nothing left to save.
        _exit(0);
    }
    passed.insert(passed.end(), {"--folder", folder.string()});
    std::vector<std::string> names;
    std::map<std::string, Verdict> known;
    for (const CorpusEntry& e : corpus->entries)
        if (parts.empty() || std::any_of(parts.begin(), parts.end(),
                                         [&](const std::string& p) { return e.name.find(p) != e.name.npos; })) {
            names.push_back(e.name);
            known[e.name].name = e.name;
            known[e.name].stage = e.stage;
        }
    if (list) {
        for (const auto& n : names)
            puts(n.c_str());
        return 0;
    }
    const auto verdicts = run_all(names, known, passed, jobs, seconds);
    if (json) {
        auto array = nlohmann::json::array();
        for (const auto& v : verdicts)
            array.push_back(to_json(v));
        std::cout << array.dump(1) << "\n";
    } else {
        print_table(verdicts);
    }
    if (!update.empty()) {
        std::ofstream out(update);
        for (const auto& v : verdicts)
            out << v.name << '\t' << status_name(v.status) << '\n';
    }
    if (!expected.empty())
        return compare_expected(verdicts, expected);
    return std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.passed(); }) ? 0 : 1;
}

} // namespace
} // namespace dmsh::test

int main(int argc, char** argv) {
    return dmsh::test::run(argc, argv);
}
