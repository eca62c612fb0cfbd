#include <algorithm>

#include <emulator/ptx/parser.hpp>

namespace lode::emulator::ptx {

namespace {

Space space_named(std::string_view name) noexcept {
    if (name == ".global") return Space::global;
    if (name == ".const") return Space::constant;
    if (name == ".shared") return Space::shared;
    if (name == ".local") return Space::local;
    if (name == ".param") return Space::param;
    if (name == ".reg") return Space::reg;
    return Space::none;
}

}  // namespace

Type type_named(std::string_view name) noexcept {
    if (name == "pred") return {Class::predicate, 0};
    if (name == "f16x2" || name == "bf16x2") return {Class::real, 4};
    if (name == "bf16") return {Class::real, 2};
    if (name == "tf32") return {Class::real, 4};
    if (name.size() < 2 || name.size() > 4) return {};
    unsigned bits = 0;
    for (const char c : name.substr(1)) {
        if (c < '0' || c > '9') return {};
        bits = bits * 10 + static_cast<unsigned>(c - '0');
    }
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) return {};
    const auto bytes = static_cast<std::uint8_t>(bits / 8);
    switch (name[0]) {
        case 'b':
            return {Class::bits, bytes};
        case 'u':
            return {Class::unsigned_integer, bytes};
        case 's':
            return {Class::signed_integer, bytes};
        case 'f':
            return {Class::real, bytes};
        default:
            return {};
    }
}

ParseError parse(std::string_view text, Module& module) {
    return Parser(text, module).run();
}

void Parser::fail(std::string message) {
    if (error_.message.empty()) error_ = {lexer_.line, std::move(message)};
    lexer_.stop();
}

bool Parser::accept(char mark) {
    if (!lexer_.is(mark)) return false;
    lexer_.next();
    return true;
}

void Parser::expect(char mark) {
    if (accept(mark)) return;
    fail("'" + std::string(1, mark) + "' is expected before '" + std::string(lexer_.text) + "'.");
}

bool Parser::accept_directive(std::string_view name) {
    if (lexer_.token != Token::directive || lexer_.text != name) return false;
    lexer_.next();
    return true;
}

std::uint64_t Parser::expect_integer() {
    const bool minus = accept('-');
    if (lexer_.token != Token::integer) {
        fail("A number is expected before '" + std::string(lexer_.text) + "'.");
        return 0;
    }
    const std::uint64_t bits = lexer_.bits;
    lexer_.next();
    return minus ? 0 - bits : bits;
}

std::string_view Parser::expect_word() {
    if (lexer_.token != Token::word) {
        fail("A name is expected before '" + std::string(lexer_.text) + "'.");
        return {};
    }
    const std::string_view word = lexer_.text;
    lexer_.next();
    return word;
}

void Parser::skip_statement() {
    while (!lexer_.at_end() && !lexer_.is(';'))
        lexer_.next();
    accept(';');
}

void Parser::skip_braces() {
    int depth = 0;
    do {
        if (lexer_.is('{')) ++depth;
        if (lexer_.is('}')) --depth;
        lexer_.next();
    } while (depth > 0 && !lexer_.at_end());
}

ParseError Parser::run() {
    while (!lexer_.at_end())
        top_level();
    if (error_.message.empty() && module_.version == 0) {
        error_ = {1, "The text has no .version: it isn't PTX."};
    }
    return error_;
}

void Parser::top_level() {
    if (lexer_.token != Token::directive) {
        return fail("'" + std::string(lexer_.text) + "' isn't a directive.");
    }
    if (accept_directive(".version")) {
        // "9.0" reads as a real, "9" as an integer.
        const std::string_view text = lexer_.text;
        const auto dot = text.find('.');
        int major = 0;
        int minor = 0;
        for (const char c : text.substr(0, dot))
            major = major * 10 + (c - '0');
        if (dot != text.npos) {
            for (const char c : text.substr(dot + 1))
                minor = minor * 10 + (c - '0');
        }
        module_.version = major * 10 + minor;
        return lexer_.next();
    }
    if (accept_directive(".target")) {
        module_.target = expect_word();
        while (accept(','))
            expect_word();
        return;
    }
    if (accept_directive(".address_size")) {
        module_.address_size = static_cast<int>(expect_integer());
        return;
    }
    if (accept_directive(".file")) {
        const auto id = static_cast<std::uint32_t>(expect_integer());
        if (lexer_.token == Token::text && lexer_.text.size() >= 2) {
            module_.files[id] = lexer_.text.substr(1, lexer_.text.size() - 2);
        }
        lexer_.next();
        while (accept(','))
            lexer_.next();
        return;
    }
    if (accept_directive(".section")) {
        lexer_.next();
        return skip_braces();
    }
    if (accept_directive(".pragma") || accept_directive(".alias")) return skip_statement();
    bool is_extern = false;
    bool is_weak = false;
    for (;;) {
        if (accept_directive(".visible")) continue;
        if (accept_directive(".extern")) {
            is_extern = true;
        } else if (accept_directive(".weak") || accept_directive(".common")) {
            is_weak = true;
        } else {
            break;
        }
    }
    if (accept_directive(".entry")) return function(true);
    if (accept_directive(".func")) return function(false);
    const Space space = space_named(lexer_.text);
    if (space == Space::none || space == Space::reg) {
        return fail("The directive '" + std::string(lexer_.text) + "' isn't known here.");
    }
    lexer_.next();
    variable_list(space, is_extern, is_weak, module_.variables);
    expect(';');
}

// Everything behind the space: attributes, type, and one or more declarators.
void Parser::variable_list(Space space, bool is_extern, bool is_weak, std::vector<Variable>& into) {
    Variable first = declarator(space);
    for (;;) {
        first.is_extern = is_extern;
        first.is_weak = is_weak;
        into.push_back(first);
        if (!accept(',')) return;
        Variable& last = into.back();
        first.name = expect_word();
        first.initial.clear();
        first.bytes = last.type.bytes;
    }
}

Variable Parser::declarator(Space space) {
    Variable variable;
    variable.space = space;
    variable.line = lexer_.line;
    std::uint32_t lanes = 1;
    while (lexer_.token == Token::directive) {
        const std::string_view word = lexer_.text;
        lexer_.next();
        if (word == ".align") {
            // Behind .ptr it is the alignment of what is pointed to.
            const auto align = static_cast<std::uint32_t>(expect_integer());
            if (!variable.pointer) variable.align = std::max(1u, align);
        } else if (word == ".ptr") {
            variable.pointer = true;
        } else if (word == ".attribute") {
            while (!lexer_.at_end() && !accept(')'))
                lexer_.next();
        } else if (word == ".v2" || word == ".v4" || word == ".v8") {
            lanes = static_cast<std::uint32_t>(word[2] - '0');
        } else if (const Type type = type_named(word.substr(1)); type.kind != Class::other) {
            variable.type = type;
            const std::uint32_t natural = std::max<std::uint32_t>(1, type.bytes);
            if (variable.align < natural) variable.align = natural;
        } else if (word == ".texref" || word == ".samplerref" || word == ".surfref") {
            variable.type = {Class::other, 8};
        }
    }
    variable.name = expect_word();
    variable.bytes = std::uint64_t{variable.type.bytes} * lanes;
    std::uint64_t elements = 0;
    bool array = false;
    while (accept('[')) {
        const bool open = lexer_.is(']');
        const std::uint64_t count = open ? 0 : expect_integer();
        expect(']');
        elements = array ? elements * count : count;
        array = true;
    }
    if (array) variable.bytes *= elements;
    if (accept('=')) {
        initialiser(variable, elements);
        if (array && variable.bytes == 0) {
            variable.bytes = std::uint64_t{variable.type.bytes} * variable.initial.size();
        }
    }
    return variable;
}

void Parser::initialiser(Variable& variable, std::uint64_t& elements) {
    if (!accept('{')) return initial_value(variable);
    while (!lexer_.at_end() && !lexer_.is('}')) {
        if (lexer_.is('{')) {
            initialiser(variable, elements);
        } else {
            initial_value(variable);
        }
        if (!accept(',')) break;
    }
    expect('}');
}

// A number, a symbol, generic(symbol), symbol+4, or 0xFF00(symbol): a byte of an address.
void Parser::initial_value(Variable& variable) {
    Initial value;
    const bool minus = accept('-');
    if (lexer_.token == Token::integer || lexer_.token == Token::real32 ||
        lexer_.token == Token::real64) {
        value.bits = minus ? 0 - lexer_.bits : lexer_.bits;
        if (minus && lexer_.token == Token::real64) value.bits = lexer_.bits ^ (1ull << 63);
        lexer_.next();
        if (accept('(')) {
            std::uint64_t mask = value.bits;
            value.bits = 0;
            while (mask != 0 && (mask & 0xff) == 0) {
                mask >>= 8;
                value.shift = static_cast<std::uint8_t>(value.shift + 8);
            }
            value.symbol = expect_word();
            if (value.symbol == "generic" && accept('(')) {
                value.generic = true;
                value.symbol = expect_word();
                expect(')');
            }
            if (accept('+')) value.bits = expect_integer();
            expect(')');
        }
    } else {
        value.symbol = expect_word();
        if (value.symbol == "generic" && accept('(')) {
            value.generic = true;
            value.symbol = expect_word();
            if (accept('+')) value.bits = expect_integer();
            expect(')');
        }
        if (accept('+')) value.bits += expect_integer();
        if (lexer_.is('-')) value.bits += expect_integer();
    }
    variable.initial.push_back(value);
}

std::vector<Variable> Parser::parameter_list() {
    std::vector<Variable> all;
    if (!accept('(')) return all;
    while (!lexer_.at_end() && !lexer_.is(')')) {
        if (!accept_directive(".param") && !accept_directive(".reg")) {
            fail("'.param' is expected before '" + std::string(lexer_.text) + "'.");
        }
        all.push_back(declarator(Space::param));
        if (!accept(',')) break;
    }
    expect(')');
    return all;
}

std::array<std::uint32_t, 3> Parser::triple() {
    std::array<std::uint32_t, 3> values{1, 1, 1};
    values[0] = static_cast<std::uint32_t>(expect_integer());
    for (int i = 1; i < 3 && accept(','); ++i) {
        values[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(expect_integer());
    }
    return values;
}

void Parser::performance_directives(Function& function) {
    while (lexer_.token == Token::directive) {
        const std::string_view word = lexer_.text;
        lexer_.next();
        if (word == ".maxntid") {
            function.max_ntid = triple();
        } else if (word == ".reqntid") {
            function.required_ntid = triple();
        } else if (word == ".reqnctapercluster") {
            function.cluster = triple();
        } else if (word == ".minnctapersm") {
            function.min_blocks = static_cast<std::uint32_t>(expect_integer());
        } else if (word == ".pragma") {
            skip_statement();
        } else if (lexer_.token == Token::integer) {
            triple();  // .maxnreg, .maxnctapersm, .maxclusterrank: nothing to emulate
        }
    }
}

void Parser::function(bool entry) {
    Function made;
    made.entry = entry;
    made.line = lexer_.line;
    while (lexer_.token == Token::directive)
        lexer_.next();  // .attribute-like marks
    if (!entry && lexer_.is('(')) made.returns = parameter_list();
    made.name = expect_word();
    made.parameters = parameter_list();
    performance_directives(made);
    if (accept(';')) {
        module_.functions.push_back(std::move(made));
        return;
    }
    body(made);
    module_.functions.push_back(std::move(made));
}

}  // namespace lode::emulator::ptx
