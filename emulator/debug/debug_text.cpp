#include "emulator/debug/debug_text.hpp"

#include "emulator/decode/ptx/lexer.hpp"

namespace lode::emulator::debug {

namespace {

using ptx::Lexer;
using ptx::Token;

/// Bytes of ".b8" to ".b64"; 0 for any other word.
unsigned width_of(std::string_view word) {
    if (word == ".b8") return 1;
    if (word == ".b16") return 2;
    if (word == ".b32") return 4;
    return word == ".b64" ? 8 : 0;
}

void append(Section& section, std::uint64_t value, unsigned width) {
    for (unsigned k = 0; k < width; ++k)
        section.bytes.push_back(static_cast<std::uint8_t>(value >> (8 * k)));
}

std::uint64_t accept_offset(Lexer& lexer) {
    if (!lexer.is('+')) return 0;
    lexer.next();
    const std::uint64_t offset = lexer.bits;
    lexer.next();
    return offset;
}

void read_values(Lexer& lexer, unsigned width, Section& section) {
    for (bool goes_on = true; goes_on;) {
        const bool is_negative = lexer.is('-');
        if (is_negative) lexer.next();
        append(section, is_negative ? 0 - lexer.bits : lexer.bits, width);
        lexer.next();
        goes_on = lexer.is(',');
        if (goes_on) lexer.next();
    }
}

void read_section(Lexer& lexer, DebugText& made) {
    Section& section = made.sections[lexer.text];
    lexer.next();
    lexer.next();  // The brace.
    while (!lexer.at_end() && !lexer.is('}')) {
        const unsigned width = width_of(lexer.text);
        if (lexer.token == Token::word) section.labels.emplace(lexer.text, section.bytes.size());
        lexer.next();
        if (width == 0) continue;  // A label, or its colon.
        if (lexer.token == Token::integer || lexer.is('-')) {
            read_values(lexer, width, section);
            continue;
        }
        Reference& to = section.references[section.bytes.size()];
        to.symbol = lexer.text;
        lexer.next();
        to.offset = accept_offset(lexer);
        append(section, to.offset, width);
        if (lexer.is('-')) {  // The difference of two labels.
            lexer.next();
            lexer.next();
        }
    }
}

}  // namespace

DebugText read_debug_text(std::string_view ptx) {
    DebugText made;
    for (Lexer lexer(ptx); !lexer.at_end();) {
        const Token token = lexer.token;
        const std::string_view text = lexer.text;
        const std::uint32_t line = lexer.line;
        lexer.next();
        if (token == Token::directive && text == ".section") {
            read_section(lexer, made);
        } else if (token == Token::word && lexer.is(':')) {
            made.labels.emplace(text, line);
        }
    }
    return made;
}

}  // namespace lode::emulator::debug
