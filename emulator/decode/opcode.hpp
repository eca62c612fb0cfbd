// Opcode: the words of an instruction, of which a decoder takes each that it understands.
#pragma once

#include "emulator/decode/ptx/word.hpp"
#include "emulator/isa/op.hpp"

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

namespace lode::emulator::decode {

using ptx::Word;

/// The first word of an opcode: "mul" of "mul.wide.u32".
[[nodiscard]] inline std::string_view name_of(std::string_view opcode) noexcept {
    return opcode.substr(0, opcode.find('.'));
}

/// A word of an opcode and what it stands for.
template <class Value>
struct Meaning {
    Word word;
    Value value;
};

/// The name and modifiers of an instruction such as mul.wide.u32, in the grammar's order. A decoder
/// takes each word that it understands; an instruction with remaining words is refused, so no
/// modifier is ever skipped silently.
class Opcode {
public:
    Opcode() = default;
    explicit Opcode(std::span<const Word> words) noexcept : words_(words) {}

    /// The number of words, including the name.
    [[nodiscard]] u32 count() const noexcept { return static_cast<u32>(words_.size()); }
    /// The first word, which is always taken.
    [[nodiscard]] Word name() const noexcept { return words_[0]; }
    /// A word, without taking it; none past the last.
    [[nodiscard]] Word peek(u32 i) const noexcept { return i < count() ? words_[i] : Word(); }

    Word take(u32 i) noexcept;
    /// Takes the last word, which is the type of most opcodes.
    Word take_last() noexcept { return take(count() - 1); }
    /// Takes a modifier; false if it is absent.
    bool take(Word word) noexcept;
    /// Takes all modifiers with this prefix; false if there is none.
    bool take_prefix(ptx::WordPrefix start) noexcept;
    /// Takes the modifier of the first row whose word the opcode has; nullptr if there is none.
    template <class Row, std::size_t size>
    const Row* take_row(const Row (&rows)[size]) noexcept {
        for (const Row& row : rows)
            if (take(row.word)) return &row;
        return nullptr;
    }
    /// Takes modifiers that have no effect here.
    void ignore(std::initializer_list<Word> words) noexcept;
    void take_all() noexcept { taken_ = ~u32{0}; }

    /// The first word that hasn't been taken; none if there is none.
    [[nodiscard]] Word left_over() const noexcept;

private:
    std::span<const Word> words_;
    u32 taken_ = 1;  ///< One bit per word.
};

}  // namespace lode::emulator::decode
