// air.* arithmetic that the host computes: correctly rounded as far as double precision goes, flushed as the interpreter's MUFU.
#include "compiler/sim/air/program.h"
#include "compiler/sim/inexact.h"
#include <bit>
#include <cmath>
#include <cstring>

namespace dmsh::sim {
namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

constexpr double kPi = 3.14159265358979323846;

// sin(pi x), exact at multiples of a half.
double sin_pi(double x) {
    const double r = std::remainder(x, 2);
    return std::fabs(r) == 1 || r == 0 ? std::copysign(0.0, x) : std::sin(kPi * r);
}
double cos_pi(double x) {
    const double r = std::fabs(std::remainder(x, 2));
    return r == 0.5 ? 0 : std::cos(kPi * r);
}

struct UnaryRow {
    const char* name;
    Unary f;
    int mufu; // F::mufu_op of the float form, or -1
};
constexpr UnaryRow kUnary[] = {
    {"sin", std::sin, 1},       {"cos", std::cos, 0},     {"exp2", std::exp2, 2},   {"log2", std::log2, 3},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 5},                        {"sqrt", std::sqrt, 8},
    {"tan", std::tan, -1},      {"asin", std::asin, -1},  {"acos", std::acos, -1},  {"atan", std::atan, -1},
    {"sinh", std::sinh, -1},    {"cosh", std::cosh, -1},  {"tanh", std::tanh, -1},  {"asinh", std::asinh, -1},
    {"acosh", std::acosh, -1},  {"atanh", std::atanh, -1}, {"exp", std::exp, -1},   {"log", std::log, -1},
    {"log10", std::log10, -1},  {"exp10", [](double x) { return std::pow(10.0, x); }, -1},
    {"sinpi", sin_pi, -1},      {"cospi", cos_pi, -1},    {"tanpi", [](double x) { return sin_pi(x) / cos_pi(x); }, -1},
};
struct BinaryRow {
    const char* name;
    Binary f;
};
constexpr BinaryRow kBinary[] = {
    {"pow", std::pow},
    {"powr", [](double x, double y) { return x < 0 ? std::nan("") : std::pow(x, y); }},
    {"atan2", std::atan2},
    {"fmod", std::fmod},
};

void unary(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    const UnaryRow& row = kUnary[op.which];
    for (uint32_t k = 0; k < op.result.count; ++k) {
        if (row.mufu >= 0 && op.result.bits == 32 && op.result.scalar == AirType::Scalar::real)
            air_set_word(op.result, result, k, multi_function(static_cast<uint64_t>(row.mufu), static_cast<uint32_t>(air_word(op.args[0], args[0], k))));
        else
            air_set_real(op.result, result, k, row.f(air_real(op.args[0], args[0], k)));
    }
}

void binary(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    for (uint32_t k = 0; k < op.result.count; ++k)
        air_set_real(op.result, result, k, kBinary[op.which].f(air_real(op.args[0], args[0], k), air_real(op.args[1], args[1], k)));
}

void ldexp_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    for (uint32_t k = 0; k < op.result.count; ++k)
        air_set_real(op.result, result, k, std::ldexp(air_real(op.args[0], args[0], k), static_cast<int>(air_signed(op.args[1], args[1], k))));
}

void nextafter_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    for (uint32_t k = 0; k < op.result.count; ++k)
        air_set_real(op.result, result, k, static_cast<double>(std::nextafterf(static_cast<float>(air_real(op.args[0], args[0], k)),
                                                                               static_cast<float>(air_real(op.args[1], args[1], k)))));
}

// Second results go through a pointer, which is private memory of the thread.
void* out_pointer(const AirHostOp& op, void* const* args, unsigned index, uint32_t bytes) {
    uint8_t* p = nullptr;
    std::memcpy(&p, args[index], sizeof p);
    (void)op;
    return air_at(p, bytes, 1);
}

void sincos_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    void* cosine = out_pointer(op, args, 1, op.result.bytes);
    for (uint32_t k = 0; k < op.result.count; ++k) {
        const double x = air_real(op.args[0], args[0], k);
        air_set_real(op.result, result, k, std::sin(x));
        air_set_real(op.result, cosine, k, std::cos(x));
    }
}
void modf_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    void* whole = out_pointer(op, args, 1, op.result.bytes);
    for (uint32_t k = 0; k < op.result.count; ++k) {
        double i = 0;
        const double f = std::modf(air_real(op.args[0], args[0], k), &i);
        air_set_real(op.result, result, k, f);
        air_set_real(op.result, whole, k, i);
    }
}
void frexp_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    const AirType integers{AirType::Scalar::integer, 32, op.result.count, 4 * (op.result.count == 3 ? 4 : op.result.count)};
    void* exponent = out_pointer(op, args, 1, integers.bytes);
    for (uint32_t k = 0; k < op.result.count; ++k) {
        int e = 0;
        air_set_real(op.result, result, k, std::frexp(air_real(op.args[0], args[0], k), &e));
        air_set_word(integers, exponent, k, static_cast<uint32_t>(e));
    }
}

// ---- packed texels: "pack.unorm4x8.srgb", "unpack.snorm2x16" ----

struct Packing {
    const char* name;
    TexelFormat format;
};
constexpr Packing kPackings[] = {
    {"unorm4x8", {4, 8, TexelKind::unorm}},       {"snorm4x8", {4, 8, TexelKind::snorm}}, {"unorm4x8.srgb", {4, 8, TexelKind::srgb}},
    {"unorm2x16", {2, 16, TexelKind::unorm}}, {"snorm2x16", {2, 16, TexelKind::snorm}},
};
void pack_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    Texel t{};
    for (uint32_t k = 0; k < std::min(4u, op.args[0].count); ++k)
        t[k] = std::bit_cast<uint32_t>(static_cast<float>(air_real(op.args[0], args[0], k)));
    uint8_t bytes[16]{};
    encode_texel(kPackings[op.which].format, t, bytes);
    std::memcpy(result, bytes, 4);
}
void unpack_op(const AirHostOp& op, void* const* args, void* result, uint32_t) {
    const Texel t = decode_texel(kPackings[op.which].format, static_cast<const uint8_t*>(args[0]));
    for (uint32_t k = 0; k < std::min(4u, op.result.count); ++k)
        air_set_real(op.result, result, k, static_cast<double>(std::bit_cast<float>(t[k])));
}

} // namespace

AirHandler math_handler(AirHostOp& op) {
    const auto reals = [](const AirType& t) { return t.scalar == AirType::Scalar::real || t.scalar == AirType::Scalar::brain; };
    if (const std::string_view name = op.op; name.starts_with("pack.") || name.starts_with("unpack.")) {
        const bool packs = name[0] == 'p';
        for (size_t i = 0; i < std::size(kPackings); ++i)
            if (name.substr(packs ? 5 : 7) == kPackings[i].name && op.args.size() == 1) {
                op.which = static_cast<int>(i);
                return packs ? pack_op : unpack_op;
            }
        return nullptr;
    }
    if (op.args.empty() || !reals(op.args[0]) || !reals(op.result) || op.residency)
        return nullptr;
    for (size_t i = 0; i < std::size(kUnary); ++i)
        if (op.op == kUnary[i].name && op.args.size() == 1) {
            op.which = static_cast<int>(i);
            return unary;
        }
    if (op.args.size() != 2)
        return nullptr;
    for (size_t i = 0; i < std::size(kBinary); ++i)
        if (op.op == kBinary[i].name && reals(op.args[1])) {
            op.which = static_cast<int>(i);
            return binary;
        }
    if (op.op == "ldexp")
        return ldexp_op;
    if (op.op == "nextafter" && op.result.bits == 32)
        return nextafter_op;
    if (op.args[1].bits != 64 || op.args[1].scalar != AirType::Scalar::integer)
        return nullptr;
    return op.op == "sincos" ? sincos_op : op.op == "modf" ? modf_op : op.op == "frexp" ? frexp_op : nullptr;
}

} // namespace dmsh::sim
