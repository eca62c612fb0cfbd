// Operations on matrices against the definition of a product.
#include "tests/unit/emulator/exec/opcode_support.hpp"
#include "tests/unit/emulator/exec/tensor_programs.hpp"

namespace lode::emulator::exec::testing {

namespace {

Comparisons compared(const std::vector<TensorProgram>& programs) {
    Comparisons all;
    for (const TensorProgram& program : programs) {
        const auto difference = [program](Bench& bench) {
            std::string why = bench.load(program.ptx);
            if (!why.empty()) return bench.may_lack(why) ? std::string() : why;
            const Words out = run_program(bench, program, why);
            return why.empty() ? program.wrong(out) : why;
        };
        for (const std::string& opcode : program.opcodes)
            all.push_back({opcode, program.ptx, difference});
    }
    return all;
}

Comparisons register_products() {
    return compared(register_programs());
}
Comparisons small_products() {
    return compared(small_float_programs());
}
Comparisons memory_products() {
    return compared(memory_programs());
}

}  // namespace

LODE_OPCODE_FAMILY("opcodes: products of matrices in registers", register_products)
LODE_OPCODE_FAMILY("opcodes: products of matrices of small numbers", small_products)
LODE_OPCODE_FAMILY("opcodes: matrices in memory", memory_products)

}  // namespace lode::emulator::exec::testing
