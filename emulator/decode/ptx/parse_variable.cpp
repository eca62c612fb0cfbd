// Declarations: state space, alignment, type and names.
#include "base/align_up.hpp"
#include "emulator/decode/ptx/parser.hpp"

#include <algorithm>
#include <bit>

namespace lode::emulator::ptx {

namespace {

/// The types that a variable or a register may have; instructions have additional types.
bool is_fundamental(std::string_view name) {
    constexpr std::string_view all[] = {"b8",  "b16", "b32", "b64", "b128", "u8",
                                        "u16", "u32", "u64", "s8",  "s16",  "s32",
                                        "s64", "f16", "f32", "f64", "pred", "f16x2"};
    return std::ranges::find(all, name) != std::end(all);
}

}  // namespace

bool Parser::at_declaration() const {
    return lexer_.token == Token::directive &&
           (space_named(lexer_.text) != Space::none || lexer_.text == ".align" ||
            lexer_.text == ".attribute");
}

// Parses spaces, .align and .attribute in any order, then a vector and a type, then .ptr or .align.
Parser::Specifiers Parser::specifiers(Place place) {
    Specifiers made;
    Variable& variable = made.variable;
    made.line = lexer_.line;
    std::uint64_t align = 1;
    while (at_declaration()) {
        const Space space = space_named(lexer_.text);
        if (space != Space::none) {
            if (made.space) fail("A declaration can have only one state space.");
            made.space = space;
            lexer_.next();
        } else if (lexer_.text == ".attribute") {
            attribute(made);
        } else {
            align = alignment();
        }
    }
    variable.space = made.space.value_or(Space::none);
    if (lexer_.text == ".v2" || lexer_.text == ".v4") {
        variable.lanes = static_cast<std::uint8_t>(lexer_.text[2] - '0');
        lexer_.next();
    }
    made.is_opaque =
        lexer_.text == ".texref" || lexer_.text == ".surfref" || lexer_.text == ".samplerref";
    if (lexer_.text == ".samplerref" && !has_samplers_)
        fail("Samplers need the .target option texmode_independent.");
    const bool is_type = lexer_.token == Token::directive && is_fundamental(lexer_.text.substr(1));
    if (!is_type && !made.is_opaque) {
        fail_expecting("a type");
        return made;
    }
    variable.type = made.is_opaque ? Type{Class::other, 8} : type_named(lexer_.text.substr(1));
    if (lexer_.text == ".b128") require({70, 803}, ".b128");
    lexer_.next();
    const std::uint32_t natural = std::uint32_t{variable.type.bytes} * variable.lanes;
    variable.align = static_cast<std::uint32_t>(std::max<std::uint64_t>({align, natural, 1}));
    variable.bytes = natural;
    if (place == Place::entry) pointer(made);
    return made;
}

// Follows the type of a kernel's parameter: .ptr with the space pointed to, or .align.
void Parser::pointer(Specifiers& into) {
    into.variable.pointer = accept_directive(".ptr");
    if (into.variable.pointer) {
        constexpr Space spaces[] = {Space::global, Space::constant, Space::shared, Space::local};
        if (std::ranges::find(spaces, space_named(lexer_.text)) != std::end(spaces)) lexer_.next();
    }
    if (lexer_.text == ".align") alignment();  // The alignment of the data pointed to.
}

std::uint64_t Parser::alignment() {
    lexer_.next();
    const std::uint64_t align = expect_count();
    if (!std::has_single_bit(align))
        fail("The alignment " + std::to_string(align) + " isn't a power of two.");
    if (align > (1u << 31))
        fail("The alignment " + std::to_string(align) + " is larger than 2147483648.");
    return align;
}

// .attribute(.managed, .unified(1, 2))
void Parser::attribute(Specifiers& into) {
    lexer_.next();
    expect('(');
    do {
        if (accept_directive(".managed")) {
            into.variable.is_managed = true;
        } else if (accept_directive(".unified")) {
            require({90, 800}, ".unified");
            expect('(');
            expect_count();
            expect(',');
            expect_count();
            expect(')');
        } else {
            fail_expecting("an attribute");
        }
    } while (accept(','));
    expect(')');
}

void Parser::check_type(const Variable& variable, const Specifiers& what, Place place) {
    const std::string name(variable.name);
    const bool is_predicate = variable.type.kind == Class::predicate;
    if (is_predicate && (variable.space != Space::reg || variable.lanes > 1))
        return fail("The predicate '" + name + "' must be a scalar in .reg space.", variable.line);
    if (unsigned{variable.lanes} * variable.type.bytes > 16)
        return fail("The vector '" + name + "' has more than 128 bits.", variable.line);
    if (variable.is_managed && variable.space != Space::global)
        return fail("'" + name + "' can't be .managed: it isn't in .global space.", variable.line);
    if (!what.is_opaque) return;
    const bool is_allowed =
        variable.lanes == 1 && ((place == Place::module && variable.space == Space::global) ||
                                (place == Place::entry && variable.space == Space::param));
    if (!is_allowed) {
        fail("Textures, samplers and surfaces such as '" + name +
                 "' must be .global variables or kernel parameters.",
             variable.line);
    }
}

// A declaration after its linkage.
void Parser::declarations(Place place, Linkage linkage) {
    Specifiers what = specifiers(place);
    what.variable.linkage = linkage;
    const Space space = what.variable.space;
    const bool is_place = space != Space::none &&
                          (place == Place::body ||
                           (space != Space::reg && space != Space::local && space != Space::param));
    if (!is_place) fail("A variable in this state space can't be declared here.", what.line);
    if (linkage == Linkage::common && space != Space::global)
        fail("A .common variable must be in .global space.", what.line);
    if (accept(';')) return;
    do {
        declarator(what, place);
    } while (accept(','));
    expect(';');
}

// [2][3]. An extent without a number is 0; only the first may be.
std::vector<std::uint64_t> Parser::extents(Place place) {
    std::vector<std::uint64_t> sizes;
    while (accept('[')) {
        const bool is_open = sizes.empty() && lexer_.is(']');
        sizes.push_back(is_open ? 0 : expect_count());
        if (sizes.size() > 1 && sizes.back() == 0)
            fail("Only the first dimension of an array may be 0.");
        expect(']');
        if (place == Place::module || place == Place::body) continue;
        break;
    }
    return sizes;
}

// A name with its extents and initial value, or name<4>.
void Parser::declarator(const Specifiers& what, Place place) {
    Variable variable = what.variable;
    variable.line = lexer_.line;
    variable.name = expect_name();
    if (accept('<')) return range(what, std::move(variable), place);
    const std::vector<std::uint64_t> sizes = extents(place);
    variable.is_array = !sizes.empty();
    std::uint64_t elements = variable.lanes;
    for (const std::uint64_t size : sizes) {
        if (__builtin_mul_overflow(elements, size, &elements)) fail("The array is too large.");
    }
    const std::string name(variable.name);
    if (accept('=')) {
        if (variable.space != Space::global && variable.space != Space::constant)
            fail("'" + name + "' can't have an initial value.");
        if (variable.is_extern() || what.is_opaque)
            fail("'" + name + "' can't have an initial value: it is .extern or opaque.");
        initialiser(variable, sizes);
        if (variable.is_array && sizes[0] == 0) {
            std::uint64_t row = variable.lanes;
            for (std::size_t k = 1; k < sizes.size(); ++k)
                row *= sizes[k];
            elements = align_up<std::uint64_t>(variable.initial.size(), row);
        }
    }
    if (__builtin_mul_overflow(elements, std::uint64_t{variable.type.bytes}, &variable.bytes))
        fail("The array is too large.");
    if (variable.is_array && elements == 0 && !variable.is_extern())
        fail("'" + name + "' is an array without a length.", variable.line);
    finish_declarator(variable, what, place);
    if (error_.message.empty()) put(std::move(variable), place);
}

void Parser::finish_declarator(Variable& variable, const Specifiers& what, Place place) {
    check_type(variable, what, place);
    const std::string name(variable.name);
    if (variable.space == Space::reg && variable.is_array)
        fail("The register '" + name + "' can't be an array.", variable.line);
    const bool is_single = !variable.is_array && variable.space == Space::param;
    if (is_single && (variable.lanes > 1 || variable.type.kind == Class::packed))
        fail("'" + name + "' can't be a vector in .param space.", variable.line);
}

// name<4> declares name0 to name3.
void Parser::range(const Specifiers& what, Variable common, Place place) {
    const std::uint64_t count = expect_count();
    expect('>');
    if (count > UINT32_MAX)
        return fail("A range of " + std::to_string(count) +
                    " registers is too large; the limit is " + std::to_string(UINT32_MAX) + ".");
    finish_declarator(common, what, place);
    if (common.space == Space::reg) return declare_register(common, count, true);
    constexpr std::uint64_t most = 1 << 16;
    if (count > most)
        return fail("A range of " + std::to_string(count) +
                    " variables is too large; the limit is " + std::to_string(most) + ".");
    for (std::uint64_t k = 0; k < count && error_.message.empty(); ++k) {
        Variable one = common;
        one.name = module_.made_names.emplace_back(std::string(common.name) + std::to_string(k));
        put(std::move(one), place);
    }
}

void Parser::put(Variable variable, Place place) {
    if (variable.space == Space::reg) return declare_register(variable, 0, false);
    if (place == Place::module) return put_global(std::move(variable));
    if (variable.space != Space::global && variable.space != Space::constant)
        return declare(std::move(variable));
    // A module variable whose name is only visible in this block.
    const auto index = static_cast<std::uint32_t>(module_.variables.size());
    declare_name(variable.name, {Named::Kind::global, index}, variable.line);
    variable.name =
        module_.made_names.emplace_back(std::string(variable.name) + "::" + std::to_string(index));
    block_globals_.emplace(variable.name, index);
    module_.variables.push_back(std::move(variable));
}

// An .extern variable may be declared in addition to its definition, with the same type.
void Parser::put_global(Variable variable) {
    const auto index = static_cast<std::uint32_t>(module_.variables.size());
    const auto [at, fresh] =
        symbols_.try_emplace(variable.name, Symbol{false, !variable.is_extern(), index});
    if (!fresh) {
        Symbol& symbol = at->second;
        if (symbol.is_function || (symbol.is_defined && !variable.is_extern()))
            return fail("'" + std::string(variable.name) + "' is defined twice.", variable.line);
        const Variable& first = module_.variables[symbol.index];
        if (!symbol.is_defined && variable.linkage == Linkage::own) {
            return fail("The definition of the .extern variable '" + std::string(variable.name) +
                            "' isn't visible to other modules.",
                        variable.line);
        }
        Variable same = variable;
        if (same.is_array && (same.bytes == 0 || first.bytes == 0)) same.bytes = first.bytes;
        if (!same_type(first, same)) {
            return fail(
                "The declarations of '" + std::string(variable.name) + "' have different types.",
                variable.line);
        }
        if (!variable.is_extern()) symbol = {false, true, index};
    }
    module_.variables.push_back(std::move(variable));
}

void Parser::declare_register(const Variable& variable, std::uint64_t count, bool is_range) {
    const Register each{variable.type.bytes, variable.type.kind, variable.lanes};
    if (!is_range) {
        const auto index = static_cast<std::uint32_t>(function_->registers.size());
        declare_name(variable.name, {Named::Kind::reg, index}, variable.line);
        function_->registers.resize(index + each.lanes, each);
        function_->registers[index].name = variable.name;
        return;
    }
    Scope& scope = scopes_.back();
    const auto lowest = scope.lowest.find(variable.name);
    const bool is_taken = lowest != scope.lowest.end() && lowest->second < count;
    if (is_taken || !scope.ranges.try_emplace(variable.name, RegisterRange{count, each, {}}).second)
        fail_twice(variable.name, variable.line);
}

}  // namespace lode::emulator::ptx
