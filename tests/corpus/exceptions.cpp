// Reads exceptions.tsv: what cannot be shown here, each line with its reason and its other proof.
#include "tests/corpus/verdict.h"
#include <fstream>
#include <map>
#include <sstream>

namespace dmsh::test {
namespace {

struct Exception {
    std::string subject, check, reason, proof;
};

const std::vector<Exception>& exceptions() {
    static const std::vector<Exception> all = [] {
        std::vector<Exception> list;
        std::ifstream in(DMSH_SOURCE_DIR "/tests/corpus/exceptions.tsv");
        for (std::string line; std::getline(in, line);) {
            if (line.empty() || line[0] == '#')
                continue;
            Exception e;
            std::istringstream fields(line);
            std::getline(fields, e.subject, '\t');
            std::getline(fields, e.check, '\t');
            std::getline(fields, e.reason, '\t');
            std::getline(fields, e.proof, '\t');
            list.push_back(std::move(e));
        }
        return list;
    }();
    return all;
}

} // namespace

bool Verdict::passed() const {
    for (const Mark m : marks)
        if (m == Mark::failed)
            return false;
    return true;
}

void apply_exceptions(Verdict& v, Arch arch, std::span<const uint32_t> capabilities) {
    const auto applies = [&](const std::string& subject) {
        if (subject == v.name || subject == "arch:" + std::string(arch_name(arch)) ||
            subject == "stage:" + std::string(stage_name(v.stage)))
            return true;
        for (const uint32_t c : capabilities)
            if (subject == "capability:" + std::to_string(c))
                return true;
        return false;
    };
    for (unsigned c = 0; c < kChecks; ++c) {
        if (v.marks[c] != Mark::failed)
            continue;
        for (const Exception& e : exceptions()) {
            if (e.check != kCheckNames[c] || !applies(e.subject))
                continue;
            v.marks[c] = Mark::excepted;
            v.exception += (v.exception.empty() ? "" : "; ") + e.check + ": " + e.reason + " [" + e.proof + "]";
            break;
        }
    }
}

} // namespace dmsh::test
