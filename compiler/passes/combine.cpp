// Puts products together again that 16-bit multiplications were made of.
#include "compiler/passes/combine.h"
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <optional>

namespace dmsh {
namespace {

using namespace llvm::PatternMatch;
using llvm::Value;

constexpr uint64_t kLow = 0xffff;

// XMAD.MRG: (low & 0xffff) | high << 16.
bool is_merged(Value* v, Value*& low, Value*& high) {
    return match(v, m_c_Or(m_And(m_Value(low), m_SpecificInt(kLow)), m_Shl(m_Value(high), m_SpecificInt(16))));
}

// One half of a factor: the whole that it is of, and which half. Of a constant below 2^16 the low half is the constant.
struct Half {
    Value* whole = nullptr;
    std::optional<uint32_t> constant;
    bool high = false;
};
Half half_of(Value* v) {
    Half h;
    if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v); c && c->getValue().getActiveBits() <= 16)
        h.constant = static_cast<uint32_t>(c->getZExtValue());
    else if (match(v, m_And(m_Value(h.whole), m_SpecificInt(kLow))))
        h.high = false;
    else if (match(v, m_LShr(m_Value(h.whole), m_SpecificInt(16))))
        h.high = true;
    else
        h.whole = nullptr;
    return h;
}

// A term of the sum: x * y, or x * y << 16.
struct Term {
    Value* value;
    Half x, y;
    bool product = false, shifted = false;
};
Term term_of(Value* v) {
    Term t{v, {}, {}, false, false};
    Value *p = v, *x, *y;
    t.shifted = match(v, m_Shl(m_Value(p), m_SpecificInt(16)));
    if (!match(p, m_Mul(m_Value(x), m_Value(y))))
        return t;
    t.x = half_of(x);
    t.y = half_of(y);
    t.product = (t.x.whole || t.x.constant) && (t.y.whole || t.y.constant);
    return t;
}

bool is_low(const Half& h, const Value* whole) { return h.whole == whole && !h.high; }
bool is_high(const Half& h, const Value* whole) { return h.whole == whole && h.high; }
// x * y in either order.
template <class P, class Q> bool pair(const Term& t, P p, Q q) { return (p(t.x) && q(t.y)) || (p(t.y) && q(t.x)); }

Value* product(llvm::Instruction& sum) {
    // The sum's terms, through additions that nothing else reads.
    llvm::SmallVector<Term, 8> terms;
    llvm::SmallVector<Value*, 8> work{&sum};
    while (!work.empty()) {
        Value* v = work.pop_back_val();
        Value *a, *b;
        if ((v == &sum || v->hasOneUse()) && terms.size() + work.size() < 6 && match(v, m_Add(m_Value(a), m_Value(b)))) {
            work.push_back(a);
            work.push_back(b);
        } else {
            terms.push_back(term_of(v));
        }
    }
    for (size_t i = 0; i < terms.size(); ++i) {
        const Term& low = terms[i];
        if (!low.product || low.shifted)
            continue;
        for (const auto& [x, y] : {std::pair{low.x, low.y}, std::pair{low.y, low.x}}) {
            if (!x.whole || x.high || (y.whole && y.high))
                continue;
            const auto& fx = x;
            const auto& fy = y;
            size_t cross = terms.size(), other = terms.size();
            for (size_t k = 0; k < terms.size(); ++k) {
                if (!terms[k].product || !terms[k].shifted)
                    continue;
                if (pair(terms[k], [&fx = fx](const Half& h) { return is_high(h, fx.whole); },
                         [&fy = fy](const Half& h) { return fy.whole ? is_low(h, fy.whole) : h.constant == fy.constant; }))
                    cross = k;
                else if (fy.whole && pair(terms[k], [&fx = fx](const Half& h) { return is_low(h, fx.whole); },
                                          [&fy = fy](const Half& h) { return is_high(h, fy.whole); }))
                    other = k;
            }
            if (cross == terms.size() || (fy.whole && other == terms.size()))
                continue;
            llvm::IRBuilder<> b(&sum);
            Value* r = b.CreateMul(fx.whole, fy.whole ? fy.whole : llvm::ConstantInt::get(sum.getType(), *fy.constant));
            for (size_t k = 0; k < terms.size(); ++k)
                if (k != i && k != cross && k != other)
                    r = b.CreateAdd(r, terms[k].value);
            return r;
        }
    }
    return nullptr;
}

} // namespace

Value* combined(llvm::Instruction& inst) {
    if (!inst.getType()->isIntegerTy(32))
        return nullptr;
    Value *low, *high;
    switch (inst.getOpcode()) {
    case llvm::Instruction::LShr:
        if (match(inst.getOperand(1), m_SpecificInt(16)) && is_merged(inst.getOperand(0), low, high))
            return llvm::IRBuilder<>(&inst).CreateAnd(high, kLow);
        return nullptr;
    case llvm::Instruction::Shl:
        if (!match(inst.getOperand(1), m_SpecificInt(16)))
            return nullptr;
        if (is_merged(inst.getOperand(0), low, high) || match(inst.getOperand(0), m_And(m_Value(low), m_SpecificInt(kLow))))
            return llvm::IRBuilder<>(&inst).CreateShl(low, 16);
        return nullptr;
    case llvm::Instruction::And:
        if (match(inst.getOperand(1), m_SpecificInt(kLow)) && is_merged(inst.getOperand(0), low, high))
            return llvm::IRBuilder<>(&inst).CreateAnd(low, kLow);
        return nullptr;
    case llvm::Instruction::Add: return product(inst);
    default: return nullptr;
    }
}

} // namespace dmsh
