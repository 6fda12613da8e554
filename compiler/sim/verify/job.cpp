// Draws jobs and turns jobs into launches.
#include "compiler/sim/verify/job.h"
#include "archivers/nvn/sph.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace dmsh::sim {
namespace {

constexpr uint32_t kBankBytes = 0x1000;
constexpr uint32_t kBufferBytes = 0x4000;
// Buffers stand this far apart, so that a wrong offset meets no other one.
constexpr uint64_t kBufferStride = uint64_t{1} << 36;

constexpr uint32_t kBoundaries[] = {
    0x00000000, 0x80000000, // zeros; INT_MIN
    0x3f800000, 0xbf800000, 0x3f000000, 0x3f7fffff, 0x3f800001,             // around one
    0x7f800000, 0xff800000, 0x7fffffff, 0x7fc00000, 0xffc00001, 0x7f800001, // infinities, NaNs, INT_MAX
    0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, // denormals, least normals
    0x7f7fffff, 0xff7fffff, 0x4b000000, 0x4f000000, 0xcf000000, 0x4f800000, // greatest, 2^23, 2^31, -2^31, 2^32
    0xffffffff, 0x0000ffff, 0xffff0000, 0x00007fff, 0x00008000, 0x000000ff, 0x0000001f, 0x00000020, 0x00000021, 0x0000003f,
    0x7c007c00, 0x7e00fc00, 0x3c00bc00, 0x04000001, 0x7bff7bff,             // halves: infinities, NaN, ones, denormal, greatest
    0x7ff00000, 0xfff00000, 0x7ff80000, 0x3ff00000, 0x43e00000, 0x41dfffff, // upper words of doubles
};

void fill(Random& random, Draw draw, std::vector<uint8_t>& bytes, bool denormals) {
    for (size_t k = 0; k + 4 <= bytes.size(); k += 4) {
        const uint32_t w = random.word(draw, denormals);
        std::memcpy(bytes.data() + k, &w, 4);
    }
}

template <class T> void put(std::vector<uint8_t>& bytes, size_t offset, T value) {
    if (bytes.size() < offset + sizeof value)
        bytes.resize(offset + sizeof value);
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// A storage buffer for the table entry {u64 address, u32 size, u32 0} at `offset` of a bank.
void add_buffer(Job& job, Random& random, Draw draw, bool denormals, uint32_t bank, uint32_t offset) {
    MemoryBlock& b = job.memory.emplace_back();
    b.address = kBufferStride * job.memory.size();
    b.bytes.resize(kBufferBytes);
    fill(random, draw, b.bytes, denormals);
    put(job.banks[bank & 31], offset, b.address);
    put(job.banks[bank & 31], offset + 8, kBufferBytes);
}

void bind(Job& job, const ShaderInput& input, const ShaderInterface& interface, Random& random, Draw draw, bool denormals) {
    const GuestAbi& abi = *input.abi;
    for (const Binding& b : interface.bindings) {
        const BankTable& table = abi.storage[static_cast<unsigned>(input.stage)];
        if (b.kind == BindingKind::storage)
            for (uint32_t k = 0; k < b.count; ++k)
                add_buffer(job, random, draw, denormals, abi.driver_bank, table.base + table.stride * (b.slot + k));
        else if (b.kind == BindingKind::storage_in_bank)
            add_buffer(job, random, draw, denormals, b.bank, b.offset);
    }
    // Separate handles carry one identity each, so that the two words can be put together by OR as well as by masks.
    const auto handles = [&](const BankTable& table, uint32_t mask) {
        for (uint32_t k = 0; table.base != kNone && k < table.count; ++k)
            put(job.banks[abi.handle_bank], table.base + table.stride * k, static_cast<uint32_t>(random.next()) & mask);
    };
    handles(abi.textures, ~0u);
    handles(abi.images, ~0u);
    handles(abi.separate_textures, kHandleTextureMask);
    handles(abi.separate_samplers, ~kHandleTextureMask);
}

float small_float(Random& random) { return static_cast<float>(static_cast<int32_t>(random.below(64)) - 32) / 16; }

// What interpolation and the primitive give. Perspective is undone by the code with a multiplication, which is exact only where w is a
// power of two and nothing leaves the range: those inputs are small floats whatever is drawn.
void fill_invocation(Invocation& v, const Sph& sph, Random& random, Draw draw, Stage stage, uint32_t index) {
    for (AttributeWords& words : v.in)
        for (uint32_t& w : words)
            w = random.word(draw);
    AttributeWords& in = v.in[0];
    v.invocation_id = stage == Stage::geometry || stage == Stage::tess_control ? index : 0;
    if (stage == Stage::vertex) {
        in[0x2f8 / 4] = index;                // instance
        in[0x2fc / 4] = random.below(1 << 8); // vertex
    }
    if (stage != Stage::fragment)
        return;
    for (uint32_t k = 0; k < in.size(); ++k)
        if (sph.interpolation[k] == Interpolation::perspective || (k >= 0x2c0 / 4 && k < 0x2e0 / 4))
            in[k] = std::bit_cast<uint32_t>(small_float(random));
    for (uint32_t k = 0; k < in.size(); ++k) {
        v.step_x[k] = std::bit_cast<uint32_t>(small_float(random));
        v.step_y[k] = std::bit_cast<uint32_t>(small_float(random));
    }
    const uint32_t quad = index / 4;
    in[0x70 / 4] = std::bit_cast<uint32_t>(static_cast<float>(2 * (quad % 4) + (index & 1)) + 0.5f);
    in[0x74 / 4] = std::bit_cast<uint32_t>(static_cast<float>(2 * (quad / 4) + (index >> 1 & 1)) + 0.5f);
    in[0x78 / 4] = std::bit_cast<uint32_t>(0.25f);
    in[0x7c / 4] = std::bit_cast<uint32_t>(quad & 1 ? 0.5f : 2.0f); // the same in the whole quad
    in[0x3fc / 4] = quad & 2 ? ~0u : 0;                             // front facing
    v.step_x[0x7c / 4] = v.step_y[0x7c / 4] = 0;
}

} // namespace

std::string_view draw_name(Draw draw) {
    constexpr std::string_view names[kDraws] = {"floats in -2..2", "small integers", "boundary values", "random bits", "all kinds"};
    return names[static_cast<unsigned>(draw)];
}

uint64_t Random::next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

uint32_t Random::word(Draw draw, bool denormals) {
    uint32_t w = 0;
    switch (draw) {
    case Draw::plain_floats:
        w = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(next() >> 40) - (1 << 23)) / static_cast<float>(1 << 22));
        break;
    case Draw::small_integers: w = below(16); break;
    case Draw::boundaries: w = kBoundaries[below(std::size(kBoundaries))]; break;
    case Draw::raw_bits: w = static_cast<uint32_t>(next()); break;
    case Draw::mixed: return word(static_cast<Draw>(below(kDraws - 1)), denormals);
    }
    return denormals || (w & 0x7f800000) != 0 ? w : w & 0x80000000;
}

Launch Job::launch(std::span<const uint8_t> code) {
    Launch l;
    l.code = code;
    for (size_t k = 0; k < banks.size(); ++k)
        l.banks[k] = banks[k];
    for (MemoryBlock& b : memory)
        l.global.push_back({b.address, b.bytes});
    l.block = block;
    l.grid = grid;
    l.shared_bytes = shared_bytes;
    l.local_bytes = local_bytes;
    l.forgiving = true;
    l.graphics = graphics ? &*graphics : nullptr;
    l.y_direction = y_direction;
    l.max_steps = max_steps;
    l.textures = &textures;
    l.handle_bank = handle_bank;
    return l;
}

Job random_job(const ShaderInput& input, const ShaderInterface* interface, uint64_t seed, Draw draw) {
    Random random(seed);
    Job job;
    job.kind = draw_name(draw);
    job.textures = TextureSet(random.next());
    job.handle_bank = input.abi->handle_bank;
    // In ship mode denormals are flushed by comparisons alone, so they are not drawn (docs/numerics.md).
    const bool denormals = input.float_mode == FloatMode::exact;
    for (auto& bank : job.banks) {
        bank.resize(kBankBytes);
        fill(random, draw, bank, denormals);
    }
    // SR_Y_DIRECTION is the same on both sides: the register, and the word that stands for it (T-030).
    const uint32_t direction = random.below(2) ? 0x3f800000 : 0xbf800000;
    if (input.abi->y_direction != kNone)
        put(job.banks[input.abi->driver_bank], input.abi->y_direction, direction);
    job.y_direction = direction;
    job.max_steps = 2'000'000; // loops over drawn counts end within seconds, as not compared
    job.banks[input.abi->constants_bank].assign(input.constants.begin(), input.constants.end());
    job.shared_bytes = input.shared_bytes;
    job.local_bytes = input.local_bytes;
    if (interface)
        bind(job, input, *interface, random, draw, denormals);
    if (input.stage == Stage::compute) {
        job.block = input.local_size;
        job.grid = {1 + random.below(2), 1, 1};
        for (uint32_t d = 0; d < 3; ++d) {
            if (input.abi->group_count != kNone)
                put(job.banks[input.abi->driver_bank], input.abi->group_count + 4 * d, job.grid[d]);
            if (input.abi->group_size != kNone)
                put(job.banks[input.abi->driver_bank], input.abi->group_size + 4 * d, job.block[d]);
        }
        return job;
    }
    const auto sph = read_sph({input.sph.data(), input.sph.size()});
    Graphics g;
    g.stage = input.stage;
    if (sph) {
        for (uint32_t k = 0; k < 256; ++k) // clip distances have no mode in the header: perspective
            g.perspective[k] = sph->interpolation[k] == Interpolation::perspective || (k >= 0x2c0 / 4 && k < 0x2e0 / 4);
        g.targets = sph->targets;
        g.mask_output = sph->sample_mask_output;
        g.depth_output = sph->depth_output;
        job.local_bytes = sph->local_bytes();
    }
    constexpr uint32_t kPatchVertices = 6;
    const bool many = input.stage == Stage::geometry || input.stage == Stage::tess_control || input.stage == Stage::tess_evaluation;
    uint32_t count = kLanes;
    if (input.stage == Stage::tess_control)
        count = std::clamp<uint32_t>(sph ? sph->threads_per_input_primitive : 1, 1, kLanes);
    g.invocations.resize(count);
    g.vertices_out.resize(kLanes);
    for (uint32_t& w : g.patch)
        w = random.word(draw);
    for (uint32_t k = 0; k < count; ++k) {
        Invocation& v = g.invocations[k];
        v.in.resize(many ? kPatchVertices : 1);
        fill_invocation(v, sph ? *sph : Sph{}, random, draw, input.stage, k);
        // All of a patch's invocations see the same vertices.
        if (input.stage == Stage::tess_control && k)
            v.in = g.invocations[0].in;
    }
    job.graphics = std::move(g);
    return job;
}

} // namespace dmsh::sim
