// CodePlaces: the source lines of a function's instructions, and the ops at which lines begin.
#pragma once

#include "emulator/decode/module_parts.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace lode::emulator::debug {

/// The source line of an instruction, then those of the calls that inlined it; empty without lines.
using Stack = std::vector<SourcePlace>;

class CodePlaces {
public:
    CodePlaces(const ModuleParts& module, const Code& code);

    [[nodiscard]] const Stack& at(const Op* op) const;
    [[nodiscard]] const Code& code() const noexcept { return code_; }

    /// The ops at which a line begins, one for each place that its code was inlined into. If the
    /// line has no code, that of the function's next line that has; `line` becomes that one.
    /// Nothing if the function doesn't contain the line.
    [[nodiscard]] std::vector<const Op*> begin_of_line(std::string_view file, u32& line) const;
    /// The op that follows what a function does before its first statement.
    [[nodiscard]] const Op* begin_of_body() const;

private:
    [[nodiscard]] const Op* first_op(std::size_t instruction) const;

    const Code& code_;
    std::vector<Stack> stacks_{{}};
    std::vector<u32> by_instruction_;  ///< Indices in `stacks_`.
};

/// Whether two spellings of a path may name one file: those of a debugger and of a compiler differ.
[[nodiscard]] bool may_be_same_file(std::string_view a, std::string_view b);

}  // namespace lode::emulator::debug
