// A job for one AIR function, from JSON: buffers, textures, samplers and what its invocations are given (docs/verify.md).
#pragma once
#include "compiler/sim/air/executor.h"

namespace dmsh::sim {

struct AirJob {
    struct Buffer {
        std::vector<uint8_t> bytes;
        std::string out; // file that receives the bytes after the run; empty: none
    };
    std::map<uint32_t, Buffer> buffers;   // by slot
    std::map<std::string, Buffer> memory; // by name: what pointers in buffers lead to
    std::map<uint32_t, Texture> textures;
    std::map<uint32_t, std::string> texture_outputs; // by slot: file that receives level 0
    std::map<uint32_t, Sampler> samplers;
    AirConstants constants;
    AirLaunch launch;                     // views the job, which must stay in place
    std::shared_ptr<AirStageInputs> inputs;
};

// Files are read and written relative to `folder`. An error names the key.
Result<std::unique_ptr<AirJob>> read_air_job(std::string_view json, const std::string& folder);
// Buffers, and what the invocations returned, as JSON text.
std::string air_results(const AirJob& job, const AirMachine& machine);

} // namespace dmsh::sim
