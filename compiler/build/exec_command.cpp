// Loads, runs and reports for dmshc exec.
#include "compiler/build/exec_command.h"
#include "compiler/build/exit_codes.h"
#include "compiler/build/files.h"
#include "compiler/emit/air/metallib_reader.h"
#include "compiler/sim/verify/air_job.h"
#include <cstdio>

namespace dmsh {

int run_exec(const ExecCommandOptions& o) {
    const auto fail = [](int code, const std::string& text) {
        std::fprintf(stderr, "dmshc exec: %s\n", text.c_str());
        return code;
    };
    const auto bytes = read_file(o.file);
    if (!bytes)
        return fail(kExitInput, bytes.error().text());
    const auto library = read_metallib(*bytes);
    if (!library)
        return fail(kExitInput, o.file + ": " + library.error().text());
    const MetallibFunction* function = nullptr;
    for (const auto& f : library->functions)
        if (f.name == o.function)
            function = &f;
    if (!function)
        return fail(kExitInput, o.file + " has no function " + o.function);
    const auto text = read_file(o.job);
    if (!text)
        return fail(kExitInput, text.error().text());
    const size_t slash = o.job.rfind('/');
    auto job = sim::read_air_job({reinterpret_cast<const char*>(text->data()), text->size()}, slash == o.job.npos ? "." : o.job.substr(0, slash));
    if (!job)
        return fail(kExitInput, o.job + ": " + job.error().text());
    auto machine = sim::AirMachine::load(function->bitcode, function->name, (*job)->constants);
    if (!machine)
        return fail(kExitLosses, machine.error().text());
    if (auto r = machine->run((*job)->launch); !r)
        return fail(kExitLosses, r.error().text());
    bool written = false;
    const auto write = [&](const std::string& path, const std::vector<uint8_t>& content) -> Result<void> {
        if (path.empty())
            return {};
        written = true;
        return write_file(path, content);
    };
    for (const auto& [slot, b] : (*job)->buffers)
        if (auto w = write(b.out, b.bytes); !w)
            return fail(kExitOutput, w.error().text());
    for (const auto& [name, b] : (*job)->memory)
        if (auto w = write(b.out, b.bytes); !w)
            return fail(kExitOutput, w.error().text());
    for (const auto& [slot, path] : (*job)->texture_outputs)
        if (auto w = write(path, (*job)->textures[slot].levels[0]); !w)
            return fail(kExitOutput, w.error().text());
    if (o.json || !written)
        std::printf("%s\n", sim::air_results(**job, *machine).c_str());
    return machine->faults.empty() ? kExitDone : fail(kExitLosses, machine->faults);
}

} // namespace dmsh
