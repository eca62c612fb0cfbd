#include "emulator/decode/opcode.hpp"

namespace lode::emulator::decode {

Opcode::Opcode(std::string_view text) noexcept {
    while (count_ < words_.size()) {
        const std::size_t dot = text.find('.');
        words_[count_++] = text.substr(0, dot);
        if (dot == text.npos) break;
        text.remove_prefix(dot + 1);
    }
}

std::string_view Opcode::take(u32 i) noexcept {
    if (i >= count_) return {};
    taken_ |= 1u << i;
    return words_[i];
}

bool Opcode::take(std::string_view word) noexcept {
    for (u32 i = 1; i < count_; ++i) {
        if (words_[i] != word) continue;
        taken_ |= 1u << i;
        return true;
    }
    return false;
}

bool Opcode::take_prefix(std::string_view start) noexcept {
    bool found = false;
    for (u32 i = 1; i < count_; ++i) {
        if (!words_[i].starts_with(start)) continue;
        taken_ |= 1u << i;
        found = true;
    }
    return found;
}

void Opcode::ignore(std::initializer_list<std::string_view> words) noexcept {
    for (const std::string_view word : words)
        take(word);
}

std::string_view Opcode::left_over() const noexcept {
    for (u32 i = 0; i < count_; ++i) {
        if ((taken_ >> i & 1) == 0) return words_[i];
    }
    return {};
}

}  // namespace lode::emulator::decode
