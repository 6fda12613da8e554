// Reports of the runtime: one line per kind (and, for some kinds, per name), counted, never an abort.
#pragma once
#include <cstdint>

namespace dmsh::nvn {

// One row per kind: enumerator, then the line's first words. A kind's first report is printed, later ones at
// powers of two; a guest that is wrong every frame fills no disk.
#define DMRT_REPORTS(X)                                                                                      \
    X(unknown_name, "entry point is unknown")                                                                \
    X(stub_called, "entry point is not implemented")                                                         \
    X(bad_object, "object is null or was never initialised")                                                 \
    X(bad_argument, "argument is out of range")                                                              \
    X(bad_address, "address lies in no memory pool")                                                         \
    X(bad_handle, "texture or sampler id names no registered slot")                                          \
    X(id_past_pool, "texture or sampler id lies past the end of its pool")                                   \
    X(bad_command, "command record is damaged or unknown")                                                   \
    X(bad_control, "control entry is damaged or unreadable")                                                 \
    X(bad_program, "program has no usable shader")                                                           \
    X(missing_shader, "shader is not in the library pack")                                                   \
    X(pipeline_miss, "pipeline was not compiled before its first use")                                       \
    X(damaged_pack, "library pack entry is refused")                                                         \
    X(out_of_command_memory, "command memory ran out and nothing more is lent")                              \
    X(lent_memory, "command memory was lent by the host")                                                    \
    X(unsupported, "state or format is not supported by this backend")                                       \
    X(backend, "backend call failed")                                                                        \
    X(not_recorded, "command outside of a recording")                                                        \
    X(stalled, "wait did not end")                                                                           \
    X(sparse_runs, "virtual pool has many runs")                                                             \
    X(unmapped_page, "address lies on an unmapped page of a virtual pool")

enum class Report : uint8_t {
#define X(e, s) e,
    DMRT_REPORTS(X)
#undef X
        count
};

// printf-like. Thread-safe, never throws, never aborts.
[[gnu::format(printf, 2, 3)]] void report(Report kind, const char* format, ...);
// How often a kind was reported since start or reset_reports().
uint64_t report_count(Report kind);
void reset_reports();
// Where lines go; nullptr = stderr. The line has no newline.
using ReportSink = void (*)(Report kind, const char* line, void* user);
void set_report_sink(ReportSink sink, void* user);

} // namespace dmsh::nvn
