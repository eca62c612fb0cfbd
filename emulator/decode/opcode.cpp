#include "emulator/decode/opcode.hpp"

namespace lode::emulator::decode {

Word Opcode::take(u32 i) noexcept {
    if (i < count()) taken_ |= 1u << i;
    return peek(i);
}

bool Opcode::take(Word word) noexcept {
    for (u32 i = 1; i < count(); ++i) {
        if (words_[i] != word) continue;
        taken_ |= 1u << i;
        return true;
    }
    return false;
}

bool Opcode::take_prefix(ptx::WordPrefix start) noexcept {
    bool found = false;
    for (u32 i = 1; i < count(); ++i) {
        if (!start.matches(words_[i])) continue;
        taken_ |= 1u << i;
        found = true;
    }
    return found;
}

void Opcode::ignore(std::initializer_list<Word> words) noexcept {
    for (const Word word : words)
        take(word);
}

Word Opcode::left_over() const noexcept {
    for (u32 i = 0; i < count(); ++i)
        if ((taken_ >> i & 1) == 0) return words_[i];
    return {};
}

}  // namespace lode::emulator::decode
