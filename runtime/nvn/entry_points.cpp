// Builds the entry point table from entry_points.def.
#include "runtime/nvn/entry_points.h"
#include "runtime/nvn/report.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

namespace dmsh::nvn {
namespace {

constexpr const char* kStubNames[] = {
#define NVN_REAL(name)
#define NVN_STUB(name) #name,
#include "runtime/nvn/entry_points.def"
#undef NVN_REAL
#undef NVN_STUB
};
constexpr size_t kStubCount = std::size(kStubNames);

std::array<std::atomic<bool>, kStubCount> g_called;

// Answers 0 for whatever the real function returns. Callers pass any arguments: the calling conventions of
// the guest's machine and of the hosts leave cleaning up to the caller.
template <size_t Index>
uint64_t stub() {
    if (!g_called[Index].exchange(true, std::memory_order_relaxed))
        report(Report::stub_called, "%s", kStubNames[Index]);
    return 0;
}

template <size_t... Index>
constexpr auto stub_functions(std::index_sequence<Index...>) {
    return std::array<uint64_t (*)(), sizeof...(Index)>{&stub<Index>...};
}

template <class F>
PFNNVNGENERICFUNCPTRPROC generic(F* function) {
    return reinterpret_cast<PFNNVNGENERICFUNCPTRPROC>(function);
}

constexpr size_t kCount = 0
#define NVN_REAL(name) +1
#define NVN_STUB(name) +1
#include "runtime/nvn/entry_points.def"
#undef NVN_REAL
#undef NVN_STUB
    ;

std::array<EntryPoint, kCount> build() {
    constexpr auto stubs = stub_functions(std::make_index_sequence<kStubCount>());
    std::array<EntryPoint, kCount> table;
    size_t n = 0, s = 0;
#define NVN_REAL(name) table[n++] = {#name, generic(&::name), true};
#define NVN_STUB(name) table[n++] = {#name, generic(stubs[s++]), false};
#include "runtime/nvn/entry_points.def"
#undef NVN_REAL
#undef NVN_STUB
    std::sort(table.begin(), table.end(),
              [](const EntryPoint& a, const EntryPoint& b) { return std::strcmp(a.name, b.name) < 0; });
    return table;
}

const std::array<EntryPoint, kCount>& table() {
    static const std::array<EntryPoint, kCount> t = build();
    return t;
}

} // namespace

std::span<const EntryPoint> entry_points() {
    return table();
}

PFNNVNGENERICFUNCPTRPROC find_entry_point(const char* name) {
    if (!name)
        return nullptr;
    const auto& t = table();
    const auto it = std::lower_bound(t.begin(), t.end(), name, [](const EntryPoint& e, const char* n) {
        return std::strcmp(e.name, n) < 0;
    });
    if (it != t.end() && std::strcmp(it->name, name) == 0)
        return it->function;
    report(Report::unknown_name, "%.100s", name);
    return nullptr;
}

} // namespace dmsh::nvn
