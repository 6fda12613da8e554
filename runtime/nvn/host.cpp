// Implements the host side of NVN objects: pools, programs, id tables, lent command memory.
#include "runtime/nvn/host.h"
#include "runtime/abi/program_key.h"
#include "runtime/nvn/formats.h"
#include "runtime/nvn/recorder.h"
#include "runtime/nvn/safe_memory.h"
#include <algorithm>
#include <cstring>
#include <span>

namespace dmsh::nvn {
namespace {

constexpr uint64_t kLentCap = uint64_t{1} << 30; // all lent command memory of the process
constexpr uint64_t kLentControlCap = 256 << 20;
constexpr uint32_t kMaxCodeBytes = 16 << 20;     // of one stage; larger claims are damage
constexpr uint32_t kMinControlBytes = 0x760;     // S-004
constexpr uint32_t kCodeMajorNvn2 = 0xc9;

uint32_t word_at(const uint8_t* p, size_t offset) {
    uint32_t v;
    std::memcpy(&v, p + offset, 4);
    return v;
}

// Where a program's c[1] starts in its code area: +0x700, but behind part B for vertex programs of two parts, whose
// +0x700 names that part (S-017: the list of parts at +0x748, B behind A and behind 0x30 zero bytes).
uint32_t constants_start(std::span<const uint8_t> control, std::span<const uint8_t> code) {
    constexpr uint32_t kHeader = 0x30, kSphBytes = 0x50, kParts = 0x748;
    const uint32_t stated = word_at(control.data(), 0x700);
    if (control.size() < kParts + 16 || word_at(control.data(), 0x714) != static_cast<uint32_t>(Stage::vertex))
        return stated;
    const uint32_t a = word_at(control.data(), kParts), a_bytes = word_at(control.data(), kParts + 4),
                   b = word_at(control.data(), kParts + 8), b_bytes = word_at(control.data(), kParts + 12);
    const auto inside = [&](uint32_t at, uint32_t n) {
        return n > kSphBytes && n % 8 == 0 && at <= code.size() && n <= code.size() - at;
    };
    if (!inside(a, a_bytes) || !inside(b, b_bytes) || a != kHeader || b != uint64_t{stated} + kHeader ||
        stated < uint64_t{a} + a_bytes ||
        !std::all_of(code.begin() + stated, code.begin() + b, [](uint8_t v) { return v == 0; }))
        return stated;
    const uint32_t sph = word_at(code.data(), b); // version 3, shader type 1 (vertex)
    return (sph >> 5 & 31) == 3 && (sph >> 10 & 15) == 1 ? b + b_bytes : stated;
}

} // namespace

Host& Host::get() {
    static Host host;
    return host;
}

void Host::reset() {
    const std::lock_guard hold(submit_lock_);
    executor_ = nullptr;
    pools_.clear();
    shared_pages_.clear();
    for (const auto& v : virtual_pools_)
        release_range(v->base, v->info.size);
    virtual_pools_.clear();
    physical_.clear();
    addressed_.clear();
    ++pools_generation_;
    programs_.clear();
    shaders_.reset();
    texture_pools_.clear();
    sampler_pools_.clear();
    lent_.clear();
    lent_control_.clear();
    lent_bytes_ = 0;
    windows_.clear();
    tracked_.clear();
    Recorders::get().reset();
    stall_limit_ns = uint64_t{3600} * 1000000000;
    skip_offset_ = skip_length_ = 0;
    window_origin = NVN_WINDOW_ORIGIN_MODE_LOWER_LEFT;
    depth_mode = NVN_DEPTH_MODE_NEAR_IS_MINUS_W;
    gob_order = GobOrder::tegra_x1;
    sdk = {};
}

void Host::set_executor(Executor* executor) {
    const std::lock_guard hold(submit_lock_);
    executor_ = executor;
    if (executor)
        for (const PoolInfo& p : pools_)
            executor->pool_added(p);
}

void Host::add_library(LibraryPack pack) {
    shaders_.add(std::move(pack));
}

void Host::set_key_skip(KeySkip skip) {
    skip_offset_ = skip.offset;
    skip_length_ = skip.length;
}

void Host::set_sdk(const Sdk& value) {
    sdk = value;
    gob_order = value.nvn2 ? GobOrder::switch2 : GobOrder::tegra_x1;
}

uint32_t Host::next_serial() {
    return serial_.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Memory pools.

bool Host::add_pool(const NVNmemoryPool* object) {
    if (object->flags & NVN_MEMORY_POOL_FLAGS_VIRTUAL)
        return add_virtual(object);
    PoolInfo p;
    p.object = object;
    p.memory = static_cast<uint8_t*>(object->memory);
    p.size = object->size;
    p.flags = object->flags;
    p.serial = next_serial();
    {
        const std::unique_lock hold(pools_lock_);
        pools_.insert(
            std::upper_bound(pools_.begin(), pools_.end(), p,
                             [](const PoolInfo& a, const PoolInfo& b) { return a.memory < b.memory; }),
            p);
        physical_[object] = p;
        ++pools_generation_;
    }
    const std::lock_guard hold(submit_lock_);
    if (executor_)
        executor_->pool_added(p);
    return true;
}

void Host::remove_pool(const NVNmemoryPool* object) {
    const auto p = pool(object);
    if (!p)
        return;
    if (p->is_virtual())
        return remove_virtual(object);
    const std::lock_guard hold(submit_lock_);
    if (executor_)
        executor_->pool_removed(*p); // waits for the GPU: afterwards nobody reads the memory
    Recorders::get().forget_memory(p->memory, p->size);
    {
        const std::unique_lock pools(pools_lock_);
        std::erase_if(pools_, [&](const PoolInfo& x) { return x.serial == p->serial; });
        physical_.erase(object);
        addressed_.erase(object);
        ++pools_generation_;
    }
    shared_pages_.erase(p->serial); // the guest gets private pages back
}

std::optional<PoolInfo> Host::pool(const NVNmemoryPool* object) const {
    const std::shared_lock hold(pools_lock_);
    if (VirtualPool* v = virtual_pool(object)) {
        v->leaked = true;
        return v->info;
    }
    const auto it = physical_.find(object);
    return it == physical_.end() ? std::nullopt : std::optional(it->second);
}

void Host::address_taken(const NVNmemoryPool* object, uint64_t address) {
    const auto owner = pool_at(address); // another one for a virtual pool that is an alias
    {
        const std::shared_lock hold(pools_lock_);
        if (addressed_.contains(object) && (!owner || addressed_.contains(owner->object)))
            return;
    }
    const std::unique_lock hold(pools_lock_);
    addressed_.insert(object);
    if (owner)
        addressed_.insert(owner->object);
    ++pools_generation_;
}

std::vector<PoolInfo> Host::addressed_pools() const {
    const std::shared_lock hold(pools_lock_);
    std::vector<PoolInfo> out;
    for (const PoolInfo& p : pools_)
        if (addressed_.contains(p.object))
            out.push_back(p);
    return out;
}

std::optional<PoolInfo> Host::pool_at(uint64_t address, uint64_t bytes) const {
    const std::shared_lock hold(pools_lock_);
    auto it = std::upper_bound(pools_.begin(), pools_.end(), address, [](uint64_t a, const PoolInfo& p) {
        return a < reinterpret_cast<uint64_t>(p.memory);
    });
    while (it != pools_.begin()) { // pools may overlap: the nearest start that reaches far enough
        --it;
        const uint64_t offset = address - reinterpret_cast<uint64_t>(it->memory);
        if (offset <= it->size && bytes <= it->size - offset && offset < it->size)
            return *it;
        if (offset >= it->size)
            break;
    }
    return std::nullopt;
}

bool Host::cover(uint64_t address, uint64_t bytes) {
    const uint64_t generation = pools_generation_.load(std::memory_order_relaxed);
    const auto p = pool_at(address, bytes);
    if (!p)
        return false;
    const uint64_t from = reinterpret_cast<uint64_t>(p->memory);
    covered_[covered_next_] = {generation, from, from + p->size};
    covered_next_ = (covered_next_ + 1) % covered_.size();
    return true;
}

// Programs.

uint32_t Host::add_program() {
    auto p = std::make_shared<Program>();
    p->serial = next_serial();
    const std::unique_lock hold(programs_lock_);
    programs_[p->serial] = p;
    return p->serial;
}

void Host::remove_program(uint32_t serial) {
    const std::lock_guard submit(submit_lock_);
    if (executor_)
        executor_->program_removed(serial);
    const std::unique_lock hold(programs_lock_);
    programs_.erase(serial);
}

// Takes the key and what else comes from control section and code area. False: the code is in no pool yet.
bool Host::take_key(ProgramStage& s, const uint8_t* control, size_t control_bytes) {
    const bool nvn2 = word_at(control, 4) == kCodeMajorNvn2;
    if (control_bytes < (nvn2 ? 0x60u : 0x718u)) {
        report(Report::bad_program, "control section of %zu bytes is too short", control_bytes);
        s.present = false;
        return true;
    }
    const uint32_t code_bytes = word_at(control, nvn2 ? 0x44 : 0x704);
    if (code_bytes == 0 || code_bytes > kMaxCodeBytes) {
        report(Report::bad_program, "control section claims %u code bytes", code_bytes);
        s.present = false;
        return true;
    }
    if (!pool_at(s.code, code_bytes))
        return false;
    const uint32_t stage = nvn2 ? control[0x56] : word_at(control, 0x714);
    if (stage >= kStageCount) {
        report(Report::bad_program, "control section names stage %u", stage);
        s.present = false;
        return true;
    }
    const std::span<const uint8_t> code(reinterpret_cast<const uint8_t*>(s.code), code_bytes);
    s.stage = static_cast<Stage>(stage);
    s.key = program_key({control, control_bytes}, code, {skip_offset_, skip_length_});
    if (!nvn2) {
        const uint32_t offset = constants_start({control, control_bytes}, code);
        if (offset < code_bytes)
            s.constants.assign(code.begin() + offset, code.end());
    }
    shaders_.request(s.key, s.stage, s.code);
    s.loading = true;
    return true;
}

bool Host::set_shaders(uint32_t serial, int count, const NVNshaderData* data) {
    if (count < 0 || count > static_cast<int>(kStageCount) || (count && !data)) {
        report(Report::bad_argument, "nvnProgramSetShaders with %d stages", count);
        return false;
    }
    auto fresh = std::make_shared<Program>();
    fresh->serial = serial;
    for (int i = 0; i < count; ++i) {
        ProgramStage s;
        s.present = true;
        s.code = data[i].data;
        // The control section lies in plain guest memory: read what is there, then bound it by its own
        // length.
        uint8_t control[kKeyControlBytes] = {};
        size_t have = safe_read(reinterpret_cast<uint64_t>(data[i].control), control, sizeof control);
        if (have < 0x48 || word_at(control, 0) != 0x98761234) {
            report(Report::bad_program, "stage %d has no control section", i);
            continue;
        }
        if (word_at(control, 4) != kCodeMajorNvn2) {
            const uint32_t length = word_at(control, 0x20);
            if (length % 4 == 0 && length >= kMinControlBytes)
                have = std::min<size_t>(have, length);
        } else if (const uint32_t offset = word_at(control, 0x30);
                   word_at(control, 8) >= 0x14 && offset >= 0x48) {
            have = std::min<size_t>(have, offset); // the section runs up to its code
        }
        if (!take_key(s, control, have)) {
            s.control.assign(control, control + have); // hashed at first use, when the code's pool exists
            s.stage = static_cast<Stage>(std::min<uint32_t>(
                word_at(control, 4) == kCodeMajorNvn2 ? control[0x56] : word_at(control, 0x714),
                kStageCount - 1));
        }
        if (s.present)
            fresh->stages[static_cast<unsigned>(s.stage)] = std::move(s);
    }
    const std::unique_lock hold(programs_lock_);
    const auto it = programs_.find(serial);
    if (it == programs_.end())
        return false;
    it->second = std::move(fresh);
    return true;
}

std::shared_ptr<const Program> Host::find_program(uint32_t serial) {
    std::shared_ptr<Program> found;
    {
        const std::shared_lock hold(programs_lock_);
        const auto it = programs_.find(serial);
        if (it == programs_.end())
            return nullptr;
        found = it->second;
    }
    bool late = false;
    for (const ProgramStage& s : found->stages)
        late |= s.unresolved();
    if (!late)
        return found;
    auto fresh = std::make_shared<Program>(*found);
    for (ProgramStage& s : fresh->stages) {
        if (s.present && !s.control.empty()) {
            const std::vector<uint8_t> control = s.control;
            if (take_key(s, control.data(), control.size()))
                s.control.clear();
        }
        if (s.present && s.loading) {
            s.shader = shaders_.take(s.key);
            s.loading = false;
        }
    }
    const std::unique_lock hold(programs_lock_);
    if (const auto it = programs_.find(serial); it != programs_.end() && it->second == found)
        it->second = fresh;
    return fresh;
}

bool Host::set_sample_shading(uint32_t serial, int mode) {
    const std::unique_lock hold(programs_lock_);
    const auto it = programs_.find(serial);
    if (it == programs_.end() || mode < 0 || mode > NVN_SAMPLE_SHADING_MODE_FORCE_SAMPLE_SHADING_OFF)
        return false;
    auto fresh = std::make_shared<Program>(*it->second);
    fresh->sample_shading = mode;
    it->second = std::move(fresh);
    return true;
}

// Live objects.

void Host::track(NVNdebugObjectType type, const void* object) {
    const std::lock_guard hold(tracked_lock_);
    tracked_[type].insert(object);
}

void Host::untrack(NVNdebugObjectType type, const void* object) {
    const std::lock_guard hold(tracked_lock_);
    tracked_[type].erase(object);
}

std::vector<const void*> Host::tracked(NVNdebugObjectType type) const {
    const std::lock_guard hold(tracked_lock_);
    const auto it = tracked_.find(type);
    return it == tracked_.end() ? std::vector<const void*>()
                                : std::vector<const void*>(it->second.begin(), it->second.end());
}

// Texture and sampler ids.

namespace {

template <class Slot>
void set_id(std::unordered_map<uint32_t, IdPool<Slot>>& pools, uint32_t serial, int id, const Slot& slot,
            const char* what) {
    const auto it = pools.find(serial);
    if (it == pools.end() || !it->second.set(id, slot))
        report(Report::bad_argument, "%s id %d is not in its pool", what, id);
}

template <class Slot>
std::optional<Slot> id_of(const std::unordered_map<uint32_t, IdPool<Slot>>& pools, uint32_t serial, uint32_t id) {
    const auto it = pools.find(serial);
    return it == pools.end() ? std::nullopt : it->second.get(id);
}

template <class Slot>
bool changes_of(const std::unordered_map<uint32_t, IdPool<Slot>>& pools, uint32_t serial, IdChanges& changes) {
    const auto it = pools.find(serial);
    if (it == pools.end())
        return false;
    it->second.changes(changes);
    return true;
}

template <class Slot>
bool past_end(const std::unordered_map<uint32_t, IdPool<Slot>>& pools, uint32_t serial, uint32_t id) {
    const auto it = pools.find(serial);
    return it != pools.end() && id >= it->second.size();
}

size_t bounded(int count, uint32_t most) {
    return static_cast<size_t>(std::clamp(count, 0, static_cast<int>(most)));
}

} // namespace

uint32_t Host::add_texture_pool(int count) {
    const uint32_t serial = next_serial();
    const std::unique_lock hold(ids_lock_);
    texture_pools_.emplace(serial, bounded(count, kTexturePoolSize));
    return serial;
}

void Host::remove_texture_pool(uint32_t serial) {
    const std::unique_lock hold(ids_lock_);
    texture_pools_.erase(serial);
}

void Host::set_texture(uint32_t serial, int id, const TextureSlot& slot) {
    const std::unique_lock hold(ids_lock_);
    set_id(texture_pools_, serial, id, slot, "texture");
}

std::optional<TextureSlot> Host::texture(uint32_t serial, uint32_t id) const {
    const std::shared_lock hold(ids_lock_);
    return id_of(texture_pools_, serial, id);
}

bool Host::past_texture_pool(uint32_t serial, uint32_t id) const {
    const std::shared_lock hold(ids_lock_);
    return past_end(texture_pools_, serial, id);
}

bool Host::texture_changes(uint32_t serial, IdChanges& changes) const {
    const std::shared_lock hold(ids_lock_);
    return changes_of(texture_pools_, serial, changes);
}

uint32_t Host::add_sampler_pool(int count) {
    const uint32_t serial = next_serial();
    const std::unique_lock hold(ids_lock_);
    sampler_pools_.emplace(serial, bounded(count, kSamplerPoolSize));
    return serial;
}

void Host::remove_sampler_pool(uint32_t serial) {
    const std::unique_lock hold(ids_lock_);
    sampler_pools_.erase(serial);
}

void Host::set_sampler(uint32_t serial, int id, const SamplerSlot& slot) {
    const std::unique_lock hold(ids_lock_);
    set_id(sampler_pools_, serial, id, slot, "sampler");
}

std::optional<SamplerSlot> Host::sampler(uint32_t serial, uint32_t id) const {
    const std::shared_lock hold(ids_lock_);
    return id_of(sampler_pools_, serial, id);
}

bool Host::past_sampler_pool(uint32_t serial, uint32_t id) const {
    const std::shared_lock hold(ids_lock_);
    return past_end(sampler_pools_, serial, id);
}

bool Host::sampler_changes(uint32_t serial, IdChanges& changes) const {
    const std::shared_lock hold(ids_lock_);
    return changes_of(sampler_pools_, serial, changes);
}

// Lent command memory.

uint8_t* Host::lend_segment(uint64_t bytes, const NVNcommandBuffer* owner, uint32_t recording_id) {
    const std::lock_guard hold(lent_lock_);
    if (lent_bytes_ + bytes > kLentCap)
        return nullptr;
    Lent lent;
    lent.memory.reset(new (std::nothrow) uint8_t[bytes]);
    if (!lent.memory)
        return nullptr;
    lent.size = bytes;
    lent.recording = recording_id;
    lent_bytes_ += bytes;
    report(Report::lent_memory, "%llu bytes to command buffer %p", static_cast<unsigned long long>(bytes),
           static_cast<const void*>(owner));
    lent_.push_back(std::move(lent));
    return lent_.back().memory.get();
}

uint8_t* Host::lend_control(uint64_t bytes) {
    const std::lock_guard hold(lent_lock_);
    if ((lent_control_.size() + 1) * bytes > kLentControlCap) // never given back: handles may be used for ever
        return nullptr;
    lent_control_.emplace_back(new (std::nothrow) uint8_t[bytes]);
    return lent_control_.back().get();
}

bool Host::is_lent(uint64_t address, uint64_t bytes) const {
    const std::lock_guard hold(lent_lock_);
    for (const Lent& l : lent_) {
        const uint64_t from = reinterpret_cast<uint64_t>(l.memory.get());
        if (address >= from && address - from <= l.size && bytes <= l.size - (address - from))
            return true;
    }
    return false;
}

void Host::note_guest_bytes(uint32_t recording_id, const uint8_t* from, uint64_t bytes) {
    const std::lock_guard hold(lent_lock_);
    for (Lent& l : lent_)
        if (l.recording == recording_id && !l.guest_from) {
            l.guest_from = from;
            l.guest_bytes = bytes;
        }
}

void Host::recorded_over(const uint8_t* from, uint64_t bytes, uint32_t recording_id) {
    if (lent_bytes() == 0)
        return;
    const std::lock_guard hold(lent_lock_);
    std::erase_if(lent_, [&](const Lent& l) {
        const bool gone = l.recording != recording_id && l.guest_from &&
                          from < l.guest_from + l.guest_bytes && l.guest_from < from + bytes;
        if (gone)
            lent_bytes_ -= l.size;
        return gone;
    });
}

// Textures.

uint32_t layer_count(const TextureDesc& t) {
    switch (t.target) {
    case NVN_TEXTURE_TARGET_1D_ARRAY: return t.height ? t.height : 1;
    case NVN_TEXTURE_TARGET_2D_ARRAY:
    case NVN_TEXTURE_TARGET_2D_MULTISAMPLE_ARRAY: return t.depth ? t.depth : 1;
    case NVN_TEXTURE_TARGET_CUBEMAP: return 6;
    // Faces: guests whose depth is no multiple of 6 count cubes.
    case NVN_TEXTURE_TARGET_CUBEMAP_ARRAY: return t.depth % 6 == 0 && t.depth ? t.depth : t.depth * 6;
    default: return 1;
    }
}

Result<TextureLayout> layout_of(const TextureDesc& t) {
    const FormatInfo f = format_info(t.format);
    if (f.bytes == 0)
        return Error{"texture format " + std::to_string(t.format) + " is unknown"};
    LayoutInput in;
    in.width = t.width;
    in.height = t.target == NVN_TEXTURE_TARGET_1D || t.target == NVN_TEXTURE_TARGET_1D_ARRAY ||
                        t.target == NVN_TEXTURE_TARGET_BUFFER
                    ? 1
                    : t.height;
    in.is_3d = t.target == NVN_TEXTURE_TARGET_3D;
    in.depth = in.is_3d ? t.depth : 1;
    in.layers = layer_count(t);
    in.has_layers = t.target == NVN_TEXTURE_TARGET_1D_ARRAY || t.target == NVN_TEXTURE_TARGET_2D_ARRAY ||
                    t.target == NVN_TEXTURE_TARGET_2D_MULTISAMPLE_ARRAY ||
                    t.target == NVN_TEXTURE_TARGET_CUBEMAP || t.target == NVN_TEXTURE_TARGET_CUBEMAP_ARRAY;
    in.levels = t.levels;
    in.samples = t.samples;
    in.bytes = f.bytes;
    in.block_width = f.block_width;
    in.block_height = f.block_height;
    in.linear = (t.flags & NVN_TEXTURE_FLAGS_LINEAR) || t.target == NVN_TEXTURE_TARGET_BUFFER;
    in.linear_target = t.flags & NVN_TEXTURE_FLAGS_LINEAR_RENDER_TARGET;
    in.minimal = t.flags & NVN_TEXTURE_FLAGS_MINIMAL_LAYOUT;
    in.packaged = t.packaged;
    in.packaged_height = t.packaged_blocks & 15;
    in.packaged_depth = t.packaged_blocks >> 4;
    in.sparse = t.flags & NVN_TEXTURE_FLAGS_SPARSE;
    in.packaged_columns = t.packaged_columns & 15;
    in.video_decode = t.flags & NVN_TEXTURE_FLAGS_VIDEO_DECODE;
    in.stride = t.target == NVN_TEXTURE_TARGET_BUFFER ? t.width * f.bytes : t.stride;
    return texture_layout(in);
}

ResolvedView resolve_view(const BoundTexture& b) {
    const TextureDesc& t = b.texture;
    const NVNtextureView& v = b.view;
    ResolvedView r;
    const uint32_t levels = std::max<uint32_t>(1, t.levels);
    r.base_level = v.set & kViewLevels ? std::min<uint32_t>(v.base_level, levels - 1) : 0;
    // A volume's slices are what a view names as its layers.
    const uint32_t layers =
        t.target == NVN_TEXTURE_TARGET_3D ? std::max(1u, t.depth >> std::min(r.base_level, 31u)) : layer_count(t);
    r.level_count =
        std::clamp<uint32_t>(v.set & kViewLevels ? v.level_count : levels, 1, levels - r.base_level);
    r.base_layer = v.set & kViewLayers ? std::min<uint32_t>(v.min_layer, layers - 1) : 0;
    r.layer_count =
        std::clamp<uint32_t>(v.set & kViewLayers ? v.layer_count : layers, 1, layers - r.base_layer);
    r.format = v.set & kViewFormat ? v.format : t.format;
    r.target = v.set & kViewTarget ? v.target : t.target;
    r.swizzle = v.set & kViewSwizzle ? v.swizzle : t.swizzle;
    r.stencil_mode = v.set & kViewStencilMode ? v.stencil_mode : t.stencil_mode;
    return r;
}

} // namespace dmsh::nvn
