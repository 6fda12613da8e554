// Draws instruction sequences and control-flow graphs.
#include "tests/differential/generator.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace dmsh::test {
namespace {

using sim::Random;
constexpr unsigned kThreadId = 40, kIn = 42, kOut = 44, kScratch = 46, kHash = 20, kCounter = 24;
constexpr uint64_t kPt = 7;

// Mnemonics whose results depend on registers, predicates, flags and constants alone.
const std::set<Op>& plain_ops() {
    static const std::set<Op> ops = {
        Op::FADD, Op::FADD32I, Op::FMUL, Op::FMUL32I, Op::FFMA, Op::FFMA32I, Op::FMNMX, Op::FSET, Op::FSETP, Op::FCMP, Op::FCHK, Op::MUFU, Op::RRO,
        Op::DADD, Op::DMUL, Op::DFMA, Op::DMNMX, Op::DSET, Op::DSETP, Op::HADD2, Op::HADD2_32I, Op::HMUL2, Op::HMUL2_32I, Op::HFMA2, Op::HFMA2_32I,
        Op::HSET2, Op::HSETP2, Op::IADD, Op::IADD32I, Op::IADD3, Op::IMNMX, Op::IMUL, Op::IMUL32I, Op::IMAD, Op::IMAD32I, Op::IMADSP, Op::XMAD,
        Op::ISCADD, Op::ISCADD32I, Op::LEA, Op::LOP, Op::LOP32I, Op::LOP3, Op::SHL, Op::SHR, Op::SHF, Op::BFE, Op::BFI, Op::FLO, Op::POPC, Op::PRMT,
        Op::ISET, Op::ISETP, Op::ICMP, Op::MOV, Op::MOV32I, Op::SEL, Op::PSET, Op::PSETP, Op::CSET, Op::CSETP, Op::P2R, Op::R2P, Op::F2F, Op::F2I,
        Op::I2F, Op::I2I, Op::VADD, Op::VMAD, Op::VMNMX, Op::VABSDIFF, Op::VABSDIFF4, Op::VSET, Op::VSETP, Op::VSHL, Op::VSHR, Op::LDC, Op::S2R,
        Op::CS2R, Op::VOTE, Op::SHFL, Op::FSWZADD,
    };
    return ops;
}

bool is_double(Op op) {
    return op == Op::DADD || op == Op::DMUL || op == Op::DFMA || op == Op::DMNMX || op == Op::DSET || op == Op::DSETP;
}
bool wants_even(Op op) { return is_double(op) || op == Op::F2F || op == Op::F2I || op == Op::I2F || op == Op::I2I || op == Op::LDC; }
// Operations across lanes run under no guard: which lanes take part is the graphs' business.
bool crosses_lanes(Op op) { return op == Op::VOTE || op == Op::SHFL || op == Op::FSWZADD; }

uint64_t random_register(Random& r, bool even) {
    if (r.one_in(12))
        return isa::kRz;
    const uint32_t k = r.below(kDataRegisters);
    return even ? k & ~1u : std::min(k, kDataRegisters - 2);
}

uint64_t random_field(Random& r, const isa::Row& row, const isa::FieldPlace& place) {
    const uint64_t all = place.bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << place.bits) - 1;
    const bool even = wants_even(row.op);
    switch (place.field) {
    case F::dst: return row.op == Op::VOTE && r.one_in(2) ? isa::kRz : random_register(r, even);
    case F::src_a:
    case F::src_b:
    case F::src_c: return random_register(r, even);
    case F::pred: return crosses_lanes(row.op) || !r.one_in(6) ? kPt : r.below(6);
    case F::pred_neg: return crosses_lanes(row.op) ? 0 : r.one_in(8);
    case F::dst_pred:
    case F::dst_pred2:
    case F::src_pred:
    case F::src_pred2:
    case F::src_pred3: return r.one_in(4) ? kPt : r.below(6);
    case F::cbuf_bank: return 3;
    case F::cbuf_offset: return r.below(0x100) * 4;
    case F::cc_test: return r.one_in(4) ? 15 : r.below(32);
    case F::sreg: {
        constexpr uint64_t known[] = {0, 3, 17, 18, 19, 29, 32, 33, 34, 35, 37, 38, 39, 56, 57, 58, 59, 60};
        return known[r.below(std::size(known))];
    }
    case F::lane_mask: return r.one_in(4) ? r.below(16) : 15;
    case F::imm: {
        const uint32_t w = r.one_in(2) ? r.below(64) : r.word(sim::Draw::mixed);
        if (place.sign_extend)
            return static_cast<uint32_t>(static_cast<int32_t>(w << 12) >> 12);
        // Only the bits that the pieces hold.
        uint64_t mask = 0;
        for (const isa::Piece& piece : place.pieces)
            mask |= ((uint64_t{1} << piece.width) - 1) << piece.to;
        return w & mask;
    }
    default: break;
    }
    // Modifiers: half of them as they mostly are, the rest anything that the bits can say.
    return r.one_in(2) ? 0 : r.next() & all;
}

// A random word of the row that decodes to it; 0 after many vain tries.
uint64_t random_word(Random& r, const isa::Row& row) {
    for (unsigned attempt = 0; attempt < 32; ++attempt) {
        std::vector<std::pair<F, uint64_t>> fields;
        for (const isa::FieldPlace& place : row.fields)
            if (place.pieces[0].width != 0)
                fields.emplace_back(place.field, random_field(r, row, place));
        // No compiler names one predicate twice: which result stays is not known.
        const auto value = [&](F f) {
            for (const auto& [field, v] : fields)
                if (field == f)
                    return v;
            return kPt;
        };
        if (value(F::dst_pred) == value(F::dst_pred2) && value(F::dst_pred) != kPt)
            continue;
        const auto word = isa::assemble(row, std::span<const std::pair<F, uint64_t>>(fields));
        if (word && isa::decode_maxwell(word->lo) == &row)
            return word->lo;
    }
    return 0;
}

const std::vector<const isa::Row*>& plain_rows() {
    static const std::vector<const isa::Row*> rows = [] {
        std::vector<const isa::Row*> v;
        for (const isa::Row& row : isa::maxwell_rows())
            if (plain_ops().count(row.op) && !(row.op == Op::VOTE && row.form == Form::imm))
                v.push_back(&row);
        return v;
    }();
    return rows;
}

void load_address(Code& c, unsigned pair, uint32_t bank_offset, uint32_t shift) {
    // R[pair..] = c[0][bank_offset] + (thread << shift), 64 bits
    c.add(Op::SHL, Form::imm, {{F::dst, kScratch}, {F::src_a, kThreadId}, {F::imm, shift}});
    c.add(Op::IADD, Form::cbuf, {{F::dst, pair}, {F::src_a, kScratch}, {F::cbuf_bank, 0}, {F::cbuf_offset, bank_offset}});
    c.add(Op::MOV, Form::cbuf, {{F::dst, pair + 1}, {F::cbuf_bank, 0}, {F::cbuf_offset, bank_offset + 4}, {F::lane_mask, 15}});
}

// Rows 0 and 1 of the compute stage's storage table in c[0] (guest ABI nvn), so that the passes bind both buffers.
constexpr uint32_t kInputEntry = 0x310, kOutputEntry = 0x320;
constexpr uint32_t kThreadShift = 13; // 8 KiB of inputs and of outputs for each thread

void prologue(Code& c) {
    c.add(Op::S2R, Form::none, {{F::dst, kThreadId}, {F::sreg, 33}});
    load_address(c, kIn, kInputEntry, kThreadShift);
    load_address(c, kOut, kOutputEntry, kThreadShift);
}

void load_registers(Code& c, uint32_t offset) {
    for (unsigned k = 0; k < kDataRegisters; k += 4)
        c.add(Op::LDG, Form::reg, {{F::dst, k}, {F::src_a, kIn}, {F::offset, offset + 4 * k}, {F::e, 1}, {F::mem_size, 6}});
}

// Predicates come from the input's first register, flags from a sum.
void set_predicates(Code& c) {
    c.add(Op::R2P, Form::imm, {{F::src_a, 0}, {F::imm, 0x7f}});
    c.add(Op::R2P, Form::imm, {{F::src_a, 1}, {F::imm, 0xf}, {F::p2r_cc, 1}});
}

void store_registers(Code& c, uint32_t offset) {
    for (unsigned k = 0; k < kDataRegisters; k += 4)
        c.add(Op::STG, Form::reg, {{F::src_a, kOut}, {F::src_b, k}, {F::offset, offset + 4 * k}, {F::e, 1}, {F::mem_size_st, 6}});
    c.add(Op::P2R, Form::imm, {{F::dst, kScratch}, {F::src_a, isa::kRz}, {F::imm, 0x7f}});
    c.add(Op::P2R, Form::imm, {{F::dst, kScratch + 1}, {F::src_a, isa::kRz}, {F::imm, 0xf}, {F::p2r_cc, 1}});
    c.add(Op::STG, Form::reg,
          {{F::src_a, kOut}, {F::src_b, kScratch}, {F::offset, offset + 4 * kDataRegisters}, {F::e, 1}, {F::mem_size_st, 5}});
}

// ---- graphs --------------------------------------------------------------------------------------------------------------

class FlowMaker {
  public:
    FlowMaker(Random& random, Generated& out) : r_(random), out_(out) {}

    void make() {
        prologue(c_);
        load_registers(c_, 0);
        set_predicates(c_);
        c_.add(Op::MOV, Form::reg, {{F::dst, kHash}, {F::src_b, isa::kRz}, {F::lane_mask, 15}});
        const unsigned functions = r_.below(3);
        for (unsigned k = 0; k < functions; ++k)
            functions_.push_back(c_.label());
        body(4);
        finish();
        // Functions lie behind the main program; a later one may be called by an earlier one.
        for (size_t k = 0; k < functions_.size(); ++k) {
            c_.place(functions_[k]);
            first_callable_ = k + 1;
            body(2);
            c_.pop(Op::RET);
        }
        for (auto& [label, tail] : tails_) {
            c_.place(label);
            finish();
        }
        out_.code = c_.bytes();
        for (const auto& [offset, labels] : tables_)
            for (size_t k = 0; k < labels.size(); ++k) {
                const uint32_t relative = c_.address(labels[k]) - table_base_[offset];
                std::memcpy(out_.constants.data() + offset + 4 * k, &relative, 4);
            }
        out_.cases = 1;
    }

  private:
    void finish() {
        c_.add(Op::MOV, Form::reg, {{F::dst, 0}, {F::src_b, kHash}, {F::lane_mask, 15}});
        store_registers(c_, 0);
        c_.pop(Op::EXIT);
    }

    // A mark of this place in the path's hash, and a little work on the data.
    void straight() {
        c_.add(Op::IMUL, Form::imm, {{F::dst, kHash}, {F::src_a, kHash}, {F::imm, 0x1f}});
        c_.add(Op::IADD32I, Form::imm32, {{F::dst, kHash}, {F::src_a, kHash}, {F::imm, ++mark_}});
        for (unsigned k = r_.below(3); k; --k)
            c_.add(Op::IADD, Form::reg, {{F::dst, r_.below(8)}, {F::src_a, r_.below(16)}, {F::src_b, r_.below(16)}});
        if (r_.one_in(2))
            c_.add(Op::LOP, Form::reg, {{F::dst, r_.below(8)}, {F::src_a, r_.below(16)}, {F::src_b, kHash}, {F::lop, 2}});
    }

    // A fresh predicate from data; sometimes negated.
    uint64_t condition() {
        const uint64_t p = r_.below(6);
        c_.add(Op::ISETP, Form::reg,
               {{F::dst_pred, p}, {F::src_a, r_.below(16)}, {F::src_b, r_.below(16)}, {F::int_cmp, 1 + r_.below(6)}, {F::is_signed, r_.below(2)}});
        return p | (r_.one_in(3) ? 8 : 0);
    }

    void body(unsigned depth) {
        for (unsigned n = 1 + r_.below(3); n; --n) {
            if (c_.position() > 500) {
                straight();
                return;
            }
            switch (depth ? r_.below(9) : 0) {
            case 1:
            case 2: branch(depth); break;
            case 3:
            case 4: loop(depth); break;
            case 5: table(depth); break;
            case 6: leave(); break;
            case 7:
                if (!functions_.empty() && first_callable_ < functions_.size())
                    c_.to(Op::CAL, functions_[first_callable_ + r_.below(static_cast<uint32_t>(functions_.size() - first_callable_))]);
                break;
            case 8: skip(depth); break;
            default: straight(); break;
            }
        }
    }

    // SSY, two sides that SYNC.
    void branch(unsigned depth) {
        const auto merge = c_.label(), other = c_.label();
        const uint64_t p = condition();
        c_.to(Op::SSY, merge);
        c_.to(Op::BRA, other, p);
        body(depth - 1);
        c_.pop(Op::SYNC);
        c_.place(other);
        if (r_.one_in(3))
            c_.pop(Op::SYNC, condition()); // out of the middle
        body(depth - 1);
        c_.pop(Op::SYNC);
        c_.place(merge);
        straight();
    }

    // A forward branch over code, with or without a stack entry.
    void skip(unsigned depth) {
        const auto past = c_.label();
        c_.to(Op::BRA, past, condition());
        body(depth - 1);
        c_.place(past);
        straight();
    }

    // PBK around a counted loop, PCNT inside it; several exits; sometimes a branch into its middle.
    void loop(unsigned depth) {
        const unsigned counter = kCounter + depth;
        const auto end = c_.label(), head = c_.label(), next = c_.label(), middle = c_.label();
        const bool with_break = !r_.one_in(4), with_continue = r_.one_in(2), into_middle = r_.one_in(5);
        c_.add(Op::MOV32I, Form::imm32, {{F::dst, counter}, {F::imm, 1 + r_.below(4)}, {F::lane_mask, 15}});
        if (with_break)
            c_.to(Op::PBK, end);
        if (into_middle && !with_continue)
            c_.to(Op::BRA, middle, condition());
        c_.place(head);
        if (with_continue)
            c_.to(Op::PCNT, next);
        straight();
        if (with_break && r_.one_in(2))
            c_.pop(Op::BRK, condition());
        body(depth - 1);
        if (with_continue && r_.one_in(2))
            c_.pop(Op::CONT, condition());
        c_.place(middle);
        if (with_break && r_.one_in(2))
            c_.pop(Op::BRK, condition());
        body(depth - 1);
        if (with_continue)
            c_.pop(Op::CONT);
        c_.place(next);
        straight();
        c_.add(Op::IADD32I, Form::imm32, {{F::dst, counter}, {F::src_a, counter}, {F::imm, 0xffffffff}});
        c_.add(Op::ISETP, Form::imm, {{F::dst_pred, 5}, {F::src_a, counter}, {F::imm, 0}, {F::int_cmp, 4}, {F::is_signed, 1}});
        c_.to(Op::BRA, head, 5);
        if (with_break)
            c_.pop(Op::BRK);
        c_.place(end);
        straight();
    }

    // BRX through a table in c[1], as compilers write it: a bounded index, a load, arms that SYNC.
    void table(unsigned depth) {
        const uint32_t arms = 2 + r_.below(4), offset = static_cast<uint32_t>(out_.constants.size());
        out_.constants.resize(offset + 4 * arms);
        const auto merge = c_.label();
        const unsigned index = kScratch;
        c_.add(Op::LOP32I, Form::imm32, {{F::dst, index}, {F::src_a, r_.below(8)}, {F::imm, 7}, {F::lop, 0}});
        c_.add(Op::IMNMX, Form::imm, {{F::dst, index}, {F::src_a, index}, {F::imm, arms - 1}, {F::src_pred, kPt}});
        c_.add(Op::SHL, Form::imm, {{F::dst, index}, {F::src_a, index}, {F::imm, 2}});
        c_.to(Op::SSY, merge);
        c_.add(Op::LDC, Form::cbuf_reg, {{F::dst, index}, {F::src_a, index}, {F::cbuf_offset, offset}, {F::cbuf_bank, 1}, {F::ldc_size, 4}});
        c_.add(Op::BRX, Form::reg, {{F::src_a, index}, {F::offset, 0}});
        table_base_[offset] = Code::pc_of(c_.position() - 1) + 8;
        c_.raw(0x50b0000000070f00); // NOP: a zero in a table is filler (T-122), so no arm begins right here
        std::vector<Code::Label> labels;
        for (uint32_t k = 0; k < arms; ++k) {
            labels.push_back(c_.label());
            c_.place(labels.back());
            body(depth - 1);
            c_.pop(Op::SYNC);
        }
        tables_.emplace_back(offset, labels);
        c_.place(merge);
        straight();
    }

    // Some threads end here, through a tail of their own.
    void leave() {
        const auto tail = c_.label();
        const uint64_t p = condition();
        if (!r_.one_in(3))
            return;
        c_.to(Op::BRA, tail, p);
        tails_.emplace_back(tail, 0);
    }

    Random& r_;
    Generated& out_;
    Code c_;
    std::vector<Code::Label> functions_;
    size_t first_callable_ = 0;
    uint32_t mark_ = 0;
    std::vector<std::pair<uint32_t, std::vector<Code::Label>>> tables_;
    std::map<uint32_t, uint32_t> table_base_;
    std::vector<std::pair<Code::Label, int>> tails_;
};

} // namespace

Generated random_sequences(Random& random, size_t sequences) {
    Generated out;
    Code c;
    prologue(c);
    const auto& rows = plain_rows();
    // Mnemonics are drawn evenly, then one of their rows: those with many forms are not preferred.
    static const std::vector<std::vector<const isa::Row*>> by_op = [&] {
        std::map<Op, std::vector<const isa::Row*>> map;
        for (const isa::Row* row : rows)
            map[row->op].push_back(row);
        std::vector<std::vector<const isa::Row*>> v;
        for (auto& [op, list] : map)
            v.push_back(list);
        return v;
    }();
    for (size_t k = 0; k < sequences; ++k) {
        load_registers(c, static_cast<uint32_t>(k) * kInputBytes);
        set_predicates(c);
        std::vector<uint32_t>& addresses = out.instructions.emplace_back();
        for (unsigned n = 3 + random.below(6); n; --n) {
            const auto& list = by_op[random.below(static_cast<uint32_t>(by_op.size()))];
            const uint64_t word = random_word(random, *list[random.below(static_cast<uint32_t>(list.size()))]);
            if (!word)
                continue;
            addresses.push_back(Code::pc_of(c.position()));
            c.raw(word);
        }
        store_registers(c, static_cast<uint32_t>(k) * kOutputBytes);
    }
    c.pop(Op::EXIT);
    out.code = c.bytes();
    out.cases = sequences;
    return out;
}

Generated random_flow(Random& random) {
    Generated out;
    FlowMaker(random, out).make();
    return out;
}

sim::Job generated_job(Random& random, const Generated& program, sim::Draw draw) {
    sim::Job job;
    job.kind = sim::draw_name(draw);
    job.block = {sim::kLanes, 1, 1};
    const uint32_t bytes = sim::kLanes << kThreadShift;
    const auto buffer = [&](uint64_t address) -> std::vector<uint8_t>& {
        job.memory.push_back({address, std::vector<uint8_t>(bytes)});
        return job.memory.back().bytes;
    };
    std::vector<uint8_t>& in = buffer(kInputAddress);
    for (uint32_t thread = 0; thread < sim::kLanes; ++thread)
        for (uint32_t k = 0; k < program.cases * kInputBytes; k += 4) {
            const uint32_t w = random.word(draw);
            std::memcpy(in.data() + (thread << kThreadShift) + k, &w, 4);
        }
    buffer(kOutputAddress);
    for (auto& bank : job.banks)
        bank.resize(0x800);
    for (uint32_t k = 0; k < 0x400; k += 4) {
        const uint32_t w = random.word(draw);
        std::memcpy(job.banks[3].data() + k, &w, 4);
    }
    for (const auto& [entry, address] : {std::pair(kInputEntry, kInputAddress), std::pair(kOutputEntry, kOutputAddress)}) {
        std::memcpy(job.banks[0].data() + entry, &address, 8);
        std::memcpy(job.banks[0].data() + entry + 8, &bytes, 4);
    }
    std::memcpy(job.banks[0].data() + guest_abi(GuestAbiId::nvn).y_direction, &job.y_direction, 4);
    job.banks[1] = program.constants;
    return job;
}

} // namespace dmsh::test
