// Resolves the bindings of a stage.
#include "runtime/replay/bindings.h"
#include "runtime/abi/driver_segments.h"
#include "runtime/replay/record_reader.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay {
namespace {

using nvn::Host;
using nvn::Report;
using nvn::report;

constexpr uint32_t kDriverBytes = 0x870; // past the last row of the ABI (mesh storage table)

// Standard sample positions, a byte each: x in the low nibble, y in the high, in 1/16 pixel (B-009). Rows are
// those of 1, 2, 4 and 8 samples; unused bytes hold the centre.
constexpr uint8_t kSamplePositions[4][16] = {
    {0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88},
    {0xcc, 0x44, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88},
    {0x26, 0x6e, 0xa2, 0xea, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88},
    {0x59, 0xb7, 0x9d, 0x35, 0xd3, 0x71, 0xfb, 0x1f, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88},
};

const GuestAbi& abi() {
    return guest_abi(GuestAbiId::nvn);
}

void put32(uint8_t* segment, uint32_t bytes, uint32_t offset, uint32_t value) {
    if (offset != kNone && offset + 4 <= bytes)
        std::memcpy(segment + offset, &value, 4);
}

void put_table(uint8_t* segment, uint32_t bytes, const BankTable& table, const Range* ranges,
               uint32_t count) {
    for (uint32_t k = 0; k < std::min(count, table.count); ++k) {
        const uint32_t at = table.base + table.stride * k;
        put32(segment, bytes, at, static_cast<uint32_t>(ranges[k].address));
        put32(segment, bytes, at + 4, static_cast<uint32_t>(ranges[k].address >> 32));
        put32(segment, bytes, at + 8, ranges[k].size);
    }
}

void fill_driver(uint8_t* segment, uint32_t bytes, const nvn::ProgramStage& program, const StageSlots& slots,
                 const CallParameters& call) {
    const Stage stage = program.stage;
    if (stage == Stage::compute) {
        const bool nvn2 = program.shader->reflection.interface.arch == Arch::sm86;
        for (uint32_t i = 0; i < 3; ++i) {
            put32(segment, bytes, abi().group_count + 4 * i, call.groups[i]);
            if (nvn2)
                put32(segment, bytes, abi().group_count_nvn2 + 4 * i, call.groups[i]);
        }
        put_table(segment, bytes, abi().compute_uniforms, slots.uniforms.data(), kUniformSlots);
    } else {
        uint32_t limit;
        std::memcpy(&limit, &kLargestPointSize, 4);
        put32(segment, bytes, abi().point_size_limit, limit);
        uint32_t log2 = 0;
        while (log2 < 3 && 1u << (log2 + 1) <= call.samples)
            ++log2;
        for (uint32_t i = 0; i < 4; ++i) {
            uint32_t word;
            std::memcpy(&word, kSamplePositions[log2] + 4 * i, 4);
            put32(segment, bytes, abi().sample_table + 4 * i, word);
        }
        put32(segment, bytes, abi().sample_row, call.samples - 1);
        put32(segment, bytes, abi().sample_row + 4, log2);
        put32(segment, bytes, abi().base_instance, call.base_instance);
        const float up = Host::get().window_origin == NVN_WINDOW_ORIGIN_MODE_UPPER_LEFT ? 1.0f : -1.0f;
        uint32_t direction;
        std::memcpy(&direction, &up, 4);
        put32(segment, bytes, abi().y_direction, direction);
    }
    put_table(segment, bytes, abi().storage[static_cast<unsigned>(stage)], slots.storage.data(),
              kStorageSlots);
}

uint32_t handle_at(const BankTable& table, uint32_t offset, const uint32_t* words, uint32_t count,
                   bool& found) {
    const auto k = table.entry(offset);
    found = k && *k < count;
    return found ? words[*k] : 0;
}

// The word of the handle table c[2] at byte `offset` (even words; the odd ones are the upper halves, zero).
uint32_t handle_word(const StageSlots& slots, uint32_t offset) {
    bool found = false;
    uint32_t word = handle_at(abi().images, offset, slots.images.data(), kImageSlots, found);
    if (found && slots.images_bound >> *abi().images.entry(offset) & 1)
        return word; // shares its word with a combined texture slot: the image wins where one is bound
    word = handle_at(abi().textures, offset, slots.textures.data(), kTextureSlots, found);
    if (found)
        return word;
    word = handle_at(abi().separate_textures, offset, slots.separate_textures.data(), kSeparateTextureSlots,
                     found);
    if (found)
        return word;
    return handle_at(abi().separate_samplers, offset, slots.separate_samplers.data(), kSeparateSamplerSlots,
                     found);
}

// Bytes of a constant bank as the shader would read them now; nothing outside.
bool read_bank(uint8_t bank, uint32_t offset, void* out, uint32_t bytes, const nvn::ProgramStage& program,
               const QueueState& state, const CallParameters& call, Backend& backend, Scratch& scratch) {
    const StageSlots& slots = state.stages[static_cast<unsigned>(program.stage)];
    std::memset(out, 0, bytes);
    if (bank == abi().handle_bank) {
        const uint32_t word = handle_word(slots, offset);
        std::memcpy(out, &word, std::min(bytes, 4u));
        return true;
    }
    if (bank == abi().driver_bank) {
        uint8_t* segment = scratch.take(kDriverBytes);
        if (!segment || offset > kDriverBytes - bytes)
            return false;
        fill_driver(segment, kDriverBytes, program, slots, call);
        std::memcpy(out, segment + offset, bytes);
        return true;
    }
    if (bank == abi().constants_bank) {
        if (offset <= program.constants.size() && bytes <= program.constants.size() - offset)
            std::memcpy(out, program.constants.data() + offset, bytes);
        return true;
    }
    if (bank == kPushBank) {
        const auto& push = state.push[program.stage == Stage::compute];
        if (offset <= push.size() && bytes <= push.size() - offset)
            std::memcpy(out, push.data() + offset, bytes);
        return true;
    }
    if (bank < abi().uniform_first || bank >= abi().uniform_first + kUniformSlots)
        return false;
    const Range& range = slots.uniforms[bank - abi().uniform_first];
    if (range.address == 0 || offset > range.size || bytes > range.size - offset)
        return true; // past the buffer: zeros
    if (!backend.read_memory(range.address + offset, out, bytes))
        report(Report::bad_address, "uniform buffer at 0x%llx",
               static_cast<unsigned long long>(range.address));
    return true;
}

struct Resolver {
    const nvn::ProgramStage& program;
    const QueueState& state;
    const CallParameters& call;
    Backend& backend;
    Scratch& scratch;
    std::vector<Resource>& out;
    const StageSlots& slots;

    Resource* add(ResourceKind kind, const Binding& b, uint32_t index, uint32_t element) {
        if (out.size() >= kMaxResources)
            return nullptr;
        Resource& r = out.emplace_back();
        r.kind = kind;
        r.stage = program.stage;
        r.binding = static_cast<uint16_t>(index);
        r.element = static_cast<uint16_t>(element);
        r.reflection = &b;
        return &r;
    }

    void guest_range(Resource* r, const Range& range) {
        if (!r)
            return;
        if (range.address == 0 || range.size == 0) {
            r->kind = ResourceKind::none;
            return;
        }
        if (!in_pool(range.address, range.size, "buffer")) {
            r->kind = ResourceKind::none;
            return;
        }
        r->address = range.address;
        r->size = range.size;
    }

    // Texture id of `word`, its shape's buffer forms included.
    void texture(Resource* r, uint32_t word, bool image) {
        if (!r)
            return;
        const uint32_t id = word & kHandleTextureMask;
        const auto slot = Host::get().texture(state.texture_pool, id);
        if (!slot) {
            if (word != 0 && word != 0xffffffffu) // 0 and all ones are unused slots
                report(Host::get().past_texture_pool(state.texture_pool, id) ? Report::id_past_pool : Report::bad_handle,
                       "texture id %u in pool %u", id, state.texture_pool);
            r->kind = ResourceKind::none;
            return;
        }
        r->texture = slot->bound;
        if (nvn::resolve_view(slot->bound).target == NVN_TEXTURE_TARGET_BUFFER)
            r->kind = image ? ResourceKind::image_buffer : ResourceKind::texel_buffer;
        const bool wants_buffer = r->reflection->dim == ImageDim::buffer;
        const bool is_buffer = r->kind == ResourceKind::image_buffer || r->kind == ResourceKind::texel_buffer;
        if (wants_buffer != is_buffer) {
            report(Report::bad_handle, "texture id %u is %s buffer, the shader wants the other", id,
                   is_buffer ? "a" : "no");
            r->kind = ResourceKind::none;
        }
    }

    void sampler(Resource* r, uint32_t word) {
        if (!r || r->kind == ResourceKind::none || r->kind == ResourceKind::texel_buffer)
            return;
        const uint32_t id = word >> kHandleSamplerShift;
        if (const auto slot = Host::get().sampler(state.sampler_pool, id))
            r->sampler = slot->sampler;
        else if (word != 0xffffffffu && (r->reflection->sampled || r->kind == ResourceKind::sampler_only))
            report(Host::get().past_sampler_pool(state.sampler_pool, id) ? Report::id_past_pool : Report::bad_handle,
                   "sampler id %u in pool %u", id, state.sampler_pool);
    }

    // A handle word from a bank, with the second word of two-word forms ORed in (B-031).
    bool bank_handle(const Binding& b, uint32_t element, uint32_t& word) {
        if (!read_bank(b.bank, b.offset + 8 * element, &word, 4, program, state, call, backend, scratch))
            return false;
        if (b.or_bank != 0xff) {
            uint32_t other = 0;
            if (!read_bank(b.or_bank, b.or_offset, &other, 4, program, state, call, backend, scratch))
                return false;
            word |= other;
        }
        word |= b.or_constant;
        return true;
    }

    bool bind(const Binding& b, uint32_t index, uint32_t k) {
        const uint32_t slot = b.slot + k;
        switch (b.kind) {
        case BindingKind::driver: {
            const uint32_t bytes = b.dynamic ? kDriverBytes : std::clamp(b.bytes_read, 16u, kDriverBytes);
            Resource* r = add(ResourceKind::host_uniform, b, index, k);
            uint8_t* segment = scratch.take(bytes);
            if (!r || !segment)
                return false;
            fill_driver(segment, bytes, program, slots, call);
            r->data = segment;
            r->size = bytes;
            return true;
        }
        case BindingKind::constants: {
            Resource* r = add(ResourceKind::host_uniform, b, index, k);
            const std::vector<uint8_t>& c1 =
                program.constants.empty() ? program.shader->reflection.constants : program.constants;
            if (!r)
                return false;
            r->data = c1.data();
            r->size = static_cast<uint32_t>(std::min<size_t>(c1.size(), kUniformBufferBytes));
            if (r->size == 0)
                r->kind = ResourceKind::none;
            return true;
        }
        case BindingKind::push_constants: {
            Resource* r = add(ResourceKind::host_uniform, b, index, k);
            if (!r)
                return false;
            r->data = state.push[program.stage == Stage::compute].data();
            r->size = nvn::kPushBytes;
            return true;
        }
        case BindingKind::handles: {
            Resource* r = add(ResourceKind::host_uniform, b, index, k);
            const uint32_t bytes = abi().separate_samplers.end();
            uint8_t* table = scratch.take(bytes);
            if (!r || !table)
                return false;
            for (uint32_t at = abi().textures.base; at < bytes; at += 8)
                put32(table, bytes, at, handle_word(slots, at));
            r->data = table;
            r->size = bytes;
            return true;
        }
        case BindingKind::uniform: {
            Resource* r = add(ResourceKind::guest_uniform, b, index, k);
            if (!r || slot >= kUniformSlots)
                return false;
            Range range = slots.uniforms[slot];
            range.size = std::min(range.size, kUniformBufferBytes);
            guest_range(r, range);
            return true;
        }
        case BindingKind::storage: {
            Resource* r = add(ResourceKind::storage, b, index, k);
            if (!r || slot >= kStorageSlots)
                return false;
            guest_range(r, slots.storage[slot]);
            return true;
        }
        case BindingKind::storage_in_bank: {
            Resource* r = add(ResourceKind::storage, b, index, k);
            uint64_t address = 0;
            if (!r ||
                !read_bank(b.bank, b.offset + 8 * k, &address, 8, program, state, call, backend, scratch))
                return false;
            Range range{address, 0};
            if (const auto pool = Host::get().pool_at(address)) // up to the pool's end
                range.size = static_cast<uint32_t>(std::min<uint64_t>(
                    reinterpret_cast<uint64_t>(pool->memory) + pool->size - address, 1u << 31));
            guest_range(r, range);
            return true;
        }
        case BindingKind::texture: {
            if (slot >= kTextureSlots)
                return false;
            const uint32_t word = handle_word(slots, abi().textures.base + abi().textures.stride * slot);
            Resource* r = add(ResourceKind::texture, b, index, k);
            texture(r, word, false);
            sampler(r, word);
            return r != nullptr;
        }
        case BindingKind::separate_texture: {
            Resource* r = add(ResourceKind::texture_only, b, index, k);
            if (!r || slot >= kSeparateTextureSlots)
                return false;
            texture(r, slots.separate_textures[slot], false);
            return true;
        }
        case BindingKind::separate_sampler: {
            Resource* r = add(ResourceKind::sampler_only, b, index, k);
            if (!r || slot >= kSeparateSamplerSlots)
                return false;
            sampler(r, slots.separate_samplers[slot]);
            return true;
        }
        case BindingKind::image: {
            Resource* r = add(ResourceKind::image, b, index, k);
            if (!r || slot >= kImageSlots)
                return false;
            texture(r, slots.images[slot], true);
            return true;
        }
        case BindingKind::texture_in_bank:
        case BindingKind::image_in_bank:
        case BindingKind::sampler_in_bank: {
            const bool image = b.kind == BindingKind::image_in_bank,
                       alone = b.kind == BindingKind::sampler_in_bank;
            uint32_t word = 0;
            Resource* r = add(image   ? ResourceKind::image
                              : alone ? ResourceKind::sampler_only
                                      : ResourceKind::texture,
                              b, index, k);
            if (!r || !bank_handle(b, k, word))
                return false;
            if (!alone)
                texture(r, word, image);
            if (!image)
                sampler(r, word);
            return true;
        }
        case BindingKind::pool_table:
        case BindingKind::pool_write_log: {
            if (!backend.raw_memory())
                return false;
            Resource* r = add(b.kind == BindingKind::pool_table ? ResourceKind::pool_table
                                                                : ResourceKind::pool_write_log,
                              b, index, k);
            if (r) // nothing makes a pool between the slots of one call: both name one table
                r->pools = &backend.pool_tables().current(backend);
            return r != nullptr;
        }
        case BindingKind::texture_pool:
        case BindingKind::sampler_pool: {
            if (!backend.whole_id_pools())
                return false;
            const bool textures = b.kind == BindingKind::texture_pool;
            Resource* r = add(textures ? ResourceKind::texture_pool : ResourceKind::sampler_pool, b, index, k);
            if (r)
                r->id_pool = textures ? state.texture_pool : state.sampler_pool;
            return r != nullptr;
        }
        default: return false;
        }
    }
};

} // namespace

uint8_t* Scratch::take(uint32_t bytes) {
    bytes = (bytes + 15) & ~15u;
    if (bytes > kBytes - used_)
        return nullptr;
    uint8_t* p = bytes_.get() + used_;
    used_ += bytes;
    std::memset(p, 0, bytes);
    return p;
}

bool resolve_stage(const nvn::ProgramStage& program, const QueueState& state, const CallParameters& call,
                   Backend& backend, Scratch& scratch, std::vector<Resource>& out) {
    const std::vector<Binding>& bindings = program.shader->reflection.interface.bindings;
    Resolver r{
        program, state, call, backend, scratch, out, state.stages[static_cast<unsigned>(program.stage)]};
    for (uint32_t i = 0; i < bindings.size(); ++i)
        for (uint32_t k = 0; k < bindings[i].count; ++k)
            if (!r.bind(bindings[i], i, k)) {
                report(Report::unsupported,
                       "%s shader %016llx: binding %u (%s, slot %u, element %u) cannot be filled",
                       stage_name(program.stage).data(), static_cast<unsigned long long>(program.key), i,
                       binding_kind_name(bindings[i].kind).data(), bindings[i].slot, k);
                return false;
            }
    return true;
}

} // namespace dmsh::replay
