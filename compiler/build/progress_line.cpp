// Words and rewrites the line.
#include "compiler/build/progress_line.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace dmsh {
namespace {

std::string grouped(uint64_t n) {
    std::string s = std::to_string(n);
    for (size_t at = s.size(); at > 3;)
        s.insert(at -= 3, ",");
    return s;
}

std::string bytes_text(double n) {
    return n >= 1e9 ? fmt::format("{:.1f} GB", n / 1e9) : n >= 1e6 ? fmt::format("{:.1f} MB", n / 1e6) : fmt::format("{:.0f} KB", n / 1e3);
}

} // namespace

std::string progress_text(const ScanProgress& p, double seconds) {
    std::string s = fmt::format("{} of {}, {} members, {} shaders", bytes_text(static_cast<double>(p.done_bytes)),
                                bytes_text(static_cast<double>(p.all_bytes)), grouped(p.members), grouped(p.shaders));
    const double rate = seconds > 0 ? static_cast<double>(p.done_bytes) / seconds : 0;
    if (rate > 0) {
        s += fmt::format(", {}/s", bytes_text(rate));
        if (p.done_bytes < p.all_bytes)
            s += fmt::format(", {:.0f} s left", static_cast<double>(p.all_bytes - p.done_bytes) / rate);
    }
    return s;
}

ProgressLine::ProgressLine(bool wanted) : live_(wanted && isatty(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() {
    if (width_)
        std::fprintf(stderr, "\r%*s\r", static_cast<int>(width_), "");
}

std::function<void(const ScanProgress&)> ProgressLine::callback() {
    if (!live_)
        return nullptr;
    return [this](const ScanProgress& p) {
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
        const std::string text = progress_text(p, seconds);
        std::fprintf(stderr, "\r%-*s", static_cast<int>(width_), text.c_str());
        width_ = std::max(width_, text.size());
    };
}

} // namespace dmsh
