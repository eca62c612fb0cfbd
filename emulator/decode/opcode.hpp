// Opcode: the words of an instruction's opcode.
#pragma once

#include "emulator/isa/op.hpp"

#include <array>
#include <initializer_list>
#include <string_view>

namespace lode::emulator::decode {

/// The first word of an opcode: "mul" of "mul.wide.u32".
[[nodiscard]] inline std::string_view name_of(std::string_view opcode) noexcept {
    return opcode.substr(0, opcode.find('.'));
}

/// The name and modifiers of an opcode such as "mul.wide.u32", in the grammar's order. A decoder
/// takes each word that it understands; an instruction with remaining words is refused, so no
/// modifier is ever skipped silently.
class Opcode {
public:
    Opcode() = default;
    explicit Opcode(std::string_view text) noexcept;

    /// The number of words, including the name.
    [[nodiscard]] u32 count() const noexcept { return count_; }
    /// The first word, which is always taken.
    [[nodiscard]] std::string_view name() const noexcept { return words_[0]; }
    /// A word, without taking it; empty past the last.
    [[nodiscard]] std::string_view peek(u32 i) const noexcept {
        return i < count_ ? words_[i] : std::string_view{};
    }

    std::string_view take(u32 i) noexcept;
    /// Takes the last word, which is the type of most opcodes.
    std::string_view take_last() noexcept { return take(count_ - 1); }
    /// Takes a modifier; false if it is absent.
    bool take(std::string_view word) noexcept;
    /// Takes all modifiers with this prefix; false if there is none.
    bool take_prefix(std::string_view start) noexcept;
    /// Takes modifiers that have no effect here.
    void ignore(std::initializer_list<std::string_view> words) noexcept;
    void take_all() noexcept { taken_ = ~u32{0}; }

    /// The first word that hasn't been taken; empty if there is none.
    [[nodiscard]] std::string_view left_over() const noexcept;

private:
    std::array<std::string_view, 24> words_;
    u32 count_ = 0;
    u32 taken_ = 1;  ///< One bit per word.
};

}  // namespace lode::emulator::decode
