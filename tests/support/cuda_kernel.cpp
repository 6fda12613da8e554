// Loads kernels of the cuda corpus and compares outputs as its compare.py documents.
#include "tests/support/cuda_kernel.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace dmsh {
namespace {

using Json = nlohmann::json;

std::vector<uint8_t> file(const std::string& path) {
    std::ifstream f(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(f), {}};
}

float f32(uint32_t w) { return std::bit_cast<float>(w); }
double f64(uint32_t lo, uint32_t hi) { return std::bit_cast<double>(lo | uint64_t{hi} << 32); }
double f16(uint32_t h) {
    const int exponent = static_cast<int>(h >> 10 & 31);
    const double m = h & 0x3ff;
    double v = exponent == 31  ? (m != 0 ? NAN : INFINITY)
               : exponent == 0 ? std::ldexp(m, -24)
                               : std::ldexp(1024 + m, exponent - 25);
    return h & 0x8000 ? -v : v;
}

bool starts(const std::string& s, const char* prefix) { return s.rfind(prefix, 0) == 0; }

bool number(double a, double b, const std::string& tolerance) {
    if (a != a || b != b)
        return a != a && b != b;
    if (a == b)
        return true;
    const double x = tolerance.size() > 4 ? std::atof(tolerance.c_str() + 4) : 0;
    if (starts(tolerance, "rel:"))
        return std::fabs(a - b) <= x * std::max(1.0, std::fabs(b));
    if (starts(tolerance, "abs:"))
        return std::fabs(a - b) <= x;
    return false;
}

bool half(uint32_t a, uint32_t b, const std::string& tolerance) {
    const bool nan_a = (a & 0x7fff) > 0x7c00, nan_b = (b & 0x7fff) > 0x7c00;
    if (nan_a || nan_b)
        return nan_a && nan_b;
    if (a == b)
        return true;
    if (starts(tolerance, "f16x2:")) {
        const auto order = [](uint32_t h) { return h < 0x8000 ? static_cast<int>(h) : 0x8000 - static_cast<int>(h); };
        return std::abs(order(a) - order(b)) <= std::atoi(tolerance.c_str() + 6);
    }
    return number(f16(a), f16(b), tolerance);
}

bool halves(uint32_t a, uint32_t b, const std::string& t) { return half(a & 0xffff, b & 0xffff, t) && half(a >> 16, b >> 16, t); }

uint64_t scalar_bits(const std::string& type, const std::string& value) {
    if (type == "f32")
        return std::bit_cast<uint32_t>(std::strtof(value.c_str(), nullptr));
    if (type == "f64")
        return std::bit_cast<uint64_t>(std::strtod(value.c_str(), nullptr));
    return value.starts_with("-") ? static_cast<uint64_t>(std::strtoll(value.c_str(), nullptr, 0))
                                  : std::strtoull(value.c_str(), nullptr, 0);
}

void put(std::vector<uint8_t>& bank, uint32_t offset, uint64_t value, uint32_t size) {
    if (bank.size() < offset + size)
        bank.resize(offset + size);
    std::memcpy(bank.data() + offset, &value, size);
}

} // namespace

std::string shared_corpus() {
    const char* env = std::getenv("DMSH_SHARED");
    const std::string path = (env ? std::string(env) : std::string(DMSH_SOURCE_DIR "/../shared")) + "/corpus";
    return std::filesystem::is_directory(path) ? path : std::string();
}

std::vector<std::string> cuda_kernels(const std::string& variant) {
    std::vector<std::string> names;
    const std::string root = shared_corpus();
    if (root.empty() || !std::filesystem::is_directory(root + "/cuda"))
        return names;
    for (const auto& e : std::filesystem::directory_iterator(root + "/cuda")) {
        const std::string n = e.path().filename().string(), tail = "." + variant + ".bin";
        if (n.size() > tail.size() && n.compare(n.size() - tail.size(), tail.size(), tail) == 0)
            names.push_back(n.substr(0, n.size() - tail.size()));
    }
    std::sort(names.begin(), names.end());
    return names;
}

Result<CudaKernel> CudaKernel::load(const std::string& name, const std::string& variant) {
    return load(shared_corpus() + "/cuda/", name, variant);
}

Result<CudaKernel> CudaKernel::load(const std::string& folder, const std::string& name, const std::string& variant) {
    const std::string stem = folder + name;
    std::ifstream text(stem + ".json");
    const Json all = Json::parse(text, nullptr, false);
    if (all.is_discarded())
        return Error{"cannot be parsed", stem + ".json"};
    const auto entry = std::find_if(all.begin(), all.end(), [&](const Json& j) { return j["variant"] == variant; });
    if (entry == all.end())
        return Error{"has no variant " + variant, stem + ".json"};
    const Json& j = *entry;

    CudaKernel k;
    k.name = name;
    k.variant = variant;
    k.code = file(stem + "." + variant + ".bin");
    k.block = j["block"].get<std::array<uint32_t, 3>>();
    k.grid = j["grid"].get<std::array<uint32_t, 3>>();
    k.shared_bytes = j.value("shared_bytes_static", 0u) + j.value("shared_bytes_dynamic", 0u);
    // Called functions keep their frames below the kernel's own; the corpus counts only that one.
    k.local_bytes = j.value("local_bytes", 0u) + 1024;
    k.golden = j.value("golden", false) && std::filesystem::exists(stem + ".out.bin");
    for (const auto& [bank, what] : j["const_banks"].items())
        k.banks[static_cast<size_t>(std::stoi(bank)) & 31] = file(folder + what["file"].get<std::string>());

    // Launch sizes (README "ABI"): sm_53 and sm_86 keep them at different places.
    std::vector<uint8_t>& c0 = k.banks[0];
    c0.resize(j.value("c0_bytes", 0u));
    const bool maxwell = variant == "53";
    const uint32_t block_at = maxwell ? 0x8 : 0x0, grid_at = maxwell ? 0x14 : 0xc;
    for (uint32_t d = 0; d < 3; ++d) {
        put(c0, block_at + 4 * d, k.block[d], 4);
        put(c0, grid_at + 4 * d, k.grid[d], 4);
    }
    if (maxwell) {
        put(c0, 0x0, 0x01000000, 4); // shared window
        put(c0, 0x4, 0x02000000, 4); // local window
        put(c0, 0x20, k.local_bytes, 4);
    } else {
        put(c0, 0x18, 0x01000000, 8);
        put(c0, 0x20, 0x02000000, 8);
        put(c0, 0x28, k.local_bytes, 4);
    }

    const std::vector<uint8_t> in = file(stem + ".in.bin"), out = file(stem + ".out.bin");
    uint64_t address = 0x7000000000;
    const auto next_address = [&](size_t bytes) {
        const uint64_t a = address;
        address += (bytes + 0xffff) / 0x10000 * 0x10000 + 0x10000;
        return a;
    };
    bool first_out = true;
    for (const Json& p : j["params"]) {
        const std::string kind = p["kind"];
        if (kind == "tex" || kind == "surf") {
            k.uses_textures = true;
            continue;
        }
        const uint32_t at = p["c0_offset"];
        if (kind == "scalar") {
            put(c0, at, scalar_bits(p["type"], p["value"]), p.value("size", 4u));
            continue;
        }
        Buffer b;
        b.name = p["name"];
        b.kind = kind;
        b.type = p.value("type", "");
        b.tolerance = p.value("tol", "");
        b.c0_offset = at;
        const size_t bytes = p["bytes"], offset = p.value("in_offset", size_t{0});
        if (offset + bytes > in.size())
            return Error{"is shorter than its description", stem + ".in.bin"};
        b.bytes.assign(in.begin() + static_cast<ptrdiff_t>(offset), in.begin() + static_cast<ptrdiff_t>(offset + bytes));
        if (p.contains("out_offset")) {
            const size_t o = p["out_offset"];
            if (k.golden && o + bytes <= out.size())
                b.golden.assign(out.begin() + static_cast<ptrdiff_t>(o), out.begin() + static_cast<ptrdiff_t>(o + bytes));
            b.check_words = p.value("check_words", ~0u);
            if (first_out && j.contains("slots") && j["slots"].is_array())
                for (const Json& s : j["slots"])
                    b.slots += s.get<std::string>()[0];
            else if (first_out && j.contains("slots") && j["slots"].is_string())
                b.slots = j["slots"];
            first_out = false;
        }
        b.address = next_address(bytes);
        put(c0, at, b.address, 8);
        k.buffers.push_back(std::move(b));
    }

    // Initialised global data that the code reaches by relocation: one more buffer; its address goes into the code.
    if (j.contains("globals") && j["globals"].is_array() && !j["globals"].empty()) {
        Buffer b;
        b.name = b.kind = "global";
        b.bytes = file(folder + j["globals"][0]["file"].get<std::string>());
        b.address = next_address(b.bytes.size());
        for (const Json& r : j["relocations"]) {
            const size_t at = r["offset"];
            const uint64_t target = b.address + r["sym_value"].get<uint64_t>() + r["addend"].get<uint64_t>();
            const int type = r["type"];
            const bool upper = type == 44 || type == 57;
            const uint64_t word = upper ? target >> 32 : target & 0xffffffff;
            if (at + 8 > k.code.size())
                return Error{"has a relocation outside its code", stem};
            uint64_t v;
            std::memcpy(&v, k.code.data() + at, 8);
            const unsigned shift = maxwell ? 20 : 32; // the 32-bit immediate
            v = (v & ~(uint64_t{0xffffffff} << shift)) | word << shift;
            std::memcpy(k.code.data() + at, &v, 8);
        }
        k.buffers.push_back(std::move(b));
    }
    return k;
}

std::string CudaKernel::difference() const {
    uint32_t threads = 1;
    for (unsigned d = 0; d < 3; ++d)
        threads *= block[d] * grid[d];
    for (const Buffer& b : buffers) {
        if (b.golden.empty())
            continue;
        const size_t n = std::min<size_t>(b.golden.size() / 4, b.check_words);
        std::vector<uint32_t> got(b.bytes.size() / 4), want(b.golden.size() / 4);
        std::memcpy(got.data(), b.bytes.data(), got.size() * 4);
        std::memcpy(want.data(), b.golden.data(), want.size() * 4);
        const std::string& t = b.tolerance;
        for (size_t w = 0; w < n; ++w) {
            const size_t slot = w / threads;
            char s = b.type == "f32" ? 'f' : b.type == "f64" ? 'D' : 'w';
            if (slot < b.slots.size())
                s = b.slots[slot];
            const size_t at = w;
            const uint32_t x = got[w], y = want[w];
            bool ok = true;
            switch (s) {
            case 'D':
                ok = w + 1 < n ? number(f64(got[w], got[w + 1]), f64(want[w], want[w + 1]), t) : x == y;
                ++w;
                break;
            case 'd': {
                // A double takes two slots: the low words, then the high words.
                const size_t before = static_cast<size_t>(std::count(b.slots.begin(), b.slots.begin() + static_cast<ptrdiff_t>(slot), 'd'));
                if (before % 2 == 0 && w + threads < got.size())
                    ok = number(f64(x, got[w + threads]), f64(y, want[w + threads]), t);
                break;
            }
            case 'f': ok = number(f32(x), f32(y), t); break;
            case 'x': ok = halves(x, y, t); break;
            case 'y': ok = number(f32(x << 16), f32(y << 16), t) && number(f32(x & 0xffff0000), f32(y & 0xffff0000), t); break;
            case 'b': ok = number(f32(x << 16), f32(y << 16), t); break;
            case 'h': ok = half(x, y, starts(t, "f16x2") ? t : ""); break;
            default:
                if (starts(t, "int:"))
                    ok = std::min(x - y, y - x) <= static_cast<uint32_t>(std::atoi(t.c_str() + 4));
                else if (starts(t, "f16x2"))
                    ok = halves(x, y, t);
                else
                    ok = x == y;
            }
            if (!ok) {
                char line[160];
                std::snprintf(line, sizeof line, "%s word %zu (slot %zu): got 0x%08x want 0x%08x", b.name.c_str(), at, slot, x, y);
                return line;
            }
        }
    }
    return {};
}

} // namespace dmsh
