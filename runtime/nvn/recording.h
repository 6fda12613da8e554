// What the recording calls of several files share: range checks and the records that many of them write.
#pragma once
#include "runtime/abi/stage.h"
#include "runtime/nvn/recorder.h"
#include "runtime/nvn/report.h"
#include <algorithm>

namespace dmsh::nvn {

// False (reported with the call's name) unless [first, first + count) lies in [0, most).
inline bool in_range(int first, int count, int most, const char* call) {
    if (first >= 0 && count >= 0 && count <= most && first <= most - count)
        return true;
    report(Report::bad_argument, "%s: first %d, count %d of %d", call, first, count, most);
    return false;
}

inline void bind_buffers(NVNcommandBuffer* cmd, BufferKind kind, int stage, int first, int count, int most,
                         const NVNbufferRange* ranges, const char* call) {
    if (!in_range(stage, 1, static_cast<int>(kStageCount), call) || !in_range(first, count, most, call) ||
        (count && !ranges))
        return;
    if (auto* r = record<BindBuffersRecord>(cmd, Op::bind_buffers,
                                            static_cast<size_t>(count) * sizeof(BufferRange))) {
        r->kind = kind;
        r->stage = static_cast<uint8_t>(stage);
        r->first = static_cast<uint8_t>(first);
        r->count = static_cast<uint8_t>(count);
        auto* out = reinterpret_cast<BufferRange*>(r + 1);
        for (int i = 0; i < count; ++i)
            out[i] = {word64(ranges[i].address),
                      static_cast<uint32_t>(std::min<uint64_t>(ranges[i].size, 0xffffffffu))};
    }
}

inline void scalar(NVNcommandBuffer* cmd, Scalar which, uint32_t word, uint16_t flag = 0) {
    if (auto* r = record<ScalarRecord>(cmd, Op::set_scalar)) {
        r->which = which;
        r->flag = flag;
        r->word = word;
    }
}

inline void scalar(NVNcommandBuffer* cmd, Scalar which, float value) {
    uint32_t word;
    std::memcpy(&word, &value, 4);
    scalar(cmd, which, word);
}

inline void vector(NVNcommandBuffer* cmd, Vector which, uint16_t flag, float a, float b, float c, float d) {
    const size_t bytes = vector_floats(which) * sizeof(float);
    if (auto* r = record<VectorRecord>(cmd, Op::set_vector, bytes)) {
        r->which = which;
        r->flag = flag;
        const float values[4] = {a, b, c, d};
        std::memcpy(r + 1, values, bytes);
    }
}

template <class T>
void counted(NVNcommandBuffer* cmd, Op op, int first, int count, int most, const T* data, size_t each,
             const char* call) {
    if (!in_range(first, count, most, call) || (count && !data))
        return;
    if (auto* r = record<CountedRecord>(cmd, op, static_cast<size_t>(count) * each)) {
        r->first = static_cast<uint16_t>(first);
        r->count = static_cast<uint16_t>(count);
        if (count)
            std::memcpy(r + 1, data, static_cast<size_t>(count) * each);
    }
}

// A texture as recorded: a snapshot of its description and view. False (reported) for what is no texture.
inline bool fill(TextureRecord& out, const NVNtexture* texture, const NVNtextureView* view,
                 const char* call) {
    if (!texture || texture->magic != kTextureMagic) {
        report(Report::bad_object, "%s: texture %p", call, static_cast<const void*>(texture));
        return false;
    }
    BoundTexture b;
    b.texture = texture->desc;
    if (view)
        b.view = *view;
    std::memcpy(out.words, static_cast<const void*>(&b), sizeof b);
    return true;
}

} // namespace dmsh::nvn
