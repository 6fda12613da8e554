// Word by word, by the kinds that the reference's types give.
#include "tests/corpus/compare.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace dmsh::test {
namespace {

uint32_t word(const std::vector<uint8_t>& bytes, size_t index) {
    uint32_t w = 0;
    memcpy(&w, &bytes[index * 4], 4);
    return w;
}

float as_float(uint32_t w) {
    float f;
    memcpy(&f, &w, 4);
    return f;
}

// kFloor, or what the shader's tuning allows.
double absolute_floor = kFloor;

bool close(double a, double b) {
    if (std::isnan(a) || std::isnan(b))
        return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b))
        return a == b;
    return std::fabs(a - b) <= kRelative * std::max(std::fabs(a), std::fabs(b)) + absolute_floor;
}

float half_value(uint32_t h) {
    const int exponent = h >> 10 & 31;
    const float mantissa = static_cast<float>(h & 1023);
    float f = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
              : exponent == 0 ? std::ldexp(mantissa, -24)
                              : std::ldexp(1024 + mantissa, exponent - 25);
    return h & 0x8000 ? -f : f;
}

bool steps_close(uint32_t a, uint32_t b, std::initializer_list<int> widths) {
    int at = 0;
    for (int w : widths) {
        const uint32_t mask = (1u << w) - 1;
        const int x = static_cast<int>(a >> at & mask), y = static_cast<int>(b >> at & mask);
        if (std::abs(x - y) > 1)
            return false;
        at += w;
    }
    return true;
}

bool texel_word_equal(VkFormat f, uint32_t a, uint32_t b) {
    if (a == b)
        return true;
    switch (f) {
    case VK_FORMAT_R32_SFLOAT:
    case VK_FORMAT_R32G32_SFLOAT:
    case VK_FORMAT_R32G32B32A32_SFLOAT:
    case VK_FORMAT_D32_SFLOAT: return close(as_float(a), as_float(b));
    case VK_FORMAT_R16G16B16A16_SFLOAT:
        return close(half_value(a & 0xffff), half_value(b & 0xffff)) &&
               close(half_value(a >> 16), half_value(b >> 16));
    case VK_FORMAT_R8G8B8A8_UNORM: return steps_close(a, b, {8, 8, 8, 8});
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32: return steps_close(a, b, {10, 10, 10, 2});
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32: return steps_close(a, b, {11, 11, 10});
    default: return false;
    }
}

std::string text_of(WordKind kind, uint32_t w) {
    char s[64];
    if (kind == WordKind::f32)
        snprintf(s, sizeof s, "%.9g (%08x)", static_cast<double>(as_float(w)), w);
    else
        snprintf(s, sizeof s, "%d (%08x)", static_cast<int32_t>(w), w);
    return s;
}

class Comparer {
  public:
    void note(const std::string& where, WordKind kind, uint32_t expected, uint32_t got) {
        if (out.different++ == 0)
            out.first = where + ": expected " + text_of(kind, expected) + ", got " + text_of(kind, got);
    }

    void buffer(const std::string& name, const std::vector<WordKind>& kinds, std::vector<uint8_t> before,
                std::vector<uint8_t> expected, std::vector<uint8_t> got, bool sorted) {
        if (sorted) {
            sort_records(expected);
            sort_records(got);
            sort_records(before);
        }
        for (size_t i = 0; i < kinds.size() && (i + 1) * 4 <= expected.size(); ++i) {
            const uint32_t e = word(expected, i), g = word(got, i);
            ++out.compared;
            out.changed += e != word(before, i);
            const std::string where = name + "[+" + hex(i * 4) + "]";
            switch (kinds[i]) {
            case WordKind::f32:
                if (!close(as_float(e), as_float(g)))
                    note(where, WordKind::f32, e, g);
                break;
            case WordKind::f16:
                if (!close(half_value(e & 0xffff), half_value(g & 0xffff)) ||
                    !close(half_value(e >> 16), half_value(g >> 16)))
                    note(where, WordKind::u32, e, g);
                break;
            case WordKind::f64_low: break;
            case WordKind::f64_high: {
                double a, b;
                memcpy(&a, &expected[i * 4 - 4], 8);
                memcpy(&b, &got[i * 4 - 4], 8);
                if (!close(a, b))
                    note(where, WordKind::u32, e, g);
                break;
            }
            default:
                if (e != g)
                    note(where, kinds[i], e, g);
            }
        }
    }

    // Counts words that are no NaN and differ from the word before them in the same component: a constant
    // proves little.
    void variety(const std::vector<uint8_t>& bytes, size_t step) {
        for (size_t i = step; (i + 1) * 4 <= bytes.size(); ++i)
            if (const uint32_t w = word(bytes, i); w != word(bytes, i - step) && !std::isnan(as_float(w)))
                ++out.varied;
    }

    void texels(const std::string& name, VkFormat format, const std::vector<uint8_t>& before,
                const std::vector<uint8_t>& expected, const std::vector<uint8_t>& got) {
        for (size_t i = 0; (i + 1) * 4 <= expected.size(); ++i) {
            const uint32_t e = word(expected, i), g = word(got, i);
            ++out.compared;
            out.changed += before.empty() || e != word(before, i);
            if (!texel_word_equal(format, e, g)) {
                const bool real = format == VK_FORMAT_R32G32B32A32_SFLOAT || format == VK_FORMAT_R32_SFLOAT ||
                                  format == VK_FORMAT_D32_SFLOAT;
                note(name + "[+" + hex(i * 4) + "]", real ? WordKind::f32 : WordKind::u32, e, g);
            }
        }
    }

    static std::string hex(size_t n) {
        char s[24];
        snprintf(s, sizeof s, "0x%zx", n);
        return s;
    }

    Comparison out;

  private:
    static void sort_records(std::vector<uint8_t>& bytes) {
        std::vector<uint32_t> words(bytes.size() / 4);
        memcpy(words.data(), bytes.data(), words.size() * 4);
        std::sort(words.begin(), words.end());
        memcpy(bytes.data(), words.data(), words.size() * 4);
    }
};

} // namespace

Comparison compare(const CorpusShader& shader, const Scene& scene, const PreparedJob& reference_job,
                   const Outcome& reference, const PreparedJob& our_job, const Outcome& ours) {
    Comparer c;
    absolute_floor = std::max(kFloor, tuning(shader.name).floor);
    const char* ignored = tuning(shader.name).ignored_output;
    const bool unordered = tuning(shader.name).unordered;
    for (const auto& [slot, b] : scene.storages)
        c.buffer("storage " + std::to_string(slot), scene.kinds[b], scene.job.buffers[b].bytes,
                 reference.buffers[b], ours.buffers[b], unordered);
    for (const auto& [slot, image] : scene.images) {
        const std::string name = "image " + std::to_string(slot);
        if (image.is_buffer)
            c.buffer(name, scene.kinds[image.index], scene.job.buffers[image.index].bytes,
                     reference.buffers[image.index], ours.buffers[image.index], false);
        else
            c.texels(name, image.format, scene.job.images[image.index].texels, reference.images[image.index],
                     ours.images[image.index]);
    }
    for (size_t i = 0; i < reference.targets.size(); ++i)
        c.texels("target " + std::to_string(i), scene.job.graphics.targets[i].format, {},
                 reference.targets[i], ours.targets[i]);
    for (const auto& target : reference.targets)
        c.variety(target, 4);
    if (!reference.depth.empty())
        c.texels("depth", VK_FORMAT_D32_SFLOAT, {}, reference.depth, ours.depth);

    if (reference_job.record_buffer && our_job.record_buffer) {
        // Only what the reference's outputs have is defined.
        const auto& kinds = reference_job.record_kinds;
        std::vector<uint8_t> expected = reference.buffers[*reference_job.record_buffer],
                             got = ours.buffers[*our_job.record_buffer];
        for (size_t i = 0; i < kinds.size(); ++i)
            if (kinds[i] == WordKind::none)
                memcpy(&got[i * 4], &expected[i * 4], 4);
        c.buffer("patch record", kinds, reference_job.job.buffers[*reference_job.record_buffer].bytes, std::move(expected),
                 std::move(got), false);
    }

    // Captured outputs: each word of the reference's, looked up in ours by location and component.
    for (const Capture& e : reference_job.captures) {
        if (ignored && e.name == ignored)
            continue;
        for (uint32_t w = 0; w < e.words; ++w) {
            const Capture* found = nullptr;
            uint32_t index = 0;
            for (const Capture& o : our_job.captures) {
                if (e.builtin != o.builtin || (e.builtin < 0 && e.location != o.location))
                    continue;
                if (e.builtin >= 0 && e.name != o.name)
                    continue;
                if (e.component + w >= o.component && e.component + w < o.component + o.words) {
                    found = &o;
                    index = e.component + w - o.component;
                }
            }
            const std::string name = "output " + e.name + "+" + std::to_string(w);
            if (!found) {
                c.note(name + " is missing", WordKind::u32, 0, 0);
                continue;
            }
            for (uint32_t n = 0; n < reference_job.captured_vertices; ++n) {
                const uint32_t x =
                    word(reference.feedback[0], (n * reference_job.capture_stride + e.offset) / 4 + w);
                const uint32_t y =
                    word(ours.feedback[0], (n * our_job.capture_stride + found->offset) / 4 + index);
                ++c.out.compared;
                c.out.changed += x != 0;
                c.out.varied += n && x != word(reference.feedback[0],
                                               ((n - 1) * reference_job.capture_stride + e.offset) / 4 + w);
                if (e.type == BaseType::real ? !close(as_float(x), as_float(y)) : x != y)
                    c.note(name + " of vertex " + std::to_string(n),
                           e.type == BaseType::real ? WordKind::f32 : WordKind::u32, x, y);
            }
        }
    }
    return c.out;
}

} // namespace dmsh::test
