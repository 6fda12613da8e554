// libFuzzer target: machine code of both architectures through decoder, disassembler and the word walk. The
// last byte picks the architecture.
#include "compiler/isa/isa.h"
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace dmsh::isa;
    if (!size)
        return 0;
    const Arch arch = data[size - 1] & 1 ? Arch::sm_86 : Arch::sm_53;
    const std::span<const uint8_t> code(data, size - 1);

    std::optional<DecodeFault> fault;
    const std::vector<Instruction> program = decode_program(arch, code, &fault);
    for (const Instruction& i : program) {
        if (disassemble(i).empty() || i.next_pc() <= i.pc)
            std::abort();
        (void)i.target();
    }

    // Word by word, so that what follows a refused word is reached as well.
    ProgramWords words(arch, code);
    uint64_t lo, hi;
    uint32_t pc, control;
    size_t n = 0;
    while (words.next(lo, hi, pc, control)) {
        const auto strict = decode(arch, lo, hi, pc), loose = decode(arch, lo, hi, pc, true);
        // What the strict decoder takes, the loose one takes too; the program is a prefix of these words.
        if (strict && !loose)
            std::abort();
        if (n < program.size() && (!strict || program[n].row != strict->row || program[n].pc != pc))
            std::abort();
        if (n == program.size() && strict && !fault)
            std::abort();
        if (loose)
            (void)disassemble(*loose);
        ++n;
    }
    return 0;
}
