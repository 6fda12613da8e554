// Pages of docs/ that are made from tables: formats, losses, intrinsics, ISA coverage.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace dmsh {

// File name and content of each generated page.
std::vector<std::pair<std::string, std::string>> generated_docs();

// Writes them to `folder`; answers an exit code.
int write_generated_docs(const std::string& folder);

} // namespace dmsh
