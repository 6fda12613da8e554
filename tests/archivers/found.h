// What tests of readers ask of a scan: the shaders that were put in, no more, no error.
#pragma once
#include "archivers/scan/scan.h"
#include "tests/writers/writers.h"
#include <gtest/gtest.h>

namespace dmsh {

inline ScanResult scan_bytes(const writers::Data& d, const std::string& name = "file") {
    return scan_blob(name, Blob::view(d));
}

inline uint64_t key_of_pair(const writers::Pair& p) {
    return program_key(p.control, p.code);
}

inline std::string errors_of(const ScanResult& r) {
    std::string s;
    for (const Error& e : r.errors)
        s += e.text() + "\n";
    return s;
}

// Exactly these pairs, with their bytes and stages, no error. Answers the result for further questions.
inline ScanResult expect_pairs(const writers::Data& file, const std::vector<writers::Pair>& pairs,
                               const std::string& what) {
    ScanResult r = scan_bytes(file);
    EXPECT_EQ(r.records.size(), pairs.size()) << what << ": " << errors_of(r);
    for (const writers::Pair& p : pairs) {
        const ShaderRecord* record = r.find(key_of_pair(p));
        EXPECT_NE(record, nullptr) << what << " " << stage_name(p.stage);
        if (!record)
            continue;
        EXPECT_EQ(record->stage, p.stage) << what;
        EXPECT_EQ(std::vector(record->control.bytes.span().begin(), record->control.bytes.span().end()),
                  p.control)
            << what;
        EXPECT_EQ(std::vector(record->code.bytes.span().begin(), record->code.bytes.span().end()), p.code)
            << what;
    }
    EXPECT_TRUE(r.errors.empty()) << what << ": " << errors_of(r);
    return r;
}

// Nothing was found and one line says why; `text` is part of it.
inline void expect_refused(const writers::Data& file, const std::string& text) {
    const ScanResult r = scan_bytes(file);
    EXPECT_TRUE(r.records.empty()) << text;
    EXPECT_EQ(r.errors.size(), 1u) << text << ": " << errors_of(r);
    EXPECT_NE(errors_of(r).find(text), std::string::npos) << text << " is not in " << errors_of(r);
}

inline void set_word(writers::Data& d, uint64_t at, uint32_t v) {
    std::memcpy(d.data() + at, &v, 4);
}

} // namespace dmsh
