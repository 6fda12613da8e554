// ProgressLine: one line on a terminal that tells how far a scan is.
#pragma once
#include "archivers/scan/scan.h"
#include <chrono>

namespace dmsh {

// "1.2 of 20.0 GB, 3,400 members, 812 shaders, 2.9 GB/s, 6 s left". `seconds`: since the beginning.
std::string progress_text(const ScanProgress& progress, double seconds);

// Writes to standard error, over itself; wipes itself when it goes. Nothing where standard error is no terminal.
class ProgressLine {
  public:
    explicit ProgressLine(bool wanted);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    // For ScanOptions::progress; empty if nobody would see it. The line must outlive the scan.
    std::function<void(const ScanProgress&)> callback();

  private:
    bool live_;
    size_t width_ = 0;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace dmsh
