// Debug directives. The emulator uses .file and .loc.
#include "emulator/decode/ptx/parser.hpp"

#include <algorithm>

namespace lode::emulator::ptx {

// .file number "name" [, time [, size]]
void Parser::file() {
    const std::uint32_t line = lexer_.line;
    const std::uint32_t id = expect_small(true);
    if (lexer_.token != Token::text) return fail_expecting("a file name");
    if (!module_.files.try_emplace(id, lexer_.text.substr(1, lexer_.text.size() - 2)).second)
        return fail("The file number " + std::to_string(id) + " is used twice.", line);
    lexer_.next();
    for (int k = 0; k < 2 && accept(','); ++k)
        expect_count();
}

// .loc file line column [, function_name label [+ n], inlined_at file line column]
void Parser::location() {
    const auto place = [&] {
        return std::array{expect_small(true), expect_small(true), expect_small(true)};
    };
    const std::array<std::uint32_t, 3> here = place();
    Location made{here[0], here[1], 0, here[2], {}};
    auto& all = function_->locations;
    if (accept(',')) {
        constexpr Needs inlined{0, 700};
        require(inlined, "inlined_at in .loc");
        if (lexer_.text != "function_name") return fail_expecting("'function_name'");
        lexer_.next();
        function_names_.emplace_back(lexer_.text, lexer_.line);
        made.function = lexer_.text;
        expect_word();
        if (accept('+')) expect_count();
        expect(',');
        if (lexer_.text != "inlined_at") return fail_expecting("'inlined_at'");
        lexer_.next();
        const std::uint32_t line = lexer_.line;
        const std::array<std::uint32_t, 3> outer = place();
        if (!locations_.contains(outer))
            fail("No earlier .loc has the position that inlined_at gives.", line);
        const std::size_t oldest = all.size() > 32 ? all.size() - 32 : 1;
        for (std::size_t i = all.size(); i-- > oldest && made.parent == 0;) {
            if (std::array{all[i].file, all[i].line, all[i].column} == outer)
                made.parent = static_cast<std::uint32_t>(i);
        }
    }
    locations_.insert(here);
    location_ = static_cast<std::uint32_t>(all.size());
    all.push_back(made);
}

// .loc_intermediate file line column: of the text in another language that the PTX was made from.
void Parser::intermediate_location() {
    require({0, 904}, ".loc_intermediate");
    for (int k = 0; k < 3; ++k)
        expect_small(true);
}

// .nv_intermediate_source_section { .code_block { .ir_name: "name" .sourceFileName: file
// .source_begin any text .source_end } … }
void Parser::intermediate_source() {
    require({0, 904}, ".nv_intermediate_source_section");
    expect('{');
    while (accept_directive(".code_block")) {
        expect('{');
        if (!accept_directive(".ir_name")) return fail_expecting("'.ir_name'");
        expect(':');
        if (lexer_.token != Token::text) return fail_expecting("the name of a language");
        lexer_.next();
        if (!accept_directive(".sourceFileName")) return fail_expecting("'.sourceFileName'");
        expect(':');
        expect_count();
        if (lexer_.text != ".source_begin") return fail_expecting("'.source_begin'");
        lexer_.skip_past(".source_end");
        expect('}');
    }
    expect('}');
}

bool Parser::at_section_name() const {
    constexpr std::string_view taken[] = {
        ".entry",        ".func",      ".version", ".target",  ".file",    ".loc",     ".section",
        ".align",        ".visible",   ".extern",  ".weak",    ".common",  ".pragma",  ".alias",
        ".address_size", ".attribute", ".maxntid", ".reqntid", ".maxnreg", ".noreturn"};
    return lexer_.token == Token::directive && lexer_.text.size() > 1 &&
           space_named(lexer_.text) == Space::none &&
           type_named(lexer_.text.substr(1)).kind == Class::other &&
           std::ranges::find(taken, lexer_.text) == std::end(taken);
}

// .section .name { label: .b8 1, 2 .b32 label .b64 .section+4 … }
void Parser::section() {
    if (!at_section_name()) return fail_expecting("a section name");
    lexer_.next();
    expect('{');
    while (!lexer_.at_end() && !lexer_.is('}')) {
        if (lexer_.token != Token::word) {
            section_data();
            continue;
        }
        constexpr Needs labels{0, 700};
        require(labels, "labels in sections");
        if (!section_labels_.insert(lexer_.text).second) fail_twice(lexer_.text);
        lexer_.next();
        expect(':');
    }
    expect('}');
}

void Parser::section_data() {
    constexpr Needs signs{0, 705};
    const Type type = type_named(lexer_.text.substr(std::min<std::size_t>(1, lexer_.text.size())));
    if (lexer_.token != Token::directive || type.kind != Class::bits || type.bytes > 8)
        return fail_expecting("'.b8', '.b16', '.b32' or '.b64'");
    lexer_.next();
    if (type.bytes >= 4 && (lexer_.token == Token::word || at_section_name())) {
        lexer_.next();
        if (accept('+')) {
            expect_count();
        } else if (accept('-')) {
            require(signs, "differences of labels");
            expect_word();
        }
        return;
    }
    do {
        const std::uint32_t line = lexer_.line;
        const bool is_negative = lexer_.is('-');
        if (is_negative) require(signs, "negative numbers in sections");
        const auto value = static_cast<std::int64_t>(expect_integer());
        const std::int64_t end = type.bytes < 4 ? std::int64_t{1} << (8 * type.bytes) : 0;
        if (end != 0 && (is_negative ? value < -end / 2 : value < 0 || value >= end))
            fail("The number doesn't fit in its type.", line);
    } while (accept(','));
}

}  // namespace lode::emulator::ptx
