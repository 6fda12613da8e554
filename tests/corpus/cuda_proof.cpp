// Runs sm_53 kernels of the cuda corpus and compares their buffers with the golden output.
#include "compiler/build/translate.h"
#include "tests/corpus/verdict.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace dmsh::test {
namespace {

using nlohmann::json;

// A kernel parameter that is a pointer to a buffer.
struct Parameter {
    std::string name, kind, type, tolerance;
    uint32_t offset = 0; // in c[0]
    uint32_t bytes = 0, in_offset = 0;
    std::optional<uint32_t> out_offset;
    uint32_t check_words = ~0u;
};

struct Kernel {
    std::vector<Parameter> parameters;
    std::vector<uint8_t> code, constants, data, driver, input, golden;
    std::vector<std::string> slots;
    std::array<uint32_t, 3> block{1, 1, 1}, grid{1, 1, 1};
    uint32_t shared_bytes = 0, local_bytes = 0;
    bool has_golden = false;
    std::string obstacle; // why it cannot run here
};

constexpr uint32_t kBankBytes = kUniformBufferBytes;

uint32_t word(const std::vector<uint8_t>& bytes, size_t index) {
    uint32_t w = 0;
    if ((index + 1) * 4 <= bytes.size())
        memcpy(&w, &bytes[index * 4], 4);
    return w;
}

Result<Kernel> load_kernel(const std::filesystem::path& folder, const std::string& name) {
    auto text = read_file(folder / (name + ".json"));
    if (!text)
        return text.error();
    const json list = json::parse(text->begin(), text->end(), nullptr, false);
    const json* j = nullptr;
    if (list.is_array())
        for (const auto& v : list)
            if (v.value("variant", "") == "53")
                j = &v;
    if (!j)
        return Error{"no sm_53 variant", name};
    Kernel k;
    auto load = [&](const std::string& suffix, std::vector<uint8_t>& to) {
        if (auto bytes = read_file(folder / (name + suffix)))
            to = *std::move(bytes);
    };
    load(".53.bin", k.code);
    load(".53.c2.bin", k.constants);
    load(".53.c3.bin", k.data);
    load(".in.bin", k.input);
    load(".out.bin", k.golden);
    k.has_golden = j->value("golden", false) && !k.golden.empty();
    for (int i = 0; i < 3; ++i) {
        k.block[i] = (*j)["block"][i];
        k.grid[i] = (*j)["grid"][i];
    }
    k.shared_bytes = j->value("shared_bytes_static", 0u) + j->value("shared_bytes_dynamic", 0u);
    k.local_bytes = j->value("local_bytes", 0u);
    if (j->contains("slots") && (*j)["slots"].is_array())
        for (const auto& s : (*j)["slots"])
            k.slots.push_back(s);
    if (j->contains("slots") && (*j)["slots"].is_string())
        for (char c : (*j)["slots"].get<std::string>())
            k.slots.emplace_back(1, c);
    if (j->contains("relocations") && !(*j)["relocations"].empty())
        k.obstacle = "relocations";

    const GuestAbi& abi = guest_abi(GuestAbiId::cuda);
    k.driver.resize(kBankBytes);
    auto put = [&](uint32_t at, uint32_t value) { memcpy(&k.driver[at], &value, 4); };
    for (uint32_t i = 0; i < 3; ++i) {
        put(abi.group_size + 4 * i, k.block[i]);
        put(abi.group_count + 4 * i, k.grid[i]);
    }
    put(abi.stack_pointer, k.local_bytes);
    put(abi.shared_window_base, 0x01000000);
    put(abi.local_window_base, 0x02000000);
    for (const auto& p : (*j)["params"]) {
        const std::string kind = p["kind"];
        const uint32_t at = p["c0_offset"];
        if (kind == "scalar") {
            const std::string type = p.value("type", ""), value = p.value("value", "");
            if (type == "f32") {
                const float f = strtof(value.c_str(), nullptr);
                memcpy(&k.driver[at], &f, 4);
            } else if (type == "f64") {
                const double d = strtod(value.c_str(), nullptr);
                memcpy(&k.driver[at], &d, 8);
            } else {
                const int64_t n = strtoll(value.c_str(), nullptr, 0);
                memcpy(&k.driver[at], &n, std::min<size_t>(p["size"].get<size_t>(), 8));
            }
        } else if (kind == "tex" || kind == "surf") {
            k.obstacle = "textures and surfaces";
        } else {
            Parameter b;
            b.name = p.value("name", "");
            b.kind = kind;
            b.type = p.value("type", "");
            b.tolerance = p.contains("tol") && p["tol"].is_string() ? p["tol"].get<std::string>() : "";
            b.offset = at;
            b.bytes = p["bytes"];
            b.in_offset = p.value("in_offset", 0u);
            if (p.contains("out_offset"))
                b.out_offset = p["out_offset"].get<uint32_t>();
            b.check_words = p.value("check_words", ~0u);
            put(at, 0x10000000);
            put(at + 4, static_cast<uint32_t>(k.parameters.size()) + 3);
            k.parameters.push_back(b);
        }
    }
    return k;
}

float f32(uint32_t w) {
    float f;
    memcpy(&f, &w, 4);
    return f;
}

double f64(uint32_t low, uint32_t high) {
    const uint64_t u = uint64_t{high} << 32 | low;
    double d;
    memcpy(&d, &u, 8);
    return d;
}

float f16(uint32_t h) {
    const int e = h >> 10 & 31;
    const float m = static_cast<float>(h & 1023);
    const float f = e == 31  ? (m != 0 ? NAN : INFINITY)
                    : e == 0 ? std::ldexp(m, -24)
                             : std::ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -f : f;
}

// The rules of the corpus's compare.py.
class Rules {
  public:
    explicit Rules(const std::string& tolerance) {
        const auto at = tolerance.find(':');
        kind_ = tolerance.substr(0, at);
        if (at != tolerance.npos)
            amount_ = atof(tolerance.c_str() + at + 1);
    }
    bool number(double a, double b) const {
        if (std::isnan(a) || std::isnan(b))
            return std::isnan(a) && std::isnan(b);
        if (a == b)
            return true;
        if (kind_ == "rel")
            return std::fabs(a - b) <= amount_ * std::max(1.0, std::fabs(b));
        return kind_ == "abs" && std::fabs(a - b) <= amount_;
    }
    bool half(uint32_t a, uint32_t b) const {
        const bool nan_a = (a & 0x7fff) > 0x7c00, nan_b = (b & 0x7fff) > 0x7c00;
        if (nan_a || nan_b)
            return nan_a && nan_b;
        if (a == b)
            return true;
        if (kind_ == "f16x2") {
            auto order = [](uint32_t h) {
                return h < 0x8000 ? static_cast<int>(h) : 0x8000 - static_cast<int>(h);
            };
            return std::abs(order(a) - order(b)) <= amount_;
        }
        return number(f16(a), f16(b));
    }
    bool halves(uint32_t a, uint32_t b) const {
        return half(a & 0xffff, b & 0xffff) && half(a >> 16, b >> 16);
    }
    bool brain(uint32_t a, uint32_t b) const { return number(f32(a << 16), f32(b << 16)); }
    bool plain(uint32_t a, uint32_t b) const {
        if (kind_ == "int")
            return std::min(a - b, b - a) <= static_cast<uint32_t>(amount_);
        return kind_ == "f16x2" ? halves(a, b) : a == b;
    }
    bool loose_half() const { return kind_ == "f16x2"; }

  private:
    std::string kind_;
    double amount_ = 0;
};

struct Mismatch {
    size_t count = 0;
    std::string first;
};

void compare_buffer(const Parameter& p, const std::vector<std::string>& slots, size_t threads,
                    const std::vector<uint8_t>& got, const std::vector<uint8_t>& golden, Verdict& v,
                    Mismatch& bad) {
    const Rules rules(p.tolerance);
    const size_t n = std::min<size_t>(p.bytes / 4, p.check_words), base = *p.out_offset / 4;
    auto expected = [&](size_t i) { return word(golden, base + i); };
    for (size_t i = 0; i < n; ++i) {
        const uint32_t a = word(got, i), b = expected(i);
        const size_t slot = i / threads;
        const std::string s = slot < slots.size() ? slots[slot]
                              : p.type == "f32"   ? "f"
                              : p.type == "f64"   ? "D"
                                                  : "w";
        bool ok = false;
        const size_t at = i;
        if (s == "D") {
            ok = rules.number(f64(a, word(got, i + 1)), f64(b, expected(i + 1)));
            ++i;
        } else if (s == "d") {
            const size_t earlier =
                static_cast<size_t>(std::count(slots.begin(), slots.begin() + static_cast<long>(slot), "d"));
            ok = earlier % 2 || rules.number(f64(a, word(got, i + threads)), f64(b, expected(i + threads)));
        } else if (s == "f")
            ok = rules.number(f32(a), f32(b));
        else if (s == "x")
            ok = rules.halves(a, b);
        else if (s == "y")
            ok = rules.brain(a & 0xffff, b & 0xffff) && rules.brain(a >> 16, b >> 16);
        else if (s == "b")
            ok = rules.brain(a & 0xffff, b & 0xffff);
        else if (s == "h")
            ok = a == b || rules.half(a, b);
        else
            ok = rules.plain(a, b);
        ++v.compared;
        if (!ok && bad.count++ == 0) {
            char text[160];
            snprintf(text, sizeof text, "%s word %zu (slot %zu %s): expected %08x, got %08x", p.name.c_str(),
                     at, slot, s.c_str(), b, a);
            bad.first = text;
        }
    }
}

} // namespace

Verdict prove_cuda(const std::filesystem::path& corpus, const std::string& name,
                   const ProofOptions& options) {
    Verdict v;
    v.name = name;
    auto end = [&](Status status, std::string text) {
        v.status = status;
        v.text = std::move(text);
        return v;
    };
    auto kernel = load_kernel(corpus / "cuda", name);
    if (!kernel)
        return end(Status::reference_failed, kernel.error().text());
    const Kernel& k = *kernel;
    ShaderInput in;
    in.code = k.code;
    in.constants = k.constants;
    in.local_size = k.block;
    in.shared_bytes = k.shared_bytes;
    in.local_bytes = k.local_bytes;
    in.abi = &guest_abi(GuestAbiId::cuda);
    in.float_mode = FloatMode::exact;
    const auto start = std::chrono::steady_clock::now();
    auto r = translate(in, {.validate = false});
    v.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (!r)
        return end(Status::refused, r.error().text());
    v.instructions = r->instruction_count;
    if (!options.dump.empty())
        std::ofstream(options.dump + "/" + name + ".ours.spv", std::ios::binary)
            .write(reinterpret_cast<const char*>(r->spirv.data()),
                   static_cast<std::streamsize>(r->spirv.size() * 4));
    if (auto valid = validate_spirv(r->spirv); !valid)
        return end(Status::invalid, valid.error().text());
    if (!k.obstacle.empty())
        return end(Status::not_compared, k.obstacle);
    if (!k.has_golden)
        return end(Status::not_compared, "no golden output");

    auto harness = VulkanHarness::create(options.validation);
    if (!harness)
        return end(Status::reference_failed, harness.error().text());
    if (r->interface.uses_lanes && (*harness)->subgroup_size() != 32)
        return end(Status::not_compared,
                   "needs 32 lanes, the device has " + std::to_string((*harness)->subgroup_size()));
    Job job;
    for (const auto& p : k.parameters) {
        BufferResource b;
        b.bytes.resize(p.bytes);
        if (p.in_offset + p.bytes <= k.input.size())
            std::copy_n(k.input.begin() + p.in_offset, p.bytes, b.bytes.begin());
        job.buffers.push_back(std::move(b));
    }
    auto bank = [&](std::vector<uint8_t> bytes) {
        bytes.resize(kBankBytes);
        job.buffers.push_back({std::move(bytes)});
        return static_cast<uint32_t>(job.buffers.size() - 1);
    };
    for (uint32_t index = 0; index < r->interface.bindings.size(); ++index) {
        const Binding& b = r->interface.bindings[index];
        Descriptor d{kVulkanSetBindings, static_cast<uint32_t>(Stage::compute) * kMaxBindings + index, 0};
        d.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        switch (b.kind) {
        case BindingKind::driver: d.resource = bank(k.driver); break;
        case BindingKind::constants: d.resource = bank(k.constants); break;
        case BindingKind::uniform: d.resource = bank(k.data); break;
        case BindingKind::storage_in_bank: {
            const auto p = std::find_if(k.parameters.begin(), k.parameters.end(),
                                        [&](const Parameter& q) { return q.offset == b.offset; });
            if (p == k.parameters.end())
                return end(Status::failed, "no buffer parameter at c[0][" + std::to_string(b.offset) + "]");
            d.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            d.resource = static_cast<uint32_t>(p - k.parameters.begin());
            break;
        }
        default:
            return end(Status::failed,
                       "binding kind " + std::string(binding_kind_name(b.kind)) + " is not bound here");
        }
        job.descriptors.push_back(d);
    }
    job.groups = k.grid;
    job.stages.push_back({VK_SHADER_STAGE_COMPUTE_BIT, r->spirv, "main0", {}});
    auto got = (*harness)->run(job);
    if (!got)
        return end(Status::failed, got.error().text());
    size_t threads = 1;
    for (int i = 0; i < 3; ++i)
        threads *= size_t{k.block[i]} * k.grid[i];
    Mismatch bad;
    bool first = true;
    for (size_t i = 0; i < k.parameters.size(); ++i)
        if (const auto& p = k.parameters[i]; p.out_offset) {
            compare_buffer(p, first ? k.slots : std::vector<std::string>{}, threads, got->buffers[i],
                           k.golden, v, bad);
            first = false;
        }
    v.changed = v.compared;
    v.different = bad.count;
    return end(bad.count ? Status::differs : Status::matches, bad.first);
}

} // namespace dmsh::test
