// The cuda corpus as oracle: lifted kernels run on the CPU and must give the golden buffers, inside each file's own tolerances.
#include "compiler/lift/lifter.h"
#include "compiler/sim/operands.h"
#include "tests/support/ir_machine.h"
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

namespace dmsh::test {
namespace {

using Json = nlohmann::json;

std::filesystem::path corpus() {
    const char* shared = std::getenv("DMSH_SHARED");
    return std::filesystem::path(shared ? shared : DMSH_SOURCE_DIR "/../shared") / "corpus/cuda";
}

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

template <class T> T get(const std::vector<uint8_t>& bytes, size_t offset) {
    T v = 0;
    if (offset + sizeof v <= bytes.size())
        memcpy(&v, bytes.data() + offset, sizeof v);
    return v;
}
template <class T> void put(std::vector<uint8_t>& bytes, size_t offset, T v) {
    if (bytes.size() < offset + sizeof v)
        bytes.resize(offset + sizeof v);
    memcpy(bytes.data() + offset, &v, sizeof v);
}

// ---- comparison, as compare.py of the corpus states it -------------------------------------------------------------------

struct Tolerance {
    std::string kind;
    double value = 0;
};

Tolerance parse_tolerance(const std::string& text) {
    const size_t colon = text.find(':');
    return colon == text.npos ? Tolerance{} : Tolerance{text.substr(0, colon), std::stod(text.substr(colon + 1))};
}

bool same_number(double a, double b, const Tolerance& t) {
    if (std::isnan(a) || std::isnan(b))
        return std::isnan(a) && std::isnan(b);
    if (a == b)
        return true;
    if (t.kind == "rel")
        return std::fabs(a - b) <= t.value * std::max(1.0, std::fabs(b));
    if (t.kind == "abs")
        return std::fabs(a - b) <= t.value;
    return false;
}

float f32(uint32_t w) { float f; memcpy(&f, &w, 4); return f; }
double f64(uint32_t low, uint32_t high) { const uint64_t w = low | uint64_t{high} << 32; double d; memcpy(&d, &w, 8); return d; }
double f16(uint32_t w) { return static_cast<double>(sim::half_to_float(static_cast<uint16_t>(w))); }

bool same_half(uint32_t a, uint32_t b, const Tolerance& t) {
    a &= 0xffff, b &= 0xffff;
    const bool na = (a & 0x7fff) > 0x7c00, nb = (b & 0x7fff) > 0x7c00;
    if (na || nb)
        return na && nb;
    if (a == b)
        return true;
    if (t.kind == "f16x2") {
        auto order = [](uint32_t h) { return h < 0x8000 ? static_cast<int>(h) : 0x8000 - static_cast<int>(h); };
        return std::abs(order(a) - order(b)) <= t.value;
    }
    return same_number(f16(a), f16(b), t);
}

// Kernels that store the bits of NaNs: payloads differ between machines (numerics.md).
const std::set<std::string> kNanBits = {"px_f16"};

// The number of differing words, and the first of them as text.
size_t compare(const Json& meta, const std::vector<uint8_t>& got, const std::vector<uint8_t>& golden, std::string& first) {
    size_t threads = 1, bad = 0;
    for (const char* key : {"grid", "block"})
        for (const Json& v : meta[key])
            threads *= v.get<size_t>();
    bool first_buffer = true;
    for (const Json& p : meta["params"]) {
        if (!p.contains("out_offset"))
            continue;
        const size_t n = std::min<size_t>(p["bytes"].get<size_t>() / 4, p.value("check_words", size_t{1} << 30));
        const size_t base = p["out_offset"].get<size_t>();
        const Tolerance t = parse_tolerance(p.value("tol", std::string()));
        const std::string slots = first_buffer && p["kind"] != "surf" ? meta.value("slots", std::string()) : std::string();
        first_buffer = false;
        auto a = [&](size_t k) { return get<uint32_t>(got, base + 4 * k); };
        auto b = [&](size_t k) { return get<uint32_t>(golden, base + 4 * k); };
        for (size_t k = 0; k < n; ++k) {
            const std::string type = p.value("type", std::string());
            char s = type == "f32" ? 'f' : type == "f64" ? 'D' : 'w';
            if (k / threads < slots.size())
                s = slots[k / threads];
            const size_t at = k;
            bool ok = true;
            if (s == 'D') {
                ok = same_number(f64(a(k), a(k + 1)), f64(b(k), b(k + 1)), t);
                ++k;
            } else if (s == 'd') {
                const auto before = std::count(slots.begin(), slots.begin() + static_cast<long>(k / threads), 'd');
                if (before % 2 == 0)
                    ok = same_number(f64(a(k), a(k + threads)), f64(b(k), b(k + threads)), t);
            } else if (s == 'f') {
                ok = same_number(f32(a(k)), f32(b(k)), t);
            } else if (s == 'x') {
                ok = same_half(a(k), b(k), t) && same_half(a(k) >> 16, b(k) >> 16, t);
            } else if (s == 'y' || s == 'b') {
                ok = same_number(f32(a(k) << 16), f32(b(k) << 16), t);
                if (s == 'y')
                    ok = ok && same_number(f32(a(k) & 0xffff0000), f32(b(k) & 0xffff0000), t);
            } else if (s == 'h') {
                ok = a(k) == b(k) || same_half(a(k), b(k), t.kind == "f16x2" ? t : Tolerance{});
            } else if (t.kind == "int") {
                ok = std::min(a(k) - b(k), b(k) - a(k)) <= t.value;
            } else if (t.kind == "f16x2") {
                ok = same_half(a(k), b(k), t) && same_half(a(k) >> 16, b(k) >> 16, t);
            } else {
                ok = a(k) == b(k);
            }
            if (!ok && kNanBits.count(meta["name"]))
                ok = (same_half(a(k), b(k), {}) && same_half(a(k) >> 16, b(k) >> 16, {})) || (std::isnan(f32(a(k))) && std::isnan(f32(b(k))));
            if (!ok && bad++ < 4) {
                char text[160];
                snprintf(text, sizeof text, " %s[%zu] slot %zu thread %zu: got %08x want %08x;", p["name"].get<std::string>().c_str(), at,
                         at / threads, at % threads, a(at), b(at));
                first += text;
            }
        }
    }
    return bad;
}

// ---- one kernel ------------------------------------------------------------------------------------------------------------

constexpr uint32_t kStackBytes = 16 * 1024;

// "" when the kernel gives the golden buffers, else what went wrong.
std::string run_kernel(const std::filesystem::path& json_path, const std::string& variant) {
    const bool sm86 = variant != "53";
    const Json all = Json::parse(read_file(json_path));
    const Json* meta = nullptr;
    for (const Json& v : all)
        if (v["variant"] == variant)
            meta = &v;
    if (!meta || !(*meta)["golden"].get<bool>())
        return "skip";
    const auto folder = json_path.parent_path();
    const std::string name = (*meta)["name"];
    std::vector<uint8_t> code = read_file(folder / (name + "." + variant + ".bin"));
    const std::vector<uint8_t> in = read_file(folder / (name + ".in.bin")), golden = read_file(folder / (name + ".out.bin"));

    IrMachine m;
    auto& c0 = m.banks[0];
    c0.resize((*meta)["c0_bytes"].get<size_t>());
    // Windows of generic addresses.
    put<uint32_t>(c0, sm86 ? 0x18 : 0, 0x01000000u);
    put<uint32_t>(c0, sm86 ? 0x20 : 4, 0x02000000u);
    for (unsigned i = 0; i < 3; ++i) {
        m.block[i] = (*meta)["block"][i];
        m.grid[i] = (*meta)["grid"][i];
        put<uint32_t>(c0, (sm86 ? 0 : 8) + 4 * i, m.block[i]);
        put<uint32_t>(c0, (sm86 ? 0xc : 0x14) + 4 * i, m.grid[i]);
    }
    put<uint32_t>(c0, sm86 ? 0x28 : 0x20, kStackBytes);
    m.local_bytes = kStackBytes;
    m.shared_bytes = (*meta)["shared_bytes_static"].get<uint32_t>() + (*meta)["shared_bytes_dynamic"].get<uint32_t>();
    auto allocate = [&](size_t bytes) {
        const size_t at = (m.global.size() + 255) / 256 * 256;
        m.global.resize(at + bytes + 256);
        return at;
    };
    std::vector<std::pair<size_t, const Json*>> outputs;
    for (const Json& p : (*meta)["params"]) {
        const std::string kind = p["kind"];
        const size_t c0_offset = p["c0_offset"];
        if (kind == "scalar") {
            const std::string type = p["type"], value = p["value"];
            if (type == "f32")
                put<float>(c0, c0_offset, std::stof(value));
            else if (type == "f64")
                put<double>(c0, c0_offset, std::stod(value));
            else if (p["size"] == 8)
                put<uint64_t>(c0, c0_offset, std::stoull(value, nullptr, 0));
            else
                put<uint32_t>(c0, c0_offset, static_cast<uint32_t>(std::stoll(value, nullptr, 0)));
            continue;
        }
        if (kind == "tex" || kind == "surf")
            return "skip"; // needs a texture unit
        const size_t bytes = p["bytes"], at = allocate(bytes), from = p["in_offset"];
        if (from + bytes <= in.size())
            memcpy(m.global.data() + at, in.data() + from, bytes);
        put<uint64_t>(c0, c0_offset, IrMachine::kGlobalBase + at);
        if (p.contains("out_offset"))
            outputs.push_back({at, &p});
    }
    if (meta->contains("globals")) {
        const std::vector<uint8_t> init = read_file(folder / (*meta)["globals"][0]["file"].get<std::string>());
        const size_t at = allocate(init.size());
        memcpy(m.global.data() + at, init.data(), init.size());
        for (const Json& r : (*meta)["relocations"]) {
            if (r["section"] == ".nv.constant4") { // a bank of 64-bit addresses
                put<uint64_t>(m.banks[4], r["offset"], IrMachine::kGlobalBase + at + r["sym_value"].get<uint64_t>() + r["addend"].get<uint64_t>());
                continue;
            }
            // Types 43 and 44, 56 and 57: low and high half of the address in a 32-bit immediate at bit 20, on sm_86 at bit 32.
            const unsigned shift = sm86 ? 32 : 20;
            const uint64_t address = IrMachine::kGlobalBase + at + r["sym_value"].get<uint64_t>() + r["addend"].get<uint64_t>();
            const uint64_t half = r["type"] == 44 || r["type"] == 57 ? address >> 32 : address & 0xffffffff;
            const size_t offset = r["offset"];
            uint64_t word = get<uint64_t>(code, offset);
            word = (word & ~(uint64_t{0xffffffff} << shift)) | half << shift;
            put<uint64_t>(code, offset, word);
        }
    }
    m.banks[2] = read_file(folder / (name + "." + variant + ".c2.bin"));
    m.banks[3] = read_file(folder / (name + "." + variant + ".c3.bin"));

    ShaderInput input;
    input.code = code;
    input.constants = m.banks[2];
    input.arch = sm86 ? Arch::sm86 : Arch::sm53;
    input.abi = &guest_abi(sm86 ? GuestAbiId::cuda_sm86 : GuestAbiId::cuda);
    input.float_mode = FloatMode::exact;
    input.local_size = m.block;
    input.shared_bytes = m.shared_bytes;
    input.local_bytes = m.local_bytes;
    auto shader = lift(input);
    if (!shader)
        return "lift: " + shader.error().text();
    if (auto v = verify_shader(*shader, false); !v)
        return "verify: " + v.error().text();
    if (auto r = m.run(std::move(*shader)); !r)
        return "run: " + r.error().text();
    std::vector<uint8_t> got(golden.size());
    for (const auto& [at, p] : outputs)
        memcpy(got.data() + (*p)["out_offset"].get<size_t>(), m.global.data() + at, (*p)["bytes"].get<size_t>());
    std::string first;
    const size_t bad = compare(*meta, got, golden, first);
    std::string text;
    if (bad)
        text = std::to_string(bad) + " words differ:" + first;
    if (!m.faults.empty())
        text += " faults: " + m.faults.substr(0, 200);
    return text;
}

// Kernels that are known not to pass, and why.
// The goldens are those of sm_90 code, which emulates the video instructions. Where its emulation contradicts the PTX text, the text holds:
// a merge into .h1 must put the result's low half there, but the golden keeps the upper half (px_vmax slot 2, thread 0: max(0x17, 0x6b).h1
// gives 0x0000e978); a saturated signed .b2 must stay a maximum, but the golden gives 127 for max(-8824, -6) (px_vmax slot 14, thread 1);
// the maximum of c and a result that an unsigned type cannot hold fits no one reading (px_vsub slot 8, px_vshl slot 48).
const std::set<std::string> kOpen53 = {
    "px_cvt_f64", // NaN to 8 and 16 bits: this code converts in two steps, the golden's in one
    "px_vmax", "px_vshl", "px_vsub",
};

const std::set<std::string> kOpen86 = {
    "cf_fnptr",         // calls through registers: refused
    "cpasync_pipeline", // LDGSTS and ARRIVES: refused
    "px_mma_sp",        // sparse matrices: refused
};

} // namespace

// DMSH_KERNEL=name runs one kernel and prints its result.
void check_all(const std::string& variant, const std::set<std::string>& open) {
    if (!std::filesystem::exists(corpus()))
        GTEST_SKIP() << "no corpus";
    const char* only = std::getenv("DMSH_KERNEL");
    std::set<std::filesystem::path> files;
    for (const auto& e : std::filesystem::directory_iterator(corpus()))
        if (e.path().extension() == ".json" && e.path().stem() != "manifest" && (!only || e.path().stem() == only))
            files.insert(e.path());
    size_t passed = 0, ran = 0;
    for (const auto& file : files) {
        const std::string name = file.stem().string();
        const std::string result = run_kernel(file, variant);
        if (result == "skip")
            continue;
        ++ran;
        passed += result.empty();
        if (open.count(name)) {
            EXPECT_FALSE(result.empty()) << name << " passes now: take it off the list";
            std::cout << "open: " << name << ": " << result << "\n";
        } else {
            EXPECT_TRUE(result.empty()) << name << ": " << result;
        }
    }
    std::cout << passed << " of " << ran << " kernels match\n";
}

TEST(CudaCorpus, LiftedKernelsGiveTheGoldenBuffers) { check_all("53", kOpen53); }
TEST(CudaCorpus, AmpereKernelsGiveTheGoldenBuffers) { check_all("86", kOpen86); }
TEST(CudaCorpus, AmpereKernelsOfTheLaterToolkitGiveTheGoldenBuffers) { check_all("86b", kOpen86); }

} // namespace dmsh::test
