// Control sections, code areas and GLSLC outputs.
#include "tests/writers/writers.h"

namespace dmsh::writers {
namespace {

constexpr uint64_t kScheduling = 0x001ffc00fe2007e0; // three instructions that wait for nothing
constexpr uint64_t kExit = 0xe30000000007000f;
constexpr uint64_t kBranchSelf = 0xe2400fffff87000f;
constexpr uint64_t kNop = 0x50b0000000070f00;

void program(Buffer& b, uint64_t at, uint32_t counter) {
    b.u64(at, kScheduling);
    b.u64(at + 8, kExit);
    b.u64(at + 16, kBranchSelf);
    b.u64(at + 24, kNop ^ uint64_t{counter & 0xffff} << 20);
}

uint32_t sph_word0(Stage stage, unsigned version) {
    constexpr uint32_t types[] = {1, 5, 4, 2,
                                  3, 0, 1, 3}; // by Stage; task and mesh look like vertex and evaluation
    const uint32_t type = types[static_cast<unsigned>(stage)];
    return (type == 5 ? 2u : 1u) | version << 5 | type << 10 | 3u << 17;
}

void sph(Buffer& b, uint64_t at, Stage stage, unsigned version) {
    b.u32(at, sph_word0(stage, version));
    b.reserve_to(at + (version == 3 ? 0x50 : 0x80));
    if (stage == Stage::fragment) {
        b.u8(at + 0x18, 0xaa);
        b.u32(at + 0x48, 0xf);
    } else {
        b.u8(at + 0x35, 0xf0);
        b.u8(at + 0x36, 0x0f);
    }
}

} // namespace

Pair wrap(std::span<const uint8_t> program, std::span<const uint8_t> c1, const Wrapping& how) {
    Buffer code;
    const bool compute = how.stage == Stage::compute;
    if (!compute || how.header)
        code.u32(0, compute ? 0x12345679 : 0x12345678);
    const uint64_t start = compute ? (how.header ? 0x100 : 0) : 0x30;
    code.reserve_to(start);
    code.append(program);
    code.align(256);
    const uint64_t constants = code.append(c1);

    Buffer c;
    c.reserve_to(how.control_bytes);
    const uint32_t length = how.own_length ? how.own_length : how.control_bytes;
    c.u32(0x00, 0x98761234);
    c.u32(0x04, 1);
    c.u32(0x08, 15);
    c.u32(0x0c, 0x120);
    c.u32(0x10, 0xb);
    c.u32(0x14, 0x878);
    c.u32(0x20, length);
    c.u32(0x6f0, length);
    c.u32(0x6f8, program.size());
    c.u32(0x6fc, c1.size());
    c.u32(0x700, constants);
    c.u32(0x704, code.size());
    c.u32(0x708, start);
    c.u32(0x70c, how.registers);
    c.u32(0x714, static_cast<uint32_t>(how.stage));
    c.u8(0x718, how.early_tests);
    if (compute) {
        for (int i = 0; i < 3; ++i)
            c.u32(0x748 + 4 * i, how.group[i]);
        c.u32(0x754, how.shared_bytes);
        c.u32(0x758, how.local_bytes);
    }
    if (how.control_bytes >= 0x7d4)
        c.u32(0x7d0, how.counter);
    return {how.stage, std::move(c.bytes), std::move(code.bytes)};
}

Pair small_pair(Stage stage, uint32_t counter, bool header) {
    Buffer p;
    if (stage != Stage::compute)
        sph(p, 0, stage, 3);
    program(p, p.size(), counter);
    Wrapping how;
    how.stage = stage;
    how.header = header;
    how.group = {8, 1, 1};
    how.counter = counter;
    return wrap(p.bytes, {}, how);
}

Pair small_nvn2_pair(Stage stage, uint32_t counter) {
    Buffer code;
    if (stage != Stage::compute) {
        code.u32(0, 0x12345678);
        sph(code, 0x30, stage, 4);
    }
    const uint64_t at = code.size();
    code.u64(at, 0x000000000000794d); // EXIT
    code.u64(at + 8, 0x000fea0003800000);
    code.u64(at + 16, 0xfffffff000007947); // BRA to itself
    code.u64(at + 24, 0x000fc0000383ffff);
    code.u64(at + 32, 0x0000000000007918); // NOP
    code.u64(at + 40, 0x000fc00000000000 | counter << 8);
    Buffer c;
    c.reserve_to(0xc0);
    c.u32(0x00, 0x98761234);
    c.u32(0x04, 0xc9);
    c.u32(0x08, 0x14);
    c.u32(0x30, 0xc0);
    c.u32(0x44, code.size());
    c.u8(0x56, static_cast<uint8_t>(stage));
    c.u16(0x58, stage == Stage::compute || stage == Stage::task || stage == Stage::mesh ? 32 : 0);
    c.u32(0xbc, counter);
    return {stage, std::move(c.bytes), std::move(code.bytes)};
}

Data raw_pair(const Pair& p, uint64_t alignment) {
    Buffer b;
    b.append(p.control);
    b.align(alignment);
    b.append(p.code);
    b.align(alignment);
    return std::move(b.bytes);
}

namespace {

Data output(std::span<const Pair> stages, bool nvn2) {
    const uint64_t first = nvn2 ? 0xa8 : 0x90, stride = nvn2 ? 0x98 : 0x90;
    const uint64_t count = stages.size() + 1;
    Buffer b;
    b.reserve_to(first + stride * count);
    b.u32(0x00, 0x19866891);
    b.u32(0x10, 0x20);
    if (nvn2) {
        b.u32(0x30, 0xc9);
        b.u32(0x34, 0x14);
    } else {
        b.u32(0x18, 1);
        b.u32(0x1c, 15);
    }
    const auto header = [&](uint64_t i) { return first + stride * i; };
    b.u32(nvn2 ? 0x60 : 0x48, b.size());
    b.u32(nvn2 ? 0x64 : 0x4c, count);
    for (uint64_t i = 0; i < stages.size(); ++i) {
        const Pair& p = stages[i];
        b.align(8);
        const uint64_t payload = b.append(p.control);
        if (!nvn2) // NVN2 control sections run up to their code
            b.align(8);
        const uint64_t code = b.append(p.code) - payload;
        const uint64_t fields = header(i) + (nvn2 ? 0x38 : 0x30);
        b.u32(header(i) + 0x00, b.size() - payload);
        b.u32(header(i) + 0x04, payload);
        b.u32(header(i) + 0x08, 0);
        b.u32(header(i) + (nvn2 ? 0x34 : 0x2c), static_cast<uint32_t>(p.stage));
        b.u32(fields + 0x0, 0);
        b.u32(fields + 0x4, code);
        b.u32(fields + 0x8, p.code.size());
        b.u32(fields + 0xc, p.control.size());
    }
    b.align(8);
    const uint64_t reflection = b.size();
    b.text(reflection, "reflection data ");
    b.u32(header(stages.size()) + 0x00, b.size() - reflection);
    b.u32(header(stages.size()) + 0x04, reflection);
    b.u32(header(stages.size()) + 0x08, 3);
    b.u32(nvn2 ? 0x5c : 0x44, b.size());
    return std::move(b.bytes);
}

} // namespace

Data glslc_output(std::span<const Pair> stages) {
    return output(stages, false);
}
Data glslc_output_nvn2(std::span<const Pair> stages) {
    return output(stages, true);
}

} // namespace dmsh::writers
