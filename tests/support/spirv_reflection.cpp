// Reads types, decorations and variables of a SPIR-V module; adds transform feedback decorations.
#include "tests/support/spirv_reflection.h"
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <spirv/unified1/spirv.hpp11>

namespace dmsh::test {
namespace {

struct Type {
    spv::Op op = spv::Op::OpNop;
    std::vector<uint32_t> operands;
};

struct Variable {
    uint32_t id = 0, pointer = 0;
    spv::StorageClass storage{};
};

struct Module {
    std::map<uint32_t, Type> types;
    std::map<uint32_t, uint32_t> constants;
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> decorations;  // (id, decoration)
    std::map<std::array<uint32_t, 3>, std::vector<uint32_t>> member_decorations; // (id, member, decoration)
    std::vector<Variable> variables;
    std::vector<uint32_t> interface;
    std::map<uint32_t, std::pair<uint32_t, std::vector<uint32_t>>> chains; // access chain: base, indices
    std::set<uint32_t> stored;                                             // pointers stored to
    Reflection out;

    std::optional<uint32_t> decoration(uint32_t id, spv::Decoration d) const {
        const auto it = decorations.find({id, static_cast<uint32_t>(d)});
        if (it == decorations.end())
            return std::nullopt;
        return it->second.empty() ? 0 : it->second[0];
    }
    std::optional<uint32_t> member(uint32_t id, uint32_t m, spv::Decoration d) const {
        const auto it = member_decorations.find({id, m, static_cast<uint32_t>(d)});
        if (it == member_decorations.end())
            return std::nullopt;
        return it->second.empty() ? 0 : it->second[0];
    }
    const Type& type(uint32_t id) const {
        static const Type none;
        const auto it = types.find(id);
        return it == types.end() ? none : it->second;
    }
    uint32_t constant(uint32_t id) const {
        const auto it = constants.find(id);
        return it == constants.end() ? 1 : it->second;
    }
    bool writes_member(uint32_t variable, uint32_t member_index) const;
    void flatten(uint32_t id, uint32_t offset, uint32_t matrix_stride, std::vector<WordKind>& words,
                 std::vector<WordKind>* tail) const;
};

constexpr uint32_t kMaxBlockWords = 1u << 20;

void put(std::vector<WordKind>& words, uint32_t offset, WordKind kind) {
    const uint32_t at = offset / 4;
    if (at >= kMaxBlockWords)
        return;
    if (words.size() <= at)
        words.resize(at + 1, WordKind::none);
    words[at] = kind;
}

void Module::flatten(uint32_t id, uint32_t offset, uint32_t matrix_stride, std::vector<WordKind>& words,
                     std::vector<WordKind>* tail) const {
    const Type& t = type(id);
    switch (t.op) {
    case spv::Op::OpTypeFloat:
        if (t.operands[0] == 64) {
            put(words, offset, WordKind::f64_low);
            put(words, offset + 4, WordKind::f64_high);
        } else {
            put(words, offset, t.operands[0] == 16 ? WordKind::f16 : WordKind::f32);
        }
        break;
    case spv::Op::OpTypeInt:
        if (t.operands[0] == 64) {
            put(words, offset, WordKind::s64_low);
            put(words, offset + 4, WordKind::s64_high);
        } else {
            put(words, offset,
                t.operands[0] < 32 ? WordKind::u8
                : t.operands[1]    ? WordKind::s32
                                   : WordKind::u32);
        }
        break;
    case spv::Op::OpTypeVector: {
        const Type& e = type(t.operands[0]);
        for (uint32_t i = 0; i < t.operands[1]; ++i)
            flatten(t.operands[0], offset + i * e.operands[0] / 8, 0, words, nullptr);
        break;
    }
    case spv::Op::OpTypeMatrix:
        for (uint32_t i = 0; i < t.operands[1]; ++i)
            flatten(t.operands[0], offset + i * matrix_stride, 0, words, nullptr);
        break;
    case spv::Op::OpTypeArray: {
        const uint32_t stride = decoration(id, spv::Decoration::ArrayStride).value_or(0);
        for (uint32_t i = 0; i < constant(t.operands[1]) && offset + i * stride < kMaxBlockWords * 4; ++i)
            flatten(t.operands[0], offset + i * stride, matrix_stride, words, nullptr);
        break;
    }
    case spv::Op::OpTypeRuntimeArray:
        if (tail) {
            const uint32_t stride = decoration(id, spv::Decoration::ArrayStride).value_or(4);
            words.resize(offset / 4, WordKind::none);
            flatten(t.operands[0], 0, matrix_stride, *tail, nullptr);
            tail->resize(std::max(stride / 4, 1u), WordKind::none);
        }
        break;
    case spv::Op::OpTypeStruct:
        for (uint32_t m = 0; m < t.operands.size(); ++m) {
            const uint32_t at = member(id, m, spv::Decoration::Offset).value_or(0);
            const uint32_t stride = member(id, m, spv::Decoration::MatrixStride).value_or(16);
            // A row-major matrix has the transposed shape; tests draw all its words as its component type.
            const Type* inner = &type(t.operands[m]);
            if (member(id, m, spv::Decoration::RowMajor) && inner->op == spv::Op::OpTypeMatrix) {
                const Type& column = type(inner->operands[0]);
                for (uint32_t r = 0; r < column.operands[1]; ++r)
                    for (uint32_t c = 0; c < inner->operands[1]; ++c)
                        put(words, offset + at + r * stride + c * 4, WordKind::f32);
                continue;
            }
            flatten(t.operands[m], offset + at, stride, words, tail);
        }
        break;
    default: break;
    }
}

bool Module::writes_member(uint32_t variable, uint32_t member_index) const {
    for (const auto& [pointer, chain] : chains)
        if (chain.first == variable && !chain.second.empty() && constant(chain.second[0]) == member_index)
            if (stored.count(pointer))
                return true;
    return stored.count(variable) != 0;
}

// What geometry and tessellation say of their primitives.
void stage_mode(spv::ExecutionMode mode, uint32_t operand, Reflection& r) {
    switch (mode) {
    case spv::ExecutionMode::InputPoints: r.input_vertices = 1; break;
    case spv::ExecutionMode::InputLines: r.input_vertices = 2; break;
    case spv::ExecutionMode::Triangles: r.input_vertices = 3; break;
    case spv::ExecutionMode::InputLinesAdjacency: r.input_vertices = 4; break;
    case spv::ExecutionMode::InputTrianglesAdjacency: r.input_vertices = 6; break;
    case spv::ExecutionMode::OutputPoints: r.output_primitive = 1; break;
    case spv::ExecutionMode::OutputLineStrip: r.output_primitive = 2; break;
    case spv::ExecutionMode::OutputTriangleStrip: r.output_primitive = 3; break;
    case spv::ExecutionMode::OutputVertices: r.output_vertices = operand; break;
    case spv::ExecutionMode::Invocations: r.invocations = operand; break;
    case spv::ExecutionMode::Quads: r.quads = true; break;
    case spv::ExecutionMode::Isolines: r.isolines = true; break;
    default: break;
    }
}

Result<Module> parse(std::span<const uint32_t> words) {
    if (words.size() < 5 || words[0] != spv::MagicNumber)
        return Error{"not SPIR-V"};
    Module m;
    for (size_t i = 5; i < words.size();) {
        const uint32_t n = words[i] >> 16;
        const auto op = static_cast<spv::Op>(words[i] & 0xffff);
        if (n == 0 || i + n > words.size())
            return Error{"bad SPIR-V instruction", {}, i * 4};
        const auto w = words.subspan(i + 1, n - 1);
        i += n;
        switch (op) {
        case spv::Op::OpEntryPoint: {
            m.out.model = w[0];
            const char* text = reinterpret_cast<const char*>(&w[2]);
            m.out.entry = text;
            m.interface.assign(w.begin() + 2 + (m.out.entry.size() + 4) / 4, w.end());
            break;
        }
        case spv::Op::OpExecutionMode:
            m.out.early_tests |= w[1] == static_cast<uint32_t>(spv::ExecutionMode::EarlyFragmentTests);
            m.out.depth_replacing |= w[1] == static_cast<uint32_t>(spv::ExecutionMode::DepthReplacing);
            stage_mode(static_cast<spv::ExecutionMode>(w[1]), w.size() > 2 ? w[2] : 0, m.out);
            break;
        case spv::Op::OpCapability:
            if (!w.empty())
                m.out.capabilities.push_back(w[0]);
            break;
        case spv::Op::OpDecorate: m.decorations[{w[0], w[1]}].assign(w.begin() + 2, w.end()); break;
        case spv::Op::OpMemberDecorate:
            m.member_decorations[{w[0], w[1], w[2]}].assign(w.begin() + 3, w.end());
            break;
        case spv::Op::OpTypeVoid:
        case spv::Op::OpTypeBool:
        case spv::Op::OpTypeInt:
        case spv::Op::OpTypeFloat:
        case spv::Op::OpTypeVector:
        case spv::Op::OpTypeMatrix:
        case spv::Op::OpTypeImage:
        case spv::Op::OpTypeSampler:
        case spv::Op::OpTypeSampledImage:
        case spv::Op::OpTypeArray:
        case spv::Op::OpTypeRuntimeArray:
        case spv::Op::OpTypeStruct:
        case spv::Op::OpTypePointer: m.types[w[0]] = {op, {w.begin() + 1, w.end()}}; break;
        case spv::Op::OpConstant:
        case spv::Op::OpSpecConstant: m.constants[w[1]] = w[2]; break;
        case spv::Op::OpVariable:
            m.variables.push_back({w[1], w[0], static_cast<spv::StorageClass>(w[2])});
            break;
        case spv::Op::OpAccessChain:
        case spv::Op::OpInBoundsAccessChain: m.chains[w[1]] = {w[2], {w.begin() + 3, w.end()}}; break;
        case spv::Op::OpStore: m.stored.insert(w[0]); break;
        default: break;
        }
    }
    for (const auto& [key, values] : m.decorations)
        if (key.second == static_cast<uint32_t>(spv::Decoration::SpecId))
            m.out.specialization_ids.push_back(values[0]);
    return m;
}

// Fills type, width, components and count from an io type; false for types that are no io values.
bool io_type(const Module& m, uint32_t id, IoVariable& v) {
    const Type* t = &m.type(id);
    if (t->op == spv::Op::OpTypeArray) {
        v.count *= m.constant(t->operands[1]);
        return io_type(m, t->operands[0], v);
    }
    if (t->op == spv::Op::OpTypeMatrix) {
        v.count *= t->operands[1];
        return io_type(m, t->operands[0], v);
    }
    if (t->op == spv::Op::OpTypeVector) {
        v.components = t->operands[1];
        t = &m.type(t->operands[0]);
    }
    if (t->op == spv::Op::OpTypeFloat)
        v.type = BaseType::real;
    else if (t->op == spv::Op::OpTypeInt)
        v.type = t->operands[1] ? BaseType::sint : BaseType::uint;
    else if (t->op == spv::Op::OpTypeBool) {
        v.type = BaseType::uint;
        return true;
    } else
        return false;
    v.width = t->operands[0] / 8;
    return true;
}

bool per_vertex_dimension(uint32_t model, bool output, bool patch) {
    const auto e = static_cast<spv::ExecutionModel>(model);
    if (patch)
        return false;
    if (e == spv::ExecutionModel::TessellationControl)
        return true;
    return !output &&
           (e == spv::ExecutionModel::TessellationEvaluation || e == spv::ExecutionModel::Geometry);
}

void add_io(const Module& m, const Variable& variable, bool output, std::vector<IoVariable>& list) {
    uint32_t type = m.type(variable.pointer).operands.at(1);
    IoVariable base;
    auto has = [&](spv::Decoration d) { return m.decoration(variable.id, d).has_value(); };
    base.patch = has(spv::Decoration::Patch);
    base.flat = has(spv::Decoration::Flat);
    base.no_perspective = has(spv::Decoration::NoPerspective);
    base.centroid = has(spv::Decoration::Centroid);
    base.sample = has(spv::Decoration::Sample);
    if (m.type(type).op == spv::Op::OpTypeArray && per_vertex_dimension(m.out.model, output, base.patch)) {
        base.per_vertex = true;
        type = m.type(type).operands[0];
    }
    if (m.type(type).op == spv::Op::OpTypeStruct) {
        const Type& s = m.type(type);
        uint32_t next = m.decoration(variable.id, spv::Decoration::Location).value_or(0);
        for (uint32_t i = 0; i < s.operands.size(); ++i) {
            IoVariable v = base;
            if (auto b = m.member(type, i, spv::Decoration::BuiltIn)) {
                if (output && !m.writes_member(variable.id, i))
                    continue;
                v.builtin = static_cast<int32_t>(*b);
            }
            v.location = m.member(type, i, spv::Decoration::Location).value_or(next);
            v.component = m.member(type, i, spv::Decoration::Component).value_or(0);
            if (!io_type(m, s.operands[i], v))
                continue;
            next = v.location + v.count;
            list.push_back(v);
        }
        return;
    }
    if (auto b = m.decoration(variable.id, spv::Decoration::BuiltIn))
        base.builtin = static_cast<int32_t>(*b);
    base.location = m.decoration(variable.id, spv::Decoration::Location).value_or(0);
    base.component = m.decoration(variable.id, spv::Decoration::Component).value_or(0);
    if (io_type(m, type, base))
        list.push_back(base);
}

} // namespace

std::vector<WordKind> Block::kinds(size_t bytes) const {
    std::vector<WordKind> all(bytes / 4, WordKind::none);
    for (size_t i = 0; i < all.size(); ++i)
        if (i < words.size())
            all[i] = words[i];
        else if (!tail.empty())
            all[i] = tail[(i - words.size()) % tail.size()];
    return all;
}

Result<Reflection> reflect(std::span<const uint32_t> words) {
    auto parsed = parse(words);
    if (!parsed)
        return parsed.error();
    Module& m = *parsed;
    for (const Variable& v : m.variables) {
        if (m.type(v.pointer).operands.size() < 2)
            continue;
        uint32_t type = m.type(v.pointer).operands[1];
        if (v.storage == spv::StorageClass::Uniform || v.storage == spv::StorageClass::StorageBuffer) {
            Block b;
            b.set = m.decoration(v.id, spv::Decoration::DescriptorSet).value_or(0);
            b.binding = m.decoration(v.id, spv::Decoration::Binding).value_or(0);
            if (m.type(type).op == spv::Op::OpTypeArray) {
                b.array = m.constant(m.type(type).operands[1]);
                type = m.type(type).operands[0];
            }
            b.storage = v.storage == spv::StorageClass::StorageBuffer ||
                        m.decoration(type, spv::Decoration::BufferBlock);
            m.flatten(type, 0, 16, b.words, &b.tail);
            m.out.blocks.push_back(std::move(b));
        } else if (v.storage == spv::StorageClass::Input || v.storage == spv::StorageClass::Output) {
            const bool output = v.storage == spv::StorageClass::Output;
            add_io(m, v, output, output ? m.out.outputs : m.out.inputs);
        }
    }
    return std::move(m.out);
}

Result<CapturingModule> capture_outputs(std::span<const uint32_t> words) {
    auto parsed = parse(words);
    if (!parsed)
        return parsed.error();
    const Module& m = *parsed;
    CapturingModule out;
    // Decorations to add: (target id, member or ~0, decoration, value).
    std::vector<std::array<uint32_t, 4>> add;
    auto place = [&](const IoVariable& v, uint32_t id, uint32_t member) {
        // Components of 8 bytes align to 8; nothing else does.
        if (v.width == 8)
            out.stride = (out.stride + 7) & ~7u;
        add.push_back({id, member, static_cast<uint32_t>(spv::Decoration::Offset), out.stride});
        const uint32_t element_words = v.components * v.width / 4;
        for (uint32_t i = 0; i < v.count; ++i) {
            Capture c;
            c.builtin = v.builtin;
            c.location = v.location + (v.builtin < 0 ? i : 0);
            c.component = v.component;
            c.type = v.type;
            c.offset = out.stride;
            c.words = element_words;
            c.name = v.builtin < 0 ? std::to_string(c.location) + "." + std::to_string(c.component)
                                   : "b" + std::to_string(v.builtin) + "[" + std::to_string(i) + "]";
            out.captures.push_back(c);
            out.stride += element_words * 4;
        }
    };
    auto wanted = [](int32_t builtin) {
        switch (static_cast<spv::BuiltIn>(builtin)) {
        case spv::BuiltIn::Position:
        case spv::BuiltIn::PointSize:
        case spv::BuiltIn::ClipDistance:
        case spv::BuiltIn::Layer:
        case spv::BuiltIn::ViewportIndex:
        case spv::BuiltIn::PrimitiveId: return true;
        default: return false;
        }
    };
    std::vector<uint32_t> captured;
    for (const Variable& v : m.variables) {
        if (v.storage != spv::StorageClass::Output)
            continue;
        const uint32_t type = m.type(v.pointer).operands.at(1);
        const size_t before = add.size();
        if (m.type(type).op == spv::Op::OpTypeStruct) {
            for (uint32_t i = 0; i < m.type(type).operands.size(); ++i) {
                IoVariable io;
                if (auto b = m.member(type, i, spv::Decoration::BuiltIn))
                    io.builtin = static_cast<int32_t>(*b);
                io.location = m.member(type, i, spv::Decoration::Location).value_or(0);
                io.component = m.member(type, i, spv::Decoration::Component).value_or(0);
                if (!io_type(m, m.type(type).operands[i], io))
                    continue;
                if (io.builtin >= 0 && (!wanted(io.builtin) || !m.writes_member(v.id, i)))
                    continue;
                place(io, type, i);
            }
        } else {
            std::vector<IoVariable> list;
            add_io(m, v, true, list);
            if (!list.empty() && (list[0].builtin < 0 || wanted(list[0].builtin)))
                place(list[0], v.id, ~0u);
        }
        if (add.size() != before)
            captured.push_back(v.id);
    }
    out.stride = (out.stride + 7) & ~7u;
    for (uint32_t id : captured) {
        add.push_back({id, ~0u, static_cast<uint32_t>(spv::Decoration::XfbBuffer), 0});
        add.push_back({id, ~0u, static_cast<uint32_t>(spv::Decoration::XfbStride), out.stride});
    }

    // Capability first, execution mode behind the entry point, decorations before the first annotation or
    // type.
    out.words.assign(words.begin(), words.begin() + 5);
    out.words.insert(out.words.end(), {2u << 16 | static_cast<uint32_t>(spv::Op::OpCapability),
                                       static_cast<uint32_t>(spv::Capability::TransformFeedback)});
    bool decorated = false;
    uint32_t entry_id = 0;
    bool mode_added = false;
    for (size_t i = 5; i < words.size();) {
        const uint32_t n = words[i] >> 16;
        const auto op = static_cast<spv::Op>(words[i] & 0xffff);
        if (op == spv::Op::OpEntryPoint)
            entry_id = words[i + 2];
        else if (entry_id && !mode_added) {
            out.words.insert(out.words.end(), {3u << 16 | static_cast<uint32_t>(spv::Op::OpExecutionMode),
                                               entry_id, static_cast<uint32_t>(spv::ExecutionMode::Xfb)});
            mode_added = true;
        }
        const bool annotation = op == spv::Op::OpDecorate || op == spv::Op::OpMemberDecorate;
        const bool type = op >= spv::Op::OpTypeVoid && op <= spv::Op::OpTypeForwardPointer;
        if (!decorated && (annotation || type)) {
            for (const auto& [id, member, decoration, value] : add)
                if (member == ~0u)
                    out.words.insert(out.words.end(), {4u << 16 | static_cast<uint32_t>(spv::Op::OpDecorate),
                                                       id, decoration, value});
                else
                    out.words.insert(out.words.end(),
                                     {5u << 16 | static_cast<uint32_t>(spv::Op::OpMemberDecorate), id, member,
                                      decoration, value});
            decorated = true;
        }
        out.words.insert(out.words.end(), words.begin() + i, words.begin() + i + n);
        i += n;
    }
    return out;
}

} // namespace dmsh::test
