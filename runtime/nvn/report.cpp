// Implements the runtime's reports.
#include "runtime/nvn/report.h"
#include <algorithm>
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
// Texts of `unsupported` that were printed: different states have a line each.
constexpr size_t kMostTexts = 512;
std::array<uint64_t, kMostTexts> g_texts;
size_t g_text_count = 0;

// True once per text; false for all when the table is full. Needs g_lock.
bool first_time(const char* text) {
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const char* c = text; *c; ++c)
        hash = (hash ^ static_cast<uint8_t>(*c)) * 0x100000001b3u;
    const auto end = g_texts.begin() + static_cast<std::ptrdiff_t>(g_text_count);
    if (g_text_count == kMostTexts || std::find(g_texts.begin(), end, hash) != end)
        return false;
    g_texts[g_text_count++] = hash;
    return true;
}

ReportSink g_sink = nullptr;
void* g_user = nullptr;

} // namespace

void report(Report kind, const char* format, ...) {
    const uint64_t n = g_counts[static_cast<size_t>(kind)].fetch_add(1, std::memory_order_relaxed) + 1;
    // Kinds whose lines name different things that are each reported once by their callers.
    const bool each = kind == Report::stub_called || kind == Report::missing_shader ||
                      kind == Report::pipeline_miss;
    const bool by_text = kind == Report::unsupported;
    if (!each && !by_text && (n & (n - 1)))
        return;
    char text[400], line[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    std::snprintf(line, sizeof line, n == 1 || each || by_text ? "dmrt: %s: %s" : "dmrt: %s: %s (%llu times)",
                  kTexts[static_cast<size_t>(kind)], text, static_cast<unsigned long long>(n));
    const std::lock_guard hold(g_lock);
    if (by_text && !first_time(text) && (n & (n - 1)))
        return;
    if (g_sink)
        g_sink(kind, line, g_user);
    else
        std::fprintf(stderr, "%s\n", line);
}

uint64_t report_count(Report kind) {
    return g_counts[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
}

void reset_reports() {
    const std::lock_guard hold(g_lock);
    g_text_count = 0;
    for (auto& c : g_counts)
        c.store(0, std::memory_order_relaxed);
}

void set_report_sink(ReportSink sink, void* user) {
    const std::lock_guard hold(g_lock);
    g_sink = sink;
    g_user = user;
}

} // namespace dmsh::nvn
