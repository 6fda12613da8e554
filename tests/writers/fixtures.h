// The registry of fixtures: one small whole file per format and form, which every hostile test attacks.
#pragma once
#include "tests/writers/writers.h"
#include <functional>

namespace dmsh::writers {

// A writer's smallest telling output. A new writer adds its fixtures to its family's list below; the tests in
// tests/archivers/hostile_test.cpp then cut, change, mutate and nest them.
struct Fixture {
    std::string name;
    Data data;
    size_t shaders = 0; // distinct ones that a scan finds in it
    // Files beside it, by path from the file's folder, for formats that lie in two files.
    std::vector<Member> siblings = {};
    // Truncated to fewer bytes than this, it may lose its shaders without a line: too little to be known as
    // its format.
    size_t silent_bytes = 0x80;
    // Bytes that a checksum covers: with any of them changed there must be an error line.
    std::vector<uint64_t> checked = {};
    // The same format around another file, if it is a container or a codec.
    std::function<Data(const Data&)> wrap = nullptr;
    // Name of the file, where the format goes by it.
    std::string file_name = "f";
};

std::vector<Fixture> core_fixtures();     // codecs' own files
std::vector<Fixture> nvn_fixtures();      // control sections, outputs, executables, packs
std::vector<Fixture> nintendo_fixtures(); // Nintendo's containers
std::vector<Fixture> misc_fixtures();     // general containers

// All of them, made once.
const std::vector<Fixture>& all_fixtures();

// A pair as small as they come, so that every byte can be tried.
Pair tiny_pair(Stage stage, uint32_t counter = 1);

} // namespace dmsh::writers
