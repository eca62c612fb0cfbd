#include "orders.hpp"

#include "judge.hpp"

#include <set>

#include <fmt/format.h>

namespace lode::ptx_acceptance {
namespace {

std::string opcode_of(std::string_view instruction) {
    if (instruction.starts_with('@')) instruction.remove_prefix(instruction.find(' ') + 1);
    return std::string(instruction.substr(0, instruction.find(' ')));
}

}  // namespace

std::string orders_report(const std::string& ptxas, std::span<const Program> programs,
                          std::span<const Verdict> verdicts, const std::string& scratch_folder) {
    enum Meaning : std::uint8_t { different, unknown, same };
    std::array<std::size_t, 3> totals{};
    std::array<std::string, 3> lines;
    std::set<std::string> seen;
    for (std::size_t k = 0; k < programs.size(); ++k) {
        const Program& program = programs[k];
        if (program.kind != Kind::order || !verdicts[k].accepted) continue;
        if (!seen.insert(program.target + opcode_of(program.instruction)).second) continue;
        std::string problem;
        const std::string scratch = scratch_folder + "/order";
        const std::string wanted =
            machine_code(ptxas, program.target, program.text(true, true), scratch, problem);
        const std::string other =
            machine_code(ptxas, program.target, program.text(true, false), scratch, problem);
        const Meaning meaning = !problem.empty() ? unknown : wanted == other ? same : different;
        ++totals[meaning];
        lines[meaning] += fmt::format("{:9} | {} | {} | {} | {}{}\n",
                                      meaning == same        ? "same"
                                      : meaning == different ? "DIFFERENT"
                                                             : "unknown",
                                      program.family, opcode_of(program.instruction),
                                      opcode_of(program.canonical), line_of(program),
                                      problem.empty() ? "" : " | " + problem);
    }
    return fmt::format(
               "# {} orders that ptxas accepts, against the table's order: the same machine code "
               "{}, "
               "different {}, not to be compared {}\n",
               totals[same] + totals[different] + totals[unknown], totals[same], totals[different],
               totals[unknown]) +
           "# meaning | family | order | the table's order | program\n" + lines[different] +
           lines[unknown] + lines[same];
}

}  // namespace lode::ptx_acceptance
