// The integer forms that legalisation emits, run by LLVM's JIT and compared with the host's FPU.
#include "compiler/lift/intrinsics.h"
#include "compiler/passes/passes.h"
#include <bit>
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>
#include <random>

using namespace dmsh;

namespace {

// Builds void @main() that loads operands from a global array, computes and stores results there; expands;
// JITs.
class Machine {
  public:
    using Body = std::function<void(llvm::IRBuilder<>&, const std::function<llvm::Value*(unsigned)>& load,
                                    const std::function<void(unsigned, llvm::Value*)>& store)>;
    explicit Machine(bool doubles, const Body& body) {
        ShaderModule s;
        s.context = std::make_unique<llvm::LLVMContext>();
        s.context->setOpaquePointers(false);
        s.module = std::make_unique<llvm::Module>("jit", *s.context);
        auto* word = llvm::Type::getInt64Ty(*s.context);
        auto* array = llvm::ArrayType::get(word, 64);
        auto* memory = new llvm::GlobalVariable(*s.module, array, false, llvm::GlobalValue::ExternalLinkage,
                                                llvm::Constant::getNullValue(array), "memory");
        s.main = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(*s.context), false),
                                        llvm::GlobalValue::ExternalLinkage, "main_jit", *s.module);
        llvm::IRBuilder<> b(llvm::BasicBlock::Create(*s.context, "entry", s.main));
        const auto slot = [&](unsigned i) { return b.CreateConstInBoundsGEP2_64(array, memory, 0, i); };
        body(
            b, [&](unsigned i) { return b.CreateLoad(word, slot(i)); },
            [&](unsigned i, llvm::Value* v) {
                const unsigned bits = v->getType()->getPrimitiveSizeInBits();
                v = b.CreateBitCast(v, b.getIntNTy(bits));
                b.CreateStore(b.CreateZExt(v, word), slot(i));
            });
        b.CreateRetVoid();
        EXPECT_TRUE(expand_rounding(s));
        EXPECT_TRUE(expand_float_operations(s));
        if (doubles) {
            auto d = expand_doubles(s);
            EXPECT_TRUE(d) << d.error().text();
            for (auto& block : *s.main)
                for (auto& inst : block)
                    EXPECT_FALSE(inst.getType()->isDoubleTy());
        }
        EXPECT_FALSE(llvm::verifyModule(*s.module, &llvm::errs()));
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().create());
        s.module->setDataLayout(jit_->getDataLayout());
        llvm::cantFail(jit_->addIRModule({std::move(s.module), std::move(s.context)}));
        memory_ = llvm::cantFail(jit_->lookup("memory")).toPtr<uint64_t*>();
        main_ = llvm::cantFail(jit_->lookup("main_jit")).toPtr<void (*)()>();
    }
    uint64_t* memory() { return memory_; }
    void run() { main_(); }

  private:
    std::unique_ptr<llvm::orc::LLJIT> jit_;
    uint64_t* memory_ = nullptr;
    void (*main_)() = nullptr;
};

uint64_t number(std::mt19937_64& r) {
    static const uint64_t specials[] = {0,
                                        1,
                                        0x7ff0000000000000,
                                        0x7fefffffffffffff,
                                        0x7ff8000000000000,
                                        0x0010000000000000,
                                        0x3ff0000000000000,
                                        0x000fffffffffffff,
                                        0x41dfffffffc00000,
                                        0x43e0000000000000};
    const uint64_t v = r();
    switch (v % 4) {
    case 0: return specials[(v >> 8) % 10] | (v & 0x8000000000000000);
    case 1: return (v & 0x8000000000000fff) | (uint64_t{1023 - 40 + (v >> 16) % 80} << 52);
    default: return r();
    }
}

uint64_t same(double d) {
    return std::isnan(d) ? 0xfff8000000000000 : std::bit_cast<uint64_t>(d);
}
uint64_t same(float f) {
    return std::isnan(f) ? 0x7fffffff : std::bit_cast<uint32_t>(f);
}
double d64(uint64_t v) {
    return std::bit_cast<double>(v);
}
uint64_t quiet64(uint64_t v) {
    return same(d64(v));
}

} // namespace

TEST(LegalizeFloat, DoublesAsIntegersEqualTheHost) {
    Machine m(true, [](llvm::IRBuilder<>& b, const auto& load, const auto& store) {
        const auto real = [&](unsigned i) { return b.CreateBitCast(load(i), b.getDoubleTy()); };
        llvm::Value *x = real(0), *y = real(1), *z = real(2);
        store(8, b.CreateFAdd(x, y));
        store(9, b.CreateFSub(x, y));
        store(10, b.CreateFMul(x, y));
        store(11, b.CreateIntrinsic(llvm::Intrinsic::fma, {b.getDoubleTy()}, {x, y, z}));
        store(12, b.CreateFPTrunc(x, b.getFloatTy()));
        store(13, b.CreateFPExt(b.CreateBitCast(b.CreateTrunc(load(0), b.getInt32Ty()), b.getFloatTy()),
                                b.getDoubleTy()));
        store(14, b.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, x, y));
        store(15, b.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, x, y));
        store(16, b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x));
        store(17, b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, x));
        store(18, b.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {b.getInt32Ty(), b.getDoubleTy()}, {x}));
        store(19, b.CreateSIToFP(load(0), b.getDoubleTy()));
        store(20, b.CreateUIToFP(load(0), b.getDoubleTy()));
        store(21, b.CreateSelect(b.CreateFCmpOLT(x, y), x, b.CreateFNeg(y)));
        llvm::Value* tests = b.getInt64(0);
        for (unsigned p = 0; p < 16; ++p)
            tests = b.CreateOr(
                tests, b.CreateShl(b.CreateZExt(b.CreateFCmp(static_cast<llvm::CmpInst::Predicate>(p), x, y),
                                                b.getInt64Ty()),
                                   p));
        store(22, tests);
        for (unsigned round = 1; round < 4; ++round)
            store(22 + round, call(b, Intrinsic::dfma_rnd, {b.getInt32(round), x, y, z}));
    });
    std::mt19937_64 random(7);
    for (int i = 0; i < 60000; ++i) {
        uint64_t* w = m.memory();
        for (int k = 0; k < 3; ++k)
            w[k] = number(random);
        for (int k = 0; k < 3; ++k) // the host's fmin does not take signalling NaNs as the guest does
            if (std::isnan(d64(w[k])))
                w[k] |= 0x0008000000000000;
        m.run();
        const volatile double x = d64(w[0]), y = d64(w[1]), z = d64(w[2]);
        ASSERT_EQ(same(x + y), quiet64(w[8])) << x << " " << y;
        ASSERT_EQ(same(x - y), quiet64(w[9])) << x << " " << y;
        ASSERT_EQ(same(x * y), quiet64(w[10])) << x << " " << y;
        ASSERT_EQ(same(std::fma(double(x), double(y), double(z))), quiet64(w[11]))
            << x << " " << y << " " << z;
        ASSERT_EQ(same(static_cast<float>(x)), w[12]) << x;
        ASSERT_EQ(same(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(w[0])))), w[13]);
        if (x != y || std::signbit(x) == std::signbit(y)) {
            ASSERT_EQ(same(std::fmin(double(x), double(y))), quiet64(w[14])) << x << " " << y;
            ASSERT_EQ(same(std::fmax(double(x), double(y))), quiet64(w[15])) << x << " " << y;
        }
        ASSERT_EQ(same(std::floor(double(x))), quiet64(w[16])) << x;
        ASSERT_EQ(same(std::nearbyint(double(x))), quiet64(w[17])) << x;
        ASSERT_EQ(same(static_cast<double>(static_cast<int64_t>(w[0]))), w[19]);
        ASSERT_EQ(same(static_cast<double>(w[0])), w[20]);
        ASSERT_EQ(same(x < y ? double(x) : -y), quiet64(w[21]));
        const bool u = std::isnan(x) || std::isnan(y);
        const bool ordered[8] = {false, x == y, x > y, x >= y, x < y, x <= y, x < y || x > y, !u};
        for (unsigned p = 0; p < 16; ++p)
            ASSERT_EQ(p < 8 ? ordered[p] : u || ordered[p - 8], w[22] >> p & 1) << p << " " << x << " " << y;
        static constexpr int modes[] = {0, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
        for (unsigned round = 1; round < 4; ++round) {
            std::fesetround(modes[round]);
            const volatile double r = std::fma(double(x), double(y), double(z));
            std::fesetround(FE_TONEAREST);
            ASSERT_EQ(same(double(r)), quiet64(w[22 + round])) << round << " " << x << " " << y << " " << z;
        }
    }
}

TEST(LegalizeFloat, RoundedSinglesInPlaceEqualTheHost) {
    Machine m(false, [](llvm::IRBuilder<>& b, const auto& load, const auto& store) {
        const auto real = [&](unsigned i) {
            return b.CreateBitCast(b.CreateTrunc(load(i), b.getInt32Ty()), b.getFloatTy());
        };
        for (unsigned round = 1; round < 4; ++round) {
            llvm::Value* r = b.getInt32(round);
            store(8 + round, call(b, Intrinsic::fadd_rnd, {r, real(0), real(1)}));
            store(12 + round, call(b, Intrinsic::fmul_rnd, {r, real(0), real(1)}));
            store(16 + round, call(b, Intrinsic::ffma_rnd, {r, real(0), real(1), real(2)}));
            store(20 + round, call(b, Intrinsic::i64_to_f32_rnd, {r, b.getInt32(1), load(0)}));
        }
        store(24, call(b, Intrinsic::ftz, {real(0)}));
    });
    std::mt19937_64 random(9);
    for (int i = 0; i < 60000; ++i) {
        uint64_t* w = m.memory();
        for (int k = 0; k < 3; ++k)
            w[k] = i % 2 ? random() : same(static_cast<float>(d64(number(random)))) | (random() << 32);
        m.run();
        const volatile float x = std::bit_cast<float>(static_cast<uint32_t>(w[0])),
                             y = std::bit_cast<float>(static_cast<uint32_t>(w[1])),
                             z = std::bit_cast<float>(static_cast<uint32_t>(w[2]));
        static constexpr int modes[] = {0, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
        for (unsigned round = 1; round < 4; ++round) {
            std::fesetround(modes[round]);
            const volatile float sum = x + y, product = x * y, fused = std::fma(float(x), float(y), float(z));
            const volatile int64_t n = static_cast<int64_t>(w[0]);
            const volatile float converted = static_cast<float>(n);
            std::fesetround(FE_TONEAREST);
            ASSERT_EQ(same(float(sum)), w[8 + round]) << round << " " << x << " " << y;
            // The product of zero and infinity is the target's own NaN (numerics.md).
            ASSERT_EQ(same(float(product)), same(std::bit_cast<float>(static_cast<uint32_t>(w[12 + round])))) << round << " " << x << " " << y;
            ASSERT_EQ(same(float(fused)), w[16 + round]) << round << " " << x << " " << y << " " << z;
            ASSERT_EQ(same(float(converted)), w[20 + round]) << round << " " << n;
        }
        const uint32_t bits = static_cast<uint32_t>(w[0]);
        ASSERT_EQ((bits & 0x7f800000) ? bits : bits & 0x80000000, w[24]);
    }
}

// RCP64H and RSQ64H: the double of the high word is within one unit of its 20-bit mantissa; specials are
// exact.
TEST(LegalizeFloat, HighWordReciprocals) {
    Machine m(false, [](llvm::IRBuilder<>& b, const auto& load, const auto& store) {
        llvm::Value* high = b.CreateTrunc(load(0), b.getInt32Ty());
        store(8, call(b, Intrinsic::mufu64h, {b.getInt32(0), high}));
        store(9, call(b, Intrinsic::mufu64h, {b.getInt32(1), high}));
        const auto real = [&](unsigned i) {
            return b.CreateBitCast(b.CreateTrunc(load(i), b.getInt32Ty()), b.getFloatTy());
        };
        store(10, b.CreateZExt(call(b, Intrinsic::fchk, {real(0), real(1)}), b.getInt32Ty()));
    });
    std::mt19937_64 random(3);
    for (int i = 0; i < 50000; ++i) {
        uint64_t* w = m.memory();
        w[0] = random() >> 32;
        m.run();
        const double x = d64(w[0] << 32);
        if (std::isnormal(x) && std::isnormal(1 / x)) {
            ASSERT_NEAR(d64(w[8] << 32) * x, 1.0, 0x1p-19) << x;
            if (x > 0) {
                ASSERT_NEAR(d64(w[9] << 32) * std::sqrt(x), 1.0, 0x1p-19) << x;
            }
        }
    }
    const auto check = [&](double x, double rcp, double rsq) {
        m.memory()[0] = std::bit_cast<uint64_t>(x) >> 32;
        m.run();
        EXPECT_EQ(same(rcp), quiet64(m.memory()[8] << 32)) << x;
        EXPECT_EQ(same(rsq), quiet64(m.memory()[9] << 32)) << x;
    };
    check(0.0, INFINITY, INFINITY);
    check(-0.0, -INFINITY, -INFINITY);
    check(INFINITY, 0.0, 0.0);
    check(-INFINITY, -0.0, NAN);
    check(NAN, NAN, NAN);
    check(4.0, 0.25, 0.5);
    check(-2.0, -0.5, NAN);
    // Division: every denormal, zero, infinity and NaN goes the slow way.
    const auto slow = [&](float x, float y) {
        m.memory()[0] = std::bit_cast<uint32_t>(x);
        m.memory()[1] = std::bit_cast<uint32_t>(y);
        m.run();
        return m.memory()[10] != 0;
    };
    EXPECT_FALSE(slow(3, 7));
    EXPECT_FALSE(slow(1e20f, -1e-10f));
    for (const float v : {0.0f, 1e-40f, INFINITY, NAN}) {
        EXPECT_TRUE(slow(v, 1));
        EXPECT_TRUE(slow(1, v));
    }
    EXPECT_TRUE(slow(1e30f, 1e-30f));
    EXPECT_TRUE(slow(1e-30f, 1e30f));
}
