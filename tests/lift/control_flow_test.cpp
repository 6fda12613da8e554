// Control-flow recovery: the reconvergence stack becomes a plain graph, tables are found, hostile programs end.
#include "compiler/lift/guest_code.h"
#include "tests/lift/assemble.h"
#include "tests/support/ir_machine.h"
#include <map>
#include <random>
#include <string>

namespace dmsh::test {
namespace {

constexpr uint64_t kExit = 0xe30000000007000full;
constexpr uint64_t kAlways = 15, kFcsmTr = 28;

// A program with labels. R4 is c[0][0x10]; what is in R0 at the end of run() is the result.
class Flow {
  public:
    Flow& label(const std::string& name) {
        labels_[name] = position();
        return *this;
    }
    Flow& raw(uint64_t word) {
        words_.push_back(word);
        return *this;
    }
    Flow& add(Op op, Form form, std::initializer_list<std::pair<F, uint64_t>> fields) {
        const auto word = isa::assemble(isa::Arch::sm_53, op, form, fields);
        EXPECT_TRUE(word.has_value()) << isa::op_name(op);
        return raw(word ? word->lo : 0);
    }
    // BRA, SSY, PBK, PCNT, PRET, CAL to a label; `predicate` 8 = !P0.
    Flow& to(Op op, const std::string& name, uint64_t predicate = 7) {
        fixups_.push_back({position(), name, op, predicate});
        return raw(0);
    }
    // SYNC, BRK, CONT, RET, EXIT.
    Flow& pop(Op op, uint64_t predicate = 7, uint64_t test = kAlways) {
        return add(op, Form::none, {{F::cc_test, test}, {F::pred, predicate & 7}, {F::pred_neg, predicate >> 3}});
    }
    Flow& set(unsigned r, uint32_t value, uint64_t predicate = 7) {
        return add(Op::MOV32I, Form::imm32, {{F::dst, r}, {F::imm, value}, {F::lane_mask, 15}, {F::pred, predicate & 7}, {F::pred_neg, predicate >> 3}});
    }
    Flow& plus(unsigned r, uint32_t value) { return add(Op::IADD32I, Form::imm32, {{F::dst, r}, {F::src_a, r}, {F::imm, value}}); }
    // P[p] = R[r] op value, unsigned.
    Flow& test(unsigned p, unsigned r, uint64_t op, uint32_t value) {
        return add(Op::ISETP, Form::imm, {{F::dst_pred, p}, {F::src_a, r}, {F::imm, value}, {F::int_cmp, op}});
    }
    Flow& input() { return add(Op::MOV, Form::cbuf, {{F::dst, 4}, {F::cbuf_bank, 0}, {F::cbuf_offset, 0x10}, {F::lane_mask, 15}}); }
    Flow& output() {
        for (unsigned i = 0; i < 2; ++i)
            add(Op::MOV, Form::cbuf, {{F::dst, 14 + i}, {F::cbuf_bank, 0}, {F::cbuf_offset, 4 * i}, {F::lane_mask, 15}});
        add(Op::STG, Form::reg, {{F::src_a, 14}, {F::src_b, 0}, {F::e, 1}, {F::mem_size_st, 4}});
        return raw(kExit);
    }
    std::vector<uint8_t> constants;

    Result<ShaderModule> lift_it() {
        Program p;
        for (size_t i = 0; i < words_.size(); ++i) {
            uint64_t word = words_[i];
            for (const Fixup& f : fixups_)
                if (f.position == i) {
                    const uint32_t here = pc_of(i), there = pc_of(labels_.at(f.name));
                    const uint64_t offset = (there - (here + 8)) & 0xffffff;
                    const auto w = isa::assemble(isa::Arch::sm_53, f.op, Form::none,
                                                 {{F::offset, offset}, {F::pred, f.predicate & 7}, {F::pred_neg, f.predicate >> 3}});
                    EXPECT_TRUE(w.has_value()) << isa::op_name(f.op);
                    word = w ? w->lo : 0;
                }
            p.raw(word);
        }
        ShaderInput in = p.input();
        in.constants = constants;
        auto text = control_flow_text(in);
        cfg = text ? *text : "";
        return lift(in);
    }
    static uint32_t pc_of(size_t position) { return static_cast<uint32_t>(position / 3 * 32 + 8 + position % 3 * 8); }
    uint32_t position() const { return static_cast<uint32_t>(words_.size()); }
    uint32_t address(const std::string& name) const { return pc_of(labels_.at(name)); }

    uint32_t run(uint32_t value) {
        auto shader = lift_it();
        if (!shader) {
            ADD_FAILURE() << shader.error().message;
            return 0;
        }
        const auto verified = verify_shader(*shader, false);
        EXPECT_TRUE(verified) << (verified ? "" : verified.error().text());
        IrMachine m;
        m.global.resize(16);
        m.banks[0].resize(0x20);
        m.banks[1] = constants;
        const uint64_t base = IrMachine::kGlobalBase;
        memcpy(m.banks[0].data(), &base, 8);
        memcpy(m.banks[0].data() + 0x10, &value, 4);
        const auto ran = m.run(std::move(*shader));
        EXPECT_TRUE(ran) << (ran ? "" : ran.error().text());
        uint32_t out;
        memcpy(&out, m.global.data(), 4);
        return out;
    }
    std::string refusal() {
        auto shader = lift_it();
        return shader ? "lifts" : shader.error().message;
    }
    std::string cfg;

  private:
    struct Fixup {
        size_t position;
        std::string name;
        Op op;
        uint64_t predicate;
    };
    std::vector<uint64_t> words_;
    std::vector<Fixup> fixups_;
    std::map<std::string, uint32_t> labels_;
};

constexpr uint64_t kLess = 1, kEqual = 2;

} // namespace

TEST(MaxwellFlow, NestedReconvergence) {
    auto program = [] {
        Flow f;
        f.input().set(0, 0).to(Op::SSY, "end").test(0, 4, kLess, 10).to(Op::BRA, "small", 0);
        f.set(0, 100).pop(Op::SYNC);
        f.label("small").to(Op::SSY, "inner").test(1, 4, kLess, 5).pop(Op::SYNC, 1).plus(0, 1).pop(Op::SYNC);
        f.label("inner").plus(0, 2).pop(Op::SYNC);
        f.label("end").plus(0, 1000).output();
        return f;
    };
    EXPECT_EQ(program().run(3), 1002u);
    EXPECT_EQ(program().run(7), 1003u);
    EXPECT_EQ(program().run(70), 1100u);
}

TEST(MaxwellFlow, LoopWithBreakAndContinue) {
    // Sums 1..n without 3, by PBK/BRK and PCNT/CONT.
    auto program = [] {
        Flow f;
        f.input().set(0, 0).set(1, 0).to(Op::PBK, "out");
        f.label("head").to(Op::PCNT, "next").plus(1, 1);
        f.add(Op::ISETP, Form::reg, {{F::dst_pred, 0}, {F::src_a, 1}, {F::src_b, 4}, {F::int_cmp, 4}}).pop(Op::BRK, 0);
        f.test(1, 1, kEqual, 3).pop(Op::CONT, 1);
        f.add(Op::IADD, Form::reg, {{F::dst, 0}, {F::src_a, 0}, {F::src_b, 1}}).pop(Op::CONT);
        f.label("next").to(Op::BRA, "head");
        f.label("out").output();
        return f;
    };
    EXPECT_EQ(program().run(0), 0u);
    EXPECT_EQ(program().run(5), 12u);
}

TEST(MaxwellFlow, CallsAreInlinedWhereTheyReturnTo) {
    Flow f;
    f.input().set(0, 1).to(Op::CAL, "twice").to(Op::CAL, "twice").plus(0, 100).output();
    f.label("twice").add(Op::SHL, Form::imm, {{F::dst, 0}, {F::src_a, 0}, {F::imm, 1}}).pop(Op::RET);
    EXPECT_EQ(f.run(0), 104u);
}

TEST(MaxwellFlow, RecursionIsRefused) {
    Flow f;
    f.label("self").to(Op::CAL, "self").pop(Op::RET);
    EXPECT_NE(f.refusal().find("is a recursive call"), std::string::npos) << f.refusal();
}

TEST(MaxwellFlow, UnboundedStackIsRefused) {
    Flow f;
    f.label("loop").to(Op::SSY, "end").to(Op::BRA, "loop").label("end").raw(kExit);
    EXPECT_NE(f.refusal().find("grows the reconvergence stack"), std::string::npos) << f.refusal();
}

TEST(MaxwellFlow, PopWithoutTargetIsRefused) {
    Flow f;
    f.pop(Op::SYNC).raw(kExit);
    EXPECT_EQ(f.refusal(), "sm53 instruction SYNC at 0x8 (f0f800000007000f) finds no target on the reconvergence stack");
}

// T-050
TEST(MaxwellFlow, ExitOnNeverTakenConditionGoesOn) {
    Flow f;
    f.input().set(0, 5).pop(Op::EXIT, 7, kFcsmTr).plus(0, 1).output();
    EXPECT_EQ(f.run(0), 6u);
}

TEST(MaxwellFlow, BranchToItselfAfterExitIsNotReached) {
    Flow f;
    f.raw(kExit).label("self").to(Op::BRA, "self");
    EXPECT_TRUE(f.lift_it());
    EXPECT_EQ(f.cfg, "b0: [0x8, 0x8) exit\n");
}

TEST(MaxwellFlow, GroupAddressNamesItsFirstInstruction) {
    const std::vector<uint64_t> nothing(32, 0);
    GuestCode code(Arch::sm53, {reinterpret_cast<const uint8_t*>(nothing.data()), 256});
    EXPECT_EQ(code.position_of(0x40), code.position_of(0x48));
    EXPECT_EQ(code.position_of(0x40), 6u);
    EXPECT_FALSE(code.position_of(0x44));
    EXPECT_FALSE(code.position_of(-8));
    EXPECT_FALSE(code.position_of(0x100));
}

TEST(MaxwellFlow, PredicatedExit) {
    auto program = [] {
        Flow f;
        f.input().set(0, 7).test(0, 4, kEqual, 1).pop(Op::EXIT, 0).output();
        return f;
    };
    EXPECT_EQ(program().run(0), 7u);
    EXPECT_EQ(program().run(1), 0u); // left before the store
}

// T-052, T-121, T-122: two tables one behind the other, the second with a filler.
TEST(MaxwellFlow, JumpTables) {
    auto program = [] {
        Flow f;
        f.input().set(0, 0);
        f.add(Op::SHL, Form::imm, {{F::dst, 5}, {F::src_a, 4}, {F::imm, 2}});
        f.add(Op::LDC, Form::cbuf_reg, {{F::dst, 5}, {F::src_a, 5}, {F::cbuf_bank, 1}, {F::cbuf_offset, 0x10}, {F::ldc_size, 4}});
        f.add(Op::BRX, Form::reg, {{F::src_a, 5}, {F::offset, (0u - (Flow::pc_of(f.position()) + 8)) & 0xffffff}, {F::cc_test, kAlways}});
        f.label("a").plus(0, 10).to(Op::BRA, "second");
        f.label("b").plus(0, 20).to(Op::BRA, "second");
        f.label("second").add(Op::IMNMX, Form::imm, {{F::dst, 5}, {F::src_a, 4}, {F::imm, 2}, {F::src_pred, 7}});
        f.add(Op::SHL, Form::imm, {{F::dst, 5}, {F::src_a, 5}, {F::imm, 2}});
        f.add(Op::LDC, Form::cbuf_reg, {{F::dst, 5}, {F::src_a, 5}, {F::cbuf_bank, 1}, {F::cbuf_offset, 0x18}, {F::ldc_size, 4}});
        f.add(Op::BRX, Form::reg, {{F::src_a, 5}, {F::offset, (0u - (Flow::pc_of(f.position()) + 8)) & 0xffffff}, {F::cc_test, kAlways}});
        f.label("c").plus(0, 100).to(Op::BRA, "end");
        f.label("d").plus(0, 200);
        f.label("end").output();
        f.constants.resize(0x28);
        auto word = [&](size_t at, uint32_t v) { memcpy(f.constants.data() + at, &v, 4); };
        word(0x10, f.address("a"));
        word(0x14, f.address("b"));
        word(0x18, f.address("c"));
        word(0x1c, f.address("d"));
        word(0x20, f.address("c"));
        word(0x24, f.address("a")); // beyond the limit of 3
        return f;
    };
    EXPECT_EQ(program().run(0), 110u);
    EXPECT_EQ(program().run(1), 220u);
    Flow f = program();
    ASSERT_TRUE(f.lift_it());
    EXPECT_NE(f.cfg.find("R5 of table 0x10 -> 0: b1 1: b2\n"), std::string::npos) << f.cfg;
    EXPECT_NE(f.cfg.find("R5 of table 0x18 -> 0: b4 1: b5 2: b4\n"), std::string::npos) << f.cfg;
}

TEST(MaxwellFlow, HostileProgramsEnd) {
    std::mt19937_64 random(1);
    const auto rows = isa::maxwell_rows();
    for (unsigned round = 0; round < 300; ++round) {
        Program p;
        const unsigned n = 3 + random() % 200;
        for (unsigned i = 0; i < n; ++i) {
            const isa::Row& row = rows[random() % rows.size()];
            uint64_t word = (random() & ~row.mask_lo & row.used_lo) | row.match_lo;
            if (round % 2) // flow instructions mostly, near targets
                switch (random() % 8) {
                case 0: word = 0xe24000000000000full | (random() % 64 * 8 + 0xffff00) << 20 | (random() % 8) << 16; break;
                case 1: word = 0xe290000000000000ull | (random() % 64 * 8) << 20; break;
                case 2: word = 0xf0f800000000000full | (random() % 16) << 16; break;
                case 3: word = 0xe2a0000000000000ull | (random() % 64 * 8) << 20; break;
                case 4: word = 0xe34000000000000full | (random() % 16) << 16; break;
                case 5: word = 0xe260000000000040ull | (random() % 64 * 8) << 20; break;
                case 6: word = 0xe32000000000000full | (random() % 16) << 16; break;
                default: word = 0x5c98078000170000ull; break;
                }
            p.raw(word);
        }
        p.exit();
        auto shader = lift(p.input());
        if (shader) {
            const auto verified = verify_shader(*shader, false);
            EXPECT_TRUE(verified) << (verified ? "" : verified.error().text());
        }
    }
}

} // namespace dmsh::test
