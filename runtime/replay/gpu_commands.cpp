// Interprets the records whose parameters or results lie in GPU memory.
#include "runtime/replay/interpreter.h"
#include "runtime/replay/record_reader.h"

namespace dmsh::replay {

using nvn::Op;
using nvn::Report;
using nvn::report;

namespace {

constexpr uint32_t kReportBytes = 16; // {value, timestamp}

} // namespace

bool Interpreter::execute_gpu(QueueState& state, Op op, const uint8_t* record, size_t bytes) {
    RasterState& raster = state.raster;
    uint32_t first = 0, count = 0;
    switch (op) {
    case Op::draw_indirect: {
        nvn::DrawIndirectRecord r;
        if (!get(r, record, bytes) || r.mode > NVN_DRAW_PRIMITIVE_PATCHES ||
            (r.index_type != nvn::kNoIndices && r.index_type > NVN_INDEX_TYPE_UNSIGNED_INT) || r.counted > 1)
            return false;
        size_t at_count = sizeof r;
        DrawCall call;
        call.indexed = r.index_type != nvn::kNoIndices;
        const uint32_t each = call.indexed ? 20 : 16;
        if (call.indexed) {
            nvn::Word64 at;
            if (!has(bytes, sizeof r, 1, sizeof at))
                return false;
            std::memcpy(&at, record + sizeof r, sizeof at);
            at_count += sizeof at;
            call.indices = at.value();
            call.index_type = static_cast<NVNindexType>(r.index_type);
            if (!in_pool(call.indices, uint64_t{1} << r.index_type, "index buffer"))
                return true;
        }
        nvn::DrawIndirectCount c{{0, 0}, 1, each};
        if (r.counted) {
            if (!has(bytes, at_count, 1, sizeof c))
                return false;
            std::memcpy(&c, record + at_count, sizeof c);
        }
        call.indirect = {r.records.value(), c.count.value(), c.max_draws, c.stride ? c.stride : each};
        if (c.max_draws == 0)
            return true;
        if (call.indirect.stride < each && c.max_draws > 1) {
            report(Report::bad_argument, "indirect draws of stride %u", c.stride);
            return true;
        }
        if (in_pool(call.indirect.records, uint64_t{call.indirect.stride} * (c.max_draws - 1) + each,
                    "indirect draw record") &&
            (!call.indirect.count || in_pool(call.indirect.count, 4, "indirect draw count")))
            draw(state, call, static_cast<NVNdrawPrimitive>(r.mode));
        return true;
    }
    case Op::dispatch_indirect: {
        nvn::AddressRecord r;
        if (!get(r, record, bytes))
            return false;
        DispatchCall call;
        call.indirect = r.address.value();
        if (in_pool(call.indirect, 12, "indirect dispatch record"))
            dispatch(state, call);
        return true;
    }
    case Op::draw_mesh:
    case Op::draw_mesh_indirect: {
        DrawCall call;
        call.mesh = true;
        if (op == Op::draw_mesh) {
            nvn::DrawMeshRecord r;
            if (!get(r, record, bytes))
                return false;
            call.count = r.groups[0];
            call.mesh_y = r.groups[1];
            call.mesh_z = r.groups[2];
            call.first = r.first;
            if (call.mesh_y == 0 || call.mesh_z == 0)
                return true;
        } else {
            nvn::AddressRecord r;
            if (!get(r, record, bytes))
                return false;
            call.indirect.records = r.address.value();
            if (!in_pool(call.indirect.records, 8, "mesh task record"))
                return true;
        }
        draw(state, call, NVN_DRAW_PRIMITIVE_TRIANGLES);
        return true;
    }
    case Op::feedback: {
        nvn::AddressRecord r;
        if (!get(r, record, bytes) || r.word > static_cast<uint32_t>(nvn::Feedback::resume))
            return false;
        if (!r.address.value() || in_pool(r.address.value(), 4, "transform feedback counter"))
            backend_.feedback(static_cast<nvn::Feedback>(r.word), state.feedback_buffers, r.address.value());
        return true;
    }
    case Op::draw_feedback: {
        nvn::AddressRecord r;
        if (!get(r, record, bytes) || r.word > NVN_DRAW_PRIMITIVE_PATCHES)
            return false;
        DrawCall call;
        call.feedback_counter = r.address.value();
        if (in_pool(call.feedback_counter, 4, "transform feedback counter"))
            draw(state, call, static_cast<NVNdrawPrimitive>(r.word));
        return true;
    }
    case Op::report_counter:
    case Op::report_value: {
        nvn::AddressRecord r;
        if (!get(r, record, bytes))
            return false;
        if (!in_pool(r.address.value(), kReportBytes, "report"))
            return true;
        if (op == Op::report_value)
            backend_.report_value(r.word, r.address.value());
        else if (r.word <= NVN_COUNTER_TYPE_TIMESTAMP_TOP)
            backend_.report_counter(static_cast<NVNcounterType>(r.word), r.address.value());
        else
            report(Report::bad_argument, "counter type 0x%x", r.word);
        return true;
    }
    case Op::reset_counter: {
        nvn::AddressRecord r;
        if (!get(r, record, bytes))
            return false;
        if (r.word <= NVN_COUNTER_TYPE_TIMESTAMP_TOP)
            backend_.reset_counter(static_cast<NVNcounterType>(r.word));
        else
            report(Report::bad_argument, "counter type 0x%x", r.word);
        return true;
    }
    case Op::render_enable: {
        nvn::AddressRecord r;
        if (!get(r, record, bytes) || r.word > static_cast<uint32_t>(nvn::RenderEnable::if_not_equal))
            return false;
        const auto mode = static_cast<nvn::RenderEnable>(r.word);
        const bool compares = mode == nvn::RenderEnable::if_equal || mode == nvn::RenderEnable::if_not_equal;
        if (!compares || in_pool(r.address.value(), 2 * kReportBytes, "render condition"))
            backend_.render_enable(mode, r.address.value());
        return true;
    }
    case Op::clear_texture: {
        nvn::ClearTextureRecord r;
        if (!get(r, record, bytes) || r.type > 2)
            return false;
        TextureClear clear;
        clear.texture = r.texture.bound();
        clear.region = r.region;
        clear.mask = r.mask & 15;
        clear.type = r.type;
        std::memcpy(clear.words, r.words, sizeof clear.words);
        backend_.clear_texture(clear);
        return true;
    }
    case Op::downsample: {
        nvn::DownsampleRecord r;
        if (!get(r, record, bytes))
            return false;
        backend_.downsample(r.source.bound(), r.destination.bound());
        return true;
    }
    case Op::push_constants: {
        nvn::PushConstantsRecord r;
        if (!get(r, record, bytes) || r.compute > 1 || r.offset > nvn::kPushBytes ||
            r.size > nvn::kPushBytes - r.offset || !has(bytes, sizeof r, r.size, 1))
            return false;
        if (r.size)
            std::memcpy(state.push[r.compute].data() + r.offset, record + sizeof r, r.size);
        return true;
    }
    case Op::set_viewport_swizzles: return get_array(raster.swizzles, record, bytes, first, count);
    case Op::set_coverage_table: {
        nvn::CoverageTableRecord r;
        if (!get(r, record, bytes))
            return false;
        std::memcpy(raster.coverage_table.data(), r.table, sizeof r.table);
        return true;
    }
    default: return false;
    }
}

} // namespace dmsh::replay
