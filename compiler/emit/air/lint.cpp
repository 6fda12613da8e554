// The lint's module rules and the agreement of a container with its modules.
#include "compiler/emit/air/lint.h"
#include "compiler/emit/air/air_module.h"
#include "compiler/emit/air/air_versions.h"
#include <fmt/format.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <set>

namespace dmsh {
namespace {

// Enum attributes that Apple's writers use (docs/air.md, "Dialect"); newer ones are refused by loaders.
constexpr llvm::Attribute::AttrKind kAttributes[] = {
    llvm::Attribute::InlineHint,
    llvm::Attribute::AlwaysInline,
    llvm::Attribute::NoInline,
    llvm::Attribute::NoAlias,
    llvm::Attribute::NoBuiltin,
    llvm::Attribute::NoCapture,
    llvm::Attribute::NoDuplicate,
    llvm::Attribute::NoUnwind,
    llvm::Attribute::ReadNone,
    llvm::Attribute::ReadOnly,
    llvm::Attribute::ZExt,
    llvm::Attribute::SExt,
    llvm::Attribute::NonNull,
    llvm::Attribute::Convergent,
    llvm::Attribute::ArgMemOnly,
    llvm::Attribute::NoRecurse,
    llvm::Attribute::InaccessibleMemOnly,
    llvm::Attribute::InaccessibleMemOrArgMemOnly,
    llvm::Attribute::WriteOnly,
    llvm::Attribute::ImmArg,
    llvm::Attribute::WillReturn,
    llvm::Attribute::NoFree,
    llvm::Attribute::NoSync,
    llvm::Attribute::NoUndef,
    llvm::Attribute::MustProgress,
    llvm::Attribute::NoCallback,
    llvm::Attribute::Alignment,
    llvm::Attribute::Dereferenceable,
    llvm::Attribute::DereferenceableOrNull,
    llvm::Attribute::Cold,
    llvm::Attribute::NoReturn,
    llvm::Attribute::StructRet,
    llvm::Attribute::ByVal,
    llvm::Attribute::Returned,
    llvm::Attribute::Speculatable,
    llvm::Attribute::OptimizeNone,
    llvm::Attribute::StackProtect,
    llvm::Attribute::MinSize,
    llvm::Attribute::OptimizeForSize,
};

// llvm.* names that Metal's back end is known to take.
constexpr const char* kLlvmNames[] = {
    "fabs",         "floor",    "ceil",     "trunc",
    "rint",         "round",    "fma",      "fmuladd",
    "minnum",       "maxnum",   "copysign", "sqrt",
    "exp",          "exp2",     "log",      "log2",
    "ctlz",         "cttz",     "ctpop",    "bswap",
    "bitreverse",   "umin",     "umax",     "smin",
    "smax",         "abs",      "uadd",     "usub",
    "sadd",         "ssub",     "umul",     "smul",
    "ushl",         "sshl",     "memcpy",   "memset",
    "memmove",      "lifetime", "dbg",      "assume",
    "experimental", "fshl",     "fshr",     "umul_with_overflow",
    "vector",       "expect",
};

class ModuleLint {
  public:
    ModuleLint(const llvm::Module& m, LintScope scope) : m_(m), scope_(scope) {}

    std::vector<LintFault> run() {
        header();
        globals();
        for (const llvm::Function& f : m_)
            function(f);
        lint_entry(m_, faults_);
        return std::move(faults_);
    }

  private:
    void fault(const char* rule, const std::string& where, std::string text) {
        faults_.push_back({rule, where, std::move(text)});
    }
    bool ours() const { return scope_ == LintScope::ours; }

    const llvm::MDNode* row(const char* list) {
        const auto* n = m_.getNamedMetadata(list);
        return n && n->getNumOperands() ? n->getOperand(0) : nullptr;
    }

    void header() {
        const llvm::StringRef layout = m_.getDataLayoutStr();
        // Old compilers list f80 too; the 32-bit targets have other pointers.
        std::string plain = layout.str();
        for (size_t at; (at = plain.find("f80:128:128-")) != std::string::npos;)
            plain.erase(at, 12);
        if (plain != kAirDataLayout && (ours() || !llvm::StringRef(m_.getTargetTriple()).startswith("air32")))
            fault("module.layout", "", "data layout " + layout.str());
        if (!m_.getContext().supportsTypedPointers())
            fault("dialect.opaque-pointers", "", "the module uses opaque pointers");
        const auto* version = row("air.version");
        const auto* language = row("air.language_version");
        if (!version || version->getNumOperands() != 3 || !language || language->getNumOperands() != 4)
            return fault("module.version", "", "air.version or air.language_version is missing");
        major_ = static_cast<unsigned>(md_int(md_operand(*version, 0)).value_or(0));
        minor_ = static_cast<unsigned>(md_int(md_operand(*version, 1)).value_or(0));
        const AirRelease* release = nullptr;
        for (const AirRelease& r : kAirReleases)
            if (r.air_major == major_ && r.air_minor == minor_)
                release = &r;
        if (!release)
            return fault("module.version", "", fmt::format("AIR {}.{} is not known", major_, minor_));
        const uint64_t lmajor = md_int(md_operand(*language, 1)).value_or(99),
                       lminor = md_int(md_operand(*language, 2)).value_or(0);
        if (lmajor * 10 + lminor > release->language_major * 10u + release->language_minor)
            fault("module.version", "",
                  fmt::format("Metal {}.{} with AIR {}.{}", lmajor, lminor, major_, minor_));
        // The deployment target decides the AIR version.
        const std::string& triple = m_.getTargetTriple();
        unsigned os = 0, os_minor = 0;
        const size_t mac = triple.find("-macosx"), ios = triple.find("-ios");
        if (!llvm::StringRef(triple).startswith("air64") ||
            (mac == std::string::npos && ios == std::string::npos &&
             triple.find("-xros") == std::string::npos && triple.find("-tvos") == std::string::npos))
            fault("module.triple", "", "triple " + triple);
        else if (mac != std::string::npos) {
            if (sscanf(triple.c_str() + mac, "-macosx%u.%u", &os, &os_minor) < 1 ||
                os != release->macos_major || (os == 10 && os_minor < release->macos_minor && minor_ != 8))
                fault("module.triple", "", fmt::format("triple {} with AIR {}.{}", triple, major_, minor_));
        } else if (ios != std::string::npos) {
            if (sscanf(triple.c_str() + ios, "-ios%u", &os) < 1 || os != release->ios_major)
                fault("module.triple", "", fmt::format("triple {} with AIR {}.{}", triple, major_, minor_));
        }
        unsigned flags = 0;
        if (const auto* list = m_.getModuleFlagsMetadata())
            for (const llvm::MDNode* flag : list->operands())
                if (const auto name = md_string(md_operand(*flag, 1));
                    name && name->substr(0, 8) == "air.max_")
                    ++flags;
        if (flags != 6 && (ours() || (major_ == 2 && minor_ >= 4)))
            fault("module.flags", "", fmt::format("{} of the 6 air.max_* flags", flags));
        if (ours() && m_.getNamedMetadata("llvm.dbg.cu"))
            fault("module.debug", "", "debug information");
    }

    void globals() {
        const bool samplers = m_.getNamedMetadata("air.sampler_states") != nullptr;
        for (const llvm::GlobalVariable& g : m_.globals()) {
            if (g.getName().startswith("llvm."))
                continue;
            const unsigned space = g.getAddressSpace();
            if (space != 2 && space != 3)
                fault("dialect.address-space", "",
                      fmt::format("global {} in address space {}", g.getName().str(), space));
            // Apple's compiler lets values through that its language forbids (effort-kernels of the corpus).
            if (ours() && space == 3 &&
                (!g.hasInitializer() || !llvm::isa<llvm::UndefValue>(g.getInitializer())))
                fault("dialect.address-space", "",
                      fmt::format("threadgroup variable {} is initialised", g.getName().str()));
            if (g.getName().contains("air_sampler_state") && !samplers)
                fault("module.samplers", "", "a constant sampler without air.sampler_states");
        }
    }

    void attributes(const llvm::AttributeList& list, const std::string& where) {
        for (unsigned i : list.indexes())
            for (const llvm::Attribute& a : list.getAttributes(i)) {
                if (a.isStringAttribute())
                    continue;
                if (std::find(std::begin(kAttributes), std::end(kAttributes), a.getKindAsEnum()) ==
                    std::end(kAttributes))
                    fault("dialect.attribute", where, "attribute " + a.getAsString());
            }
    }

    // Widths that Apple's modules have: 1, 8, 16, 32, 64; no f64.
    void type(llvm::Type* t, const std::string& where) {
        if (!seen_.insert(t).second)
            return;
        if (t->isIntegerTy()) {
            const unsigned w = t->getIntegerBitWidth();
            if (w != 1 && w != 8 && w != 16 && w != 32 && w != 64)
                fault("dialect.width", where, fmt::format("an integer of {} bits", w));
        }
        if (t->isDoubleTy() || t->isX86_FP80Ty() || t->isFP128Ty())
            fault("dialect.width", where, "a float wider than 32 bits");
        if (llvm::isa<llvm::ScalableVectorType>(t) || t->isX86_MMXTy())
            fault("dialect.width", where, "a type without an AIR form");
        if (auto* p = llvm::dyn_cast<llvm::PointerType>(t); p && p->isOpaque())
            fault("dialect.opaque-pointers", where, "an opaque pointer");
        for (llvm::Type* sub : t->subtypes())
            type(sub, where);
    }

    void function(const llvm::Function& f) {
        const std::string name = f.getName().str();
        attributes(f.getAttributes(), name);
        type(f.getFunctionType(), name);
        if (f.isDeclaration()) {
            if (f.isIntrinsic()) {
                llvm::StringRef base = f.getName().drop_front(5);
                base = base.substr(0, base.find('.'));
                if (std::none_of(std::begin(kLlvmNames), std::end(kLlvmNames),
                                 [&](const char* n) { return base == n; }))
                    fault("dialect.llvm-intrinsic", name, "Metal's back end is not known to take it");
            } else if (f.getName().startswith("air.")) {
                if (auto v = lint_intrinsic(f, major_ == 1 ? 0 : minor_))
                    fault(v->first.c_str(), name, v->second);
                if (must_be_convergent(f.getName()) && !f.hasFnAttribute(llvm::Attribute::Convergent) &&
                    !f.hasFnAttribute(llvm::Attribute::NoDuplicate))
                    fault("dialect.convergent", name, "depends on other lanes but is not convergent");
            } else if (!f.getName().contains("MTL_") && !f.use_empty()) {
                fault("dialect.name", name, "an external function that is not air.*");
            }
            return;
        }
        for (const llvm::BasicBlock& block : f)
            for (const llvm::Instruction& inst : block)
                instruction(inst, name);
        auto& mutable_f = const_cast<llvm::Function&>(f); // the analyses take it so, and change nothing
        llvm::DominatorTree dominators(mutable_f);
        llvm::LoopInfo loops(dominators);
        llvm::ReversePostOrderTraversal<const llvm::Function*> order(&f);
        if (llvm::containsIrreducibleCFG<const llvm::BasicBlock*>(order, loops))
            fault("dialect.irreducible", name, "irreducible control flow");
    }

    void instruction(const llvm::Instruction& inst, const std::string& where) {
        using I = llvm::Instruction;
        type(inst.getType(), where);
        switch (inst.getOpcode()) {
        case I::Invoke:
        case I::CallBr:
        case I::IndirectBr:
        case I::Resume:
        case I::LandingPad:
        case I::CatchSwitch:
        case I::CatchPad:
        case I::CleanupPad:
        case I::CatchRet:
        case I::CleanupRet:
        case I::VAArg:
        case I::Fence: fault("dialect.instruction", where, inst.getOpcodeName()); break;
        case I::AtomicRMW:
        case I::AtomicCmpXchg:
        case I::Freeze:
            if (ours())
                fault("dialect.instruction", where, inst.getOpcodeName());
            break;
        default: break;
        }
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&inst))
            attributes(call->getAttributes(), where);
        if (ours())
            if (const auto* math = llvm::dyn_cast<llvm::FPMathOperator>(&inst))
                if (math->hasNoNaNs() || math->hasNoInfs() || math->hasNoSignedZeros() ||
                    math->hasAllowReassoc() || math->hasAllowContract())
                    fault("dialect.fast-math", where,
                          fmt::format("{} with fast-math flags", inst.getOpcodeName()));
    }

    const llvm::Module& m_;
    LintScope scope_;
    std::vector<LintFault> faults_;
    std::set<llvm::Type*> seen_;
    unsigned major_ = 2, minor_ = 6;
};

// MTLDataType of a scalar or vector type name; 0 if it has none here.
unsigned data_type(std::string_view name) {
    unsigned n = 1;
    if (!name.empty() && name.back() >= '2' && name.back() <= '4') {
        n = static_cast<unsigned>(name.back() - '0');
        name.remove_suffix(1);
    }
    constexpr std::pair<std::string_view, unsigned> bases[] = {
        {"float", 3}, {"half", 16},  {"int", 29},  {"uint", 33}, {"short", 37}, {"ushort", 41},
        {"char", 45}, {"uchar", 49}, {"bool", 53}, {"long", 81}, {"ulong", 85}, {"bfloat", 121}};
    for (const auto& [base, number] : bases)
        if (name == base)
            return number + n - 1;
    return 0;
}

// What the container says about a function against the module.
void lint_agreement(const MetallibFunction& f, const llvm::Module& m, std::vector<LintFault>& faults) {
    const auto fault = [&](const char* rule, std::string text) {
        faults.push_back({rule, f.name, std::move(text)});
    };
    const auto entries = air_entries(m);
    const std::string_view type = metal_function_type_name(f.type);
    // Core Image kernels are plain extern functions without an entry list.
    if (f.type != MetalFunctionType::external) {
        if (entries.size() != 1)
            fault("entry.count", fmt::format("{} entry points in one module", entries.size()));
        for (const AirEntry& e : entries) {
            if (e.kind != type)
                fault("entry.type", fmt::format("TYPE says {}, the module lists it as {}", type, e.kind));
            if (e.function->getName() != llvm::StringRef(f.name))
                fault("entry.name", "the module's entry point is called " + e.function->getName().str());
        }
    }
    if (const auto* list = m.getNamedMetadata("air.version"); list && list->getNumOperands())
        if (md_int(md_operand(*list->getOperand(0), 0)) != f.version[0] ||
            md_int(md_operand(*list->getOperand(0), 1)) != f.version[1])
            fault("container.version", "VERS and air.version differ");
    if (const auto* list = m.getNamedMetadata("air.language_version"); list && list->getNumOperands())
        if (md_int(md_operand(*list->getOperand(0), 1)) != f.version[2] ||
            md_int(md_operand(*list->getOperand(0), 2)) != f.version[3])
            fault("container.version", "VERS and air.language_version differ");
    // CNST against air.function_constants
    size_t constants = 0;
    if (const auto* list = m.getNamedMetadata("air.function_constants")) {
        constants = list->getNumOperands();
        for (unsigned i = 0; i < list->getNumOperands() && i < f.constants.size(); ++i) {
            const llvm::MDNode* row = list->getOperand(i);
            const auto name = md_string(md_operand(*row, 2)), type_name = md_string(md_operand(*row, 1));
            const auto index = md_int(md_operand(*row, 3));
            if (name != f.constants[i].name || index != f.constants[i].index || !type_name ||
                data_type(*type_name) != f.constants[i].type)
                fault("container.constants",
                      fmt::format("CNST row {} ({}) differs from air.function_constants", i,
                                  f.constants[i].name));
        }
    }
    if (constants != f.constants.size())
        fault("container.constants",
              fmt::format("{} CNST rows for {} function constants", f.constants.size(), constants));
    // VATT and VATY against the vertex_input nodes
    size_t attributes = 0;
    if (f.type == MetalFunctionType::vertex && entries.size() == 1)
        for (const auto& op : entries[0].inputs->operands()) {
            const auto* node = llvm::dyn_cast_or_null<llvm::MDNode>(op.get());
            if (!node)
                continue;
            unsigned at = 1;
            if (md_string(md_operand(*node, at)) == "air.function_constant")
                at += 2;
            if (md_string(md_operand(*node, at)) != "air.vertex_input")
                continue;
            const auto location = md_int(md_operand(*node, at + 2));
            std::string_view type_name, name;
            bool unused = false;
            for (unsigned i = at; i < node->getNumOperands(); ++i) {
                const auto word = md_string(md_operand(*node, i));
                if (word == "air.arg_type_name")
                    type_name = md_string(md_operand(*node, i + 1)).value_or("");
                else if (word == "air.arg_name")
                    name = md_string(md_operand(*node, i + 1)).value_or("");
                else if (word == "air.arg_unused")
                    unused = true;
            }
            if (attributes < f.attributes.size()) {
                const MetallibAttribute& a = f.attributes[attributes];
                if (a.name != name || a.index != location || a.type != data_type(type_name) ||
                    a.active == unused)
                    fault("container.attributes",
                          fmt::format("VATT row {} ({}) differs from its node", attributes, a.name));
            }
            ++attributes;
        }
    if (f.type == MetalFunctionType::vertex && attributes != f.attributes.size())
        fault("container.attributes",
              fmt::format("{} VATT rows for {} vertex inputs", f.attributes.size(), attributes));
}

} // namespace

std::vector<LintFault> lint_air_module(const llvm::Module& module, LintScope scope) {
    return ModuleLint(module, scope).run();
}

std::vector<LintFault> lint_metallib(std::span<const uint8_t> bytes, LintScope scope) {
    std::vector<LintFault> faults;
    auto slices = split_metallib(bytes);
    if (!slices)
        return {{"container.read", "", slices.error().text()}};
    for (const MetallibSlice& slice : *slices) {
        auto lib = read_metallib(slice.bytes);
        if (!lib) {
            faults.push_back({"container.read", "", lib.error().text()});
            continue;
        }
        for (const auto& text : verify_container(*lib))
            faults.push_back({"container.form", "", text});
        if (scope == LintScope::ours && !lib->tails.empty())
            faults.push_back({"container.parts", "", "embedded sources or other parts"});
        for (const MetallibFunction& f : lib->functions) {
            auto parsed = parse_air(f.bitcode);
            if (!parsed) {
                faults.push_back({"module.parse", f.name, parsed.error().message});
                continue;
            }
            std::string complaint;
            llvm::raw_string_ostream out(complaint);
            bool broken_debug = false;
            if (llvm::verifyModule(*parsed->module, &out, &broken_debug)) {
                faults.push_back({"module.verify", f.name, out.str()});
                continue; // the analyses below rely on a valid module
            }
            auto own = lint_air_module(*parsed->module, scope);
            for (LintFault& fault : own) {
                if (fault.function.empty())
                    fault.function = f.name;
                faults.push_back(std::move(fault));
            }
            lint_agreement(f, *parsed->module, faults);
        }
    }
    return faults;
}

std::string lint_text(const std::vector<LintFault>& faults) {
    std::string s;
    for (const LintFault& f : faults)
        s += f.rule + (f.function.empty() ? "" : " in " + f.function) + ": " + f.text + "\n";
    return s.empty() ? "ok\n" : s;
}

} // namespace dmsh
