// Emitted SPIR-V on a real driver: random control flow, integer and float operations, memory of every kind.
#include "tests/spirv/test_ir.h"
#include "tests/support/vulkan_harness.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <limits>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <random>

namespace dmsh::test {
namespace {

constexpr uint32_t kFirst = static_cast<uint32_t>(Stage::compute) * kMaxBindings;

class Execution : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        auto h = VulkanHarness::create(false);
        if (h)
            harness = std::move(*h).release();
    }
    static void TearDownTestSuite() {
        delete harness;
        harness = nullptr;
    }
    void SetUp() override {
        if (!harness)
            GTEST_SKIP() << "no Vulkan device";
    }
    // Runs one workgroup with the buffers as bindings 0, 1, ...; returns them afterwards.
    std::vector<std::vector<uint32_t>>
    dispatch(const ShaderModule& shader, std::vector<std::vector<uint32_t>> buffers, uint32_t groups = 1) {
        const auto words = emit_valid(shader);
        if (words.empty())
            return {};
        Job job;
        for (uint32_t i = 0; i < buffers.size(); ++i) {
            BufferResource b;
            b.bytes.resize(buffers[i].size() * 4);
            memcpy(b.bytes.data(), buffers[i].data(), b.bytes.size());
            job.buffers.push_back(std::move(b));
            const bool uniform = shader.interface.bindings[i].kind == BindingKind::uniform;
            job.descriptors.push_back(
                {0, kFirst + i, 0,
                 uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, i});
        }
        ShaderStage stage;
        stage.words = words;
        stage.entry = "main0";
        job.stages.push_back(stage);
        job.groups = {groups, 1, 1};
        auto r = harness->run(job);
        if (!r) {
            ADD_FAILURE() << r.error().text() << "\n" << disassemble_spirv(words);
            return {};
        }
        for (uint32_t i = 0; i < buffers.size(); ++i)
            memcpy(buffers[i].data(), r->buffers[i].data(), buffers[i].size() * 4);
        return buffers;
    }
    static VulkanHarness* harness;
};
VulkanHarness* Execution::harness = nullptr;

// ---- random control flow ----

struct RandomShader {
    ShaderModule shader;
    std::vector<std::vector<uint32_t>> succs;
    std::vector<uint32_t> idom;
};

constexpr uint32_t kStepLimit = 60, kThreads = 32;

uint32_t mix(uint32_t h, uint32_t v, uint32_t dominator) {
    return ((h ^ v * 0x9e3779b1u) * 0x85ebca6bu + 0x1234567u) ^ (dominator >> 7);
}

// Block v: (hash, step) come in by phis, the hash is mixed with v and with the hash that v's dominator
// computed, the successor is chosen by the hash. Ends after kStepLimit steps.
RandomShader random_shader(std::mt19937& engine, uint32_t n, bool local) {
    const auto rng = [&] { return static_cast<uint32_t>(engine()); };
    RandomShader r;
    r.shader = shader_from(Stage::compute, "ret void");
    ShaderModule& s = r.shader;
    s.interface.local_size = {kThreads, 1, 1};
    s.interface.bindings = {storage_binding()};
    s.main->deleteBody();
    llvm::LLVMContext& c = *s.context;
    llvm::IRBuilder<> b(c);
    r.succs.resize(n);
    for (uint32_t v = 0; v < n; ++v) {
        const uint32_t kind = rng() % 16, count = kind < 1 ? 0 : kind < 7 ? 1 : kind < 14 ? 2 : 3 + rng() % 3;
        for (uint32_t k = 0; k < count; ++k) {
            uint32_t t = rng() % n;
            if (local)
                t = rng() % 6 ? std::min(n - 1, v + 1 + rng() % 4u) : v - std::min<uint32_t>(v, rng() % 6);
            r.succs[v].push_back(t);
        }
    }
    auto* entry = llvm::BasicBlock::Create(c, "", s.main);
    auto* exit = llvm::BasicBlock::Create(c, "");
    struct Node {
        llvm::BasicBlock *head, *tail;
        llvm::PHINode *hash, *step;
        llvm::Instruction* mixed;
        llvm::Value *out, *next_step;
    };
    std::vector<Node> nodes(n);
    for (Node& node : nodes) {
        node.head = llvm::BasicBlock::Create(c, "", s.main);
        node.tail = llvm::BasicBlock::Create(c, "", s.main);
    }
    exit->insertInto(s.main);
    b.SetInsertPoint(exit);
    auto* result = b.CreatePHI(b.getInt32Ty(), 4);
    b.SetInsertPoint(entry);
    llvm::Value* tid =
        call(b, Intrinsic::special, {b.getInt32(static_cast<uint32_t>(SpecialRegister::tid_x))});
    llvm::Value* at = b.CreateShl(tid, 2);
    llvm::Value* seed = call(b, Intrinsic::ssbo_load_32, {b.getInt32(0), at});
    b.CreateBr(nodes[0].head);
    for (uint32_t v = 0; v < n; ++v) {
        Node& node = nodes[v];
        b.SetInsertPoint(node.head);
        node.hash = b.CreatePHI(b.getInt32Ty(), 2);
        node.step = b.CreatePHI(b.getInt32Ty(), 2);
        llvm::Value* x = b.CreateXor(node.hash, b.getInt32(v * 0x9e3779b1u));
        x = b.CreateAdd(b.CreateMul(x, b.getInt32(0x85ebca6bu)), b.getInt32(0x1234567u));
        node.mixed = llvm::cast<llvm::Instruction>(b.CreateXor(x, x)); // second operand set below
        node.out = node.mixed;
        llvm::cast<llvm::Instruction>(node.mixed)->setOperand(0, x);
        node.next_step = b.CreateAdd(node.step, b.getInt32(1));
        b.CreateCondBr(b.CreateICmpUGE(node.next_step, b.getInt32(kStepLimit)), exit, node.tail);
        result->addIncoming(node.out, node.head);
        b.SetInsertPoint(node.tail);
        const auto& t = r.succs[v];
        if (t.empty()) {
            b.CreateBr(exit);
            result->addIncoming(node.out, node.tail);
            continue;
        }
        llvm::Value* choice =
            b.CreateURem(b.CreateLShr(node.out, 8), b.getInt32(static_cast<uint32_t>(t.size())));
        if (t.size() == 1) {
            b.CreateBr(nodes[t[0]].head);
        } else if (t.size() == 2) {
            b.CreateCondBr(b.CreateICmpEQ(choice, b.getInt32(0)), nodes[t[0]].head, nodes[t[1]].head);
        } else {
            auto* sw = b.CreateSwitch(choice, nodes[t[0]].head);
            for (uint32_t k = 1; k < t.size(); ++k)
                sw->addCase(b.getInt32(k), nodes[t[k]].head);
        }
    }
    b.SetInsertPoint(exit);
    call(b, Intrinsic::ssbo_store_32, {b.getInt32(0), at, result});
    b.CreateRetVoid();
    nodes[0].hash->addIncoming(seed, entry);
    nodes[0].step->addIncoming(b.getInt32(0), entry);
    for (uint32_t v = 0; v < n; ++v)
        for (uint32_t t : r.succs[v]) {
            nodes[t].hash->addIncoming(nodes[v].out, nodes[v].tail);
            nodes[t].step->addIncoming(nodes[v].next_step, nodes[v].tail);
        }
    llvm::DominatorTree tree(*s.main);
    r.idom.assign(n, ~0u);
    for (uint32_t v = 0; v < n; ++v) {
        auto* node = tree.getNode(nodes[v].head);
        llvm::Value* from = b.getInt32(0);
        for (node = node ? node->getIDom() : nullptr; node; node = node->getIDom())
            for (uint32_t d = 0; d < n && r.idom[v] == ~0u; ++d)
                if (nodes[d].head == node->getBlock())
                    r.idom[v] = d, from = nodes[d].out;
        b.SetInsertPoint(nodes[v].mixed);
        nodes[v].mixed->setOperand(1, r.idom[v] == ~0u ? from : b.CreateLShr(from, 7));
    }
    // Unreachable blocks would have phis without entries.
    llvm::SmallVector<llvm::BasicBlock*, 8> dead;
    for (llvm::BasicBlock& block : *s.main)
        if (!tree.isReachableFromEntry(&block))
            dead.push_back(&block);
    llvm::DeleteDeadBlocks(dead);
    EXPECT_FALSE(llvm::verifyFunction(*s.main, &llvm::errs()));
    return r;
}

uint32_t expected(const RandomShader& r, uint32_t seed) {
    std::vector<uint32_t> out(r.succs.size(), 0);
    uint32_t h = seed;
    for (uint32_t v = 0, step = 1;; ++step) {
        h = out[v] = mix(h, v, r.idom[v] == ~0u ? 0 : out[r.idom[v]]);
        const auto& t = r.succs[v];
        if (step >= kStepLimit || t.empty())
            return h;
        v = t[(h >> 8) % t.size()];
    }
}

TEST_F(Execution, RandomControlFlowComputesWhatTheGraphDoes) {
    std::mt19937 rng(7);
    const int rounds = 80;
    for (int i = 0; i < rounds && !HasFailure(); ++i) {
        RandomShader r = random_shader(rng, 3 + rng() % 16, i % 4 != 0);
        std::vector<uint32_t> seeds(kThreads);
        for (uint32_t& s : seeds)
            s = static_cast<uint32_t>(rng());
        const auto got = dispatch(r.shader, {seeds});
        ASSERT_FALSE(got.empty());
        for (uint32_t k = 0; k < kThreads; ++k)
            ASSERT_EQ(got[0][k], expected(r, seeds[k])) << "graph " << i << ", seed " << seeds[k];
    }
}

TEST_F(Execution, RandomControlFlowIsValid) {
    std::mt19937 rng(8);
    for (int i = 0; i < 500 && !HasFailure(); ++i)
        emit_valid(random_shader(rng, 3 + rng() % 24, i % 4 != 0).shader);
}

// ---- operations: each stores one word to binding 0; inputs are binding 1 ----

struct Line {
    const char* text; // defines %r (i32); %a, %b, %c are input words, %x, %y, %z the same as floats
    uint32_t want;
};

constexpr uint32_t kA = 0x80000f35u, kB = 5, kC = 0xfffffff0u;

uint32_t bits(float f) {
    return std::bit_cast<uint32_t>(f);
}

TEST_F(Execution, IntegerOperations) {
    const int64_t a64 = int64_t{0x123456789abcdef0};
    const std::vector<Line> lines = {
        {"%r = add i32 %a, %c", kA + kC},
        {"%r = ashr i32 %a, 4", static_cast<uint32_t>(static_cast<int32_t>(kA) >> 4)},
        {"%r = sdiv i32 %a, %b", static_cast<uint32_t>(static_cast<int32_t>(kA) / 5)},
        {"%r = srem i32 %a, %b", static_cast<uint32_t>(static_cast<int32_t>(kA) % 5)},
        {"%r = urem i32 %a, %b", kA % 5},
        {"%t = trunc i32 %a to i8\n%r = sext i8 %t to i32", 0x35},
        {"%t = trunc i32 %c to i8\n%r = sext i8 %t to i32", 0xfffffff0u},
        {"%t = trunc i32 %c to i16\n%u = ashr i16 %t, 2\n%r = zext i16 %u to i32", 0xfffc},
        {"%t = trunc i32 %c to i8\n%u = mul i8 %t, %t\n%r = zext i8 %u to i32", 0},
        {"%t = trunc i32 %c to i8\n%u = icmp slt i8 %t, 3\n%r = zext i1 %u to i32", 1},
        {"%u = icmp ult i32 %c, 3\n%r = sext i1 %u to i32", 0},
        {"%r = call i32 @llvm.fshl.i32(i32 %a, i32 %c, i32 %b)", kA << 5 | kC >> 27},
        {"%r = call i32 @llvm.fshr.i32(i32 %a, i32 %c, i32 32)", kC},
        {"%r = call i32 @llvm.ctpop.i32(i32 %a)", static_cast<uint32_t>(std::popcount(kA))},
        {"%r = call i32 @llvm.ctlz.i32(i32 %b, i1 false)", 29},
        {"%r = call i32 @llvm.ctlz.i32(i32 0, i1 false)", 32},
        {"%z0 = sub i32 %b, %b\n%r = call i32 @llvm.ctlz.i32(i32 %z0, i1 false)", 32},
        {"%z0 = sub i32 %b, %b\n%r = call i32 @llvm.cttz.i32(i32 %z0, i1 false)", 32},
        {"%r = call i32 @llvm.bitreverse.i32(i32 %a)", 0xacf00001u},
        {"%r = call i32 @llvm.bswap.i32(i32 %a)", 0x350f0080u},
        {"%r = call i32 @llvm.smin.i32(i32 %a, i32 %b)", kA},
        {"%r = call i32 @llvm.umax.i32(i32 %a, i32 %b)", kA},
        {"%r = call i32 @llvm.abs.i32(i32 %c, i1 false)", 16},
        {"%r = call i32 @llvm.uadd.sat.i32(i32 %a, i32 %c)", 0xffffffffu},
        {"%r = call i32 @llvm.usub.sat.i32(i32 %b, i32 %c)", 0},
        {"%r = call i32 @llvm.sadd.sat.i32(i32 %a, i32 -2147483648)", 0x80000000u},
        {"%p = call {i32, i1} @llvm.uadd.with.overflow.i32(i32 %a, i32 %c)\n%o = extractvalue {i32, i1} %p, "
         "1\n"
         "%s = extractvalue {i32, i1} %p, 0\n%e = zext i1 %o to i32\n%r = add i32 %s, %e",
         kA + kC + 1},
        {"%w = zext i32 %a to i64\n%m = mul i64 %w, %w\n%h = lshr i64 %m, 32\n%r = trunc i64 %h to i32",
         static_cast<uint32_t>(uint64_t{kA} * kA >> 32)},
        {"%w = sext i32 %a to i64\n%m = mul i64 %w, 1311768467463790320\n%h = ashr i64 %m, 36\n%r = trunc "
         "i64 %h to i32",
         static_cast<uint32_t>(static_cast<int64_t>(static_cast<uint64_t>(int64_t{static_cast<int32_t>(kA)}) *
                                                    static_cast<uint64_t>(a64)) >>
                               36)},
        {"%w = zext i32 %b to i64\n%s = shl i64 %w, 40\n%l = call i64 @llvm.ctlz.i64(i64 %s, i1 false)\n%r = "
         "trunc i64 %l to i32",
         21},
        {"%v = insertelement <2 x i32> undef, i32 %a, i32 0\n%v2 = insertelement <2 x i32> %v, i32 %b, i32 "
         "1\n"
         "%w = bitcast <2 x i32> %v2 to i64\n%s = lshr i64 %w, 28\n%r = trunc i64 %s to i32",
         static_cast<uint32_t>((uint64_t{5} << 32 | kA) >> 28)},
        {"%v = bitcast i32 %a to <2 x i16>\n%e = extractelement <2 x i16> %v, i32 1\n%r = sext i16 %e to i32",
         0xffff8000u},
    };
    std::string body =
        "%a = call i32 @dmsh.ssbo.load.i32(i32 1, i32 0)\n%b = call i32 @dmsh.ssbo.load.i32(i32 1, i32 4)\n"
        "%c = call i32 @dmsh.ssbo.load.i32(i32 1, i32 8)\n";
    for (size_t i = 0; i < lines.size(); ++i) {
        std::string text = lines[i].text;
        // Local names get the line's number.
        for (size_t at = 0; (at = text.find('%', at)) != std::string::npos; ++at) {
            size_t end = at + 1;
            while (end < text.size() && (isalnum(text[end])))
                ++end;
            const std::string name = text.substr(at, end - at);
            if (name != "%a" && name != "%b" && name != "%c")
                text.insert(end, "." + std::to_string(i));
        }
        body += text + "\ncall void @dmsh.ssbo.store.i32(i32 0, i32 " + std::to_string(4 * i) + ", i32 %r." +
                std::to_string(i) + ")\n";
    }
    const std::string more = R"(
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.fshr.i32(i32, i32, i32)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.bitreverse.i32(i32)
declare i32 @llvm.bswap.i32(i32)
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.abs.i32(i32, i1)
declare i32 @llvm.uadd.sat.i32(i32, i32)
declare i32 @llvm.usub.sat.i32(i32, i32)
declare i32 @llvm.sadd.sat.i32(i32, i32)
declare {i32, i1} @llvm.uadd.with.overflow.i32(i32, i32)
)";
    ShaderModule s = shader_from(Stage::compute, body + "ret void", more);
    s.interface.bindings = {storage_binding(), storage_binding()};
    const auto got = dispatch(s, {std::vector<uint32_t>(lines.size()), {kA, kB, kC}});
    ASSERT_FALSE(got.empty());
    for (size_t i = 0; i < lines.size(); ++i)
        EXPECT_EQ(got[0][i], lines[i].want) << lines[i].text;
}

TEST_F(Execution, FloatOperations) {
    const float x = 2.5f, y = -1.75f, nan = std::nanf(""), big = 5e9f;
    const std::vector<Line> lines = {
        {"%f = fadd float %x, %y\n%r = bitcast float %f to i32", bits(0.75f)},
        {"%f = call float @llvm.minnum.f32(float %x, float %n)\n%r = bitcast float %f to i32", bits(x)},
        {"%f = call float @llvm.maxnum.f32(float %n, float %y)\n%r = bitcast float %f to i32", bits(y)},
        {"%f = call float @llvm.rint.f32(float %x)\n%r = bitcast float %f to i32", bits(2.0f)},
        {"%f = call float @llvm.fabs.f32(float %y)\n%r = bitcast float %f to i32", bits(1.75f)},
        {"%f = call float @llvm.floor.f32(float %y)\n%r = bitcast float %f to i32", bits(-2.0f)},
        {"%c = fcmp uno float %x, %n\n%r = zext i1 %c to i32", 1},
        {"%c = fcmp ord float %x, %y\n%r = zext i1 %c to i32", 1},
        {"%c = fcmp ult float %x, %n\n%r = zext i1 %c to i32", 1},
        {"%c = fcmp one float %x, %n\n%r = zext i1 %c to i32", 0},
        {"%c = fcmp une float %x, %n\n%r = zext i1 %c to i32", 1},
        {"%r = call i32 @llvm.fptosi.sat.i32.f32(float %big)", 0x7fffffffu},
        {"%r = call i32 @llvm.fptosi.sat.i32.f32(float %n)", 0},
        {"%r = call i32 @llvm.fptoui.sat.i32.f32(float %y)", 0},
        {"%r = call i32 @llvm.fptoui.sat.i32.f32(float %x)", 2},
        {"%h = fptrunc float %x to half\n%i = bitcast half %h to i16\n%r = zext i16 %i to i32", 0x4100},
        {"%h = bitcast i16 16640 to half\n%f = fpext half %h to float\n%r = bitcast float %f to i32",
         bits(2.5f)},
        {"%h = fptrunc float %x to half\n%v = insertelement <2 x half> zeroinitializer, half %h, i32 1\n%r = "
         "bitcast <2 x half> %v to i32",
         0x41000000u},
        {"%d = fpext float %x to double\n%e = fmul double %d, %d\n%i = bitcast double %e to i64\n%s = lshr "
         "i64 %i, 32\n%r = trunc i64 %s to i32",
         static_cast<uint32_t>(std::bit_cast<uint64_t>(6.25) >> 32)},
        {"%f = call float @dmsh.ftz(float %t)\n%r = bitcast float %f to i32", 0x80000000u},
        {"%f = call float @dmsh.ftz(float %y)\n%r = bitcast float %f to i32", bits(y)},
        {"%f = call float @dmsh.mufu(i32 4, float %x)\n%r = bitcast float %f to i32", bits(0.4f)},
        {"%f = call float @dmsh.mufu(i32 6, float 4.0)\n%r = bitcast float %f to i32", bits(2.0f)},
        {"%c = call i1 @dmsh.fchk(float %x, float %y)\n%r = zext i1 %c to i32", 0},
        {"%c = call i1 @dmsh.fchk(float %x, float %t)\n%r = zext i1 %c to i32", 1},
        {"%f = call float @llvm.copysign.f32(float %x, float %y)\n%r = bitcast float %f to i32", bits(-2.5f)},
        {"%f = sitofp i32 -7 to float\n%r = bitcast float %f to i32", bits(-7.0f)},
        {"%i = trunc i32 250 to i8\n%f = sitofp i8 %i to float\n%r = bitcast float %f to i32", bits(-6.0f)},
    };
    std::string body;
    const char* names[] = {"x", "y", "n", "big", "t"};
    for (int k = 0; k < 5; ++k) {
        const std::string n = names[k];
        body += "%" + n + ".w = call i32 @dmsh.ubo.load(i32 1, i32 " + std::to_string(4 * k) + ")\n%" + n +
                " = bitcast i32 %" + n + ".w to float\n";
    }
    for (size_t i = 0; i < lines.size(); ++i) {
        std::string text = lines[i].text;
        for (size_t at = 0; (at = text.find('%', at)) != std::string::npos; ++at) {
            size_t end = at + 1;
            while (end < text.size() && (isalnum(text[end])))
                ++end;
            const std::string name = text.substr(at + 1, end - at - 1);
            if (std::find(std::begin(names), std::end(names), name) == std::end(names))
                text.insert(end, "." + std::to_string(i));
        }
        body += text + "\ncall void @dmsh.ssbo.store.i32(i32 0, i32 " + std::to_string(4 * i) + ", i32 %r." +
                std::to_string(i) + ")\n";
    }
    const std::string more = R"(
declare float @llvm.minnum.f32(float, float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.rint.f32(float)
declare float @llvm.fabs.f32(float)
declare float @llvm.floor.f32(float)
declare float @llvm.copysign.f32(float, float)
declare i32 @llvm.fptosi.sat.i32.f32(float)
declare i32 @llvm.fptoui.sat.i32.f32(float)
)";
    ShaderModule s = shader_from(Stage::compute, body + "ret void", more);
    s.interface.bindings = {storage_binding(), Binding{}};
    s.interface.bindings[1].kind = BindingKind::uniform;
    const auto got = dispatch(s, {std::vector<uint32_t>(lines.size()),
                                  {bits(x), bits(y), bits(nan), bits(big), 0x80000123u, 0, 0, 0}});
    ASSERT_FALSE(got.empty());
    for (size_t i = 0; i < lines.size(); ++i)
        EXPECT_EQ(got[0][i], lines[i].want) << lines[i].text;
}

TEST_F(Execution, UpperProductsEqualTheHost) {
    const uint32_t values[] = {0, 1, 2, 3, 0x7fffffffu, 0x80000000u, 0x80000001u, 0xffffffffu, 0x66666667u, 0xaaaaaaabu, 12345u, 0xdeadbeefu};
    constexpr uint32_t kConstant = 0xaaaaaaabu;
    std::string body;
    std::vector<uint32_t> in(std::begin(values), std::end(values)), want;
    for (uint32_t k = 0; k < in.size(); ++k) {
        const uint32_t a = in[k], b = in[(k * 5 + 3) % in.size()];
        const std::string n = std::to_string(k);
        body += "%a" + n + " = call i32 @dmsh.ssbo.load.i32(i32 1, i32 " + std::to_string(4 * k) + ")\n%b" + n +
                " = call i32 @dmsh.ssbo.load.i32(i32 1, i32 " + std::to_string(4 * ((k * 5 + 3) % in.size())) + ")\n";
        for (const bool is_signed : {false, true})
            for (const bool with_constant : {false, true}) {
                const std::string t = n + (is_signed ? "s" : "u") + (with_constant ? "c" : "v"), ext = is_signed ? "sext" : "zext";
                const int64_t c = is_signed ? int64_t{static_cast<int32_t>(kConstant)} : int64_t{kConstant};
                body += "%x" + t + " = " + ext + " i32 %a" + n + " to i64\n" + (with_constant ? "" : "%y" + t + " = " + ext + " i32 %b" + n + " to i64\n") + "%m" + t + " = mul i64 %x" + t +
                        ", " + (with_constant ? std::to_string(c) : "%y" + t) + "\n%h" + t + " = lshr i64 %m" + t + ", 32\n%r" + t + " = trunc i64 %h" + t +
                        " to i32\ncall void @dmsh.ssbo.store.i32(i32 0, i32 " + std::to_string(4 * want.size()) + ", i32 %r" + t + ")\n";
                const uint32_t y = with_constant ? kConstant : b;
                want.push_back(is_signed ? static_cast<uint32_t>((int64_t{static_cast<int32_t>(a)} * static_cast<int32_t>(y)) >> 32)
                                         : static_cast<uint32_t>((uint64_t{a} * y) >> 32));
            }
    }
    ShaderModule s = shader_from(Stage::compute, body + "ret void");
    s.interface.bindings = {storage_binding(), storage_binding()};
    const auto got = dispatch(s, {std::vector<uint32_t>(want.size()), in});
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got[0], want);
    EXPECT_THAT(disassemble_spirv(emit_valid(s)), testing::Not(testing::HasSubstr("OpTypeInt 64"))); // needs no 64-bit integers
}

TEST_F(Execution, SaturatingConversionsAtTheirBounds) {
    const float inf = std::numeric_limits<float>::infinity();
    const float values[] = {0.0f,  -0.0f, 0.9f, -0.9f, 1e-40f, -1e-40f, 2147483520.0f, 2147483648.0f, -2147483648.0f, -2147483904.0f, 4294967040.0f,
                            4294967296.0f, inf, -inf, std::nanf(""), 16777217.0f};
    std::string body;
    std::vector<uint32_t> in, want;
    for (const float f : values) {
        const std::string n = std::to_string(in.size());
        body += "%w" + n + " = call i32 @dmsh.ssbo.load.i32(i32 1, i32 " + std::to_string(4 * in.size()) + ")\n%f" + n + " = bitcast i32 %w" + n +
                " to float\n%s" + n + " = call i32 @llvm.fptosi.sat.i32.f32(float %f" + n + ")\n%u" + n + " = call i32 @llvm.fptoui.sat.i32.f32(float %f" + n +
                ")\ncall void @dmsh.ssbo.store.i32(i32 0, i32 " + std::to_string(8 * in.size()) + ", i32 %s" + n + ")\ncall void @dmsh.ssbo.store.i32(i32 0, i32 " +
                std::to_string(8 * in.size() + 4) + ", i32 %u" + n + ")\n";
        in.push_back(bits(f));
        want.push_back(f != f ? 0 : f >= 2147483648.0f ? 0x7fffffffu : f < -2147483648.0f ? 0x80000000u : static_cast<uint32_t>(static_cast<int32_t>(f)));
        want.push_back(f != f || f <= 0 ? 0 : f >= 4294967296.0f ? ~0u : static_cast<uint32_t>(f));
    }
    ShaderModule s = shader_from(Stage::compute, body + "ret void",
                                 "declare i32 @llvm.fptosi.sat.i32.f32(float)\ndeclare i32 @llvm.fptoui.sat.i32.f32(float)\n");
    s.interface.bindings = {storage_binding(), storage_binding()};
    const auto got = dispatch(s, {std::vector<uint32_t>(want.size()), in});
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got[0], want);
}

// SHFL with constant segments (PTX ISA, shfl) and FSWZADD of every kind of field (nvdisasm prints PP, NP, PN, ZP, lane 0 first), over
// the lanes that the device has.
TEST_F(Execution, ShufflesOfConstantSegmentsAndSwizzledSums) {
    const uint32_t lanes = std::min(harness->subgroup_size(), 8u);
    if (lanes < 8)
        GTEST_SKIP() << "a subgroup of " << lanes;
    struct Shuffle {
        uint32_t mode, b, c;
    };
    const std::vector<Shuffle> shuffles = {{0, 0, 0x1c03}, {0, 3, 0x1c03}, {0, 5, 0x1c03}, {0, 2, 0x1c01}, {3, 1, 0x1c03}, {3, 2, 0x1c03}, {3, 4, 0x1c03},
                                           {3, 3, 0x1803}, {3, 7, 0x1807}, {1, 1, 0x1c00}, {1, 2, 0x1800}, {2, 1, 0x1c03}, {2, 3, 0x1807}};
    const std::vector<uint32_t> masks = {0x99, 0xa5, 0x66, 0x5a, 0xcc, 0xf0, 0x00, 0x55, 0xaa, 0xff, 0x1b, 0xe4, 0x39};
    std::string body = "%lane = call i32 @dmsh.special(i32 " + std::to_string(static_cast<int>(SpecialRegister::laneid)) +
                       ")\n%at = shl i32 %lane, 2\n%v = call i32 @dmsh.ssbo.load.i32(i32 1, i32 %at)\n%fi = uitofp i32 %lane to float\n"
                       "%x = fadd float %fi, 3.5\n%y = fmul float %fi, 10.0\n";
    uint32_t results = 0;
    const auto keep = [&](const std::string& word) {
        const std::string n = std::to_string(results);
        body += "%p" + n + " = add i32 %at, " + std::to_string(32 * results) + "\ncall void @dmsh.ssbo.store.i32(i32 0, i32 %p" + n + ", i32 " + word + ")\n";
        ++results;
    };
    for (const Shuffle& h : shuffles) {
        const std::string n = std::to_string(results);
        const std::string tail = "i32 " + std::to_string(h.b) + ", i32 " + std::to_string(h.c) + ")\n";
        body += "%s" + n + " = call i32 @dmsh.shfl(i32 " + std::to_string(h.mode) + ", i32 %v, " + tail + "%o" + n + " = call i1 @dmsh.shfl.valid(i32 " +
                std::to_string(h.mode) + ", " + tail + "%z" + n + " = zext i1 %o" + n + " to i32\n%k" + n + " = shl i32 %z" + n + ", 16\n%w" + n +
                " = or i32 %s" + n + ", %k" + n + "\n";
        keep("%w" + n);
    }
    for (const uint32_t mask : masks) {
        const std::string n = std::to_string(results);
        body += "%f" + n + " = call float @dmsh.fswzadd(float %x, float %y, i32 " + std::to_string(mask) + ")\n%w" + n + " = bitcast float %f" + n +
                " to i32\n";
        keep("%w" + n);
    }
    ShaderModule s = shader_from(Stage::compute, body + "ret void");
    s.interface.local_size = {8, 1, 1};
    s.interface.bindings = {storage_binding(), storage_binding()};
    std::vector<uint32_t> in;
    for (uint32_t lane = 0; lane < 8; ++lane)
        in.push_back(100 + lane);
    const auto got = dispatch(s, {std::vector<uint32_t>(8 * results), in});
    ASSERT_FALSE(got.empty());
    for (size_t k = 0; k < shuffles.size(); ++k)
        for (uint32_t lane = 0; lane < 8; ++lane) {
            const auto [mode, b, c] = shuffles[k];
            const uint32_t segment = c >> 8 & 31, low = lane & segment, high = low | (c & 31 & ~segment);
            const int j = mode == 0 ? int(low | (b & ~segment)) : mode == 1 ? int(lane) - int(b) : mode == 2 ? int(lane + b) : int(lane ^ b);
            const bool ok = mode == 1 ? j >= int(high) : j <= int(high);
            EXPECT_EQ(got[0][8 * k + lane], (100 + (ok ? uint32_t(j) : lane)) | uint32_t{ok} << 16) << mode << " " << b << " " << c << " lane " << lane;
        }
    for (size_t k = 0; k < masks.size(); ++k)
        for (uint32_t lane = 0; lane < 8; ++lane) {
            const float x = static_cast<float>(lane) + 3.5f, y = static_cast<float>(lane) * 10;
            const uint32_t field = masks[k] >> (6 - 2 * (lane & 3)) & 3;
            const float sum = field == 0 ? x + y : field == 1 ? y - x : field == 2 ? x - y : y;
            EXPECT_EQ(std::bit_cast<float>(got[0][8 * (shuffles.size() + k) + lane]), sum) << masks[k] << " lane " << lane;
        }
}

// ---- memory ----

TEST_F(Execution, SmallAccessesAndRunTimeOffsets) {
    ShaderModule s = shader_from(Stage::compute, R"(
%o = call i32 @dmsh.ssbo.load.i32(i32 0, i32 0)
%b = call i8 @dmsh.ssbo.load.i8(i32 1, i32 %o)
%bz = zext i8 %b to i32
call void @dmsh.ssbo.store.i32(i32 0, i32 4, i32 %bz)
%o2 = add i32 %o, 1
%h = call i16 @dmsh.ssbo.load.i16(i32 1, i32 %o2)
%hz = zext i16 %h to i32
call void @dmsh.ssbo.store.i32(i32 0, i32 8, i32 %hz)
call void @dmsh.ssbo.store.i8(i32 1, i32 9, i8 -18)
call void @dmsh.ssbo.store.i16(i32 1, i32 %o2, i16 4660)
%ou = shl i32 %o2, 2
%u = call i32 @dmsh.ubo.load(i32 2, i32 %ou)
call void @dmsh.ssbo.store.i32(i32 0, i32 12, i32 %u)
call void @dmsh.local.store.i32(i32 %o2, i32 77)
call void @dmsh.local.store.i8(i32 5, i8 3)
call void @dmsh.local.store.i32(i32 100000, i32 9)
%l = call i32 @dmsh.local.load.i32(i32 4)
call void @dmsh.ssbo.store.i32(i32 0, i32 16, i32 %l)
ret void)");
    Binding uniform;
    uniform.kind = BindingKind::uniform;
    s.interface.bindings = {storage_binding(), storage_binding(), uniform};
    s.interface.local_bytes = 16;
    std::vector<uint32_t> table(32);
    for (uint32_t i = 0; i < 32; ++i)
        table[i] = 1000 + i;
    const auto got = dispatch(s, {{3, 0, 0, 0, 0}, {0xaabbccddu, 0x11223344u, 0xffffffffu}, table});
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got[0][1], 0xaau);
    EXPECT_EQ(got[0][2], 0x3344u);
    EXPECT_EQ(got[1][1], 0x11221234u);
    EXPECT_EQ(got[1][2], 0xffffeeffu);
    EXPECT_EQ(got[0][3], 1004u);
    EXPECT_EQ(got[0][4], 77u | 3u << 8);
}

// Rows behind a run-time base, which may lie below the buffer.
TEST_F(Execution, UniformRowsBehindARunTimeBase) {
    std::string body = "%i = call i32 @dmsh.ssbo.load.i32(i32 0, i32 0)\n%base = shl i32 %i, 4\n%odd = shl i32 %i, 2\n";
    const int32_t offsets[] = {16, 20, 24, 28, 36, 48, 60};
    std::vector<uint32_t> want{0xffffffffu};
    for (size_t k = 0; k < std::size(offsets); ++k)
        for (const char* base : {"base", "odd"}) {
            const std::string n = base + std::to_string(k);
            body += "%o" + n + " = add i32 %" + base + ", " + std::to_string(offsets[k]) + "\n%v" + n + " = call i32 @dmsh.ubo.load(i32 1, i32 %o" + n +
                    ")\ncall void @dmsh.ssbo.store.i32(i32 0, i32 " + std::to_string(4 * want.size()) + ", i32 %v" + n + ")\n";
            want.push_back(1000 + static_cast<uint32_t>(offsets[k] - (base[0] == 'b' ? 16 : 4)) / 4);
        }
    ShaderModule s = shader_from(Stage::compute, body + "ret void");
    s.interface.bindings = {storage_binding(), Binding{}};
    s.interface.bindings[1].kind = BindingKind::uniform;
    std::vector<uint32_t> table(32), out(want.size());
    for (uint32_t i = 0; i < 32; ++i)
        table[i] = 1000 + i;
    out[0] = 0xffffffffu; // base -16, odd -4
    const auto got = dispatch(s, {out, table});
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got[0], want);
}

TEST_F(Execution, SharedMemoryAndAtomics) {
    // 32 threads: each adds to shared words, waits, and thread 0 copies them out.
    ShaderModule s = shader_from(Stage::compute, R"(
%t = call i32 @dmsh.special(i32 1)
%z = icmp eq i32 %t, 0
br i1 %z, label %init, label %go
init:
call void @dmsh.shared.store.i32(i32 0, i32 0)
call void @dmsh.shared.store.i32(i32 4, i32 0)
call void @dmsh.shared.store.i32(i32 8, i32 0)
call void @dmsh.shared.store.i32(i32 12, i32 0)
br label %go
go:
call void @dmsh.barrier()
%a0 = call i32 @dmsh.shared.atomic.i32(i32 0, i32 0, i32 %t, i32 0)
%a1 = call i32 @dmsh.shared.atomic.i32(i32 4, i32 5, i32 4, i32 0)
%a2 = call i32 @dmsh.shared.atomic.i32(i32 8, i32 12, i32 1069547520, i32 0)
%b = trunc i32 %t to i8
%ba = add i32 %t, 16
call void @dmsh.shared.store.i8(i32 %ba, i8 %b)
%a3 = call i32 @dmsh.ssbo.atomic.i32(i32 0, i32 60, i32 6, i32 4, i32 0)
%a4 = call i32 @dmsh.ssbo.atomic.i32(i32 0, i32 56, i32 4, i32 %t, i32 0)
call void @dmsh.barrier()
br i1 %z, label %copy, label %done
copy:
%i = phi i32 [0, %go], [%n, %copy]
%w = call i32 @dmsh.shared.load.i32(i32 %i)
call void @dmsh.ssbo.store.i32(i32 0, i32 %i, i32 %w)
%n = add i32 %i, 4
%c = icmp ult i32 %n, 48
br i1 %c, label %copy, label %done
done:
ret void)");
    s.interface.bindings = {storage_binding()};
    s.interface.local_size = {32, 1, 1};
    s.interface.shared_bytes = 48;
    const auto got = dispatch(s, {std::vector<uint32_t>(16)});
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got[0][0], 31u * 32 / 2);
    EXPECT_EQ(got[0][1], 32u % 5);         // INC wraps at 4
    EXPECT_EQ(got[0][2], bits(1.5f * 32)); // float add
    EXPECT_EQ(got[0][14], 31u);            // unsigned max
    EXPECT_EQ(got[0][15], 3u);             // DEC from 0: 4, 3, 2, 1, 0, 4 ...: 32 steps
    for (uint32_t i = 0; i < 32; ++i)
        EXPECT_EQ(got[0][4 + i / 4] >> (i % 4 * 8) & 255, i);
}

} // namespace
} // namespace dmsh::test
