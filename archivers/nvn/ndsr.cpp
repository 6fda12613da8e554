// Reads NDSR packs, also those inside Viper's resources. Facts: reference/containers/nintendo.md, section 17.
#include "archivers/nvn/ndsr.h"
#include "archivers/nvn/check_stage.h"
#include "archivers/nvn/readers.h"
#include "archivers/nvn/search.h"

namespace dmsh {
namespace {

constexpr uint64_t kRecord = 8;
constexpr uint64_t kStarts[] = {0x10, 0x14}; // of the records; the headers of two SDKs differ by a word
constexpr uint64_t kSample = 16;             // records that decide between the readings

struct Reading {
    uint64_t start = 0; // of the records, in the blob
    uint64_t base = 0;  // what offsets count from
};

bool is_nvn2_control(Bytes b, uint64_t at) {
    return b.u32(at) == kControlMagic && b.u32(at + 4) == kNvn2Major;
}

std::optional<Reading> choose_reading(Bytes b, uint64_t magic) {
    std::optional<Reading> best;
    uint64_t most = 0;
    for (const uint64_t base : {magic, uint64_t{0}})
        for (const uint64_t start : kStarts) {
            uint64_t hits = 0;
            for (uint64_t i = 0; i < kSample; ++i) {
                const NdsrRecord r = read_ndsr_record(b, magic + start + i * kRecord);
                hits += r.is_control() && is_nvn2_control(b, base + r.offset);
            }
            if (hits > most) {
                most = hits;
                best = Reading{magic + start, base};
            }
        }
    return best;
}

bool probe_ndsr(Bytes b) {
    return b.u32(0) == kNdsrMagic;
}

Result<void> read_file(const Blob& in, Output& out) {
    const auto programs = read_ndsr(in, 0, out);
    if (!programs)
        return programs.error();
    if (!*programs)
        return Error{"NDSR pack: its records lead to no control section"};
    return {};
}

bool probe_vipr(Bytes b) {
    return b.starts_with("VIPR");
}

// A resource wraps files of any kind; of shaders, whole packs.
Result<void> read_vipr(const Blob& in, Output& out) {
    uint64_t programs = 0;
    for (auto at = in.bytes.find_u32(kNdsrMagic, 0); at; at = in.bytes.find_u32(kNdsrMagic, *at + 4)) {
        const auto found = read_ndsr(in, *at, out);
        if (!found)
            return found.error();
        programs += *found;
    }
    return programs ? Result<void>() : search(in, Place::data, out);
}

} // namespace

NdsrRecord read_ndsr_record(Bytes b, uint64_t at) {
    const uint32_t word = b.u32(at + 4);
    return {b.u32(at), word >> 4, word & 15};
}

Result<uint64_t> read_ndsr(const Blob& in, uint64_t magic, Output& out) {
    const Bytes b = in.bytes;
    const auto reading = choose_reading(b, magic);
    if (!reading)
        return uint64_t{0};
    // The number of records is not known: the list ends where the first of its data begins.
    uint64_t end = b.size(), programs = 0, given = 0;
    for (uint64_t i = 0;; ++i) {
        const uint64_t at = reading->start + i * kRecord;
        if (at + kRecord > end)
            break;
        const NdsrRecord r = read_ndsr_record(b, at);
        if (r.length && reading->base + r.offset >= at + kRecord)
            end = std::min(end, reading->base + r.offset);
        if (!r.is_control() || !r.length || at + 2 * kRecord > end)
            continue;
        // Any entry may hold a program; the one behind a control section is its code (never step by two).
        const NdsrRecord c = read_ndsr_record(b, at + kRecord);
        if (!c.is_code())
            continue;
        ++programs;
        const std::string name = "NDSR entry " + std::to_string(i);
        const auto control = in.slice(reading->base + r.offset, r.length);
        const auto code = in.slice(reading->base + c.offset, c.length);
        if (!control || !code) {
            out.fail("", {name + " leaves the pack", {}, at});
            continue;
        }
        given += r.length + c.length;
        if (given > kBudgetFactor * b.size())
            return Error{"NDSR pack: its entries add up to more than 16 times the file", {}, magic};
        auto shader = check_stage(*control, *code, Stage::compute);
        if (!shader) {
            out.fail("", {name + ": " + shader.error().message, {}, at});
            continue;
        }
        shader->offset = reading->base + r.offset;
        shader->label = "entry " + std::to_string(i);
        if (const auto ok = out.shader(*std::move(shader)); !ok)
            return ok.error();
    }
    return programs;
}

constexpr Reader kNdsrReader = {
    "ndsr",
    probe_ndsr,
    read_file,
    {"NDSR pack (`agl_ndsr.pck`)", "`NDSR`", "archivers/nvn/ndsr.cpp",
     "both record starts, offsets from the magic or the file's start, programs on odd entries",
     "header words, the number of records, what constant entries are for"}};
constexpr Reader kViprReader = {"vipr",
                                probe_vipr,
                                read_vipr,
                                {"Viper resource", "`VIPR`", "archivers/nvn/ndsr.cpp",
                                 "NDSR packs inside, found by their magic",
                                 "everything else of the resource"}};

} // namespace dmsh
