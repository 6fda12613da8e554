// The options that say which shader is meant, shared by shader, verify and run.
#pragma once
#include "compiler/build/shader_source.h"
#include <CLI/CLI.hpp>

namespace dmsh::cli {

inline void add_source_options(CLI::App& cmd, ShaderSource& s) {
    cmd.add_option("--key", s.key, "Which shader of FILE, 16 hexadecimal digits");
    cmd.add_option("--stage", s.stage,
                   "Which stage of FILE (with --raw: the code's stage): vertex, tess_control, tess_evaluation, geometry, fragment, compute");
    cmd.add_option("--abi", s.abi, "Guest ABI: nvn (default), cuda, nvk, headsurface");
    auto* raw = cmd.add_flag("--raw", s.raw, "FILE is code: the SPH first for graphics, the first instruction group for compute");
    cmd.add_option("--arch", s.arch, "sm53 (default) or sm86")->needs(raw);
    cmd.add_option("--c1", s.constants, "Embedded constants c[1] (cuda: c[2])")->needs(raw);
    cmd.add_option("--local-size", s.local_size, "Workgroup size X,Y,Z")->delimiter(',')->expected(1, 3)->needs(raw);
    cmd.add_option("--shared", s.shared_bytes, "Shared memory bytes of the workgroup")->needs(raw);
    cmd.add_option("--local", s.local_bytes, "Scratch bytes of a thread (compute; graphics code says it in its header)")->needs(raw);
}

} // namespace dmsh::cli
