// Outputs of a build for people and scripts: build.json, shader_map.tsv, shader_pairs.tsv, the summary.
#pragma once
#include "compiler/build/library_build.h"
#include <string>

namespace dmsh {

std::string build_json(const BuildOptions& options, const BuildResult& result);
std::string shader_map_tsv(const BuildResult& result);
std::string shader_pairs_tsv(const BuildResult& result);
// What engines only list, and covers of stages that stand alone (L-002, L-004).
std::string pso_pairs_tsv(const BuildResult& result);
// What is printed at the end: counts, losses by code, files, rate.
std::string build_summary(const BuildOptions& options, const BuildResult& result);

} // namespace dmsh
