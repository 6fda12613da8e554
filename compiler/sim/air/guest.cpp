// Argument buffers and stage inputs of a guest's launch.
#include "compiler/sim/air/guest.h"
#include "compiler/emit/air/air_emitter.h"
#include "compiler/emit/air/air_lowering.h"
#include "compiler/link/interface.h"
#include "compiler/sim/air/program.h"
#include "compiler/sim/jit/guest_bindings.h"
#include "compiler/sim/texture/texture_set.h"
#include "runtime/abi/entry_points.h"
#include <bit>
#include <charconv>
#include <cstring>
#include <fmt/format.h>

namespace dmsh::sim {
namespace {

constexpr uint32_t kBankBytes = 64 * 1024; // reads past a bank's end are zeros

// "user(locn12)" as 12.
std::optional<uint32_t> location_of(const std::string& link) {
    constexpr std::string_view kHead = "user(locn";
    uint32_t n = 0;
    if (!link.starts_with(kHead) || std::from_chars(link.data() + kHead.size(), link.data() + link.size(), n).ec != std::errc())
        return std::nullopt;
    return n;
}

// a[] address of a location: the interface says nothing of fixed-function values, which share locations; they are written where they are.
uint32_t address_of(uint32_t location) { return attribute::address_of(location); }

class Inputs : public AirStageInputs {
  public:
    Inputs(const Graphics& g, uint32_t base_instance) : g_(g), base_instance_(base_instance) {}
    bool helper(uint32_t i) const override { return g_.invocations[i].helper; }
    std::array<uint32_t, 4> input(const AirParameter& p, uint32_t i, AirPlace place, std::array<int32_t, 2> where) const override {
        const Invocation& v = g_.invocations[i];
        const auto word = [&](uint32_t address) {
            if (g_.stage != Stage::fragment)
                return v.in[0][address / 4];
            if (p.flat)
                return v.in[0][address / 4];
            // Offsets count 1/16 pixel here and 1/4096 there.
            const uint32_t shift = static_cast<uint32_t>(where[0] * 256 & 0xffff) | static_cast<uint32_t>(where[1] * 256) << 16;
            return interpolate(v, address, place == AirPlace::centroid ? 1 : place == AirPlace::offset ? 2 : 0, shift);
        };
        const auto four = [&](uint32_t address) { return std::array<uint32_t, 4>{word(address), word(address + 4), word(address + 8), word(address + 12)}; };
        const auto one = [](uint32_t w) { return std::array<uint32_t, 4>{w, 0, 0, 0}; };
        if (p.kind == "vertex_input")
            return four(address_of(p.location));
        if (p.kind == "fragment_input")
            return four(address_of(location_of(p.link).value_or(0)));
        if (p.kind == "position")
            return four(attribute::kPosition);
        if (p.kind == "front_facing")
            return one(v.in[0][attribute::kFrontFacing / 4] != 0);
        if (p.kind == "point_coord")
            return {word(attribute::kPointCoord), word(attribute::kPointCoord + 4), 0, 0};
        if (p.kind == "sample_id")
            return one(v.sample_id);
        if (p.kind == "primitive_id")
            return one(v.in[0][attribute::kPrimitiveId / 4]);
        if (p.kind == "render_target_array_index")
            return one(v.in[0][attribute::kLayer / 4]);
        if (p.kind == "viewport_array_index")
            return one(v.in[0][attribute::kViewport / 4]);
        if (p.kind == "vertex_id")
            return one(v.in[0][attribute::kVertexId / 4]);
        if (p.kind == "instance_id") // Metal counts from the base instance, the guest from zero
            return one(v.in[0][attribute::kInstanceId / 4] + base_instance_);
        if (p.kind == "base_instance")
            return one(base_instance_);
        air_fault("an input of kind " + p.kind);
        return {};
    }

  private:
    const Graphics& g_;
    uint32_t base_instance_;
};

void take_results(Graphics& g, const AirMachine& machine) {
    for (size_t i = 0; i < g.invocations.size(); ++i) {
        Invocation& v = g.invocations[i];
        const AirResult& r = machine.results[i];
        v.killed |= r.discarded;
        for (const AirOutput& o : machine.outputs()) {
            const auto word = [&](uint32_t k) {
                uint32_t w = 0;
                std::memcpy(&w, r.bytes.data() + o.offset + size_t{4} * k, 4);
                return w;
            };
            const auto put = [&](uint32_t address) {
                for (uint32_t k = 0; k < o.type.count; ++k) {
                    v.out[address / 4 + k] = word(k);
                    v.written[address / 4 + k] = true;
                }
            };
            if (o.kind == "position")
                put(attribute::kPosition);
            else if (o.kind == "vertex_output")
                put(address_of(location_of(o.link).value_or(0)));
            else if (o.kind == "point_size")
                put(attribute::kPointSize);
            else if (o.kind == "clip_distance")
                put(attribute::kClipDistance);
            else if (o.kind == "render_target_array_index")
                put(attribute::kLayer);
            else if (o.kind == "viewport_array_index")
                put(attribute::kViewport);
            else if (o.kind == "render_target")
                for (uint32_t k = 0; k < o.type.count; ++k) {
                    v.colour[4 * (o.location & 7) + k] = word(k);
                    v.colours_written |= 1u << (4 * (o.location & 7) + k);
                }
            else if (o.kind == "depth")
                v.depth = word(0);
            else if (o.kind == "sample_mask")
                v.mask = word(0);
        }
    }
}

} // namespace

uint32_t metal_position_z(uint32_t z, uint32_t w) {
    return std::bit_cast<uint32_t>((std::bit_cast<float>(z) + std::bit_cast<float>(w)) * 0.5f);
}

Result<AirGuest> AirGuest::compile(const ShaderModule& shader, Target target) {
    auto f = emit_air(shader, target);
    if (!f)
        return f.error();
    auto machine = AirMachine::load(f->bitcode, f->name);
    if (!machine)
        return machine.error();
    ShaderInterface interface = shader.interface;
    if (auto r = assign_metal_ids(interface); !r)
        return r.error();
    return AirGuest(std::move(*machine), std::move(interface), shader.input.abi ? *shader.input.abi : guest_abi(GuestAbiId::nvn));
}

Result<void> AirGuest::run(const Launch& launch) {
    TextureSet made_up; // for launches that bring none
    TextureSet& textures = launch.textures ? *launch.textures : made_up;
    const auto bank_word = [&](uint32_t bank, uint32_t offset) {
        uint32_t w = 0;
        if (bank < launch.banks.size() && uint64_t{offset} + 4 <= launch.banks[bank].size())
            std::memcpy(&w, launch.banks[bank].data() + offset, 4);
        return w;
    };
    AirLaunch air;
    std::map<uint32_t, std::vector<uint8_t>> banks;
    std::vector<uint64_t> arguments;
    const auto put = [&](uint32_t id, const void* p) {
        if (arguments.size() <= id)
            arguments.resize(id + 1);
        arguments[id] = reinterpret_cast<uintptr_t>(p);
    };
    // A place of guest memory; null where nothing lies.
    const auto memory = [&](uint64_t address) -> uint8_t* {
        for (const GlobalRange& r : launch.global)
            if (address >= r.address && address - r.address < r.bytes.size())
                return r.bytes.data() + (address - r.address);
        return nullptr;
    };
    for (const GlobalRange& r : launch.global)
        air.reachable.push_back(r.bytes);
    for (const Binding& b : interface_.bindings) {
        if (const auto bank = bound_bank(b, *abi_)) {
            auto& bytes = banks[*bank];
            if (bytes.empty() && *bank < launch.banks.size()) {
                bytes.assign(launch.banks[*bank].begin(), launch.banks[*bank].end());
                bytes.resize(std::max<size_t>(bytes.size(), kBankBytes));
            }
            put(b.metal_id, bytes.data());
            continue;
        }
        if (const auto base = bound_storage(b, *abi_, interface_.stage, bank_word)) {
            put(b.metal_id, memory(*base));
            continue;
        }
        if (b.kind == BindingKind::texture_pool || b.kind == BindingKind::sampler_pool)
            return Error{"whole pools are not run"};
        for (uint32_t k = 0; k < std::max(b.count, 1u); ++k) {
            const auto handle = bound_handle(b, *abi_, k, bank_word);
            if (!handle)
                return Error{fmt::format("binding kind {} is not run", binding_kind_name(b.kind))};
            if (b.kind == BindingKind::separate_sampler || b.kind == BindingKind::sampler_in_bank) {
                const Sampler* s = &textures.sampler(*handle);
                air.sampler_handles.insert(s);
                put(b.metal_id + k, s);
                continue;
            }
            constexpr uint32_t kAccessBytes[] = {16, 1, 2, 4, 8, 16};
            const bool image = b.kind == BindingKind::image || b.kind == BindingKind::image_in_bank;
            const Texture* t = image ? &textures.image(*handle, b.dim, b.arrayed, kAccessBytes[static_cast<unsigned>(b.access) % 6])
                                     : &textures.texture(*handle, b.dim, b.arrayed, b.multisampled);
            air.texture_handles.insert(t);
            put(b.metal_id + k, t);
            if (has_combined_sampler(b)) {
                const Sampler* s = &textures.sampler(*handle);
                air.sampler_handles.insert(s);
                put(b.metal_sampler_id + k, s);
            }
        }
    }
    for (auto& [bank, bytes] : banks)
        air.reachable.push_back(bytes);
    arguments.resize(std::max<size_t>(arguments.size(), 1));
    air.buffers[kMetalArgumentSlot] = {reinterpret_cast<uint8_t*>(arguments.data()), arguments.size() * 8};
    std::optional<Inputs> inputs;
    if (launch.graphics) {
        inputs.emplace(*launch.graphics, abi_->base_instance == kNone ? 0 : bank_word(abi_->driver_bank, abi_->base_instance));
        air.inputs = &*inputs;
        air.invocations = static_cast<uint32_t>(launch.graphics->invocations.size());
    } else {
        air.threads = launch.block;
        air.groups = launch.grid;
    }
    if (auto r = machine_.run(air); !r)
        return r;
    if (launch.graphics)
        take_results(*launch.graphics, machine_);
    return {};
}

} // namespace dmsh::sim
