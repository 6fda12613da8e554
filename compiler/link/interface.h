// What the interface says once a shader is whole: places in the Metal argument buffer, shared by AIR, MSL and
// the runtime.
#pragma once
#include "runtime/abi/interface.h"
#include "runtime/abi/result.h"

namespace dmsh {

// True for textures that come with a sampler of their own in the argument buffer (combined handles that are
// sampled).
bool has_combined_sampler(const Binding& binding);

// Gives every binding its [[id]]: ids count up from 0 in the order of ShaderInterface::bindings; an array
// takes `count` of them; a combined texture takes its textures' ids and then as many for its samplers; whole
// pools and buffers take one. The member with id n lies at byte 8 * n of the argument buffer. Returns the
// number of entries, or an error over kMaxArgumentEntries (B-024).
Result<uint32_t> assign_metal_ids(ShaderInterface& interface);

} // namespace dmsh
