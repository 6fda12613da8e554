// Implements the command interpreter: one case per record.
#include "runtime/replay/interpreter.h"
#include "runtime/nvn/states.h"
#include "runtime/replay/record_reader.h"
#include <algorithm>
#include <limits>

namespace dmsh::replay {

using nvn::Host;
using nvn::Op;
using nvn::Report;
using nvn::report;

RasterState::RasterState() {
    NVNblendState b;
    nvnBlendStateSetDefaults(&b);
    blend.fill(b.word);
    NVNcolorState c;
    nvnColorStateSetDefaults(&c);
    color = c.word;
    NVNmultisampleState m;
    nvnMultisampleStateSetDefaults(&m);
    multisample = m.word;
    NVNpolygonState p;
    nvnPolygonStateSetDefaults(&p);
    polygon = p.word;
    NVNdepthStencilState d;
    nvnDepthStencilStateSetDefaults(&d);
    depth_stencil = d.word;
    scissors.fill({0, 0, 0x7fffffff, 0x7fffffff});
    depth_ranges.fill({0.0f, 1.0f});
    swizzles.fill({NVN_VIEWPORT_SWIZZLE_POSITIVE_X, NVN_VIEWPORT_SWIZZLE_POSITIVE_Y,
                   NVN_VIEWPORT_SWIZZLE_POSITIVE_Z, NVN_VIEWPORT_SWIZZLE_POSITIVE_W});
}

Interpreter::Interpreter(Backend& backend) : backend_(backend), receipts_(backend), signals_(backend) {
    resources_.reserve(kMaxResources);
}
Interpreter::~Interpreter() {
    backend_.wait(backend_.flush(), std::numeric_limits<uint64_t>::max());
}

void Interpreter::pool_removed(const nvn::PoolInfo& pool) {
    backend_.wait(flush_backend(), std::numeric_limits<uint64_t>::max());
    signals_.publish();
    backend_.pool_removed(pool);
}

bool Interpreter::run(QueueState& state, const uint8_t* records, size_t bytes) {
    size_t at = 0;
    return run(state, records, bytes, at) != Stop::damage;
}

namespace {

// Records that decide no pipeline: most of a list's.
constexpr bool decides_pipeline(Op op) {
    switch (op) {
    case Op::nop:
    case Op::bind_handle:
    case Op::bind_handles:
    case Op::bind_handles_deferred:
    case Op::bind_buffers:
    case Op::bind_program: // by the ids of its shaders
    case Op::set_pool:
    case Op::set_viewports:
    case Op::set_scissors:
    case Op::set_depth_ranges:
    case Op::set_stencil:
    case Op::clear_color:
    case Op::clear_depth_stencil:
    case Op::draw:
    case Op::draw_elements:
    case Op::dispatch:
    case Op::copy_buffer:
    case Op::copy_buffer_texture:
    case Op::copy_texture:
    case Op::clear_buffer:
    case Op::update_uniform:
    case Op::barrier:
    case Op::fence_sync:
    case Op::wait_sync:
    case Op::draw_indirect:
    case Op::dispatch_indirect:
    case Op::push_constants:
    case Op::report_counter:
    case Op::report_value:
    case Op::wait_event:
    case Op::signal_event: return false;
    default: return true;
    }
}

constexpr uint64_t kDecidesPipeline = [] {
    uint64_t bits = 0;
    for (unsigned op = 0; op < static_cast<unsigned>(Op::count); ++op)
        bits |= uint64_t{decides_pipeline(static_cast<Op>(op))} << op;
    return bits;
}();
static_assert(static_cast<unsigned>(Op::count) <= 64);

} // namespace

namespace {

void put_handle(StageSlots& s, nvn::HandleKind kind, uint32_t index, uint32_t handle) {
    switch (kind) {
    case nvn::HandleKind::texture:
        if (index < kTextureSlots)
            s.textures[index] = handle;
        break;
    case nvn::HandleKind::image:
        if (index < kImageSlots) {
            s.images[index] = handle;
            s.images_bound |= static_cast<uint8_t>(1 << index);
        }
        break;
    case nvn::HandleKind::separate_texture:
        if (index < kSeparateTextureSlots)
            s.separate_textures[index] = handle;
        break;
    case nvn::HandleKind::separate_sampler:
        if (index < kSeparateSamplerSlots)
            s.separate_samplers[index] = handle;
        break;
    }
}

bool bind_buffers(QueueState& state, const uint8_t* record, size_t bytes) {
    nvn::BindBuffersRecord r;
    if (!get(r, record, bytes) || r.stage >= kStageCount ||
        !has(bytes, sizeof r, r.count, sizeof(nvn::BufferRange)))
        return false;
    for (uint32_t i = 0; i < r.count; ++i) {
        nvn::BufferRange b;
        std::memcpy(&b, record + sizeof r + i * sizeof b, sizeof b);
        const Range range{b.address.value(), b.size};
        const uint32_t slot = uint32_t{r.first} + i;
        StageSlots& s = state.stages[r.stage];
        switch (r.kind) {
        case nvn::BufferKind::uniform:
            if (slot >= kUniformSlots)
                return false;
            s.uniforms[slot] = range;
            break;
        case nvn::BufferKind::storage:
            if (slot >= kStorageSlots)
                return false;
            s.storage[slot] = range;
            break;
        case nvn::BufferKind::vertex:
            if (slot >= kMaxStreams)
                return false;
            state.vertex_buffers[slot] = range;
            break;
        case nvn::BufferKind::feedback:
            if (slot >= kFeedbackBuffers)
                return false;
            state.feedback_buffers[slot] = range;
            break;
        default: return false;
        }
    }
    return true;
}

bool bind_handle(QueueState& state, const uint8_t* record, size_t bytes) {
    nvn::BindHandleRecord r;
    if (!get(r, record, bytes) || r.stage >= kStageCount)
        return false;
    put_handle(state.stages[r.stage], r.kind, r.index, r.handle);
    return true;
}

} // namespace

Interpreter::Stop Interpreter::run(QueueState& state, const uint8_t* records, size_t bytes, size_t& at) {
    at = 0;
    while (at < bytes) {
        nvn::RecordHeader h;
        if (bytes - at < sizeof h)
            return Stop::damage;
        std::memcpy(&h, records + at, sizeof h);
        const size_t n = size_t{h.words} * 4;
        if (n < sizeof h || n > bytes - at) {
            report(Report::bad_command, "record of %zu bytes with %zu left", n, bytes - at);
            return Stop::damage;
        }
        ++counts_.records;
        state.pipeline_changes += h.op < static_cast<unsigned>(Op::count) ? kDecidesPipeline >> h.op & 1 : 1;
        // Two kinds of record are most of a list: they are spared the frame that the others need.
        const Op op = static_cast<Op>(h.op);
        const bool done = op == Op::bind_handle    ? bind_handle(state, records + at, n)
                          : op == Op::bind_buffers ? bind_buffers(state, records + at, n)
                                                   : execute(state, op, records + at, n);
        if (!done) {
            report(Report::bad_command, "record %u of %zu bytes", h.op, n);
            return Stop::damage;
        }
        if (blocked_) [[unlikely]] {
            blocked_ = false;
            return Stop::blocked;
        }
        at += n;
    }
    return Stop::end;
}

namespace {

bool set_render_targets(QueueState& state, const uint8_t* record, size_t bytes) {
    nvn::RenderTargetsRecord r;
    if (!get(r, record, bytes) || r.color_count > kMaxColors || r.present >> (kMaxColors + 1))
        return false;
    Targets t;
    t.color_count = r.color_count;
    t.present = r.present;
    const uint8_t* at = record + sizeof r;
    size_t left = bytes - sizeof r;
    for (uint32_t i = 0; i <= kMaxColors; ++i) {
        if (!(r.present >> i & 1))
            continue;
        nvn::TextureRecord texture;
        if (left < sizeof texture)
            return false;
        std::memcpy(&texture, at, sizeof texture);
        (i == kMaxColors ? t.depth : t.colors[i]) = texture.bound();
        at += sizeof texture;
        left -= sizeof texture;
    }
    state.targets = t;
    return true;
}

void set_scalar(RasterState& s, const nvn::ScalarRecord& r) {
    float value;
    std::memcpy(&value, &r.word, 4);
    switch (r.which) {
    case nvn::Scalar::patch_size: s.patch_size = std::clamp(r.word, 1u, 32u); break;
    case nvn::Scalar::point_size: s.point_size = value; break;
    case nvn::Scalar::line_width: s.line_width = value; break;
    case nvn::Scalar::alpha_ref: s.alpha_ref = value; break;
    case nvn::Scalar::sample_mask: s.sample_mask = r.word; break;
    case nvn::Scalar::rasterizer_discard: s.rasterizer_discard = r.word != 0; break;
    case nvn::Scalar::depth_clamp: s.depth_clamp = r.word != 0; break;
    case nvn::Scalar::primitive_restart:
        s.primitive_restart = r.flag != 0;
        s.restart_index = r.word;
        break;
    case nvn::Scalar::conservative_raster: s.conservative = r.word != 0; break;
    case nvn::Scalar::conservative_dilate: s.conservative_dilate = value; break;
    case nvn::Scalar::subpixel_bias: s.subpixel_bias = r.word; break;
    case nvn::Scalar::float_blend_clamp: s.float_blend_clamp = r.word != 0; break;
    }
}

void set_stencil(RasterState& s, const nvn::StencilRecord& r) {
    for (const bool back : {false, true}) {
        if (!(r.faces & (back ? NVN_FACE_BACK : NVN_FACE_FRONT)))
            continue;
        StencilFace& f = back ? s.back : s.front;
        switch (r.which) {
        case nvn::StencilValue::reference: f.reference = r.value; break;
        case nvn::StencilValue::value_mask: f.value_mask = r.value; break;
        case nvn::StencilValue::write_mask: f.write_mask = r.value; break;
        }
    }
}

} // namespace

bool Interpreter::execute(QueueState& state, Op op, const uint8_t* record, size_t bytes) {
    RasterState& raster = state.raster;
    uint32_t first = 0, count = 0;
    switch (op) {
    case Op::nop: return true;
    case Op::bind_handles: {
        nvn::BindHandlesRecord r;
        if (!get(r, record, bytes) || r.stage >= kStageCount || r.count > nvn::kMaxHandlesPerBind ||
            !has(bytes, sizeof r, r.count, 4))
            return false;
        for (uint32_t i = 0; i < r.count; ++i) {
            uint32_t handle;
            std::memcpy(&handle, record + sizeof r + i * 4, 4);
            put_handle(state.stages[r.stage], r.kind, uint32_t{r.first} + i, handle);
        }
        return true;
    }
    case Op::bind_handle:
    case Op::bind_buffers: return false; // run() does these
    case Op::bind_program: {
        nvn::BindProgramRecord r;
        if (!get(r, record, bytes))
            return false;
        std::shared_ptr<const nvn::Program> program = r.serial ? bound_program(r.serial) : nullptr;
        if (r.serial && !program)
            report(Report::bad_program, "program %u is gone", r.serial);
        for (uint32_t i = 0; i < kStageCount; ++i)
            if (r.stages >> i & 1)
                state.programs[i] = program;
        return true;
    }
    case Op::bind_blend: {
        nvn::StateRecord64 r;
        if (!get(r, record, bytes))
            return false;
        raster.blend[nvn::blend::Target::get(r.word.value())] = r.word.value();
        return true;
    }
    case Op::bind_depth_stencil: {
        nvn::StateRecord64 r;
        if (!get(r, record, bytes))
            return false;
        raster.depth_stencil = r.word.value();
        return true;
    }
    case Op::bind_multisample: {
        nvn::StateRecord32 r;
        if (!get(r, record, bytes))
            return false;
        raster.multisample = r.word;
        if (nvn::multisample::LocationsEnable::get(r.word) && has(bytes, sizeof r, 16, 1))
            std::memcpy(raster.sample_positions.data(), record + sizeof r, 16);
        return true;
    }
    case Op::bind_color:
    case Op::bind_channel_mask:
    case Op::bind_polygon: {
        nvn::StateRecord32 r;
        if (!get(r, record, bytes))
            return false;
        (op == Op::bind_color          ? raster.color
         : op == Op::bind_channel_mask ? raster.channel_mask
                                       : raster.polygon) = r.word;
        return true;
    }
    case Op::bind_vertex_attribs:
        if (!get_array(raster.attribs, record, bytes, first, count))
            return false;
        raster.attrib_count = first + count;
        return true;
    case Op::bind_vertex_streams:
        if (!get_array(raster.streams, record, bytes, first, count))
            return false;
        raster.stream_count = first + count;
        return true;
    case Op::set_pool: {
        nvn::StateRecord64 r;
        if (!get(r, record, bytes))
            return false;
        (r.word.lo == static_cast<uint32_t>(nvn::PoolKind::texture) ? state.texture_pool
                                                                    : state.sampler_pool) = r.word.hi;
        return true;
    }
    case Op::set_viewports:
        if (!get_array(raster.viewports, record, bytes, first, count))
            return false;
        raster.viewport_count = std::max(raster.viewport_count, first + count);
        return true;
    case Op::set_scissors: return get_array(raster.scissors, record, bytes, first, count);
    case Op::set_depth_ranges: return get_array(raster.depth_ranges, record, bytes, first, count);
    case Op::set_stencil: {
        nvn::StencilRecord r;
        if (!get(r, record, bytes))
            return false;
        set_stencil(raster, r);
        return true;
    }
    case Op::set_scalar: {
        nvn::ScalarRecord r;
        if (!get(r, record, bytes))
            return false;
        set_scalar(raster, r);
        return true;
    }
    case Op::set_vector: {
        nvn::VectorRecord r;
        float v[4] = {};
        if (!get(r, record, bytes) || r.which > nvn::Vector::tess_outer ||
            !has(bytes, sizeof r, nvn::vector_floats(r.which), sizeof(float)))
            return false;
        std::memcpy(v, record + sizeof r, nvn::vector_floats(r.which) * sizeof(float));
        switch (r.which) {
        case nvn::Vector::blend_color: std::copy(v, v + 4, raster.blend_color.begin()); break;
        case nvn::Vector::polygon_offset: std::copy(v, v + 3, raster.polygon_offset.begin()); break;
        case nvn::Vector::depth_bounds:
            raster.depth_bounds = r.flag != 0;
            raster.depth_bounds_min = v[0];
            raster.depth_bounds_max = v[1];
            break;
        case nvn::Vector::tess_inner: std::copy(v, v + 2, raster.tess_inner.begin()); break;
        case nvn::Vector::tess_outer: std::copy(v, v + 4, raster.tess_outer.begin()); break;
        }
        return true;
    }
    case Op::set_render_targets: return set_render_targets(state, record, bytes);
    case Op::clear_color: {
        nvn::ClearColorRecord r;
        if (!get(r, record, bytes) || r.index >= kMaxColors || r.type > 2)
            return false;
        if (state.targets.has_color(r.index))
            backend_.clear_color(state.targets, raster, r.index, r.mask & 15, r.type, r.words);
        return true;
    }
    case Op::clear_depth_stencil: {
        nvn::ClearDepthStencilRecord r;
        if (!get(r, record, bytes))
            return false;
        if (state.targets.has_depth())
            backend_.clear_depth_stencil(state.targets, raster, r.clear_depth != 0, r.depth, r.stencil_mask,
                                         r.stencil);
        return true;
    }
    case Op::draw: {
        nvn::DrawRecord r;
        if (!get(r, record, bytes) || r.mode > NVN_DRAW_PRIMITIVE_PATCHES)
            return false;
        DrawCall& call = fresh_call();
        call.first = r.first;
        call.count = r.count;
        if (has(bytes, sizeof r, 2, 4)) {
            std::memcpy(&call.base_instance, record + sizeof r, 4);
            std::memcpy(&call.instance_count, record + sizeof r + 4, 4);
        }
        draw(state, call, static_cast<NVNdrawPrimitive>(r.mode));
        return true;
    }
    case Op::draw_elements: {
        nvn::DrawElementsRecord r;
        if (!get(r, record, bytes) || r.mode > NVN_DRAW_PRIMITIVE_PATCHES || r.index_type > 2)
            return false;
        DrawCall& call = fresh_call();
        call.indexed = true;
        call.index_type = static_cast<NVNindexType>(r.index_type);
        call.indices = r.indices.value();
        call.count = r.count;
        if (has(bytes, sizeof r, 3, 4)) {
            std::memcpy(&call.base_vertex, record + sizeof r, 4);
            std::memcpy(&call.base_instance, record + sizeof r + 4, 4);
            std::memcpy(&call.instance_count, record + sizeof r + 8, 4);
        }
        if (r.count == 0 || in_pool(call.indices, uint64_t{r.count} << r.index_type, "index buffer"))
            draw(state, call, static_cast<NVNdrawPrimitive>(r.mode));
        return true;
    }
    case Op::dispatch: {
        nvn::DispatchRecord r;
        if (!get(r, record, bytes))
            return false;
        DispatchCall call;
        std::copy(r.groups, r.groups + 3, call.groups);
        dispatch(state, call);
        return true;
    }
    case Op::copy_buffer: {
        nvn::CopyBufferRecord r;
        if (!get(r, record, bytes))
            return false;
        if (in_pool(r.source.value(), r.size.value(), "copy source") &&
            in_pool(r.destination.value(), r.size.value(), "copy destination"))
            backend_.copy_buffer(r.source.value(), r.destination.value(), r.size.value());
        return true;
    }
    case Op::clear_buffer: {
        nvn::ClearBufferRecord r;
        if (!get(r, record, bytes))
            return false;
        if (in_pool(r.address.value(), r.size.value(), "buffer clear"))
            backend_.fill_buffer(r.address.value(), r.size.value(), r.value);
        return true;
    }
    case Op::update_uniform: {
        nvn::UpdateUniformRecord r;
        if (!get(r, record, bytes) || r.size > 65536 || !has(bytes, sizeof r, r.size, 1))
            return false;
        if (in_pool(r.address.value(), r.size, "uniform update"))
            backend_.update_buffer(r.address.value(), record + sizeof r, r.size);
        return true;
    }
    case Op::copy_buffer_texture: {
        nvn::CopyBufferTextureRecord r;
        if (!get(r, record, bytes))
            return false;
        BufferTextureCopy copy;
        copy.to_buffer = r.to_buffer != 0;
        copy.buffer = r.buffer.value();
        copy.texture = r.texture.bound();
        copy.region = r.region;
        if (bytes >= sizeof r + 16) {
            int64_t strides[2];
            std::memcpy(strides, record + sizeof r, sizeof strides);
            copy.row_stride = strides[0];
            copy.image_stride = strides[1];
        }
        backend_.copy_buffer_texture(copy);
        return true;
    }
    case Op::copy_texture: {
        nvn::CopyTextureRecord r;
        if (!get(r, record, bytes))
            return false;
        TextureCopy copy;
        copy.source = r.source.bound();
        copy.destination = r.destination.bound();
        copy.source_region = r.source_region;
        copy.destination_region = r.destination_region;
        copy.flags = r.flags;
        backend_.copy_texture(copy);
        return true;
    }
    case Op::barrier: {
        nvn::BarrierRecord r;
        if (!get(r, record, bytes))
            return false;
        backend_.barrier(r.bits);
        return true;
    }
    case Op::fence_sync:
    case Op::wait_sync:
    case Op::wait_event:
    case Op::signal_event: return execute_sync(op, record, bytes);
    case Op::bind_handles_deferred: {
        nvn::BindDeferredRecord r;
        uint64_t handles[kTextureSlots];
        if (!get(r, record, bytes) || r.stage >= kStageCount || r.count > kTextureSlots)
            return false;
        if (!in_pool(r.address.value(), r.count * uint64_t{8}, "deferred handles") ||
            !backend_.read_memory(r.address.value(), handles, r.count * 8u))
            return true;
        for (uint32_t i = 0; i < r.count; ++i)
            put_handle(state.stages[r.stage], r.kind, uint32_t{r.first} + i, static_cast<uint32_t>(handles[i]));
        return true;
    }
    default: return execute_gpu(state, op, record, bytes);
    }
}

// Direct draws share one call: making one anew costs as much as everything else about it.
DrawCall& Interpreter::fresh_call() {
    call_.indexed = false;
    call_.indices = 0;
    call_.first = call_.count = call_.base_instance = 0;
    call_.instance_count = 1;
    call_.base_vertex = 0;
    return call_;
}

void Interpreter::draw(QueueState& state, DrawCall& call, NVNdrawPrimitive primitive) {
    if (!call.indirect.records && !call.feedback_counter && (call.count == 0 || call.instance_count == 0))
        return;
    static constexpr Stage kVertexRoad[] = {Stage::vertex, Stage::tess_control, Stage::tess_evaluation,
                                            Stage::geometry, Stage::fragment};
    static constexpr Stage kMeshRoad[] = {Stage::task, Stage::mesh, Stage::fragment};
    const std::span<const Stage> stages = call.mesh ? std::span<const Stage>(kMeshRoad) : kVertexRoad;
    std::array<uint32_t, 8> ids{};
    CallParameters parameters;
    parameters.base_instance = call.base_instance;
    auto& last = last_key_;
    if (last.changes == state.pipeline_changes) {
        parameters.samples = last.samples;
    } else {
        for (uint32_t i = 0; i < kMaxColors; ++i)
            if (state.targets.has_color(i))
                parameters.samples = std::max<uint32_t>(1, state.targets.colors[i].texture.samples);
    }
    resources_.clear();
    scratch_.reset();
    call.work.shaders.fill({});
    uint32_t vertex_inputs = 0;
    for (const Stage stage : stages) {
        const unsigned s = static_cast<unsigned>(stage);
        const nvn::Program* program = state.programs[s].get();
        if (program && program->stages[s].unresolved()) {
            state.programs[s] =
                Host::get().find_program(program->serial); // late code: its pool may exist by now
            program = state.programs[s].get();
        }
        if (!program || !program->stages[s].present) {
            if (stage == Stage::vertex || stage == Stage::mesh ||
                (stage == Stage::fragment && !state.raster.rasterizer_discard &&
                 state.targets.present & ((1u << kMaxColors) - 1))) {
                report(Report::bad_program, "draw without a %s program", stage_name(stage).data());
                ++counts_.skipped;
                return;
            }
            continue;
        }
        const nvn::ProgramStage& p = program->stages[s];
        if (!p.shader) { // its miss was reported when its key was taken
            ++counts_.skipped;
            return;
        }
        if (!resolve_stage(p, state, parameters, backend_, scratch_, resources_)) {
            ++counts_.skipped;
            return;
        }
        ids[s] = p.shader->id;
        call.work.shaders[s].shader = p.shader.get();
        if (stage == Stage::vertex)
            for (const Varying& v : p.shader->reflection.interface.inputs)
                vertex_inputs |= 1u << (v.location & 31);
    }
    call.work.resources = &resources_;
    const bool depth_zero = Host::get().depth_mode == NVN_DEPTH_MODE_NEAR_IS_ZERO;
    uint32_t other_ids = 0;
    for (size_t i = 0; i < ids.size(); ++i)
        other_ids |= ids[i] ^ last.ids[i];
    if (last.changes != state.pipeline_changes || last.primitive != primitive || other_ids ||
        last.vertex_inputs != vertex_inputs || last.depth_zero != depth_zero) {
        last.key = pipeline_key(state.raster, state.targets, primitive, ids, vertex_inputs, depth_zero);
        last.changes = state.pipeline_changes;
        last.samples = parameters.samples;
        last.primitive = primitive;
        last.ids = ids;
        last.vertex_inputs = vertex_inputs;
        last.depth_zero = depth_zero;
    }
    call.key = &last.key;
    call.raster = &state.raster;
    call.targets = &state.targets;
    call.vertex_buffers = &state.vertex_buffers;
    ++counts_.draws;
    backend_.draw(call);
}

void Interpreter::dispatch(QueueState& state, DispatchCall& call) {
    if (!call.indirect && (call.groups[0] == 0 || call.groups[1] == 0 || call.groups[2] == 0))
        return;
    constexpr unsigned s = static_cast<unsigned>(Stage::compute);
    const nvn::Program* program = state.programs[s].get();
    if (program && program->stages[s].unresolved()) {
        state.programs[s] = Host::get().find_program(program->serial);
        program = state.programs[s].get();
    }
    if (!program || !program->stages[s].present || !program->stages[s].shader) {
        if (!program)
            report(Report::bad_program, "dispatch without a program");
        ++counts_.skipped;
        return;
    }
    CallParameters parameters;
    std::copy(call.groups, call.groups + 3, parameters.groups);
    resources_.clear();
    scratch_.reset();
    if (!resolve_stage(program->stages[s], state, parameters, backend_, scratch_, resources_)) {
        ++counts_.skipped;
        return;
    }
    call.work.shaders[s].shader = program->stages[s].shader.get();
    call.work.resources = &resources_;
    ++counts_.dispatches;
    backend_.dispatch(call);
}

} // namespace dmsh::replay
