// Function headings: results, parameters, performance directives, pragmas.
#include "emulator/decode/ptx/parser.hpp"

#include <algorithm>

namespace lode::emulator::ptx {

namespace {

std::string difference_of(const std::vector<Variable>& a, const std::vector<Variable>& b,
                          const std::string& what) {
    if (a.size() != b.size()) return "different numbers of " + what;
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (a[k].space != b[k].space) return what + " in different state spaces";
        if (!same_type(a[k], b[k])) return what + " of different types";
        if (a[k].align != b[k].align) return what + " with different alignments";
    }
    return {};
}

}  // namespace

bool same_type(const Variable& a, const Variable& b) noexcept {
    return a.type.kind == b.type.kind && a.type.bytes == b.type.bytes && a.lanes == b.lanes &&
           a.is_array == b.is_array && a.bytes == b.bytes;
}

std::string difference(const Function& a, const Function& b) {
    std::string found = difference_of(a.returns, b.returns, "results");
    return found.empty() ? difference_of(a.parameters, b.parameters, "parameters") : found;
}

void Parser::function(bool entry, Linkage linkage) {
    Function made;
    made.entry = entry;
    made.linkage = linkage;
    made.line = lexer_.line;
    if (!entry && lexer_.text == ".attribute") {
        Specifiers ignored;
        attribute(ignored);
        if (ignored.variable.is_managed) fail("A function can't be .managed.", made.line);
    }
    if (!entry && lexer_.is('(')) made.returns = parameter_list(Place::function, true);
    made.name = expect_name();
    made.parameters = parameter_list(entry ? Place::entry : Place::function, false);
    const bool has_directives = lexer_.token == Token::directive;
    if (entry) {
        entry_directives(made);
    } else {
        noreturn_and_abi(!made.returns.empty());
        if (accept_directive(".language")) languages();
    }
    const bool is_declaration = lexer_.is(';');
    if (is_declaration && entry && has_directives) return fail_expecting("a body");
    if (!is_declaration && linkage == Linkage::external)
        return fail("The .extern function '" + std::string(made.name) + "' has a body.", made.line);
    redeclare(made);
    if (!error_.message.empty()) return;
    const auto index = static_cast<std::uint32_t>(module_.functions.size());
    Symbol& symbol = symbols_.try_emplace(made.name, Symbol{true, false, index}).first->second;
    symbol.is_defined |= !is_declaration;
    module_.functions.push_back(std::move(made));
    Function& function = module_.functions.back();
    if (!accept(';')) body(function);
    function.known_functions = index + 1;
    function.known_variables = static_cast<std::uint32_t>(module_.variables.size());
}

// A function may be declared several times with the same heading, but only have one body.
void Parser::redeclare(const Function& made) {
    const auto found = symbols_.find(made.name);
    if (found == symbols_.end()) return;
    if (!found->second.is_function || found->second.is_defined)
        return fail("'" + std::string(made.name) + "' is defined twice.", made.line);
    const Function& first = module_.functions[found->second.index];
    if (first.entry != made.entry)
        return fail("'" + std::string(made.name) + "' is declared as a kernel and as a function.",
                    made.line);
    const bool is_linked_alike =
        made.linkage == first.linkage ||
        (made.linkage == Linkage::own && first.linkage != Linkage::external);
    if (!is_linked_alike)
        return fail("The declarations of '" + std::string(made.name) + "' have different linkage.",
                    made.line);
    if (const std::string wrong = difference(first, made); !wrong.empty())
        fail("The declarations of '" + std::string(made.name) + "' have " + wrong + ".", made.line);
}

std::vector<Variable> Parser::parameter_list(Place place, bool results) {
    std::vector<Variable> all;
    if (!accept('(')) return all;
    if (accept(')')) return all;
    do {
        if (!all.empty() && all.back().bytes == 0 && all.back().is_array)
            fail("Only the last parameter may be an array without a length.");
        all.push_back(parameter(place, results));
    } while (accept(','));
    expect(')');
    const bool is_wrong =
        results && all.size() > 1 &&
        std::ranges::any_of(all, [](const Variable& one) { return one.space != Space::reg; });
    if (is_wrong) fail("A function with several results must return them in .reg space.");
    return all;
}

Variable Parser::parameter(Place place, bool results) {
    const Specifiers what = specifiers(place);
    Variable made = what.variable;
    made.line = lexer_.line;
    made.name = place == Place::prototype ? expect_word() : expect_name();
    const std::string name(made.name);
    const bool is_place =
        made.space == Space::param || (made.space == Space::reg && place != Place::entry);
    if (!is_place) fail("The parameter '" + name + "' can't be in this state space.", made.line);
    const std::vector<std::uint64_t> sizes = extents(place);
    made.is_array = !sizes.empty();
    if (sizes.size() > 1)
        fail("The parameter '" + name + "' has more than one dimension.", made.line);
    if (__builtin_mul_overflow(made.bytes, sizes.empty() ? 1 : sizes[0], &made.bytes))
        fail("The array is too large.", made.line);
    finish_declarator(made, what, place);
    if (made.is_array && made.bytes == 0 && (place == Place::entry || results)) {
        fail("The " + std::string(results ? "result" : "parameter") + " '" + name + "' of a " +
                 (place == Place::entry ? "kernel" : "function") + " has no size.",
             made.line);
    }
    return made;
}

std::array<std::uint32_t, 3> Parser::triple(bool zero) {
    std::array<std::uint32_t, 3> values{1, 1, 1};
    std::size_t i = 0;
    do {
        values[i++] = expect_small(zero);
    } while (i < values.size() && accept(','));
    return values;
}

void Parser::entry_directives(Function& function) {
    bool has_rank = false;
    bool blocks_are_clusters = false;
    while (lexer_.token == Token::directive) {
        const std::string_view word = lexer_.text;
        lexer_.next();
        if (word == ".maxntid") {
            function.max_ntid = triple(false);
        } else if (word == ".reqntid") {
            function.required_ntid = triple(false);
        } else if (word == ".minnctapersm") {
            function.min_blocks = expect_small(false);
        } else if (word == ".maxnreg") {
            expect_small(false);  // No effect in the emulator.
        } else if (word == ".minperctamemory") {
            require({80, 904}, word);
            function.block_memory = expect_small(true);
        } else if (word == ".language") {
            languages();
        } else if (word == ".reqnctapercluster") {
            require(in_clusters, word);
            function.cluster = triple(true);
            function.has_cluster = true;
        } else if (word == ".maxclusterrank") {
            require(in_clusters, word);
            function.max_cluster_rank = expect_small(true);
            has_rank = true;
        } else if (word == ".explicitcluster") {
            require(in_clusters, word);
            function.explicit_cluster = true;
        } else if (word == ".blocksareclusters") {
            require({90, 900}, word);
            blocks_are_clusters = true;
        } else if (word == ".pragma") {
            pragma(Place::entry);
        } else {
            fail("The directive '" + std::string(word) + "' isn't valid before a kernel's body.");
        }
    }
    const bool has_blocks = function.required_ntid[0] != 0;
    if (has_blocks && function.max_ntid[0] != 0)
        fail("A kernel can't have both .maxntid and .reqntid.");
    if (has_rank && function.has_cluster)
        fail("A kernel can't have both .reqnctapercluster and .maxclusterrank.");
    if (blocks_are_clusters && !(has_blocks && function.has_cluster))
        fail(".blocksareclusters needs .reqntid and .reqnctapercluster.");
}

// Accepts .noreturn and the .abi_preserve directives in this order, each at most once. Returns
// whether there is a .noreturn.
bool Parser::noreturn_and_abi(bool has_results) {
    const bool is_noreturn = accept_directive(".noreturn");
    if (is_noreturn) {
        require({0, 604}, ".noreturn");
        if (has_results) fail("A function with results can't be .noreturn.");
    }
    constexpr std::pair<std::string_view, std::uint32_t> registers[] = {
        {".abi_preserve", 241}, {".abi_preserve_control", 15}};
    for (const auto& [word, most] : registers) {
        if (!accept_directive(word)) continue;
        require({80, 900}, word);
        const std::uint64_t value = expect_count();
        if (value > most)
            fail("'" + std::string(word) + "' has the value " + std::to_string(value) +
                 "; the limit is " + std::to_string(most) + ".");
    }
    return is_noreturn;
}

// .language "name" | number [, …]
void Parser::languages() {
    require({0, 902}, ".language");
    constexpr std::string_view names[] = {"unknown",       "ptx",           "nvvm",
                                          "cuda c++",      "cuda c++ tile", "tile ir",
                                          "python-cutile", "fortran",       "optix"};
    do {
        if (lexer_.token != Token::text) {
            const std::uint32_t line = lexer_.line;
            if (expect_count() > 10) fail("The number of a language isn't between 0 and 10.", line);
            continue;
        }
        std::string name(lexer_.text.substr(1, lexer_.text.size() - 2));
        for (char& c : name)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (std::ranges::find(names, name) == std::end(names))
            fail("The language '" + name + "' is unknown.");
        lexer_.next();
    } while (accept(','));
}

// .pragma "text" [, "text"];
void Parser::pragma(Place place) {
    do {
        if (lexer_.token != Token::text) return fail_expecting("a pragma string");
        one_pragma(lexer_.text.substr(1, lexer_.text.size() - 2), place);
        lexer_.next();
    } while (accept(','));
    expect(';');
}

// No pragma affects results. In a kernel, unknown pragmas are ignored, as in ptxas.
void Parser::one_pragma(std::string_view text, Place place) {
    struct Pragma {
        std::string_view name;
        bool has_number, in_body;
        Needs needs;
    };
    constexpr Pragma known[] = {{"used_bytes_mask", true, true, {0, 803}},
                                {"frequency", true, true, {0, 900}},
                                {"enable_smem_spilling", false, true, {75, 807}},
                                {"mma_throughput", false, true, {0, 903}},
                                {"abi_param_reg", true, false, {}}};
    const std::size_t end = text.find(' ');
    const auto found = std::ranges::find(known, text.substr(0, end), &Pragma::name);
    const std::string quoted = "The pragma '" + std::string(text) + "'";
    if (found == std::end(known)) {
        if (place == Place::module && text != "nounroll") fail(quoted + " is unknown.");
        return;
    }
    if (found->in_body != (place == Place::body)) return fail(quoted + " isn't allowed here.");
    require(found->needs, "the pragma '" + std::string(found->name) + "'");
    const Lexer number(end == text.npos ? std::string_view() : text.substr(end + 1));
    if (!found->has_number) return;
    const bool is_number = number.token == Token::integer && !number.overflows &&
                           number.text.size() == text.size() - end - 1;
    if (!is_number) fail(quoted + " requires a number.");
}

}  // namespace lode::emulator::ptx
