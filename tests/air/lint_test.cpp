// The lint accepts Apple's libraries and ours, and names the fault of broken ones.
#include "compiler/emit/air/air_emitter.h"
#include "compiler/emit/air/air_module.h"
#include "compiler/emit/air/lint.h"
#include "tests/air/corpus.h"
#include "tests/air/make_shader.h"
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>
#include <map>

using namespace dmsh;

namespace {

std::string rules(const std::vector<LintFault>& faults) {
    std::string s;
    for (const LintFault& f : faults)
        s += f.rule + " (" + f.function + ": " + f.text + ")\n";
    return s;
}

std::string text_of(const ShaderModule& s) {
    auto f = emit_air(s, Target::macos, true);
    EXPECT_TRUE(f) << f.error().text();
    return f ? f->text : "";
}

// Lints module text after one replacement, which must apply; returns the rules that fired.
std::string broken(std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos)
        text.replace(at, from.size(), to);
    llvm::LLVMContext context;
    context.setOpaquePointers(false);
    llvm::SMDiagnostic error;
    auto module = llvm::parseAssemblyString(text, error, context);
    if (!module)
        return "parse: " + error.getMessage().str();
    std::string all;
    for (const LintFault& f : lint_air_module(*module, LintScope::ours))
        if (all.find(f.rule) == std::string::npos)
            all += (all.empty() ? "" : " ") + f.rule;
    return all;
}

} // namespace

TEST(Lint, AcceptsEveryAppleFunction) {
    DMSH_SKIP_WITHOUT_CORPUS();
    std::map<std::string, unsigned> counts;
    for (const auto& path : test::corpus_metallibs()) {
        const auto bytes = test::read_file(path);
        for (const LintFault& f : lint_metallib(bytes, LintScope::any)) {
            ADD_FAILURE() << path.filename() << ": " << rules({f});
            if (++counts[f.rule] > 400)
                return;
        }
    }
}

TEST(Lint, AcceptsOurOwn) {
    for (const ShaderModule& s : {test::vertex_shader(), test::fragment_shader(), test::kernel_shader()})
        for (const Target t : {Target::macos, Target::ios}) {
            auto f = emit_air(s, t);
            ASSERT_TRUE(f) << f.error().text();
            auto lib = write_metallib(std::span(&*f, 1), t);
            ASSERT_TRUE(lib);
            EXPECT_EQ(rules(lint_metallib(*lib, LintScope::ours)), "");
        }
}

TEST(Lint, EveryObservedDeclarationIsInTheTable) {
    const auto path = test::shared_folder() / "reference/air-intrinsics-observed.tsv";
    if (!std::filesystem::exists(path))
        GTEST_SKIP() << "the list of observed declarations is not there";
    std::ifstream in(path);
    std::string line;
    unsigned rows = 0;
    while (std::getline(in, line)) {
        if (line.empty() || line[0] == '#' || line.substr(0, 4) == "name")
            continue;
        std::vector<std::string> cells;
        for (size_t pos = 0; pos <= line.size();) {
            const size_t end = std::min(line.find('\t', pos), line.size());
            cells.push_back(line.substr(pos, end - pos));
            pos = end + 1;
        }
        ASSERT_GE(cells.size(), 5u) << line;
        std::string text;
        for (size_t at = 0; (at = (cells[1] + cells[2]).find("%struct.", at)) != std::string::npos; ++at) {
            const std::string all = cells[1] + cells[2];
            const std::string name = all.substr(at, all.find_first_of(" *", at) - at);
            if (text.find(name + " =") == std::string::npos)
                text += name + " = type opaque\n";
        }
        text += "declare " + cells[1] + " @" + cells[0] + "(" + cells[2] + ")\n";
        llvm::LLVMContext context;
        context.setOpaquePointers(false);
        llvm::SMDiagnostic error;
        auto module = llvm::parseAssemblyString(text, error, context);
        ASSERT_TRUE(module) << text << error.getMessage().str();
        // The AIR version from the target, like air64_v28- or air64-apple-macosx10.11.
        unsigned minor = 6;
        const std::string& target = cells[4];
        if (target.find("_v28") != std::string::npos || target.find("_v29") != std::string::npos ||
            target.find("macosx26") != std::string::npos)
            minor = 8;
        else if (target.find("macosx10.1") != std::string::npos ||
                 target.find("ios11") != std::string::npos || target.find("ios12") != std::string::npos ||
                 target.find("ios9") != std::string::npos)
            minor = 1;
        if (auto v = lint_intrinsic(*module->getFunction(cells[0]), minor))
            ADD_FAILURE() << cells[0] << ": " << v->first << " " << v->second << " (" << target << ")";
        ++rows;
    }
    EXPECT_GT(rows, 250u);
}

TEST(Lint, NamesTheFaultOfBrokenModules) {
    const std::string vertex = text_of(test::vertex_shader()), fragment = text_of(test::fragment_shader()),
                      kernel = text_of(test::kernel_shader());
    EXPECT_EQ(broken(vertex, "air64-apple-macosx14.0.0", "air64-apple-macosx13.0.0"), "module.triple");
    EXPECT_EQ(broken(vertex, "air64-apple", "x86_64-apple"), "module.triple");
    EXPECT_EQ(broken(vertex, "i64:64:64-", "i64:32:64-"), "module.layout");
    EXPECT_EQ(broken(vertex, "!{i32 2, i32 6, i32 0}", "!{i32 2, i32 66, i32 0}"), "module.version");
    EXPECT_EQ(broken(vertex, "!{!\"Metal\", i32 3, i32 1, i32 0}", "!{!\"Metal\", i32 4, i32 1, i32 0}"),
              "module.version");
    EXPECT_EQ(broken(vertex, "!\"air.max_samplers\", i32 16", "!\"air_max_samplers\", i32 16"),
              "module.flags");
    EXPECT_EQ(broken(vertex, "!\"air.vertex_input\"", "!\"air.vertex_inputs\""), "metadata.kind");
    EXPECT_EQ(broken(vertex, "!\"air.point_size\"", "!\"air.point_sise\""), "metadata.kind");
    EXPECT_EQ(broken(vertex, "!{i32 3, !\"air.instance_id\"", "!{i32 4, !\"air.instance_id\""),
              "metadata.index");
    EXPECT_EQ(
        broken(vertex, "!\"air.location_index\", i32 1, i32 1", "!\"air.location_index\", i32 0, i32 1"),
        "slot.duplicate");
    EXPECT_EQ(broken(vertex, "!\"float4\", !\"air.arg_name\", !\"attr1\"",
                     "!\"float3\", !\"air.arg_name\", !\"attr1\""),
              "metadata.type");
    EXPECT_EQ(broken(vertex, "!\"float4\", !\"air.arg_name\", !\"locn0\"",
                     "!\"int4\", !\"air.arg_name\", !\"locn0\""),
              "metadata.type");
    EXPECT_EQ(
        broken(vertex, ", !\"air.arg_type_name\", !\"uint\", !\"air.arg_name\", !\"base_instance\"}", "}"),
        "metadata.grammar");
    EXPECT_EQ(broken(vertex, "!\"base_instance\"}", "!\"base_instance\", i32 7}"), "metadata.grammar");
    EXPECT_EQ(
        broken(
            vertex,
            "i32 0, !\"air.indirect_buffer\", !\"air.buffer_size\", i32 8, !\"air.location_index\", i32 0",
            "i32 0, !\"air.indirect_buffer\", !\"air.buffer_size\", i32 8, !\"air.location_index\", i32 31"),
        "slot.limit");
    EXPECT_EQ(broken(vertex, "!\"air.address_space\", i32 2, !\"air.struct_type_info\"",
                     "!\"air.address_space\", i32 1, !\"air.struct_type_info\""),
              "metadata.type");
    EXPECT_EQ(broken(fragment, "!{i32 1, !\"air.sampler\", !\"air.location_index\", i32 1",
                     "!{i32 1, !\"air.sampler\", !\"air.location_index\", i32 2"),
              "metadata.argument-id");
    EXPECT_EQ(broken(fragment, "!{i32 1, !\"air.sampler\", !\"air.location_index\", i32 1",
                     "!{i32 0, !\"air.sampler\", !\"air.location_index\", i32 0"),
              "metadata.argument-id");
    EXPECT_EQ(broken(fragment, "!\"air.center\", !\"air.perspective\"", "!\"air.center\", !\"air.flat\""),
              "metadata.grammar");
    EXPECT_EQ(
        broken(fragment, "!\"air.render_target\", i32 1, i32 0", "!\"air.render_target\", i32 0, i32 0"),
        "slot.duplicate");
    EXPECT_EQ(
        broken(fragment, "!\"air.render_target\", i32 1, i32 0", "!\"air.render_target\", i32 9, i32 0"),
        "slot.limit");
    EXPECT_EQ(broken(fragment, "{ argmemonly convergent mustprogress", "{ argmemonly mustprogress"),
              "dialect.convergent");
    EXPECT_EQ(broken(fragment, "{ argmemonly convergent mustprogress",
                     "{ argmemonly convergent noprofile mustprogress"),
              "dialect.attribute");
    EXPECT_EQ(broken(fragment, "fcmp olt", "fcmp fast olt"), "dialect.fast-math");
    const auto everywhere = [](std::string text, const std::string& from, const std::string& to) {
        for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
            text.replace(at, from.size(), to);
        return text;
    };
    EXPECT_EQ(
        broken(everywhere(fragment, "@air.discard_fragment", "@air.discard_fragments"), "target", "target"),
        "dialect.name");
    EXPECT_EQ(broken(everywhere(fragment, "@air.discard_fragment", "@discard"), "target", "target"),
              "dialect.name");
    EXPECT_EQ(broken(everywhere(fragment, "i1 false, float 0.000000e+00, float 0.000000e+00, i32 0)",
                                "i1 false, float 0.000000e+00, i32 0)"),
                     "<2 x i32>, i1, float, float, i32)", "<2 x i32>, i1, float, i32)"),
              "dialect.signature");
    EXPECT_EQ(broken(everywhere(kernel, "@air.wg.barrier", "@air.wg.barriers"), "target", "target"),
              "dialect.name");
    EXPECT_EQ(broken(everywhere(kernel, "air.atomic.global.add.u.i32", "air.atomic.local.add.u.i32"),
                     "target", "target"),
              "dialect.signature");
    EXPECT_EQ(broken(kernel, "addrspace(3) global [64 x i32] undef",
                     "addrspace(3) global [64 x i32] zeroinitializer"),
              "dialect.address-space");
    EXPECT_EQ(broken(kernel, "%expected = alloca i32, align 4",
                     "%expected = alloca i32, align 4\n  %odd = alloca i24, align 4"),
              "dialect.width");
    EXPECT_EQ(broken(kernel, "%expected = alloca i32, align 4",
                     "%expected = alloca i32, align 4\n  %odd = alloca double, align 8"),
              "dialect.width");
    EXPECT_EQ(
        broken(kernel, "%expected = alloca i32, align 4", "%expected = alloca i32, align 4\n  fence seq_cst"),
        "dialect.instruction");
    EXPECT_EQ(broken(kernel, "!\"air.max_work_group_size\"", "!\"air.max_group_size\""), "metadata.extra");
}

// What the container says must be what its module says.
TEST(Lint, ContainersAgreeWithTheirModules) {
    auto f = emit_air(test::vertex_shader(), Target::macos);
    ASSERT_TRUE(f);
    const auto lint = [](AirFunction a, Target t = Target::macos) {
        auto lib = write_metallib(std::span(&a, 1), t);
        EXPECT_TRUE(lib);
        std::string all;
        for (const LintFault& fault : lint_metallib(*lib, LintScope::ours))
            if (all.find(fault.rule) == std::string::npos)
                all += (all.empty() ? "" : " ") + fault.rule;
        return all;
    };
    EXPECT_EQ(lint(*f), "");
    AirFunction changed = *f;
    changed.name = "other";
    EXPECT_EQ(lint(changed), "entry.name");
    changed = *f;
    changed.stage = Stage::compute;
    changed.attributes.clear();
    EXPECT_EQ(lint(changed), "entry.type");
    changed = *f;
    changed.attributes.pop_back();
    EXPECT_EQ(lint(changed), "container.attributes");
    changed = *f;
    changed.attributes[0].type = 3;
    EXPECT_EQ(lint(changed), "container.attributes");
    changed = *f;
    changed.attributes[1].used = false;
    EXPECT_EQ(lint(changed), "container.attributes");
    changed = *f;
    changed.bitcode.resize(changed.bitcode.size() / 8 * 4);
    EXPECT_EQ(lint(changed), "module.parse");
}
