// AIR metadata: argument and output nodes, entry lists, module flags and versions.
#include "compiler/emit/air/air_builder.h"
#include <fmt/format.h>

namespace dmsh {
namespace {

using Operands = llvm::SmallVector<llvm::Metadata*, 24>;

} // namespace

llvm::MDNode* AirBuilder::argument_buffer_node(unsigned parameter, unsigned slot,
                                               llvm::ArrayRef<Member> members, uint32_t bytes) {
    static constexpr const char* accesses[] = {"air.sample", "air.read", "air.write", "air.read_write"};
    Operands fields;
    for (const Member& m : members) {
        // The leading index and the location of a member's node are its id.
        Operands n{num(m.id)};
        std::string type;
        switch (m.kind) {
        case Member::buffer:
            n.append({str("air.buffer"), str("air.location_index"), num(m.id), num(1),
                      str(m.written ? "air.read_write" : "air.read"), str("air.address_space"), num(m.space),
                      str("air.arg_type_size"), num(m.type_bytes), str("air.arg_type_align_size"),
                      num(m.type_align)});
            type = m.type_name;
            break;
        case Member::texture: {
            AirAccess access = m.texture_info.access;
            if (access == AirAccess::sample &&
                (m.texture_info.multisampled || m.texture_info.dim == ImageDim::buffer))
                access = AirAccess::read;
            n.append({str("air.texture"), str("air.location_index"), num(m.id), num(m.count),
                      str(accesses[static_cast<unsigned>(access)])});
            type = m.texture_info.type_name();
            break;
        }
        case Member::sampler:
            n.append({str("air.sampler"), str("air.location_index"), num(m.id), num(m.count)});
            type = "sampler";
            break;
        }
        if (m.count > 1)
            type = fmt::format("array<{}, {}>", type, m.count);
        n.append({str("air.arg_type_name"), str(type), str("air.arg_name"), str(m.name)});
        fields.append({num(m.id * 8), num(8 * m.count), num(0), str(type), str(m.name),
                       str("air.indirect_argument"), node(n)});
    }
    return node({num(parameter),
                 str("air.indirect_buffer"),
                 str("air.buffer_size"),
                 num(bytes),
                 str("air.location_index"),
                 num(slot),
                 num(1),
                 str("air.read"),
                 str("air.address_space"),
                 num(kAirConstant),
                 str("air.struct_type_info"),
                 node(fields),
                 str("air.arg_type_size"),
                 num(bytes),
                 str("air.arg_type_align_size"),
                 num(8),
                 str("air.arg_type_name"),
                 str("args"),
                 str("air.arg_name"),
                 str("args")});
}

llvm::MDNode* AirBuilder::input_node(unsigned parameter, llvm::StringRef kind, llvm::StringRef type,
                                     llvm::StringRef name, bool used) {
    Operands n{num(parameter), str(("air." + kind).str()), str("air.arg_type_name"),
               str(type),      str("air.arg_name"),        str(name)};
    if (!used)
        n.push_back(str("air.arg_unused"));
    return node(n);
}

llvm::MDNode* AirBuilder::vertex_input_node(unsigned parameter, uint32_t attribute, llvm::StringRef type,
                                            llvm::StringRef name, bool used) {
    Operands n{num(parameter),
               str("air.vertex_input"),
               str("air.location_index"),
               num(attribute),
               num(1),
               str("air.arg_type_name"),
               str(type),
               str("air.arg_name"),
               str(name)};
    if (!used)
        n.push_back(str("air.arg_unused"));
    return node(n);
}

llvm::MDNode* AirBuilder::fragment_input_node(unsigned parameter, llvm::StringRef link,
                                              unsigned interpolation, bool centroid, bool per_sample,
                                              bool pull, llvm::StringRef type, llvm::StringRef name) {
    Operands n{num(parameter), str("air.fragment_input"), str(("user(" + link + ")").str())};
    if (interpolation == 1) {
        n.push_back(str("air.flat"));
    } else {
        n.push_back(str(pull         ? "air.interpolation_function"
                        : per_sample ? "air.sample"
                        : centroid   ? "air.centroid"
                                     : "air.center"));
        n.push_back(str(interpolation == 3 ? "air.no_perspective" : "air.perspective"));
    }
    n.append({str("air.arg_type_name"), str(type), str("air.arg_name"), str(name)});
    return node(n);
}

llvm::MDNode* AirBuilder::position_input_node(unsigned parameter, llvm::StringRef name) {
    return node({num(parameter), str("air.position"), str("air.center"), str("air.no_perspective"),
                 str("air.arg_type_name"), str("float4"), str("air.arg_name"), str(name)});
}

llvm::MDNode* AirBuilder::output_node(llvm::StringRef kind, llvm::StringRef type, llvm::StringRef name) {
    return node(
        {str(("air." + kind).str()), str("air.arg_type_name"), str(type), str("air.arg_name"), str(name)});
}

llvm::MDNode* AirBuilder::position_output_node(llvm::StringRef name, bool invariant) {
    Operands n{str("air.position")};
    if (invariant)
        n.push_back(str("air.invariant"));
    n.append({str("air.arg_type_name"), str("float4"), str("air.arg_name"), str(name)});
    return node(n);
}

llvm::MDNode* AirBuilder::vertex_output_node(llvm::StringRef link, llvm::StringRef type,
                                             llvm::StringRef name) {
    return node({str("air.vertex_output"), str(("user(" + link + ")").str()), str("air.arg_type_name"),
                 str(type), str("air.arg_name"), str(name)});
}

llvm::MDNode* AirBuilder::clip_distance_node(uint32_t count, llvm::StringRef name) {
    return node({str("air.clip_distance"), str("air.clip_distance_array_size"), num(count),
                 str("air.arg_type_name"), str("float"), str("air.arg_name"), str(name)});
}

llvm::MDNode* AirBuilder::render_target_node(uint32_t attachment, llvm::StringRef type,
                                             llvm::StringRef name) {
    return node({str("air.render_target"), num(attachment), num(0), str("air.arg_type_name"), str(type),
                 str("air.arg_name"), str(name)});
}

llvm::MDNode* AirBuilder::depth_node(llvm::StringRef name) {
    return node({str("air.depth"), str("air.depth_qualifier"), str("air.any"), str("air.arg_type_name"),
                 str("float"), str("air.arg_name"), str(name)});
}

void AirBuilder::add_entry(llvm::StringRef list, llvm::Function* f, llvm::ArrayRef<llvm::Metadata*> outputs,
                           llvm::ArrayRef<llvm::Metadata*> inputs, llvm::ArrayRef<llvm::Metadata*> extras) {
    Operands row{llvm::ConstantAsMetadata::get(f), node(outputs), node(inputs)};
    row.append(extras.begin(), extras.end());
    module_.getOrInsertNamedMetadata(("air." + list).str())->addOperand(node(row));
}

llvm::MDNode* AirBuilder::max_work_group_size_extra(llvm::Function* f, uint32_t threads) {
    f->addFnAttr("max-work-group-size", std::to_string(threads));
    return node({str("air.max_work_group_size"), num(threads)});
}

void AirBuilder::finish_module(llvm::StringRef source_name) {
    module_.setDataLayout(llvm::StringRef(kAirDataLayout.data(), kAirDataLayout.size()));
    module_.setTargetTriple(version_.triple);
    module_.setSourceFileName(source_name);
    module_.setModuleIdentifier(source_name);

    using Module = llvm::Module;
    module_.addModuleFlag(Module::Warning, "SDK Version",
                          llvm::ConstantDataArray::get(context_, llvm::ArrayRef<uint32_t>(version_.sdk)));
    module_.addModuleFlag(Module::Error, "wchar_size", 4u);
    module_.addModuleFlag(Module::Max, "frame-pointer", 2u);
    for (const auto& [name, limit] : {std::pair{"air.max_device_buffers", 31u},
                                      {"air.max_constant_buffers", 31u},
                                      {"air.max_threadgroup_buffers", 31u},
                                      {"air.max_textures", 128u},
                                      {"air.max_read_write_textures", 8u},
                                      {"air.max_samplers", 16u}})
        module_.addModuleFlag(Module::Max, name, limit);
    const auto list = [&](const char* name, llvm::MDNode* row) {
        module_.getOrInsertNamedMetadata(name)->addOperand(row);
    };
    list("llvm.ident", node({str("dmsh")}));
    list("air.version", node({num(version_.air_major), num(version_.air_minor), num(0)}));
    list("air.language_version",
         node({str("Metal"), num(version_.language_major), num(version_.language_minor), num(0)}));
    // Fast math off: no flag may let NaN, infinity or -0 be assumed away (T-023).
    for (const char* option : {"air.compile.denorms_disable", "air.compile.fast_math_disable",
                               "air.compile.framebuffer_fetch_enable"})
        list("air.compile_options", node({str(option)}));
}

} // namespace dmsh
