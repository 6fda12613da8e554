// Differential fuzzing: random programs on the interpreter and as IR. DMSH_FUZZ_SEED and DMSH_FUZZ_CASES (0: without end) choose more
// than the fixed run, DMSH_FUZZ_PROGRAM the seed of a single program as a report names it; every difference is told once per mnemonic, and what made it is left out of the program, so that others show.
#include "compiler/lift/lifter.h"
#include "compiler/sim/verify/verify.h"
#include "tests/differential/generator.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <map>

namespace dmsh::test {
namespace {

// Inputs that each program runs on, of kinds drawn for it; a case is a sequence or graph on one of them.
constexpr unsigned kInputs = 4;
constexpr uint64_t kNop = 0x50b0000000070f00;

uint64_t from_environment(const char* name, uint64_t fallback) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 0) : fallback;
}

ShaderInput input_of(const Generated& program) {
    ShaderInput in;
    in.code = program.code;
    in.constants = program.constants;
    in.abi = &guest_abi(GuestAbiId::nvn);
    in.local_size = {sim::kLanes, 1, 1};
    in.float_mode = FloatMode::exact;
    return in;
}

// The address in "sm53 instruction X at 0x1a8 (...) is not implemented", and the text without it.
std::optional<uint32_t> address_in(const std::string& message) {
    const size_t at = message.find(" at 0x");
    return at == std::string::npos ? std::nullopt : std::optional(static_cast<uint32_t>(std::strtoul(message.c_str() + at + 6, nullptr, 16)));
}
std::string reason_in(const std::string& message) {
    const size_t at = message.find(" at 0x"), end = message.find(") ");
    return at == std::string::npos || end == std::string::npos ? message : message.substr(0, at) + message.substr(end + 1);
}

struct Tally {
    size_t cases = 0, instructions = 0, differences = 0;
    std::map<std::string, size_t> lifter_refuses, interpreter_refuses;
    std::map<std::string, std::string> first; // by mnemonic

    void leave_out(Generated& program, uint32_t pc) const { std::memcpy(program.code.data() + pc, &kNop, 8); }

    // Takes out what the lifter refuses. False: the program as a whole is refused.
    bool strip(Generated& program) {
        for (unsigned k = 0; k < 400; ++k) {
            const auto shader = lift(input_of(program));
            if (shader)
                return true;
            const auto pc = address_in(shader.error().message);
            ++lifter_refuses[reason_in(shader.error().message)];
            if (!pc)
                return false;
            leave_out(program, *pc);
        }
        return false;
    }

    // Takes out what the interpreter refuses on these inputs.
    void strip_uninterpreted(Generated& program, const std::vector<sim::Job>& jobs) {
        for (const sim::Job& job : jobs)
            for (unsigned k = 0; k < 400; ++k) {
                sim::Job scratch = job;
                const auto ran = sim::run(scratch.launch(program.code));
                const auto pc = ran ? std::nullopt : address_in(ran.error().message);
                if (!pc)
                    break; // verify_jobs tells what else is wrong
                ++interpreter_refuses[reason_in(ran.error().message)];
                leave_out(program, *pc);
            }
    }

    void run(Generated& program, sim::Random& random, unsigned levels, uint64_t seed) {
        if (!strip(program))
            return;
        std::vector<sim::Job> jobs;
        for (unsigned k = 0; k < kInputs; ++k)
            jobs.push_back(generated_job(random, program, static_cast<sim::Draw>(random.below(sim::kDraws))));
        strip_uninterpreted(program, jobs);
        for (unsigned k = 0; k < 400; ++k) {
            const sim::Verdict v = sim::verify_jobs(input_of(program), jobs, levels);
            if (v.not_interpreted) {
                ++interpreter_refuses[reason_in(v.not_interpreted->message)];
                const auto pc = address_in(v.not_interpreted->message);
                if (!pc) {
                    ADD_FAILURE() << v.not_interpreted->text();
                    return;
                }
                leave_out(program, *pc);
                continue;
            }
            if (v.difference) {
                ++differences;
                const std::string name = v.difference->sass.substr(v.difference->sass.find('@') == 0 ? v.difference->sass.find(' ') + 1 : 0);
                const std::string text = "seed " + std::to_string(seed) + ", " + v.difference->text();
                if (first.emplace(name.substr(0, name.find(' ')), text).second)
                    ADD_FAILURE() << text;
                if (v.difference->sass.empty())
                    return;
                leave_out(program, v.difference->pc);
                continue;
            }
            if (levels == sim::kIrLevels && v.refused[levels - 1])
                ++lifter_refuses[v.refused[levels - 1]->message];
            break;
        }
        cases += kInputs * program.cases;
        for (const auto& list : program.instructions)
            instructions += list.size();
    }

    void print() const {
        std::printf("%zu cases, %zu random instructions, %zu differences\n", cases, instructions, differences);
        for (const auto& [text, n] : lifter_refuses)
            std::printf("  refused by the translation %zu times: %s\n", n, text.c_str());
        for (const auto& [text, n] : interpreter_refuses)
            std::printf("  refused by the interpreter %zu times: %s\n", n, text.c_str());
    }
};

// The program, for reading a report beside it.
void print_code(const Generated& program) {
    isa::ProgramWords words(isa::Arch::sm_53, program.code);
    uint64_t lo = 0, hi = 0;
    uint32_t pc = 0, control = 0;
    while (words.next(lo, hi, pc, control))
        if (const auto i = isa::decode(isa::Arch::sm_53, lo, hi, pc))
            std::printf("%04x  %016llx  %s\n", pc, static_cast<unsigned long long>(lo), isa::disassemble(*i).c_str());
}

template <class Make> void fuzz(Make make, size_t fixed_cases, size_t levels_every) {
    const uint64_t seed = from_environment("DMSH_FUZZ_SEED", 1), cases = from_environment("DMSH_FUZZ_CASES", fixed_cases);
    Tally tally;
    sim::Random seeds(seed);
    if (const uint64_t one = from_environment("DMSH_FUZZ_PROGRAM", 0)) {
        sim::Random random(one);
        Generated program = make(random);
        print_code(program);
        tally.run(program, random, sim::kIrLevels, one);
        tally.print();
        return;
    }
    for (size_t n = 0; cases == 0 || tally.cases < cases; ++n) {
        const uint64_t one = seeds.next();
        sim::Random random(one);
        Generated program = make(random);
        tally.run(program, random, n % levels_every == 0 ? sim::kIrLevels : 1, one);
        if (n > 10 * cases + 1000 && cases)
            break; // everything is refused
        if (cases == 0 && n % 1000 == 999)
            tally.print();
    }
    tally.print();
    EXPECT_GE(tally.cases, cases);
}

TEST(Differential, RandomSequences) {
    constexpr size_t kTogether = 25; // sequences in one kernel
    fuzz([](sim::Random& r) { return random_sequences(r, kTogether); }, 9000, 30);
}

TEST(Differential, RandomControlFlow) {
    fuzz([](sim::Random& r) { return random_flow(r); }, 1000, 10);
}

} // namespace
} // namespace dmsh::test
