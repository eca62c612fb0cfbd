#include <algorithm>

#include <emulator/ptx/parser.hpp>

namespace lode::emulator::ptx {

Space space_named(std::string_view name) noexcept {
    if (name == ".global") return Space::global;
    if (name == ".const") return Space::constant;
    if (name == ".shared") return Space::shared;
    if (name == ".local") return Space::local;
    if (name == ".param") return Space::param;
    if (name == ".reg") return Space::reg;
    return Space::none;
}

Type type_named(std::string_view name) noexcept {
    if (name == "pred") return {Class::predicate, 0};
    if (name == "f16x2") return {Class::packed, 4};
    if (name == "bf16x2") return {Class::real, 4};
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

ParseError parse(std::string_view text, Module& module, int newest_version) {
    return Parser(text, module, newest_version).run();
}

void Parser::fail(std::string message, std::uint32_t line) {
    if (error_.message.empty()) error_ = {line == 0 ? lexer_.line : line, std::move(message)};
    lexer_.stop();
}

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
    constexpr std::uint32_t deepest = 32;
    if (++parser_.depth_ > deepest)
        parser_.fail("Lists are nested more than " + std::to_string(deepest) + " deep.");
}

bool Parser::accept(char mark) {
    if (!lexer_.is(mark)) return false;
    lexer_.next();
    return true;
}

void Parser::fail_expecting(std::string_view what) {
    const std::string found =
        lexer_.at_end() ? "the end of the text" : "'" + std::string(lexer_.text) + "'";
    fail(std::string(what) + " is expected before " + found + ".");
}

void Parser::fail_twice(std::string_view name, std::uint32_t line) {
    fail("'" + std::string(name) + "' is declared twice.", line);
}

void Parser::expect(char mark) {
    if (!accept(mark)) fail_expecting("'" + std::string(1, mark) + "'");
}

bool Parser::accept_directive(std::string_view name) {
    if (lexer_.token != Token::directive || lexer_.text != name) return false;
    lexer_.next();
    return true;
}

std::uint64_t Parser::expect_integer() {
    const bool minus = accept('-');
    const std::uint64_t bits = expect_count();
    return minus ? 0 - bits : bits;
}

std::uint64_t Parser::expect_count() {
    if (lexer_.token != Token::integer) {
        fail_expecting("A number");
        return 0;
    }
    if (lexer_.overflows) fail("The number " + std::string(lexer_.text) + " is too large.");
    const std::uint64_t bits = lexer_.bits;
    lexer_.next();
    return bits;
}

std::string_view Parser::expect_word() {
    if (lexer_.token != Token::word) {
        fail_expecting("A name");
        return {};
    }
    const std::string_view word = lexer_.text;
    lexer_.next();
    return word;
}

void Parser::skip_statement() {
    while (!lexer_.at_end() && !lexer_.is(';') && !lexer_.is('"'))
        lexer_.next();
    expect(';');
}

void Parser::skip_braces() {
    int depth = 0;
    do {
        if (lexer_.is('{')) ++depth;
        if (lexer_.is('}')) --depth;
        lexer_.next();
    } while (depth > 0 && !lexer_.at_end());
    if (depth > 0) fail_expecting("'}'");
}

void Parser::skip_parentheses() {
    int depth = 0;
    do {
        if (lexer_.is('(')) ++depth;
        if (lexer_.is(')')) --depth;
        lexer_.next();
    } while (depth > 0 && !lexer_.at_end());
    if (depth > 0) fail_expecting("')'");
}

ParseError Parser::run() {
    header();
    while (!lexer_.at_end())
        top_level();
    return error_;
}

std::string too_new(const Module& module, int newest_version) {
    const auto text = [](int version) {
        return std::to_string(version / 100) + "." + std::to_string(version % 100);
    };
    return "The PTX has version " + text(module.version) + ", and the driver reads " +
           text(newest_version) + " at most.";
}

// .version 9.0 .target sm_90[, options] [.address_size 64]: in this order, before anything else.
void Parser::header() {
    if (!accept_directive(".version")) return fail("The text has no .version: it isn't PTX.");
    version();
    if (!accept_directive(".target")) return fail("The text has no .target behind its .version.");
    do {
        target();
    } while (accept_directive(".target"));
    if (!accept_directive(".address_size")) return;
    const std::uint64_t bits = expect_count();
    if (bits != 32 && bits != 64) return fail("The .address_size is neither 32 nor 64.");
    module_.address_size = static_cast<int>(bits);
}

void Parser::version() {
    constexpr int limit = 99;
    const std::string_view text = lexer_.text;
    int numbers[2] = {0, 0};
    int dots = 0;
    for (const char c : text) {
        if (c == '.') ++dots;
        if (dots > 1 || (c != '.' && (c < '0' || c > '9'))) dots = 2;
        if (dots > 1) break;
        int& number = numbers[dots];
        if (c != '.') number = std::min(limit, number * 10 + (c - '0'));
    }
    if (dots != 1 || text.back() == '.') return fail_expecting("A .version such as 9.0");
    module_.version = 100 * numbers[0] + numbers[1];
    module_.is_too_new = module_.version > newest_version_ || numbers[1] > 9;
    if (numbers[1] > 9 || (module_.is_too_new && newest_version_ < own_version))
        return fail(too_new(module_, newest_version_));
    lexer_.next();
}

void Parser::target() {
    constexpr std::string_view options[] = {"texmode_unified", "texmode_independent", "debug",
                                            "map_f64_to_f32"};
    module_.target = expect_word();
    while (accept(',')) {
        const std::uint32_t line = lexer_.line;
        const std::string_view option = expect_word();
        if (std::ranges::find(options, option) == std::end(options))
            fail("The .target option '" + std::string(option) + "' isn't known.", line);
    }
}

void Parser::file() {
    const auto id = static_cast<std::uint32_t>(expect_count());
    if (lexer_.token != Token::text) return fail_expecting("A file's name");
    module_.files[id] = lexer_.text.substr(1, lexer_.text.size() - 2);
    lexer_.next();
    while (accept(','))
        expect_count();  // The file's time and size.
}

void Parser::alias() {
    Alias made;
    made.line = lexer_.line;
    made.name = expect_word();
    expect(',');
    made.of = expect_word();
    expect(';');
    module_.aliases.push_back(made);
}

void Parser::top_level() {
    if (lexer_.token != Token::directive) {
        return fail("'" + std::string(lexer_.text) + "' isn't a directive.");
    }
    if (accept_directive(".file")) return file();
    if (accept_directive(".alias")) return alias();
    if (accept_directive(".pragma")) return skip_statement();
    if (accept_directive(".section")) {
        lexer_.next();
        return skip_braces();
    }
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
    if (space == Space::none || space == Space::reg || space == Space::local) {
        return fail("The directive '" + std::string(lexer_.text) + "' isn't known here.");
    }
    lexer_.next();
    variable_list(space, is_extern, is_weak, module_.variables);
    expect(';');
}

std::vector<Variable> Parser::parameter_list(bool entry) {
    std::vector<Variable> all;
    if (!accept('(')) return all;
    if (accept(')')) return all;
    do {
        if (!accept_directive(".param") && (entry || !accept_directive(".reg")))
            fail_expecting("'.param'");
        Variable variable = variable_type(Space::param);
        declarator(variable);
        if (entry && variable.bytes == 0)
            fail("The parameter '" + std::string(variable.name) + "' of a kernel has no size.",
                 variable.line);
        all.push_back(std::move(variable));
    } while (accept(','));
    expect(')');
    return all;
}

std::array<std::uint32_t, 3> Parser::triple() {
    std::array<std::uint32_t, 3> values{1, 1, 1};
    std::size_t i = 0;
    do {
        const std::uint32_t line = lexer_.line;
        const std::uint64_t value = expect_count();
        if (value == 0 || value > UINT32_MAX)
            fail("The extent isn't positive, or is too large.", line);
        values[i++] = static_cast<std::uint32_t>(value);
    } while (i < values.size() && accept(','));
    return values;
}

void Parser::performance_directives(Function& function) {
    constexpr std::string_view with_number[] = {".maxnreg", ".maxnctapersm", ".maxclusterrank",
                                                ".abi_preserve", ".abi_preserve_control"};
    constexpr std::string_view alone[] = {".explicitcluster", ".blocksareclusters", ".noreturn"};
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
            function.min_blocks = static_cast<std::uint32_t>(expect_count());
        } else if (word == ".pragma") {
            skip_statement();
        } else if (std::ranges::find(with_number, word) != std::end(with_number)) {
            expect_count();  // Nothing to emulate.
        } else if (std::ranges::find(alone, word) == std::end(alone)) {
            fail("The directive '" + std::string(word) + "' isn't known behind a function's name.");
        }
    }
}

void Parser::function(bool entry) {
    Function made;
    made.entry = entry;
    made.line = lexer_.line;
    if (accept_directive(".attribute")) skip_parentheses();
    if (!entry && lexer_.is('(')) made.returns = parameter_list(false);
    made.name = expect_word();
    made.parameters = parameter_list(entry);
    performance_directives(made);
    if (!accept(';')) body(made);
    module_.functions.push_back(std::move(made));
}

}  // namespace lode::emulator::ptx
