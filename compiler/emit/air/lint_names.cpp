// The table of air.* names: families, and how a name's suffixes give its type.
#include "compiler/emit/air/lint.h"
#include <fmt/format.h>

namespace dmsh {
namespace {

using Types = llvm::SmallVector<llvm::Type*, 12>;

// ---- shapes of plain operations. T is the type of the last suffix.
struct Family {
    const char* name;  // without "air." and "fast_"
    const char* shape; // result:operands, see parse_shape
};

// Letters: T type of the suffix, E its element, b i1, s i16, i i32, l i64, v void, p pointer to T in private
// memory, V two i32
constexpr Family kFamilies[] = {
    // one operand
    {"sin", "T:T"},
    {"cos", "T:T"},
    {"tan", "T:T"},
    {"asin", "T:T"},
    {"acos", "T:T"},
    {"atan", "T:T"},
    {"sinh", "T:T"},
    {"cosh", "T:T"},
    {"tanh", "T:T"},
    {"asinh", "T:T"},
    {"acosh", "T:T"},
    {"atanh", "T:T"},
    {"sinpi", "T:T"},
    {"cospi", "T:T"},
    {"tanpi", "T:T"},
    {"exp", "T:T"},
    {"exp2", "T:T"},
    {"exp10", "T:T"},
    {"log", "T:T"},
    {"log2", "T:T"},
    {"log10", "T:T"},
    {"sqrt", "T:T"},
    {"rsqrt", "T:T"},
    {"fract", "T:T"},
    {"floor", "T:T"},
    {"ceil", "T:T"},
    {"trunc", "T:T"},
    {"round", "T:T"},
    {"rint", "T:T"},
    {"fabs", "T:T"},
    {"saturate", "T:T"},
    {"sign", "T:T"},
    {"sincos", "T:Tp"},
    {"frexp", "T:T*"},
    {"modf", "T:Tp"},
    // more
    {"fmin", "T:TT"},
    {"fmax", "T:TT"},
    {"pow", "T:TT"},
    {"powr", "T:TT"},
    {"atan2", "T:TT"},
    {"fmod", "T:TT"},
    {"copysign", "T:TT"},
    {"fdim", "T:TT"},
    {"nextafter", "T:TT"},
    {"ldexp", "T:T*"},
    {"dot", "E:TT"},
    {"clamp", "T:TTT"},
    {"fmin3", "T:TTT"},
    {"fmax3", "T:TTT"},
    {"fmedian3", "T:TTT"},
    {"fma", "T:TTT"},
    {"mix", "T:TTT"},
    {"smoothstep", "T:TTT"},
    // integers; .s and .u are taken off before
    {"abs", "T:T"},
    {"min", "T:TT"},
    {"max", "T:TT"},
    {"min3", "T:TTT"},
    {"max3", "T:TTT"},
    {"median3", "T:TTT"},
    {"mul_hi", "T:TT"},
    {"mad_hi", "T:TTT"},
    {"mad_sat", "T:TTT"},
    {"add_sat", "T:TT"},
    {"sub_sat", "T:TT"},
    {"hadd", "T:TT"},
    {"rhadd", "T:TT"},
    {"abs_diff", "T:TT"},
    {"rotate", "T:TT"},
    {"popcount", "T:T"},
    {"clz", "T:Tb"},
    {"ctz", "T:Tb"},
    {"reverse_bits", "T:T"},
    {"extract_bits", "T:Tii"},
    {"insert_bits", "T:TTii"},
    {"all", "b:T"},
    {"any", "b:T"},
    // lanes
    {"dfdx", "T:T"},
    {"dfdy", "T:T"},
    {"fwidth", "T:T"},
    {"simd_sum", "T:T"},
    {"simd_product", "T:T"},
    {"simd_min", "T:T"},
    {"simd_max", "T:T"},
    {"simd_and", "T:T"},
    {"simd_or", "T:T"},
    {"simd_xor", "T:T"},
    {"simd_prefix_inclusive_sum", "T:T"},
    {"simd_prefix_exclusive_sum", "T:T"},
    {"simd_prefix_inclusive_product", "T:T"},
    {"simd_prefix_exclusive_product", "T:T"},
    {"simd_broadcast", "T:Ts"},
    {"simd_broadcast_first", "T:T"},
    {"simd_shuffle", "T:Ts"},
    {"simd_shuffle_xor", "T:Ts"},
    {"simd_shuffle_up", "T:Ts"},
    {"simd_shuffle_down", "T:Ts"},
    {"simd_shuffle_rotate_up", "T:Ts"},
    {"simd_shuffle_rotate_down", "T:Ts"},
    {"simd_shuffle_and_fill_up", "T:TTss"},
    {"simd_shuffle_and_fill_down", "T:TTss"},
    {"simd_ballot", "l:b"},
    {"simd_vote_all", "b:l"},
    {"simd_vote_any", "b:l"},
    {"quad_sum", "T:T"},
    {"quad_product", "T:T"},
    {"quad_min", "T:T"},
    {"quad_max", "T:T"},
    {"quad_and", "T:T"},
    {"quad_or", "T:T"},
    {"quad_xor", "T:T"},
    {"quad_broadcast", "T:Ts"},
    {"quad_broadcast_first", "T:T"},
    {"quad_shuffle", "T:Ts"},
    {"quad_shuffle_xor", "T:Ts"},
    {"quad_shuffle_up", "T:Ts"},
    {"quad_shuffle_down", "T:Ts"},
    {"quad_ballot", "l:b"},
    {"quad_vote_all", "b:l"},
    {"quad_vote_any", "b:l"},
};

// Whole names without a type suffix.
constexpr Family kExact[] = {
    {"wg.barrier", "v:ii"},          {"simdgroup.barrier", "v:ii"}, {"discard_fragment", "v:"},
    {"simd_is_helper_thread", "b:"}, {"simd_is_first", "b:"},       {"get_simdgroup_size.i16", "s:"},
    {"get_num_samples.i32", "i:i"},  {"atomic.fence", "v:iii"},
};

// Prefixes whose exact types depend on user structures or are beyond what we emit: known by name only.
constexpr const char* kNamedOnly[] = {
    "simdgroup_matrix_",
    "simdgroup_async_copy_",
    "wait_simdgroup_events",
    "set_",
    "intersect.",
    "get_function_pointer_",
    "get_size_visible_function_table",
    "get_null_",
    "is_null_",
    "is_function_constant_defined",
    "normalize_function_constant_predicate.",
    "pack.",
    "unpack.",
    "imageblock_data",
    "implicit_imageblock_data",
    "store.implicit_imageblock",
    "get_color_coverage_mask",
    "write_imageblock_slice_to_texture_",
    "allocate_intersection_query",
    "draw_primitives_",
    "get_vertex_value.",
    "load.device_coherent",
    "store.device_coherent",
    "get_num_patch_control_points",
    "fence_",
    "get_read_sampler",
    "get_sample_position",
};

constexpr const char* kClasses[] = {
    "texture_1d_array", "texture_1d",        "texture_2d_ms_array", "texture_2d_ms",
    "texture_2d_array", "texture_2d",        "texture_3d",          "texture_cube_array",
    "texture_cube",     "texture_buffer_1d", "depth_2d_ms_array",   "depth_2d_ms",
    "depth_2d_array",   "depth_2d",          "depth_cube_array",    "depth_cube",
};

llvm::Type* type_from_suffix(llvm::LLVMContext& c, llvm::StringRef s) {
    unsigned n = 0;
    if (s.consume_front("v")) {
        if (s.consumeInteger(10, n) || n < 2 || n > 64)
            return nullptr;
    }
    llvm::Type* t = llvm::StringSwitch<llvm::Type*>(s)
                        .Case("f32", llvm::Type::getFloatTy(c))
                        .Case("f16", llvm::Type::getHalfTy(c))
                        .Case("bf16", llvm::Type::getBFloatTy(c))
                        .Case("i1", llvm::Type::getInt1Ty(c))
                        .Case("i8", llvm::Type::getInt8Ty(c))
                        .Case("i16", llvm::Type::getInt16Ty(c))
                        .Case("i32", llvm::Type::getInt32Ty(c))
                        .Case("i64", llvm::Type::getInt64Ty(c))
                        .Default(nullptr);
    return t && n ? llvm::FixedVectorType::get(t, n) : t;
}

std::string print(llvm::Type* t) {
    std::string s;
    llvm::raw_string_ostream out(s);
    t->print(out);
    return s;
}

class Checker {
  public:
    Checker(const llvm::Function& f, unsigned minor)
        : f_(f), type_(f.getFunctionType()), c_(f.getContext()), minor_(minor) {}
    using Verdict = std::optional<std::pair<std::string, std::string>>;

    Verdict check() {
        llvm::StringRef name = f_.getName();
        if (!name.consume_front("air."))
            return wrong_name();
        for (const Family& e : kExact)
            if (name == e.name)
                return matches(e.shape, nullptr) ? std::nullopt : wrong(e.shape);
        for (const char* prefix : kNamedOnly)
            if (name.startswith(prefix))
                return std::nullopt;
        if (name.startswith("convert."))
            return check_convert(name.drop_front(8));
        if (name.startswith("atomic.global.") || name.startswith("atomic.local."))
            return check_memory_atomic(name.drop_front(7));
        if (name.startswith("interpolate_"))
            return check_interpolate(name);
        for (const char* op :
             {"sample_compare_", "sample_", "gather_compare_", "gather_", "read_", "write_",
              "calculate_clamped_lod_", "calculate_unclamped_lod_", "get_width_", "get_height_", "get_depth_",
              "get_num_mip_levels_", "get_array_size_", "get_num_samples_", "atomic_"})
            if (name.startswith(op))
                if (auto v = check_texture(op, name.drop_front(strlen(op))); v.first)
                    return v.second;
        return check_family(name);
    }

  private:
    Verdict wrong_name() {
        return std::pair<std::string, std::string>{"dialect.name", "not in the table of names"};
    }
    Verdict wrong(const std::string& expected) {
        return std::pair<std::string, std::string>{"dialect.signature",
                                                   fmt::format("{} instead of {}", print(type_), expected)};
    }

    llvm::Type* letter(char l, llvm::Type* t) {
        switch (l) {
        case 'T': return t;
        case 'E': return t ? t->getScalarType() : nullptr;
        case 'b': return llvm::Type::getInt1Ty(c_);
        case 's': return llvm::Type::getInt16Ty(c_);
        case 'i': return llvm::Type::getInt32Ty(c_);
        case 'l': return llvm::Type::getInt64Ty(c_);
        case 'v': return llvm::Type::getVoidTy(c_);
        case 'p': return t ? llvm::PointerType::get(t, 0) : nullptr;
        default: return nullptr;
        }
    }

    // '*' takes any type.
    bool matches(llvm::StringRef shape, llvm::Type* t) {
        const auto [result, operands] = shape.split(':');
        if (letter(result[0], t) != type_->getReturnType() || operands.size() != type_->getNumParams())
            return false;
        for (unsigned i = 0; i < operands.size(); ++i)
            if (operands[i] != '*' && letter(operands[i], t) != type_->getParamType(i))
                return false;
        return true;
    }

    Verdict check_family(llvm::StringRef name) {
        const size_t dot = name.rfind('.');
        if (dot == llvm::StringRef::npos)
            return wrong_name();
        llvm::Type* t = type_from_suffix(c_, name.substr(dot + 1));
        llvm::StringRef base = name.substr(0, dot);
        base.consume_front("fast_");
        if (base.endswith(".s") || base.endswith(".u"))
            base = base.drop_back(2);
        for (const Family& e : kFamilies)
            if (base == e.name) {
                if (!t)
                    return wrong_name();
                return matches(e.shape, t) ? std::nullopt : wrong(e.shape);
            }
        return wrong_name();
    }

    // <kind>.<type>.<kind>.<type>[.rounding]
    Verdict check_convert(llvm::StringRef name) {
        llvm::SmallVector<llvm::StringRef, 5> parts;
        name.split(parts, '.');
        if (parts.size() < 4 || parts.size() > 5)
            return wrong_name();
        for (unsigned k : {0u, 2u})
            if (parts[k] != "f" && parts[k] != "s" && parts[k] != "u")
                return wrong_name();
        if (parts.size() == 5 && parts[4] != "rte" && parts[4] != "rtz" && parts[4] != "rtp" &&
            parts[4] != "rtn")
            return wrong_name();
        llvm::Type *to = type_from_suffix(c_, parts[1]), *from = type_from_suffix(c_, parts[3]);
        if (!to || !from)
            return wrong_name();
        if (type_->getReturnType() != to || type_->getNumParams() != 1 || type_->getParamType(0) != from)
            return wrong(fmt::format("{} ({})", print(to), print(from)));
        return std::nullopt;
    }

    Verdict check_memory_atomic(llvm::StringRef name) {
        const bool local = name.startswith("local.");
        name = name.drop_front(local ? 6 : 7);
        llvm::SmallVector<llvm::StringRef, 4> parts;
        name.split(parts, '.');
        llvm::Type* t = type_from_suffix(c_, parts.back());
        if (!t || parts.size() < 2)
            return wrong_name();
        llvm::Type *i32 = llvm::Type::getInt32Ty(c_), *i1 = llvm::Type::getInt1Ty(c_),
                   *none = llvm::Type::getVoidTy(c_);
        llvm::Type* pointer = llvm::PointerType::get(t, local ? 3 : 1);
        const llvm::StringRef op = parts[0];
        Types params{pointer};
        llvm::Type* result = t;
        if (op == "load")
            params.append({i32, i32, i1});
        else if (op == "store") {
            params.append({t, i32, i32, i1});
            result = none;
        } else if (op == "cmpxchg" && parts.size() == 3 && parts[1] == "weak")
            params.append({llvm::PointerType::get(t, 0), t, i32, i32, i32, i1});
        else if (op == "xchg" ||
                 ((op == "add" || op == "sub" || op == "and" || op == "or" || op == "xor" || op == "min" ||
                   op == "max") &&
                  (t->isFloatTy() || (parts.size() == 3 && (parts[1] == "s" || parts[1] == "u")))))
            params.append({t, i32, i32, i1});
        else
            return wrong_name();
        return same(result, params);
    }

    Verdict same(llvm::Type* result, llvm::ArrayRef<llvm::Type*> params) {
        auto* expected = llvm::FunctionType::get(result, params, false);
        return expected == type_ ? std::nullopt : wrong(print(expected));
    }

    Verdict check_interpolate(llvm::StringRef name) {
        const size_t dot = name.rfind('.');
        llvm::Type* t = dot == llvm::StringRef::npos ? nullptr : type_from_suffix(c_, name.substr(dot + 1));
        if (!t)
            return wrong_name();
        if (type_->getReturnType() != t || type_->getNumParams() < 1 || !is_handle(0, "interpolant", 1))
            return wrong(print(t) + " (interpolant)");
        return std::nullopt;
    }

    // Parameter i is a pointer to the opaque struct _<name>_t (LLVM may have renamed a clash).
    bool is_handle(unsigned i, llvm::StringRef name, unsigned space) {
        auto* p =
            i < type_->getNumParams() ? llvm::dyn_cast<llvm::PointerType>(type_->getParamType(i)) : nullptr;
        if (!p || p->isOpaque() || p->getAddressSpace() != space)
            return false;
        auto* s = llvm::dyn_cast<llvm::StructType>(p->getNonOpaquePointerElementType());
        if (!s || !s->hasName())
            return false;
        llvm::StringRef n = s->getName();
        if (!n.consume_front("struct._") || !n.consume_front(name) || !n.consume_front("_t"))
            return false;
        return n.empty() || n.front() == '.';
    }

    // first: the operation and class were recognised.
    std::pair<bool, Verdict> check_texture(llvm::StringRef op, llvm::StringRef rest) {
        std::string verb = op.drop_back().str();
        if (verb == "atomic") { // atomic_<verb>_explicit_<class>
            const size_t e = rest.find("_explicit_");
            if (e == llvm::StringRef::npos)
                return {false, {}};
            verb = "atomic_" + rest.substr(0, e).str();
            rest = rest.substr(e + 10);
        }
        llvm::StringRef cls;
        for (const char* k : kClasses)
            if (rest.consume_front(k)) {
                cls = k;
                break;
            }
        if (cls.empty())
            return {false, {}};
        const bool grad = rest.consume_front("_grad");
        if (!is_handle(0, cls, 1))
            return {true, wrong(fmt::format("a {} handle first", cls.str()))};

        llvm::Type *i32 = llvm::Type::getInt32Ty(c_), *f32 = llvm::Type::getFloatTy(c_),
                   *i1 = llvm::Type::getInt1Ty(c_);
        const bool depth = cls.startswith("depth"), arrayed = cls.endswith("_array"),
                   ms = cls.contains("_ms");
        const bool cube = cls.contains("cube"), d3 = cls.contains("3d"), buffer = cls.contains("buffer"),
                   d1 = cls.contains("_1d");
        const auto vec = [](llvm::Type* t, unsigned n) -> llvm::Type* {
            return n == 1 ? t : llvm::FixedVectorType::get(t, n);
        };
        const unsigned width = d1 ? 1 : d3 || cube ? 3 : 2;
        llvm::Type* texel = nullptr; // of the suffix
        bool short_positions = false;
        llvm::StringRef suffix = rest;
        if (suffix.consume_front(".i16"))
            short_positions = true;
        if (suffix.consume_front(".s") || suffix.consume_front(".u")) {
        }
        if (suffix.consume_front("."))
            texel = type_from_suffix(c_, suffix);
        else if (!suffix.empty())
            return {true, wrong_name()};
        llvm::Type* ipos = vec(short_positions ? llvm::Type::getInt16Ty(c_) : i32, cube ? 2 : width);
        llvm::Type* iscalar = short_positions ? llvm::Type::getInt16Ty(c_) : i32;
        llvm::Type* handle = type_->getParamType(0);

        const auto one_of = [&](llvm::Type* result,
                                llvm::ArrayRef<Types> variants) -> std::pair<bool, Verdict> {
            std::string expected;
            for (const Types& v : variants) {
                auto* t = llvm::FunctionType::get(result, v, false);
                if (t == type_)
                    return {true, std::nullopt};
                expected += (expected.empty() ? "" : " or ") + print(t);
            }
            return {true, wrong(expected)};
        };
        // AIR up to 2.1 returns the bare texel, later ones add the residency byte.
        const auto texel_result = [&](llvm::Type* value) -> llvm::Type* {
            if (type_->getReturnType() == value && minor_ <= 1)
                return value;
            return llvm::StructType::get(c_, {value, llvm::Type::getInt8Ty(c_)});
        };
        if (llvm::StringRef(verb).startswith("get_")) {
            const bool sized = verb == "get_width" || verb == "get_height" || verb == "get_depth";
            Types v{handle};
            if (sized && !ms && !buffer)
                v.push_back(i32);
            Types bare{handle};
            if (!rest.empty())
                return {true, wrong_name()};
            return sized && d1 ? one_of(i32, {v, bare}) : one_of(i32, {v});
        }
        if (llvm::StringRef(verb).startswith("calculate_")) {
            if (!is_handle(1, "sampler", 2))
                return {true, wrong("a sampler second")};
            Types v{handle, type_->getParamType(1)};
            if (depth)
                v.push_back(i32);
            v.append({vec(f32, width), i32});
            return one_of(f32, {v});
        }
        const bool sample = verb == "sample" || verb == "sample_compare",
                   gather = verb == "gather" || verb == "gather_compare";
        if (sample || gather) {
            if (!texel || !is_handle(1, "sampler", 2))
                return {true, texel ? wrong("a sampler second") : wrong_name()};
            Types head{handle, type_->getParamType(1)};
            if (depth)
                head.push_back(i32);
            head.push_back(vec(f32, width));
            if (arrayed)
                head.push_back(i32);
            if (verb.find("compare") != std::string::npos)
                head.push_back(f32);
            Types offset;
            if (!cube)
                offset = {i1, vec(i32, width)};
            const auto join = [](llvm::ArrayRef<llvm::ArrayRef<llvm::Type*>> parts) {
                Types all;
                for (const auto& p : parts)
                    all.append(p.begin(), p.end());
                return all;
            };
            if (gather) {
                llvm::Type* four = texel->isVectorTy() ? texel : vec(texel, 4);
                return depth ? one_of(texel_result(four), {join({head, offset, {i32}}), join({head, offset})})
                             : one_of(texel_result(four),
                                      {join({head, offset, {i32, i32}}), join({head, offset, {i32}})});
            }
            if (grad) {
                const Types d{vec(f32, width), vec(f32, width)};
                std::vector<Types> forms{join({head, d, {f32}, offset, {i32}})};
                if (minor_ <= 1)
                    forms.push_back(join({head, d, offset}));
                return one_of(texel_result(texel), forms);
            }
            // AIR up to 2.1: without the level clamp, or without the trailing word too.
            std::vector<Types> forms{join({head, offset, {i1, f32, f32, i32}})};
            if (minor_ <= 1) {
                forms.push_back(join({head, offset, {i1, f32, i32}}));
                forms.push_back(join({head, offset, {i1, f32}}));
            }
            return one_of(texel_result(texel), forms);
        }
        Types at;
        if (depth)
            at.push_back(i32);
        at.push_back(ipos);
        if (cube)
            at.push_back(iscalar);
        if (arrayed)
            at.push_back(iscalar);
        if (verb == "read") {
            if (!texel)
                return {true, wrong_name()};
            Types old{handle};
            old.append(at);
            if (!buffer)
                old.push_back(iscalar); // level or sample
            old.push_back(i32);
            std::vector<Types> variants{old};
            if (minor_ >= 8 && is_handle(1, "sampler", 2)) {
                Types fresh{handle, type_->getParamType(1)};
                fresh.append(at);
                if (!cube && !d1 && !ms)
                    fresh.push_back(vec(i32, width));
                if (!buffer)
                    fresh.push_back(iscalar);
                fresh.push_back(i32);
                variants.push_back(fresh);
            }
            return one_of(texel_result(texel), variants);
        }
        if (verb == "write") {
            if (!texel)
                return {true, wrong_name()};
            Types v{handle};
            v.append(at);
            v.push_back(texel);
            if (!buffer)
                v.push_back(iscalar);
            v.push_back(i32);
            return one_of(llvm::Type::getVoidTy(c_), {v});
        }
        if (llvm::StringRef(verb).startswith("atomic_")) {
            if (!texel && verb != "atomic_load" && verb != "atomic_store")
                return {true, wrong_name()};
            Types v{handle};
            v.append(at);
            if (minor_ >= 8 && !buffer && !cube && !d1)
                v.push_back(vec(i32, width));
            if (verb == "atomic_compare_exchange_weak") {
                v.append({llvm::PointerType::get(texel, 0), texel, i32, i32, i32});
                return one_of(i1, {v});
            }
            if (llvm::StringRef(verb).startswith("atomic_fetch_") || verb == "atomic_exchange") {
                v.append({texel, i32, i32});
                return one_of(texel, {v});
            }
            return {true, std::nullopt};
        }
        return {false, {}};
    }

    const llvm::Function& f_;
    llvm::FunctionType* type_;
    llvm::LLVMContext& c_;
    unsigned minor_;
};

} // namespace

std::optional<std::pair<std::string, std::string>> lint_intrinsic(const llvm::Function& f,
                                                                  unsigned air_minor) {
    return Checker(f, air_minor).check();
}

bool must_be_convergent(llvm::StringRef name) {
    if (!name.consume_front("air."))
        return false;
    if (name.startswith("sample_") && !name.contains("_grad"))
        return true;
    for (const char* prefix : {"wg.barrier", "simdgroup.barrier", "simd_", "quad_", "dfdx", "dfdy", "fwidth",
                               "calculate_", "simdgroup_matrix"})
        if (name.startswith(prefix))
            return true;
    return false;
}

} // namespace dmsh
