// Profiles: facts about one title, in TOML, no code. Format: docs/profiles.md.
#pragma once
#include "compiler/lift/shader_module.h"
#include "runtime/abi/driver_segments.h"
#include "runtime/abi/program_key.h"
#include "runtime/abi/result.h"
#include <map>
#include <string>
#include <vector>

namespace dmsh {

// Facts of one shader, by its key.
struct ShaderFacts {
    std::vector<ResourceFact> resources;
    std::vector<std::pair<uint8_t, Numeric>> vertex_inputs;
    std::vector<std::pair<uint8_t, Numeric>> colour_outputs;
};

struct Profile {
    std::string title;
    KeySkip key_skip; // S-006
    GuestAbiId abi = GuestAbiId::nvn;
    // Origins that begin with a prefix use another guest ABI; the longest prefix wins.
    std::vector<std::pair<std::string, GuestAbiId>> abi_by_prefix;
    std::map<uint64_t, ShaderFacts> facts;

    const GuestAbi& abi_for(std::string_view origin) const;
    const ShaderFacts* facts_for(uint64_t key) const;
    // Digest of everything here that can change an output; part of the build stamp.
    uint64_t digest() const;
};

// Reads a profile. Unknown keys, wrong types and unknown names are errors that name file, line and key.
Result<Profile> load_profile(const std::string& path);
Result<Profile> parse_profile(std::string_view text, const std::string& origin);

} // namespace dmsh
