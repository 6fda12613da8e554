# Writes a header with a digest of every source that can change an output's bytes (P-005): cmake -DROOT=... -DOUT=... -P this.
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/compiler/*.cpp ${ROOT}/compiler/*.h ${ROOT}/compiler/*.def ${ROOT}/runtime/abi/*
     ${ROOT}/runtime/pack/* ${ROOT}/archivers/nvn/* ${ROOT}/archivers/pack/*)
list(SORT sources)
set(all "")
foreach(source ${sources})
  file(SHA256 ${ROOT}/${source} digest)
  string(APPEND all "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 12 digest)
file(CONFIGURE OUTPUT ${OUT} CONTENT "// Digest of the sources that determine outputs.\n#pragma once\n#define DMSH_SOURCE_DIGEST \"${digest}\"\n")
