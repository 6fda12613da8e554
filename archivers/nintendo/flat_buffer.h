// FlatTable: FlatBuffers' tables read with every offset checked; for formats without a schema of ours.
#pragma once
#include "archivers/core/bytes.h"
#include "runtime/abi/result.h"

namespace dmsh {

// A vector's place in its buffer.
struct FlatVector {
    uint64_t begin = 0, count = 0;
};

// Views the buffer. Offsets count from its start. A field that is absent reads as 0, as FlatBuffers has it.
class FlatTable {
  public:
    // The buffer's root table.
    static Result<FlatTable> root(Bytes buffer) { return at(buffer, buffer.u32(0)); }

    static Result<FlatTable> at(Bytes buffer, uint64_t table) {
        FlatTable t;
        const int64_t vtable = static_cast<int64_t>(table) - static_cast<int32_t>(buffer.u32(table));
        if (!buffer.has(table, 4) || vtable < 0 || !buffer.has(static_cast<uint64_t>(vtable), 4))
            return Error{"FlatBuffer: a table leaves the buffer"};
        t.buffer_ = buffer;
        t.table_ = table;
        t.vtable_ = static_cast<uint64_t>(vtable);
        const uint64_t vtable_bytes = buffer.u16(t.vtable_), table_bytes = buffer.u16(t.vtable_ + 2);
        if (vtable_bytes < 4 || !buffer.has(t.vtable_, vtable_bytes) || !buffer.has(table, table_bytes))
            return Error{"FlatBuffer: a table leaves the buffer"};
        t.fields_ = (vtable_bytes - 4) / 2;
        t.bytes_ = table_bytes;
        return t;
    }

    uint8_t u8(unsigned field) const { return buffer_.u8(place(field, 1)); }
    uint64_t u64(unsigned field) const { return buffer_.u64(place(field, 8)); }

    // Elements of `element_bytes` each; an absent vector is empty.
    Result<FlatVector> vector(unsigned field, uint64_t element_bytes) const {
        const uint64_t from = place(field, 4);
        if (from == kAbsent)
            return FlatVector{};
        const uint64_t begin = from + buffer_.u32(from) + 4, count = buffer_.u32(begin - 4);
        if (!buffer_.has(begin, 0) || count > (buffer_.size() - begin) / element_bytes)
            return Error{"FlatBuffer: a vector leaves the buffer"};
        return FlatVector{begin, count};
    }
    // Element of a vector of tables, or of strings (its characters).
    static Result<FlatTable> table(Bytes buffer, const FlatVector& v, uint64_t i) {
        const uint64_t from = v.begin + 4 * i;
        return at(buffer, from + buffer.u32(from));
    }
    static std::optional<Bytes> text(Bytes buffer, const FlatVector& v, uint64_t i) {
        const uint64_t from = v.begin + 4 * i, at = from + buffer.u32(from);
        return buffer.has(at, 4) ? buffer.slice(at + 4, buffer.u32(at)) : std::nullopt;
    }

  private:
    static constexpr uint64_t kAbsent = ~uint64_t{0};

    uint64_t place(unsigned field, uint64_t bytes) const {
        const uint64_t offset = field < fields_ ? buffer_.u16(vtable_ + 4 + 2 * field) : 0;
        return offset && offset + bytes <= bytes_ ? table_ + offset : kAbsent;
    }

    Bytes buffer_;
    uint64_t table_ = 0, vtable_ = 0;
    uint64_t fields_ = 0, bytes_ = 0;
};

} // namespace dmsh
