// The grammar of entry-point metadata as a table, and the agreement of nodes with IR types and slots.
#include "compiler/emit/air/air_module.h"
#include "compiler/emit/air/lint.h"
#include <fmt/format.h>
#include <map>
#include <set>

namespace dmsh {
namespace {

// A node is `i32 index` (inputs), an optional function-constant predicate, the kind, then the fields of its
// row in order. A field: name, kind of operand: n none (bare word), i integer, I two integers, s string, m
// node, and '!' required or '?' optional. Words without "air." of their own: @link is any string, @access,
// @where, @depth, @shape one of the listed words.
struct Row {
    const char* kind;
    const char* fields;
};

constexpr const char* kResourceTail =
    "arg_type_size:i? arg_type_align_size:i? arg_type_name:s! arg_name:s! arg_unused:n?";
constexpr const char* kTail = "arg_type_name:s! arg_name:s? arg_unused:n?"; // a lone output has no name

constexpr Row kInputRows[] = {
    {"buffer", "buffer_size:i? location_index:I! @access! address_space:i? raster_order_group:i? "
               "struct_type_info:m? +"},
    {"indirect_buffer", "buffer_size:i? location_index:I! @access! address_space:i? raster_order_group:i? "
                        "struct_type_info:m? +"},
    {"indirect_constant", "location_index:I! +"},
    {"texture", "location_index:I! @access! raster_order_group:i? -"},
    {"sampler", "location_index:I! -"},
    {"visible_function_table", "location_index:I! @access! +"},
    {"intersection_function_table", "location_index:I! @access! +"},
    {"instance_acceleration_structure", "location_index:I! @access! +"},
    {"primitive_acceleration_structure", "location_index:I! @access! +"},
    {"command_buffer", "location_index:I! @access! +"},
    {"imageblock", "@link? imageblock_data_size:i? struct_type_info:m? arg_type_align_size:i? -"},
    {"payload", "struct_type_info:m? +"},
    {"mesh_grid_properties", "-"},
    {"mesh", "@node -"},
    {"vertex_input", "location_index:I! @link? -"},
    {"stage_in", "location_index:I! @link? -"},
    {"patch_input", "location_index:I! -"},
    {"fragment_input", "@link! @interpolation -"},
    {"position", "@where? @perspective? -"},
    {"render_target", "@int! raster_order_group:i? -"},
    {"imageblock_data", "imageblock_data_size:i! struct_type_info:m! imageblock_master:m? -"},
    {"visible_input", "-"},
};

// Builtins: nothing but a type and a name.
constexpr const char* kBuiltins[] = {
    "vertex_id",
    "instance_id",
    "base_vertex",
    "base_instance",
    "amplification_id",
    "amplification_count",
    "patch_id",
    "position_in_patch",
    "front_facing",
    "sample_id",
    "sample_mask_in",
    "primitive_id",
    "point_coord",
    "barycentric_coord",
    "render_target_array_index",
    "viewport_array_index",
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threads_per_grid",
    "threads_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "threadgroups_per_grid",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "threads_per_simdgroup",
    "thread_index_in_quadgroup",
    "quadgroup_index_in_threadgroup",
    "grid_origin",
    "grid_size",
    "simdgroup_size",
    "dispatch_simdgroups_per_threadgroup",
    "stage_in_grid_origin",
    "stage_in_grid_size",
};

constexpr Row kOutputRows[] = {
    {"position", "@invariant? -"},
    {"vertex_output", "@link! -"},
    {"point_size", "-"},
    {"clip_distance", "clip_distance_array_size:i? -"},
    {"render_target_array_index", "-"},
    {"viewport_array_index", "-"},
    {"render_target", "@int! @int? -"},
    {"depth", "depth_qualifier:n! @depth! -"},
    {"stencil", "-"},
    {"sample_mask", "-"},
    {"imageblock_data", "imageblock_data_size:i? struct_type_info:m? imageblock_master:m? -"},
    {"visible_output", "-"},
};

bool one_of(std::string_view s, std::initializer_list<const char*> words) {
    for (const char* w : words)
        if (s == w)
            return true;
    return false;
}

// The IR type of a language type name; null for names that are no plain scalar or vector.
llvm::Type* ir_type(llvm::LLVMContext& c, std::string_view name) {
    unsigned n = 1;
    if (!name.empty() && name.back() >= '2' && name.back() <= '4') {
        n = static_cast<unsigned>(name.back() - '0');
        name.remove_suffix(1);
    }
    llvm::Type* t = llvm::StringSwitch<llvm::Type*>(llvm::StringRef(name.data(), name.size()))
                        .Case("float", llvm::Type::getFloatTy(c))
                        .Case("half", llvm::Type::getHalfTy(c))
                        .Cases("int", "uint", llvm::Type::getInt32Ty(c))
                        .Cases("short", "ushort", llvm::Type::getInt16Ty(c))
                        .Cases("char", "uchar", llvm::Type::getInt8Ty(c))
                        .Cases("long", "ulong", llvm::Type::getInt64Ty(c))
                        .Case("bool", llvm::Type::getInt1Ty(c))
                        .Default(nullptr);
    return t && n > 1 ? llvm::FixedVectorType::get(t, n) : t;
}

std::string print(llvm::Type* t) {
    std::string s;
    llvm::raw_string_ostream out(s);
    t->print(out);
    return s;
}

struct Node {
    std::string kind;
    std::map<std::string, uint64_t> numbers; // first integer of each field
    std::string type_name, access;
    uint64_t location = 0, count = 0;
    bool has_location = false, unused = false;
};

class EntryLint {
  public:
    EntryLint(const AirEntry& e, std::vector<LintFault>& faults) : e_(e), faults_(faults) {}

    void run() {
        inputs();
        outputs();
        for (const auto* x : e_.extras)
            extra(x);
    }

  private:
    void fault(const char* rule, std::string text) {
        faults_.push_back({rule, e_.function->getName().str(), std::move(text)});
    }

    // Walks one node by its row; false after a fault.
    bool walk(const llvm::MDNode& md, unsigned at, const char* fields, Node& node) {
        std::string row(fields);
        const auto expand = [&](const char* mark, const char* tail) {
            if (row.ends_with(mark))
                row = row.substr(0, row.size() - strlen(mark)) + tail;
        };
        expand("+", kResourceTail);
        expand("-", kTail);
        size_t pos = 0;
        while (pos < row.size()) {
            const size_t end = std::min(row.find(' ', pos), row.size());
            std::string field = row.substr(pos, end - pos);
            pos = end + 1;
            if (field.empty())
                continue;
            const bool optional = field.back() == '?';
            if (field.back() == '?' || field.back() == '!')
                field.pop_back();
            const auto word = md_string(md_operand(md, at));
            const auto bad = [&](const std::string& expected) {
                fault("metadata.grammar",
                      fmt::format("{} node: operand {} is {}, expected {}", node.kind, at,
                                  md_operand(md, at) ? md_text(md_operand(md, at), 1) : "missing", expected));
                return false;
            };
            if (field == "@access") {
                if (!word || !one_of(*word, {"air.read", "air.write", "air.read_write", "air.sample"}))
                    return bad("an access");
                node.access = *word;
                ++at;
            } else if (field == "@where") {
                if (word && one_of(*word, {"air.center", "air.centroid", "air.sample"}))
                    ++at;
            } else if (field == "@perspective") {
                if (word && one_of(*word, {"air.perspective", "air.no_perspective"}))
                    ++at;
            } else if (field == "@interpolation") {
                if (word && *word == "air.flat") {
                    ++at;
                } else if (word && *word == "air.vertex_value") {
                    ++at;
                } else if (word && one_of(*word, {"air.center", "air.centroid", "air.sample",
                                                  "air.interpolation_function"})) {
                    const auto second = md_string(md_operand(md, at + 1));
                    if (!second || !one_of(*second, {"air.perspective", "air.no_perspective"})) {
                        ++at;
                        return bad("air.perspective or air.no_perspective");
                    }
                    at += 2;
                } else {
                    return bad("an interpolation");
                }
            } else if (field == "@depth") {
                if (!word || !one_of(*word, {"air.any", "air.greater", "air.less"}))
                    return bad("a depth qualifier");
                ++at;
            } else if (field == "@flat") {
                if (word && *word == "air.flat")
                    ++at;
            } else if (field == "@invariant") {
                if (word && *word == "air.invariant")
                    ++at;
            } else if (field == "@link") {
                const bool link = word && word->substr(0, 4) != "air.";
                if (!link && !optional)
                    return bad("a link name");
                at += link;
            } else if (field == "@int") {
                const auto n = md_int(md_operand(md, at));
                if (!n && !optional)
                    return bad("an integer");
                if (n) {
                    node.numbers.emplace("int", *n);
                    ++at;
                }
            } else if (field == "@node") {
                if (!llvm::isa_and_nonnull<llvm::MDNode>(md_operand(md, at)))
                    return bad("a node");
                ++at;
            } else {
                const size_t colon = field.find(':');
                const std::string name = "air." + field.substr(0, colon);
                const char kind = field[colon + 1];
                if (!word || *word != name) {
                    if (optional)
                        continue;
                    return bad(name);
                }
                ++at;
                if (name == "air.arg_unused")
                    node.unused = true;
                if (kind == 'i' || kind == 'I') {
                    const auto n = md_int(md_operand(md, at));
                    if (!n)
                        return bad("an integer after " + name);
                    node.numbers[field.substr(0, colon)] = *n;
                    ++at;
                    if (kind == 'I') {
                        const auto m = md_int(md_operand(md, at));
                        if (!m)
                            return bad("a count after " + name);
                        node.location = *n;
                        node.count = *m;
                        node.has_location = true;
                        ++at;
                    }
                } else if (kind == 's') {
                    const auto s = md_string(md_operand(md, at));
                    if (!s)
                        return bad("a string after " + name);
                    if (name == "air.arg_type_name")
                        node.type_name = *s;
                    ++at;
                } else if (kind == 'm') {
                    const auto* nested = llvm::dyn_cast_or_null<llvm::MDNode>(md_operand(md, at));
                    if (!nested)
                        return bad("a node after " + name);
                    if (name == "air.struct_type_info" && !struct_info(*nested, node))
                        return false;
                    ++at;
                }
            }
        }
        if (at != md.getNumOperands()) {
            fault("metadata.grammar", fmt::format("{} node: operand {} ({}) is one too many", node.kind, at,
                                                  md_text(md_operand(md, at), 1)));
            return false;
        }
        return true;
    }

    // offset, size, array length, type, field; nested structs and argument-buffer members add more.
    bool struct_info(const llvm::MDNode& md, const Node& node) {
        unsigned at = 0;
        const unsigned n = md.getNumOperands();
        while (at < n) {
            if (md_string(md_operand(md, at)) == "air.struct_type_info") {
                const auto* nested = llvm::dyn_cast_or_null<llvm::MDNode>(md_operand(md, at + 1));
                if (!nested || !struct_info(*nested, node))
                    return false;
                at += 2;
                continue;
            }
            for (unsigned k = 0; k < 3; ++k)
                if (!md_int(md_operand(md, at + k)))
                    return struct_fault(node, at + k);
            if (!md_string(md_operand(md, at + 3)) || !md_string(md_operand(md, at + 4)))
                return struct_fault(node, at + 3);
            at += 5;
            while (at < n) {
                const auto word = md_string(md_operand(md, at));
                if (word == "air.indirect_argument") {
                    const auto* member = llvm::dyn_cast_or_null<llvm::MDNode>(md_operand(md, at + 1));
                    Node inner;
                    if (!member || !argument(*member, inner))
                        return member ? false : struct_fault(node, at + 1);
                    if (md_int(md_operand(*member, 0)) != inner.location) {
                        fault("metadata.argument-id",
                              "an argument buffer member's index and location differ");
                        return false;
                    }
                    for (uint64_t id = inner.location;
                         id < inner.location + std::min<uint64_t>(inner.count, 1024); ++id)
                        if (!member_ids_.insert(id).second) {
                            fault("metadata.argument-id",
                                  fmt::format("argument buffer id {} is used twice", id));
                            return false;
                        }
                    at += 2;
                } else if (word == "air.render_target" || word == "air.raster_order_group") {
                    at += 2;
                } else {
                    break;
                }
            }
        }
        return true;
    }

    bool struct_fault(const Node& node, unsigned at) {
        fault("metadata.grammar", fmt::format("{} node: struct_type_info operand {}", node.kind, at));
        return false;
    }

    // An input node; false after a fault.
    bool argument(const llvm::MDNode& md, Node& node) {
        unsigned at = 1;
        if (md_string(md_operand(md, at)) == "air.function_constant")
            at += 2;
        const auto kind = md_string(md_operand(md, at));
        if (!kind || kind->substr(0, 4) != "air.") {
            fault("metadata.kind",
                  fmt::format("input node without a kind ({})", md_text(md_operand(md, at), 1)));
            return false;
        }
        node.kind = kind->substr(4);
        for (const Row& row : kInputRows)
            if (node.kind == row.kind)
                return walk(md, at + 1, row.fields, node);
        if (std::any_of(std::begin(kBuiltins), std::end(kBuiltins),
                        [&](const char* b) { return node.kind == b; }))
            return walk(md, at + 1,
                        node.kind == "render_target_array_index" || node.kind == "primitive_id" ? "@flat -"
                                                                                                : "-",
                        node);
        if (node.kind == "patch_control_point_input")
            return true;
        fault("metadata.kind", fmt::format("input kind {} is not known", *kind));
        return false;
    }

    void inputs() {
        const llvm::FunctionType* type = e_.function->getFunctionType();
        const unsigned n = e_.inputs->getNumOperands();
        if (n != type->getNumParams())
            fault("metadata.count", fmt::format("{} input nodes for {} parameters", n, type->getNumParams()));
        std::set<std::pair<std::string, uint64_t>> slots;
        for (unsigned i = 0; i < n; ++i) {
            const auto* md = llvm::dyn_cast_or_null<llvm::MDNode>(e_.inputs->getOperand(i).get());
            if (!md || md_int(md_operand(*md, 0)) != i) {
                fault("metadata.index", fmt::format("input node {} has another index", i));
                continue;
            }
            Node node;
            if (!argument(*md, node) || i >= type->getNumParams())
                continue;
            parameter(type->getParamType(i), i, node);
            const bool buffer = node.kind == "buffer" || node.kind == "indirect_buffer";
            if (buffer || node.kind == "texture" || node.kind == "sampler") {
                const auto space = node.numbers.find("address_space");
                const bool threadgroup = buffer && space != node.numbers.end() && space->second == 3;
                const std::string group = threadgroup ? "threadgroup" : buffer ? "buffer" : node.kind;
                const bool conditional = md_string(md_operand(*md, 1)) == "air.function_constant";
                const uint64_t limit = buffer ? 31 : node.kind == "texture" ? 128 : 16;
                if (node.location + node.count > limit)
                    fault("slot.limit", fmt::format("{} slot {} of at most {}", group,
                                                    node.location + node.count - 1, limit));
                if (!conditional && !slots.insert({group, node.location}).second)
                    fault("slot.duplicate", fmt::format("{} slot {} is used twice", group, node.location));
            }
            if ((node.kind == "vertex_input" || node.kind == "stage_in") &&
                !slots.insert({"attribute", node.location}).second)
                fault("slot.duplicate", fmt::format("attribute {} is used twice", node.location));
        }
    }

    void parameter(llvm::Type* t, unsigned i, const Node& node) {
        const auto mismatch = [&] {
            fault("metadata.type", fmt::format("parameter {} ({}, {}) has IR type {}", i, node.kind,
                                               node.type_name, print(t)));
        };
        const auto pointer_in = [&](unsigned space) {
            auto* p = llvm::dyn_cast<llvm::PointerType>(t);
            return p && p->getAddressSpace() == space;
        };
        if (node.kind == "buffer" || node.kind == "indirect_buffer") {
            const auto space = node.numbers.find("address_space");
            if (!t->isPointerTy() ||
                (space != node.numbers.end() && !pointer_in(static_cast<unsigned>(space->second))))
                mismatch();
        } else if (node.kind == "texture") {
            if (!pointer_in(1))
                mismatch();
        } else if (node.kind == "sampler") {
            if (!pointer_in(2))
                mismatch();
        } else if (llvm::Type* expected = ir_type(t->getContext(), node.type_name)) {
            if (t != expected && !(t->isPointerTy() && node.kind == "fragment_input"))
                mismatch();
        }
    }

    void outputs() {
        llvm::Type* type = e_.function->getReturnType();
        const unsigned n = e_.outputs->getNumOperands();
        auto* structure = llvm::dyn_cast<llvm::StructType>(type);
        const unsigned members = type->isVoidTy() ? 0 : structure ? structure->getNumElements() : 1;
        if (n != members)
            fault("metadata.count", fmt::format("{} output nodes for {} members of the result", n, members));
        std::set<std::pair<uint64_t, uint64_t>> targets;
        for (unsigned i = 0; i < n; ++i) {
            const auto* md = llvm::dyn_cast_or_null<llvm::MDNode>(e_.outputs->getOperand(i).get());
            if (!md) {
                fault("metadata.grammar", fmt::format("output {} is no node", i));
                continue;
            }
            unsigned at = md_string(md_operand(*md, 0)) == "air.function_constant" ? 2 : 0;
            const auto kind = md_string(md_operand(*md, at));
            Node node;
            node.kind = kind && kind->substr(0, 4) == "air." ? std::string(kind->substr(4)) : "?";
            const Row* row = nullptr;
            for (const Row& r : kOutputRows)
                if (node.kind == r.kind)
                    row = &r;
            if (!row) {
                fault("metadata.kind",
                      fmt::format("output kind {} is not known", md_text(md_operand(*md, at), 1)));
                continue;
            }
            if (!walk(*md, at + 1, row->fields, node) || i >= members)
                continue;
            llvm::Type* member = structure ? structure->getElementType(i) : type;
            llvm::Type* expected = ir_type(type->getContext(), node.type_name);
            if (expected && member != expected && !(node.kind == "clip_distance" && member->isArrayTy()))
                fault("metadata.type", fmt::format("output {} ({}, {}) has IR type {}", i, node.kind,
                                                   node.type_name, print(member)));
            if (node.kind == "render_target") {
                const auto second = md_int(md_operand(*md, at + 2));
                if (node.numbers["int"] > 7)
                    fault("slot.limit", fmt::format("render target {}", node.numbers["int"]));
                const bool conditional = at != 0;
                if (!conditional && !targets.insert({node.numbers["int"], second.value_or(0)}).second)
                    fault("slot.duplicate",
                          fmt::format("render target {} is written twice", node.numbers["int"]));
            }
        }
    }

    void extra(const llvm::Metadata* x) {
        if (const auto s = md_string(x)) {
            if (*s != "early_fragment_tests" || e_.kind != "fragment")
                fault("metadata.extra", fmt::format("entry with the word {}", *s));
            return;
        }
        const auto* md = llvm::dyn_cast_or_null<llvm::MDNode>(x);
        const auto word = md ? md_string(md_operand(*md, 0)) : std::nullopt;
        if (!word || !one_of(*word, {"air.max_work_group_size", "air.max_mesh_work_groups", "air.patch"}))
            fault("metadata.extra", fmt::format("entry with {}", md_text(x, 1)));
    }

    const AirEntry& e_;
    std::vector<LintFault>& faults_;
    std::set<uint64_t> member_ids_;
};

} // namespace

void lint_entry(const llvm::Module& module, std::vector<LintFault>& faults) {
    unsigned malformed = 0;
    const auto entries = air_entries(module, &malformed);
    if (malformed)
        faults.push_back(
            {"entry.shape", "",
             fmt::format("{} rows of entry lists are not {{function, outputs, inputs}}", malformed)});
    for (const AirEntry& e : entries)
        if (e.kind != "visible" && e.kind != "intersection")
            EntryLint(e, faults).run();
}

} // namespace dmsh
