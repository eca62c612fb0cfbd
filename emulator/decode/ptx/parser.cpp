#include "emulator/decode/ptx/parser.hpp"

#include <algorithm>

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

Space space_of(Word word) noexcept {
    if (word == "global") return Space::global;
    if (word == "const") return Space::constant;
    if (word == "local") return Space::local;
    if (WordPrefix("shared").matches(word)) return Space::shared;
    return WordPrefix("param").matches(word) ? Space::param : Space::none;
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
    fail("Expected " + std::string(what) + " before " + found + ".");
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
    if (lexer_.token == Token::word && lexer_.text == "WARP_SZ") {
        lexer_.next();
        return 32;
    }
    if (lexer_.token != Token::integer) {
        fail_expecting("a number");
        return 0;
    }
    if (lexer_.overflows) fail("The number " + std::string(lexer_.text) + " is too large.");
    const std::uint64_t bits = lexer_.bits;
    lexer_.next();
    return bits;
}

std::uint32_t Parser::expect_small(bool zero) {
    const std::uint32_t line = lexer_.line;
    const std::uint64_t value = expect_count();
    if (value > UINT32_MAX || (value == 0 && !zero)) {
        fail("The number " + std::to_string(value) + " isn't between " + (zero ? "0" : "1") +
                 " and " + std::to_string(UINT32_MAX) + ".",
             line);
    }
    return static_cast<std::uint32_t>(value);
}

std::string_view Parser::expect_word() {
    if (lexer_.token != Token::word) {
        fail_expecting("a name");
        return {};
    }
    const std::string_view word = lexer_.text;
    lexer_.next();
    return word;
}

std::string_view Parser::expect_name() {
    if (lexer_.text == "_" || lexer_.text == "WARP_SZ") fail_expecting("a name");
    return expect_word();
}

void Parser::require(const Needs& needs, std::string_view feature) {
    if (!device_.has(needs))
        fail("The PTX's .target or .version doesn't support " + std::string(feature) + ".");
}

ParseError Parser::run() {
    header();
    device_ = device_of(module_);
    while (!lexer_.at_end())
        top_level();
    if (error_.message.empty()) finish();
    return error_;
}

std::string too_new(const Module& module, int newest_version) {
    const auto text = [](int version) {
        return std::to_string(version / 100) + "." + std::to_string(version % 100);
    };
    return "The PTX has version " + text(module.version) + "; the driver supports at most " +
           text(newest_version) + ".";
}

// .version 9.0 .target sm_90[, options] [.address_size 64], in this order, before anything else.
void Parser::header() {
    if (!accept_directive(".version"))
        return fail("The text isn't PTX: it doesn't begin with .version.");
    version();
    if (!accept_directive(".target")) return fail("The text has no .target after its .version.");
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
    if (dots != 1 || text.back() == '.') return fail_expecting("a version number such as 9.0");
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
            fail("The .target option '" + std::string(option) + "' is unknown.", line);
        has_samplers_ |= option == "texmode_independent";
    }
}

// .alias name, of; both must be declared, `of` must be defined and `name` must not.
void Parser::alias() {
    Alias made;
    made.line = lexer_.line;
    made.name = expect_word();
    expect(',');
    made.of = expect_word();
    if (lexer_.at_end()) return;
    for (const std::string_view name : {made.name, made.of}) {
        const auto found = symbols_.find(name);
        if (found == symbols_.end())
            return fail("'" + std::string(name) + "' isn't declared.", made.line);
        if (!found->second.is_function || module_.functions[found->second.index].entry)
            return fail("'" + std::string(name) + "' isn't a function.", made.line);
    }
    Symbol& symbol = symbols_[made.name];
    if (made.name == made.of || symbol.is_defined) return fail_twice(made.name, made.line);
    const Function& of = module_.functions[symbols_[made.of].index];
    if (of.linkage == Linkage::weak)
        return fail("The .weak function '" + std::string(made.of) + "' can't have an alias.",
                    made.line);
    if (const std::string wrong = difference(module_.functions[symbol.index], of); !wrong.empty()) {
        return fail("'" + std::string(made.name) + "' and '" + std::string(made.of) + "' have " +
                        wrong + ".",
                    made.line);
    }
    symbol.is_defined = true;
    module_.aliases.push_back(made);
    expect(';');
}

void Parser::top_level() {
    if (lexer_.token != Token::directive)
        return fail("'" + std::string(lexer_.text) + "' isn't a directive.");
    if (accept_directive(".file")) return file();
    if (accept_directive(".alias")) return alias();
    if (accept_directive(".pragma")) return pragma(Place::module);
    if (accept_directive(".section")) return section();
    if (accept_directive(".nv_intermediate_source_section")) return intermediate_source();
    constexpr std::pair<std::string_view, Linkage> linkages[] = {{".visible", Linkage::visible},
                                                                 {".extern", Linkage::external},
                                                                 {".weak", Linkage::weak},
                                                                 {".common", Linkage::common}};
    Linkage linkage = Linkage::own;
    for (const auto& [word, meant] : linkages) {
        if (linkage == Linkage::own && accept_directive(word)) linkage = meant;
    }
    if (linkage != Linkage::common && accept_directive(".entry")) return function(true, linkage);
    if (linkage != Linkage::common && accept_directive(".func")) return function(false, linkage);
    if (!at_declaration())
        return fail("The directive '" + std::string(lexer_.text) + "' isn't valid here.");
    declarations(Place::module, linkage);
}

// Checks that need the whole text: functions without a body, and labels of .loc.
void Parser::finish() {
    for (const Function& function : module_.functions) {
        const bool is_defined = symbols_[function.name].is_defined;
        if (!is_defined && function.linkage != Linkage::external)
            return fail("The function '" + std::string(function.name) + "' has no body.",
                        function.line);
    }
    std::unordered_set<std::string_view> names;
    for (const Alias& alias : module_.aliases)
        names.insert(alias.name);
    for (const Alias& alias : module_.aliases) {
        if (!symbols_[alias.of].is_defined || names.contains(alias.of))
            return fail("The function '" + std::string(alias.of) + "' has no body.", alias.line);
    }
    for (const auto& [name, line] : function_names_) {
        if (!section_labels_.contains(name))
            return fail("No section has the label '" + std::string(name) + "'.", line);
    }
}

}  // namespace lode::emulator::ptx
