// The rows of the grammar_*.def files as forms. Private to the grammar.
#pragma once

#include "emulator/decode/ptx/grammar.hpp"

#include <span>
#include <string_view>

namespace lode::emulator::ptx {

/// Calls `call` with each part of `text`; does nothing for an empty text.
template <class F>
void each_part(std::string_view text, char separator, F&& call) {
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        call(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
}

/// The type that a word of a row or an opcode names.
/// The class determines which registers fit: for `real`, those of bits and reals; for `packed`,
/// those of bits and .f16x2; for `other`, those of bits only.
[[nodiscard]] Type operand_type(std::string_view name);

/// What a modifier keeps its order with.
[[nodiscard]] Order order_of(Word word);

/// The forms of the longest name that is a prefix of the text; `name` is that name. They are built
/// on first use, as most programs use few.
[[nodiscard]] std::span<const Form> forms_named(std::string_view text, std::string_view& name);

}  // namespace lode::emulator::ptx
