// Implements the runtime's reports.
#include "runtime/nvn/report.h"
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace dmsh::nvn {
namespace {

constexpr const char* kTexts[] = {
#define X(e, s) s,
    DMRT_REPORTS(X)
#undef X
};

std::array<std::atomic<uint64_t>, static_cast<size_t>(Report::count)> g_counts;
std::mutex g_lock;
ReportSink g_sink = nullptr;
void* g_user = nullptr;

} // namespace

void report(Report kind, const char* format, ...) {
    const uint64_t n = g_counts[static_cast<size_t>(kind)].fetch_add(1, std::memory_order_relaxed) + 1;
    // Kinds whose lines name different things that are each reported once by their callers.
    const bool each = kind == Report::stub_called || kind == Report::missing_shader;
    if (!each && (n & (n - 1)))
        return;
    char text[400], line[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    std::snprintf(line, sizeof line, n == 1 || each ? "dmrt: %s: %s" : "dmrt: %s: %s (%llu times)",
                  kTexts[static_cast<size_t>(kind)], text, static_cast<unsigned long long>(n));
    const std::lock_guard hold(g_lock);
    if (g_sink)
        g_sink(kind, line, g_user);
    else
        std::fprintf(stderr, "%s\n", line);
}

uint64_t report_count(Report kind) {
    return g_counts[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
}

void reset_reports() {
    for (auto& c : g_counts)
        c.store(0, std::memory_order_relaxed);
}

void set_report_sink(ReportSink sink, void* user) {
    const std::lock_guard hold(g_lock);
    g_sink = sink;
    g_user = user;
}

} // namespace dmsh::nvn
