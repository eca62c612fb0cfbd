// Opcode: the words of an instruction's opcode.
#pragma once

#include "emulator/decode/op.hpp"

#include <array>
#include <initializer_list>
#include <string_view>

namespace lode::emulator::decode {

/// "mul.wide.u32" as its name and its modifiers, in the grammar's order. A decoder takes each word
/// that it understands; an instruction with a word that nobody took is refused, so that none is
/// ever skipped.
class Opcode {
public:
    Opcode() = default;
    explicit Opcode(std::string_view text) noexcept;

    /// How many words, the name among them.
    [[nodiscard]] u32 count() const noexcept { return count_; }
    /// The first word, which is always taken.
    [[nodiscard]] std::string_view name() const noexcept { return words_[0]; }
    /// A word, without taking it; empty behind the last.
    [[nodiscard]] std::string_view peek(u32 i) const noexcept {
        return i < count_ ? words_[i] : std::string_view{};
    }

    std::string_view take(u32 i) noexcept;
    /// The last word, which is the type of most opcodes.
    std::string_view take_last() noexcept { return take(count_ - 1); }
    /// Takes a modifier; false where it isn't there.
    bool take(std::string_view word) noexcept;
    /// Takes the modifiers that begin so; false where there is none.
    bool take_prefix(std::string_view start) noexcept;
    /// Takes what makes no difference here.
    void ignore(std::initializer_list<std::string_view> words) noexcept;
    void take_all() noexcept { taken_ = ~u32{0}; }

    /// The first word that nobody took; empty where all are.
    [[nodiscard]] std::string_view left_over() const noexcept;

private:
    std::array<std::string_view, 24> words_;
    u32 count_ = 0;
    u32 taken_ = 1;  ///< A bit a word.
};

}  // namespace lode::emulator::decode
