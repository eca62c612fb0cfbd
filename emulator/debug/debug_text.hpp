// DebugText: the debug sections of a PTX text, and the lines of its labels.
//
// The debug information of PTX has labels in place of addresses. A debugger compares positions in
// one text, so the line of a label stands for its address.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lode::emulator::debug {

/// What a section has in place of a number: a label, a symbol, or another section.
struct Reference {
    std::string_view symbol;
    std::uint64_t offset = 0;
};

struct Section {
    std::vector<std::uint8_t> bytes;
    std::unordered_map<std::size_t, Reference> references;          ///< By their offset in `bytes`.
    std::unordered_map<std::string_view, std::size_t> labels = {};  ///< To their offset.
};

struct DebugText {
    std::unordered_map<std::string_view, Section> sections;      ///< By name: ".debug_info".
    std::unordered_map<std::string_view, std::uint32_t> labels;  ///< "$L__tmp3" to its line.
};

/// Reads a text that the parser has accepted. The views point into it.
[[nodiscard]] DebugText read_debug_text(std::string_view ptx);

}  // namespace lode::emulator::debug
