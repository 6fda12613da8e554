// The triple check.
#include "archivers/nvn/check_stage.h"

namespace dmsh {
namespace {

constexpr uint64_t kCodeAlignment = 256; // largest rounding of a code length that containers are allowed

} // namespace

Result<FoundShader> check_stage(const Blob& control, const Blob& code, std::optional<Stage> tag) {
    const auto c = read_control(control.bytes);
    if (!c)
        return c.error();
    uint64_t control_length = control.size();
    if (c->own_length_valid() && c->own_length <= control_length)
        control_length = c->own_length;
    if (!c->nvn2 && (control_length < kControlBytesMin || control_length % 4 != 0))
        return Error{"control section: neither its own length nor the container's is one"};
    const auto body = code.slice(0, c->code_length);
    if (!body ||
        code.size() > (uint64_t{c->code_length} + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment)
        return Error{"code length " + std::to_string(code.size()) + " is not the control section's " +
                     std::to_string(c->code_length)};
    const auto area = layout_code(*c, body->bytes);
    if (!area)
        return area.error();
    if (tag && *tag != area->stage)
        return Error{"container says " + std::string(stage_name(*tag)) + ", the program is " +
                     std::string(stage_name(area->stage))};
    FoundShader s;
    s.stage = area->stage;
    s.arch = area->arch;
    s.control = control.clamp(0, control_length);
    s.code = *body;
    return s;
}

bool NamedBytes::add(const Blob& control, const Blob& code) {
    if (!seen_.insert({control.bytes.data(), code.bytes.data()}).second)
        return true;
    const uint64_t bytes = control.size() + code.size();
    if (bytes > left_)
        return false;
    left_ -= bytes;
    return true;
}

} // namespace dmsh
