// Assembler and decoder agree on every row, and no word makes the decoder or the disassembler fail.
#include <random>

#include <gtest/gtest.h>

#include "compiler/isa/isa.h"

namespace dmsh::isa {
namespace {

// A word of the row with random fields that have a meaning.
std::optional<Word> random_word(const Row& row, std::mt19937_64& random,
                                std::vector<std::pair<F, uint64_t>>& fields) {
    fields.clear();
    for (const FieldPlace& place : row.fields) {
        if (place.pieces[0].width == 0)
            continue;
        Word bits{random(), random()};
        Instruction sample{&row, (bits.lo & ~row.mask_lo) | row.match_lo,
                           (bits.hi & ~row.mask_hi) | row.match_hi, 0, 0};
        fields.emplace_back(place.field, sample.get(place.field));
    }
    // FFMA32I and the like read the destination as third source; it can only have one value.
    for (auto& [field, value] : fields)
        if (field == F::src_c && row.fields[row.index[size_t(F::src_c)] - 1].pieces[0].lo == 0 &&
            row.arch == Arch::sm_53)
            for (auto& [other, destination] : fields)
                if (other == F::dst)
                    value = destination;
    return assemble(row, fields);
}

void round_trip(std::span<const Row> rows) {
    std::mt19937_64 random(1);
    std::vector<std::pair<F, uint64_t>> fields;
    for (const Row& row : rows) {
        size_t decoded = 0;
        for (int i = 0; i < 2000 && decoded < 50; ++i) {
            std::optional<Word> word = random_word(row, random, fields);
            if (!word)
                continue;
            std::optional<Instruction> back = decode(row.arch, word->lo, word->hi, 64);
            if (!back)
                continue; // a field value without meaning
            if (back->row != &row)
                continue; // values that belong to a more special row
            ++decoded;
            EXPECT_EQ(back->op(), row.op) << row.pattern;
            for (const auto& [field, value] : fields)
                EXPECT_EQ(back->get(field), value)
                    << op_name(row.op) << " " << row.pattern << " " << field_name(field);
            EXPECT_FALSE(disassemble(*back).empty());
        }
        EXPECT_GT(decoded, 0u) << op_name(row.op) << " " << row.pattern;
        // The neutral word of a row exists and decodes; where it needs a choice, some word did above.
        EXPECT_TRUE(assemble(row, {})) << op_name(row.op);
    }
}

TEST(MaxwellAssembler, RoundTripOverAllRows) {
    round_trip(maxwell_rows());
}

TEST(AmpereAssembler, RoundTripOverAllRows) {
    round_trip(ampere_rows());
}

TEST(MaxwellAssembler, ByNameGivesKnownWords) {
    std::optional<Word> word =
        assemble(Arch::sm_53, Op::MOV, Form::cbuf, {{F::dst, 1}, {F::cbuf_offset, 0x20}, {F::lane_mask, 15}});
    ASSERT_TRUE(word);
    EXPECT_EQ(word->lo, 0x4c98078000870001u);
    word = assemble(Arch::sm_53, Op::EXIT, Form::none, {});
    ASSERT_TRUE(word);
    EXPECT_EQ(word->lo, 0xe30000000007000fu);
    EXPECT_FALSE(assemble(Arch::sm_53, Op::EXIT, Form::none, {{F::dst, 1}}));
    EXPECT_FALSE(assemble(Arch::sm_53, Op::MOV, Form::reg, {{F::dst, 256}}));
}

TEST(MaxwellDecode, RandomWordsNeverFail) {
    std::mt19937_64 random(2);
    size_t decoded = 0;
    for (int i = 0; i < 300000; ++i) {
        uint64_t word = random();
        if (std::optional<Instruction> instruction = decode(Arch::sm_53, word, 0, uint32_t(random()), true)) {
            ++decoded;
            EXPECT_FALSE(disassemble(*instruction).empty());
            (void)instruction->target();
            (void)instruction->next_pc();
            for (size_t f = 0; f < kFieldCount; ++f)
                (void)instruction->get_signed(F(f));
        }
    }
    EXPECT_GT(decoded, 1000u);
    // All opcodes with all-zero and all-one fields.
    for (uint64_t high = 0; high < 65536; ++high)
        for (uint64_t low :
             {uint64_t(0), ~uint64_t(0) >> 16, uint64_t(0x7f800ff7ffff), uint64_t(0x040000670402)}) {
            std::optional<Instruction> instruction = decode(Arch::sm_53, high << 48 | low, 0, 8, true);
            if (!instruction)
                continue;
            EXPECT_EQ(disassemble(*instruction).find('<'), std::string::npos);
        }
}

} // namespace
} // namespace dmsh::isa
