// The parsed encoding tables, shared by decoder, disassembler and assembler.
#pragma once
#include <deque>

#include "compiler/isa/isa.h"

namespace dmsh::isa {

struct FieldInfo {
    std::string_view name;
    uint8_t width;
    std::vector<std::string_view> values; // names by value; empty = plain number
    std::string_view doc;

    // A value without meaning ('?' in the list, or behind its end); numbers always have one.
    bool meaningless(uint64_t value) const {
        return !values.empty() && (value >= values.size() || values[value] == "?");
    }
};

struct Tables {
    std::vector<FieldInfo> fields;
    std::vector<Row> maxwell, ampere;
    std::deque<std::string> patterns; // texts that rows point to
    std::vector<std::string> faults;
};

const Tables& tables();
const FieldInfo& field_info(F field);

// Value of a field placed in a row; the row's constant where it has no bits.
uint64_t extract(const FieldPlace& place, uint64_t lo, uint64_t hi);
// Sets the bits of a field; false if the value does not fit.
bool insert(const FieldPlace& place, uint64_t value, uint64_t& lo, uint64_t& hi);

} // namespace dmsh::isa
