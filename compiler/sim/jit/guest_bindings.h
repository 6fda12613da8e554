// Where the bindings of a translated shader lie in the guest's constant banks and memory, for machines that run it on a launch.
#pragma once
#include "runtime/abi/driver_segments.h"
#include "runtime/abi/interface.h"
#include <functional>
#include <optional>

namespace dmsh::sim {

// The word at a byte offset of a constant bank.
using BankReader = std::function<uint32_t(uint32_t bank, uint32_t offset)>;

// The constant bank that the binding is, or nothing for other kinds.
std::optional<uint32_t> bound_bank(const Binding& binding, const GuestAbi& abi);
// The guest address that the binding's storage begins at, or nothing for other kinds.
std::optional<uint64_t> bound_storage(const Binding& binding, const GuestAbi& abi, Stage stage, const BankReader& bank);
// The handle word that element `element` of the binding stands for, or nothing for other kinds.
std::optional<uint32_t> bound_handle(const Binding& binding, const GuestAbi& abi, uint32_t element, const BankReader& bank);

} // namespace dmsh::sim
