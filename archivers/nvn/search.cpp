// Walks from magic to magic, reading what stands there.
#include "archivers/nvn/search.h"
#include "archivers/core/find_magic.h"
#include "archivers/nvn/bnsh.h"
#include "archivers/nvn/check_stage.h"
#include "archivers/nvn/glslc_output.h"
#include "archivers/nvn/mgfx.h"
#include "archivers/nvn/viper_binary.h"
#include <set>

namespace dmsh {
namespace {

constexpr std::array<uint32_t, 3> kMagics = {kGlslcMagic, kBnshMagic, kControlMagic};
constexpr uint64_t kManyFrom = 48ull << 20; // bytes from which all workers look for the magics first
constexpr uint64_t kMaxGap = 0x1000; // zero bytes between a control section and its code

struct Candidate {
    FoundShader shader;
    uint64_t begin = 0, end = 0; // of the code
};

class Search {
  public:
    Search(const Blob& in, Place place, Output& out, std::span<const ReadRange> read)
        : in_(in), data_(in.bytes), place_(place), out_(out), read_(read.begin(), read.end()) {
        std::sort(read_.begin(), read_.end(),
                  [](const ReadRange& a, const ReadRange& b) { return a.begin < b.begin; });
    }
    Search(const Module& module, const Segment& segment, Output& out, std::span<const ReadRange> read)
        : Search(segment.bytes, Place::program, out, read) {
        module_ = &module;
        base_ = segment.address;
    }

    Result<void> run() {
        uint64_t at = 0;
        if (data_.size() >= kManyFrom)
            hits_ = out_.find_all(in_, kMagics);
        while (const auto hit = next_magic(at)) {
            at = hit->offset;
            if (const uint64_t end = read_until(at); end > at) {
                at = consumed_ = end;
                continue;
            }
            const auto next = hit->which == 2 ? control(at) : container(at, hit->which == 0);
            if (!next)
                return next.error();
            at = *next;
        }
        return {};
    }

  private:
    // Asked with rising offsets.
    std::optional<MagicHit> next_magic(uint64_t at) {
        if (!hits_)
            return find_magic(data_, at, kMagics);
        while (next_hit_ < hits_->size() && (*hits_)[next_hit_].offset < at)
            ++next_hit_;
        return next_hit_ < hits_->size() ? std::optional((*hits_)[next_hit_]) : std::nullopt;
    }

    // The end of the range already read that holds `at`; 0 if none does. Asked with rising offsets.
    uint64_t read_until(uint64_t at) {
        for (; next_read_ < read_.size() && read_[next_read_].begin <= at; ++next_read_)
            read_end_ = std::max(read_end_, read_[next_read_].end);
        return read_end_ > at ? read_end_ : 0;
    }

    // A single-stage binary has the GLSLC output's magic; at a file's start even a damaged one is told.
    bool single_stage(uint64_t at, Bytes rest) const {
        return looks_like_viper_binary(rest) ||
               (at == 0 && place_ == Place::data && may_be_viper_binary(rest) && !looks_like_glslc(rest));
    }

    // A GLSLC output, single-stage binary or BNSH, if one begins here. Answers where to go on.
    Result<uint64_t> container(uint64_t at, bool glslc) {
        const Blob rest = in_.clamp(at);
        if (glslc && single_stage(at, rest.bytes)) {
            const auto length = read_viper_binary(rest, base_ + at, out_);
            if (!length && place_ == Place::data)
                out_.fail("", length.error());
            return length ? consumed_ = at + *length : at + 4;
        }
        if (glslc ? !looks_like_glslc(rest.bytes) : !looks_like_bnsh(rest.bytes))
            return at + 4;
        const auto length = glslc ? read_glslc(rest, base_ + at, out_) : read_bnsh(rest, base_ + at, out_);
        if (length) {
            consumed_ = at + *length;
            return consumed_;
        }
        const uint64_t claimed = rest.bytes.u32(glslc ? (rest.bytes.u32(0x18) == 1 ? 0x44 : 0x5c) : 0x1c);
        work_ += std::min(claimed, rest.size());
        if (work_ > kBudgetFactor * data_.size())
            return Error{"more damaged shader files than can be checked", {}, at};
        if (place_ == Place::program)
            return at + 4;
        // What it claims to cover is left out, and not found again as loose sections.
        left_out_ = std::max(left_out_, at + claimed);
        out_.fail("", length.error());
        return at + 4;
    }

    // A control section, if one is here and its code can be found beside it.
    Result<uint64_t> control(uint64_t at) {
        if (at < left_out_)
            return at + 4;
        const auto c = read_control(data_.clamp(at));
        if (!c || !c->code_length || c->code_length > data_.size())
            return lone(at, c && c->code_length && (c->nvn2 || c->version_major == 1));
        if (module_)
            if (const auto next = named_by_module(at, *c); !next || *next)
                return next;
        std::optional<Candidate> after, before;
        if (c->nvn2) {
            if (c->code_offset >= kNvn2ControlBytesMin)
                after = candidate(at, c->code_offset, at + c->code_offset, *c);
        } else if (const uint64_t stride = control_stride(*c)) {
            after = code_after(at, stride, *c);
            before = code_before(at, *c);
        }
        if (work_ > kBudgetFactor * data_.size())
            return Error{"more control sections without code than can be checked", {}, at};
        if (after && before) {
            // S-024: evidence decides, never the first found.
            const bool a = ends_with_program(*c, *after), b = ends_with_program(*c, *before);
            if (a != b)
                (a ? before : after).reset();
            else if (consumed_ && consumed_ == at)
                before.reset(); // the next of a stream of control, code, control, code
            else {
                if (place_ == Place::data)
                    out_.fail("", {"control section with code on both sides", {}, at});
                return at + 4;
            }
        }
        auto& found = after ? after : before;
        if (!found)
            return lone(at, true);
        consumed_ = std::max(found->end, at + found->shader.control.size());
        if (const auto ok = give(at, std::move(found->shader)); !ok)
            return ok.error();
        // The next section of a stream begins where this one's code ends, or behind this section.
        return consumed_;
    }

    Result<void> give(uint64_t at, FoundShader shader) {
        shader.offset = base_ + at;
        shader.cover = true; // nothing here says what it is linked with
        return out_.shader(std::move(shader));
    }

    // the code that the module names for the control section at `at`. Answers where to go on; 0 if the
    // module says nothing about this section.
    Result<uint64_t> named_by_module(uint64_t at, const ControlSection& c) {
        std::set<uint64_t> seen;
        bool any = false;
        for (const ShaderReference& r : module_->references(base_ + at)) {
            const auto control = in_.slice(at, r.control_length);
            const auto code = module_->at(r.code, r.code_length);
            work_ += 0x100;
            if (!control || !code || work_ > kBudgetFactor * data_.size() || !seen.insert(r.code).second)
                continue;
            if (auto shader = check_stage(*control, *code, std::nullopt)) {
                any = true;
                if (const auto ok = give(at, *std::move(shader)); !ok)
                    return ok.error();
            }
        }
        if (any)
            return at + 4;
        const auto neighbour = [&](uint64_t code_at) {
            return code_at < data_.size() && module_->code_takes_address(base_ + code_at)
                       ? candidate(at, c.own_length, code_at, c)
                       : std::nullopt;
        };
        const uint64_t stride = (control_stride(c) + 15) / 16 * 16;
        auto after = c.nvn2 || !stride ? std::nullopt : neighbour(at + stride);
        auto before = c.nvn2 || c.code_length > at ? std::nullopt : neighbour(at - c.code_length);
        auto& nearest = after && (!before || stride <= c.code_length) ? after : before;
        if (nearest) {
            if (const auto ok = give(at, std::move(nearest->shader)); !ok)
                return ok.error();
            consumed_ = std::max(consumed_, at + c.own_length);
            return at + 4;
        }
        // Taken by address, and its code is not: what stands beside it is another's.
        return module_->code_takes_address(base_ + at) ? lone(at, true) : uint64_t{0};
    }

    Result<uint64_t> lone(uint64_t at, bool plausible) {
        if (plausible)
            out_.lone_control(base_ + at);
        return at + 4;
    }

    std::optional<Candidate> candidate(uint64_t at, uint64_t control_length, uint64_t code_at,
                                       const ControlSection& c) {
        const auto code = in_.slice(code_at, c.code_length);
        const auto control = in_.slice(at, control_length);
        if (!code || !control || work_ > kBudgetFactor * data_.size())
            return std::nullopt;
        work_ += 0x100;
        auto shader = check_stage(*control, *code, std::nullopt);
        if (!shader)
            return std::nullopt;
        const auto area = layout_code(c, code->bytes);
        if (!area || !starts_program(*area, code->bytes))
            return std::nullopt;
        return Candidate{*std::move(shader), code_at, code_at + c.code_length};
    }

    bool starts_program(const CodeArea& area, Bytes code) {
        const Bytes instructions = code.clamp(area.program, area.constants - area.program);
        work_ += instructions.size();
        return bool(check_program_start(area.arch, instructions));
    }

    std::optional<Candidate> code_after(uint64_t at, uint64_t stride, const ControlSection& c) {
        const uint64_t first = at + stride;
        uint64_t begin = first; // of the first byte that is not zero: where a code header would be
        while (begin < data_.size() && begin - first < kMaxGap && data_.u8(begin) == 0)
            ++begin;
        work_ += begin - first;
        const uint64_t length = c.own_length;
        const uint32_t magic = data_.u32(begin);
        if (magic == kGraphicsCodeMagic || magic == kComputeCodeMagic)
            return candidate(at, length, begin, c);
        // Without a header the first bytes can be zero, so only usual alignments come into question.
        for (const uint64_t alignment : {1u, 8u, 16u, 256u}) {
            const uint64_t p = at + (stride + alignment - 1) / alignment * alignment;
            if (p <= begin)
                if (auto found = candidate(at, length, p, c))
                    return found;
        }
        return std::nullopt;
    }

    std::optional<Candidate> code_before(uint64_t at, const ControlSection& c) {
        for (uint64_t end = at; end >= consumed_ + c.code_length && at - end < 256; --end) {
            const uint64_t begin = end - c.code_length;
            const uint32_t magic = data_.u32(begin);
            if (magic == kGraphicsCodeMagic || magic == kComputeCodeMagic || end == at)
                if (auto found = candidate(at, c.own_length, begin, c))
                    return found;
            if (!end || data_.u8(end - 1) != 0)
                break;
        }
        return std::nullopt;
    }

    // Does the code's last EXIT lie where the control section says that the program ends?
    bool ends_with_program(const ControlSection& c, const Candidate& found) {
        const Bytes code = found.shader.code.bytes;
        const uint64_t end = uint64_t{c.program_offset} + c.program_length;
        const auto is_exit = [&](uint64_t at) {
            return (code.u64(at) & ~0xf0000ull) == 0xe30000000000000full;
        };
        if (!c.program_length || end % 8 != 0 || !code.has(0, end))
            return false;
        work_ += code.size();
        for (uint64_t at = end; at < c.constants_offset; at += 8)
            if (is_exit(at))
                return false;
        for (uint64_t back = 8; back <= 0x100 && back <= end; back += 8)
            if (is_exit(end - back))
                return true;
        return false;
    }

    const Blob& in_;
    Bytes data_;
    Place place_;
    Output& out_;
    std::vector<ReadRange> read_; // by begin
    size_t next_read_ = 0;        // first that begins behind what was asked for
    uint64_t read_end_ = 0;
    const Module* module_ = nullptr;
    uint64_t base_ = 0;     // address of the first byte
    std::optional<std::vector<MagicHit>> hits_; // of a large blob
    size_t next_hit_ = 0;
    uint64_t consumed_ = 0; // end of what the last accepted thing covers
    uint64_t left_out_ = 0; // end of a container that was refused
    uint64_t work_ = 0;     // bytes looked at for candidates
};

} // namespace

Result<void> search(const Blob& in, Place place, Output& out, std::span<const ReadRange> read) {
    return Search(in, place, out, read).run();
}

Result<void> search_segment(const Module& module, const Segment& segment, Output& out) {
    return Search(module, segment, out, read_embedded_mgfx(segment.bytes, segment.address, out)).run();
}

} // namespace dmsh
