// AirMachine: loads a function, makes code of it, and runs its threads workgroup after workgroup.
#include "compiler/sim/air/executor.h"
#include "compiler/sim/air/program.h"
#include "compiler/sim/operands.h"
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <llvm/IR/DebugInfo.h>

namespace dmsh::sim {

thread_local AirRun* air_run = nullptr;

namespace {

constexpr size_t kStackBytes = 256 * 1024;
constexpr uint32_t kSimdgroup = 32;
constexpr uint64_t kSamplerMark = 0x100;        // AirProgram::Global::space
constexpr uint64_t kMostBytes = 64 << 20;       // of one access outside of everything

// void name(i8** slots): loads the parameters, calls, stores the result after the last of them.
void make_thread(llvm::Function& entry, const std::string& name) {
    llvm::Module& m = *entry.getParent();
    llvm::LLVMContext& c = m.getContext();
    llvm::PointerType* bytes = llvm::Type::getInt8PtrTy(c);
    auto* thread = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(c), {bytes->getPointerTo()}, false),
                                          llvm::GlobalValue::ExternalLinkage, name, m);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(c, "entry", thread));
    const auto slot = [&](unsigned i) { return b.CreateLoad(bytes, b.CreateConstInBoundsGEP1_32(bytes, thread->getArg(0), i)); };
    llvm::SmallVector<llvm::Value*, 16> values;
    for (unsigned i = 0; i < entry.arg_size(); ++i) {
        llvm::Type* t = entry.getArg(i)->getType();
        if (t->isIntegerTy(1))
            values.push_back(b.CreateTrunc(b.CreateLoad(b.getInt8Ty(), slot(i)), t));
        else
            values.push_back(b.CreateAlignedLoad(t, b.CreateBitCast(slot(i), t->getPointerTo()), llvm::Align(1)));
    }
    auto* call = b.CreateCall(&entry, values);
    call->setCallingConv(entry.getCallingConv());
    if (!entry.getReturnType()->isVoidTy())
        b.CreateAlignedStore(call, b.CreateBitCast(slot(static_cast<unsigned>(entry.arg_size())), entry.getReturnType()->getPointerTo()), llvm::Align(1));
    b.CreateRetVoid();
}

// A table of the module's globals, as AirProgram::Global lays them out. Answers how many.
size_t make_table(llvm::Module& m, const std::string& name) {
    llvm::LLVMContext& c = m.getContext();
    llvm::PointerType* bytes = llvm::Type::getInt8PtrTy(c);
    llvm::Type* i64 = llvm::Type::getInt64Ty(c);
    auto* row = llvm::StructType::get(c, {bytes, i64, i64});
    std::set<const llvm::Value*> samplers;
    if (const llvm::NamedMDNode* list = m.getNamedMetadata("air.sampler_states"))
        for (const llvm::MDNode* node : list->operands())
            if (const auto* v = node->getNumOperands() > 1 ? llvm::dyn_cast_or_null<llvm::ConstantAsMetadata>(node->getOperand(1).get()) : nullptr)
                samplers.insert(v->getValue()->stripPointerCasts());
    std::vector<llvm::Constant*> rows;
    for (llvm::GlobalVariable& g : m.globals()) {
        const uint64_t size = m.getDataLayout().getTypeAllocSize(g.getValueType()).getFixedSize();
        llvm::Constant* at = llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(&g, bytes);
        rows.push_back(llvm::ConstantStruct::get(
            row, {at, llvm::ConstantInt::get(i64, size), llvm::ConstantInt::get(i64, g.getAddressSpace() + (samplers.count(&g) ? kSamplerMark : 0))}));
    }
    auto* type = llvm::ArrayType::get(row, rows.size());
    new llvm::GlobalVariable(m, type, true, llvm::GlobalValue::ExternalLinkage, llvm::ConstantArray::get(type, rows), name);
    return rows.size();
}

struct Loaded {
    AirModule air;
    llvm::Function* entry = nullptr;
    llvm::Function* constructors = nullptr;
};

// Everything before code is made.
Result<Loaded> prepare(std::span<const uint8_t> bitcode, const std::string& name, const AirConstants& constants, AirProgram& program) {
    auto parsed = parse_air(bitcode);
    if (!parsed)
        return parsed.error();
    Loaded l;
    l.air = std::move(*parsed);
    llvm::Module& m = *l.air.module;
    llvm::StripDebugInfo(m);
    if (llvm::verifyModule(m))
        return Error{"the module does not verify"};
    std::vector<AirEntry> entries = air_entries(m);
    std::erase_if(entries, [&](const AirEntry& e) { return e.function->isDeclaration() || (!name.empty() && e.function->getName() != name); });
    if (entries.size() != 1)
        return Error{entries.empty() ? fmt::format("there is no function {}", name) : "the module has several functions: name one"};
    l.entry = const_cast<llvm::Function*>(entries[0].function);
    for (const llvm::GlobalVariable& g : m.globals())
        if (!g.getValueType()->isSized())
            return Error{"a global without a size"};
    if (!m.aliases().empty() || !m.ifuncs().empty())
        return Error{"aliases"};
    if (auto r = describe_entry(entries[0], program); !r)
        return r.error();
    auto all = flatten_module(m, *l.entry, constants);
    if (!all)
        return all.error();
    l.constructors = *all;
    if (auto r = define_air_functions(m, *l.entry, program); !r)
        return r.error();
    guard_module(m);
    return l;
}

// Bits of a constant sampler (docs/air.md).
AirSampler decode_sampler(const uint8_t* bytes, uint64_t size) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, bytes, 8);
    if (size >= 16)
        std::memcpy(&y, bytes + 8, 8);
    const auto field = [&](unsigned at, unsigned bits) { return static_cast<uint32_t>(x >> at & ((1u << bits) - 1)); };
    constexpr Wrap kWraps[] = {Wrap::clamp_to_border, Wrap::clamp_to_edge, Wrap::repeat, Wrap::mirror};
    AirSampler s;
    for (unsigned k = 0; k < 3; ++k)
        s.wrap[k] = kWraps[field(3 * k, 3) & 3];
    s.mag = field(9, 2) ? Filter::linear : Filter::nearest;
    s.min = field(11, 2) ? Filter::linear : Filter::nearest;
    s.mip = field(13, 2) == 0 ? Mip::none : field(13, 2) == 1 ? Mip::nearest : Mip::linear;
    s.pixels = field(15, 1) != 0;
    constexpr Compare kCompares[] = {Compare::never, Compare::less,      Compare::less_equal, Compare::greater, Compare::greater_equal,
                                     Compare::equal, Compare::not_equal, Compare::always,     Compare::never};
    s.compare = kCompares[std::min(field(16, 4), 8u)];
    s.lod_min = half_to_float(static_cast<uint16_t>(field(24, 16)));
    s.lod_max = half_to_float(static_cast<uint16_t>(field(40, 16)));
    s.lod_bias = half_to_float(static_cast<uint16_t>(y));
    const uint32_t border = field(56, 2), one = std::bit_cast<uint32_t>(1.0f);
    if (border)
        s.border = border == 1 ? Texel{0, 0, 0, one} : Texel{one, one, one, one};
    return s;
}

// ---- what threads are given ----------------------------------------------------------------------------------------

void put_words(const AirParameter& p, std::span<const uint32_t> words, std::vector<uint8_t>& out) {
    out.assign(std::max(p.type.bytes, 1u), 0);
    for (uint32_t k = 0; k < p.type.count && k < words.size(); ++k)
        if (p.type.scalar == AirType::Scalar::integer)
            air_set_word(p.type, out.data(), k, words[k]);
        else
            air_set_real(p.type, out.data(), k, static_cast<double>(std::bit_cast<float>(words[k])));
}
void put_pointer(const void* p, std::vector<uint8_t>& out) {
    out.resize(sizeof p);
    std::memcpy(out.data(), &p, sizeof p);
}

// A value that every thread of a kernel can be asked for.
std::optional<std::array<uint32_t, 3>> builtin(const std::string& kind, const AirRun& run, const AirThread& t) {
    const AirLaunch& l = *run.launch;
    const uint32_t threads = l.threads[0] * l.threads[1] * l.threads[2];
    std::array<uint32_t, 3> grid{};
    for (unsigned k = 0; k < 3; ++k)
        grid[k] = l.grid[k] ? l.grid[k] : l.groups[k] * l.threads[k];
    const auto one = [](uint32_t v) { return std::array<uint32_t, 3>{v, 0, 0}; };
    if (kind == "thread_position_in_grid")
        return t.in_grid;
    if (kind == "thread_position_in_threadgroup")
        return t.in_group;
    if (kind == "threadgroup_position_in_grid")
        return run.group;
    if (kind == "threads_per_grid" || kind == "grid_size")
        return grid;
    if (kind == "threads_per_threadgroup" || kind == "dispatch_threads_per_threadgroup")
        return l.threads;
    if (kind == "threadgroups_per_grid")
        return l.groups;
    if (kind == "thread_index_in_threadgroup")
        return one(t.linear);
    if (kind == "thread_index_in_simdgroup")
        return one(t.lane);
    if (kind == "simdgroup_index_in_threadgroup" || kind == "dispatch_simdgroup_index_in_threadgroup")
        return one(t.simdgroup);
    if (kind == "simdgroups_per_threadgroup" || kind == "dispatch_simdgroups_per_threadgroup")
        return one((threads + kSimdgroup - 1) / kSimdgroup);
    if (kind == "threads_per_simdgroup" || kind == "simdgroup_size" || kind == "thread_execution_width")
        return one(kSimdgroup);
    if (kind == "thread_index_in_quadgroup")
        return one(t.linear & 3);
    if (kind == "quadgroup_index_in_threadgroup")
        return one(t.linear / 4);
    if (kind == "quadgroups_per_threadgroup")
        return one((threads + 3) / 4);
    if (kind == "grid_origin")
        return std::array<uint32_t, 3>{0, 0, 0};
    return std::nullopt;
}

// Parameters that all threads share; empty where a parameter is the thread's own.
Result<void> shared_values(const AirProgram& program, const AirLaunch& launch, std::map<uint32_t, std::vector<uint8_t>>& threadgroup,
                           std::vector<std::vector<uint8_t>>& values) {
    values.resize(program.parameters.size());
    for (size_t i = 0; i < program.parameters.size(); ++i) {
        const AirParameter& p = program.parameters[i];
        const auto missing = [&](const char* what) { return Error{fmt::format("{}: nothing is bound to {} {} ({})", program.name, what, p.location, p.name)}; };
        if (p.kind == "buffer" || p.kind == "indirect_buffer") {
            if (p.space == 3) {
                const auto it = launch.threadgroup_bytes.find(p.location);
                auto& memory = threadgroup[p.location];
                memory.resize(std::max<size_t>({it == launch.threadgroup_bytes.end() ? 0 : it->second, p.bytes, 16}));
                put_pointer(memory.data(), values[i]);
                continue;
            }
            const auto it = launch.buffers.find(p.location);
            if (it == launch.buffers.end() && p.used)
                return missing("buffer");
            put_pointer(it == launch.buffers.end() ? nullptr : it->second.data(), values[i]);
        } else if (p.kind == "texture" || p.kind == "sampler") {
            for (uint32_t k = 0; k < std::max(p.count, 1u) && (k + 1) * 8 <= std::max(p.type.bytes, 8u); ++k) {
                const void* handle = nullptr;
                if (p.kind == "texture") {
                    const auto it = launch.textures.find(p.location + k);
                    if (it != launch.textures.end())
                        handle = it->second;
                } else {
                    const auto it = launch.samplers.find(p.location + k);
                    if (it != launch.samplers.end())
                        handle = it->second;
                }
                if (!handle && p.used)
                    return missing(p.kind.c_str());
                values[i].resize(8 * (k + 1));
                std::memcpy(values[i].data() + size_t{8} * k, &handle, 8);
            }
            values[i].resize(std::max<size_t>(values[i].size(), p.type.bytes));
        } else if (p.pulled) {
            put_pointer(reinterpret_cast<const void*>(i + 1), values[i]);
        } else if (p.type.scalar == AirType::Scalar::aggregate) {
            return Error{fmt::format("{}: parameter {} ({}) is not executed", program.name, i, p.kind)};
        }
    }
    return {};
}

} // namespace

void air_fault(const std::string& text) {
    constexpr size_t kMostText = 400;
    if (air_run->faults->size() < kMostText && air_run->faults->find(text) == std::string::npos)
        *air_run->faults += text + "\n";
}

uint8_t* air_at(uint8_t* p, uint64_t bytes, uint32_t writes_space) {
    AirRun& run = *air_run;
    if (bytes == 0)
        return p;
    const bool suppressed = writes_space > 1 && run.now->helper;
    if (!suppressed) {
        const auto inside = [&](uint8_t* begin, uint8_t* end) { return p >= begin && p < end && bytes <= static_cast<uint64_t>(end - p); };
        const auto it = std::upper_bound(run.ranges.begin(), run.ranges.end(), p, [](uint8_t* a, const AirRun::Range& r) { return a < r.begin; });
        if (it != run.ranges.begin() && inside(std::prev(it)->begin, std::prev(it)->end))
            return p;
        const std::span<uint8_t> stack = run.fibers->stack(run.fibers->current());
        if (inside(stack.data(), stack.data() + stack.size()))
            return p;
        // Places are told relative to the range below them: addresses differ from run to run.
        const std::string place = it == run.ranges.begin() ? "below all" : fmt::format("{} past the end of a buffer", p - std::prev(it)->end);
        air_fault(fmt::format("{} of {} bytes outside of memory, {}, by thread {} of group {},{},{}", writes_space ? "store" : "load", bytes, place,
                              run.now->linear, run.group[0], run.group[1], run.group[2]));
    }
    if (bytes > kMostBytes)
        run.fibers->stop();
    static thread_local std::vector<uint8_t> elsewhere;
    elsewhere.assign(static_cast<size_t>(std::max<uint64_t>(bytes, 64)), 0);
    return elsewhere.data();
}

AirMachine::AirMachine(std::unique_ptr<Program> program) : program_(std::move(program)) {}
AirMachine::AirMachine(AirMachine&&) noexcept = default;
AirMachine& AirMachine::operator=(AirMachine&&) noexcept = default;
AirMachine::~AirMachine() = default;

const std::string& AirMachine::kind() const { return program_->kind; }
const std::vector<AirParameter>& AirMachine::parameters() const { return program_->parameters; }
const std::vector<AirOutput>& AirMachine::outputs() const { return program_->outputs; }

Result<void> AirMachine::check(std::span<const uint8_t> bitcode, const std::string& name) {
    AirProgram program;
    auto loaded = prepare(bitcode, name, {}, program);
    if (!loaded)
        return loaded.error();
    return {};
}

Result<AirMachine> AirMachine::load(std::span<const uint8_t> bitcode, const std::string& name, const AirConstants& constants) {
    auto program = std::make_unique<Program>();
    auto loaded = prepare(bitcode, name, constants, *program);
    if (!loaded)
        return loaded.error();
    llvm::Module& m = *loaded->air.module;
    const std::string symbol = jit_name();
    const size_t globals = make_table(m, symbol + ".globals");
    make_thread(*loaded->entry, symbol);
    loaded->constructors->setName(symbol + ".constructors");
    loaded->entry->setLinkage(llvm::GlobalValue::InternalLinkage);
    loaded->entry->setName("dmsh.entry");
    // Metadata may name functions that are gone, and nothing here reads it any more.
    for (llvm::NamedMDNode& node : llvm::make_early_inc_range(m.named_metadata()))
        node.eraseFromParent();
    m.setTargetTriple({});
    if (llvm::verifyModule(m))
        return Error{"internal: the prepared module does not verify"};
    auto code = JitCode::compile(std::move(loaded->air.module), std::move(loaded->air.context), {symbol, symbol + ".constructors", symbol + ".globals"});
    if (!code)
        return code.error();
    program->code = std::move(*code);
    program->thread = reinterpret_cast<void (*)(void**)>(program->code->address(0));
    program->constructors = reinterpret_cast<void (*)()>(program->code->address(1));
    const auto* table = static_cast<const AirProgram::Global*>(program->code->address(2));
    program->globals.assign(table, table + globals);
    return AirMachine(std::move(program));
}

Result<void> AirMachine::run(const AirLaunch& launch) {
    AirProgram& program = *program_;
    const bool kernel = program.kind == "kernel";
    if (!kernel && !launch.inputs)
        return Error{program.name + ": a launch without stage inputs"};
    const uint64_t wanted = kernel ? uint64_t{launch.threads[0]} * launch.threads[1] * launch.threads[2] : launch.invocations;
    if (kernel && (wanted == 0 || wanted > 1024))
        return Error{fmt::format("{}: {} threads in a threadgroup", program.name, wanted)};
    const auto count = static_cast<uint32_t>(wanted);

    AirRun run;
    run.program = &program;
    run.launch = &launch;
    run.loops_left = launch.max_loops;
    run.faults = &faults;
    faults.clear();
    // Vertices are simdgroups of one lane: what they have in common is the hardware's choice.
    LaneFibers fibers(program.kind == "vertex" ? 1 : kSimdgroup, kStackBytes);
    run.fibers = &fibers;

    std::map<uint32_t, std::vector<uint8_t>> threadgroup;
    std::vector<std::vector<uint8_t>> values;
    if (auto r = shared_values(program, launch, threadgroup, values); !r)
        return r;
    const auto add = [&](uint8_t* p, size_t n) {
        if (n)
            run.ranges.push_back({p, p + n});
    };
    for (const auto& [slot, bytes] : launch.buffers)
        add(bytes.data(), bytes.size());
    for (const auto& bytes : launch.reachable)
        add(bytes.data(), bytes.size());
    for (auto& [slot, bytes] : threadgroup)
        add(bytes.data(), bytes.size());
    for (const AirProgram::Global& g : program.globals)
        add(g.address, g.bytes);
    std::sort(run.ranges.begin(), run.ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    // Buffers that lie in one another count once, as the larger.
    std::vector<AirRun::Range> merged;
    for (const AirRun::Range& r : run.ranges)
        if (!merged.empty() && r.begin < merged.back().end)
            merged.back().end = std::max(merged.back().end, r.end);
        else
            merged.push_back(r);
    run.ranges = std::move(merged);
    for (const auto& [slot, sampler] : launch.samplers)
        run.samplers[sampler] = AirSampler{*sampler};
    for (const void* handle : launch.sampler_handles)
        run.samplers[handle] = AirSampler{*static_cast<const Sampler*>(handle)};

    AirRun* outer = air_run;
    air_run = &run;
    AirThread nobody; // for the constructors' accesses
    run.now = &nobody;
    fibers.run(1, [&](uint32_t) { program.constructors(); }, [](std::span<const uint32_t>) {});
    for (const AirProgram::Global& g : program.globals)
        if (g.space & kSamplerMark && g.bytes >= 8)
            run.samplers[g.address] = decode_sampler(g.address, g.bytes);

    results.assign(kernel ? 0 : count, {});
    std::optional<Error> failure;
    const std::array<uint32_t, 3> groups = kernel ? launch.groups : std::array<uint32_t, 3>{1, 1, 1};
    const uint64_t group_count = uint64_t{groups[0]} * groups[1] * groups[2];
    for (uint64_t g = 0; g < group_count && !failure; ++g) {
        run.group = {static_cast<uint32_t>(g % groups[0]), static_cast<uint32_t>(g / groups[0] % groups[1]), static_cast<uint32_t>(g / groups[0] / groups[1])};
        for (auto& [slot, bytes] : threadgroup)
            std::fill(bytes.begin(), bytes.end(), uint8_t{0});
        for (const AirProgram::Global& v : program.globals)
            if (v.space == 3)
                std::memset(v.address, 0, v.bytes);
        run.threads.assign(count, {});
        uint32_t present = 0;
        for (uint32_t i = 0; i < count; ++i) {
            AirThread& t = run.threads[present];
            t = {};
            t.linear = i;
            if (kernel) {
                t.in_group = {i % launch.threads[0], i / launch.threads[0] % launch.threads[1], i / (launch.threads[0] * launch.threads[1])};
                bool outside = false;
                for (unsigned k = 0; k < 3; ++k) {
                    t.in_grid[k] = run.group[k] * launch.threads[k] + t.in_group[k];
                    outside |= launch.grid[k] && t.in_grid[k] >= launch.grid[k];
                }
                if (outside)
                    continue;
            } else {
                t.helper = launch.inputs->helper(i);
            }
            t.lane = program.kind == "vertex" ? 0 : present % kSimdgroup;
            t.simdgroup = program.kind == "vertex" ? present : present / kSimdgroup;
            t.values = values;
            for (size_t p = 0; p < program.parameters.size(); ++p) {
                if (!t.values[p].empty())
                    continue;
                const AirParameter& parameter = program.parameters[p];
                if (const auto b = builtin(parameter.kind, run, t); b && (kernel || parameter.kind.find("simdgroup") != std::string::npos || parameter.kind.find("quadgroup") != std::string::npos))
                    put_words(parameter, *b, t.values[p]);
                else if (kernel && parameter.kind != "stage_in")
                    failure = Error{fmt::format("{}: parameter {} ({}) is not executed", program.name, p, parameter.kind)};
                else if (!launch.inputs)
                    failure = Error{program.name + ": a launch without stage inputs"};
                else
                    put_words(parameter, launch.inputs->input(parameter, i, parameter.centroid ? AirPlace::centroid : parameter.per_sample ? AirPlace::sample : AirPlace::centre, {}),
                              t.values[p]);
            }
            if (!kernel)
                results[i].bytes.assign(program.result_bytes, 0);
            ++present;
        }
        if (failure)
            break;
        run.threads.resize(present);
        const auto body = [&](uint32_t i) {
            AirThread& t = run.threads[i];
            run.now = &t;
            std::vector<void*> slots;
            for (auto& v : t.values)
                slots.push_back(v.data());
            slots.push_back(kernel ? nullptr : results[t.linear].bytes.data());
            program.thread(slots.data());
        };
        if (!fibers.run(present, body, air_resolve))
            failure = Error{program.name + ": the function does not end"};
        for (const AirThread& t : run.threads)
            if (!kernel)
                results[t.linear].discarded = t.discarded;
    }
    air_run = outer;
    if (failure)
        return *failure;
    return {};
}

} // namespace dmsh::sim
