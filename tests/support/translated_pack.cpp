// Makes the translated pack: what dmshc does for a build, for the picture's shaders alone.
#include "archivers/nvn/prepare_program.h"
#include "archivers/pack/library_writer.h"
#include "compiler/build/translate.h"
#include "runtime/abi/entry_points.h"
#include "runtime/abi/program_key.h"
#include "tests/support/pictures.h"
#include "tests/writers/sample.h"

namespace dmsh::test {

Result<std::vector<uint8_t>> translated_pack(const std::vector<std::string>& names) {
    LibraryWriter writer("vulkan", "translated");
    for (const std::string& name : names) {
        const auto pair = writers::sample_pair(name);
        auto program = prepare_program(pair.control, pair.code);
        if (!program)
            return Error{program.error().message, name};
        ShaderInput in;
        in.arch = program->arch;
        in.stage = program->stage;
        in.sph = program->sph_bytes;
        in.code = program->instructions;
        in.constants = program->constants;
        in.local_size = program->local_size;
        in.shared_bytes = program->shared_bytes;
        in.local_bytes = program->local_bytes;
        in.early_tests = program->early_tests;
        in.abi = &guest_abi(GuestAbiId::nvn);
        auto translation = translate(in);
        if (!translation)
            return Error{translation.error().message, name};
        ProgramReflection reflection;
        reflection.interface = translation->interface;
        reflection.entry = kEntryMain;
        const std::span<const uint8_t> constants = program->constants;
        reflection.constants.assign(constants.begin(), constants.end());
        reflection.origin = name;
        for (const Loss& loss : translation->losses)
            reflection.losses.push_back(loss.text);
        auto encoded = encode_program(
            program_key(pair.control, pair.code), reflection, SliceKind::spirv,
            {reinterpret_cast<const uint8_t*>(translation->spirv.data()), translation->spirv.size() * 4});
        if (!encoded)
            return encoded.error();
        writer.add(std::move(*encoded));
    }
    return writer.finish();
}

} // namespace dmsh::test
