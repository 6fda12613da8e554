// Reads the encoding tables of the corpora.
#include "tests/isa/corpus.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <zstd.h>

namespace dmsh::isa {

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<Sample> read_samples(const std::filesystem::path& path) {
    std::vector<uint8_t> bytes = read_file(path);
    if (path.extension() == ".zst" && !bytes.empty()) {
        std::vector<uint8_t> plain;
        std::vector<uint8_t> chunk(ZSTD_DStreamOutSize());
        ZSTD_DStream* stream = ZSTD_createDStream();
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        while (in.pos < in.size) {
            ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
            if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in)))
                break;
            plain.insert(plain.end(), chunk.data(), chunk.data() + out.pos);
        }
        ZSTD_freeDStream(stream);
        bytes = std::move(plain);
    }
    std::vector<Sample> samples;
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (!rest.empty()) {
        std::string line(rest.substr(0, rest.find('\n')));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        size_t tab = line.find('\t');
        if (tab == line.npos || !line.starts_with("0x"))
            continue;
        Sample sample;
        char* end = nullptr;
        sample.lo = std::strtoull(line.c_str(), &end, 16);
        if (*end == ' ')
            sample.hi = std::strtoull(end, nullptr, 16);
        size_t next = line.find('\t', tab + 1);
        sample.text = line.substr(tab + 1, next == line.npos ? next : next - tab - 1);
        while (sample.text.ends_with(' ') || sample.text.ends_with(';'))
            sample.text.pop_back();
        if (size_t at = line.find("\tpc="); at != line.npos)
            sample.pc = uint32_t(std::strtoul(line.c_str() + at + 4, nullptr, 16));
        samples.push_back(std::move(sample));
    }
    return samples;
}

} // namespace dmsh::isa
