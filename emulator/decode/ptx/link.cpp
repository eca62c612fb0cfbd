#include "emulator/decode/ptx/link.hpp"

#include "emulator/decode/builtins.hpp"
#include "emulator/decode/ptx/device_runtime.hpp"
#include "emulator/decode/ptx/lexer.hpp"

#include <lode/base/arch.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::ptx {
namespace {

bool is_within(std::string_view part, std::string_view whole) noexcept {
    return part.data() >= whole.data() && part.data() < whole.data() + whole.size();
}

std::string_view between(const char* begin, std::string_view last) noexcept {
    return {begin, static_cast<std::size_t>(last.data() + last.size() - begin)};
}

/// Reads a block in braces, whose opening brace is the current token, up to its closing one.
/// Returns the closing brace.
std::string_view skip_block(Lexer& lexer) {
    int depth = 0;
    std::string_view last = lexer.text;
    while (!lexer.at_end()) {
        if (lexer.is('{')) ++depth;
        if (lexer.is('}')) --depth;
        last = lexer.text;
        lexer.next();
        if (depth == 0) break;
    }
    return last;
}

/// The names that a module's code and its initial values refer to.
std::unordered_set<std::string_view> used_names(const Module& module) {
    std::unordered_set<std::string_view> names;
    for (const Function& function : module.functions) {
        for (const auto* const list : {&function.operands, &function.elements})
            for (const Operand& operand : *list)
                if (operand.kind == OperandKind::symbol) names.insert(operand.name);
        for (const Table& table : function.tables)
            names.insert(table.functions.begin(), table.functions.end());
    }
    for (const Variable& variable : module.variables)
        for (const Initial& initial : variable.initial)
            if (!initial.symbol.empty()) names.insert(initial.symbol);
    return names;
}

/// What declares a function. What follows a kernel's parameters is left to its definition.
std::string_view declaration_of(const Function& function, std::string_view heading) {
    if (!function.entry) return heading;
    const std::size_t name = heading.find(function.name, heading.find(".entry"));
    const std::size_t end = heading.find(')', name);
    return heading.substr(0, end == heading.npos ? name + function.name.size() : end + 1);
}

}  // namespace

void Link::fail(std::string_view text) {
    if (!errors_.empty()) errors_ += '\n';
    errors_ += text;
}

std::string Link::add(std::string_view text, std::string name) {
    Unit& unit = units_.emplace_back();
    unit.name = std::move(name);
    unit.text = std::string(text.substr(0, text.find('\0')));
    ParseError error = parse(unit.text, unit.module, newest_version_);
    if (error.message.empty()) error = validate(unit.module);
    if (!error.message.empty()) {
        // PTX from a newer compiler is accepted if all of it is understood.
        const std::string reason = unit.module.is_too_new && newest_version_ >= own_version
                                       ? too_new(unit.module, newest_version_) + " "
                                       : "";
        std::string message =
            fmt::format("'{}', PTX line {}: {}{}", unit.name, error.line, reason, error.message);
        units_.pop_back();
        return message;
    }
    split(unit);
    return {};
}

// The text is valid, so that each directive ends where its form says.
void Link::split(Unit& unit) {
    Lexer lexer(unit.text);
    bool in_header = true;
    while (!lexer.at_end()) {
        const char* const begin = lexer.text.data();
        const std::string_view directive = lexer.text;
        if (directive == ".version" || directive == ".target" || directive == ".address_size" ||
            (in_header && lexer.token != Token::directive)) {
            lexer.next();
            continue;
        }
        in_header = false;
        Piece piece;
        std::string_view last = directive;
        lexer.next();
        if (directive == ".file") {
            piece.kind = PieceKind::file;
            while (!lexer.at_end() && lexer.token != Token::directive) {
                last = lexer.text;
                lexer.next();
            }
        } else if (directive == ".section") {
            piece.kind = PieceKind::section;
            while (!lexer.at_end() && !lexer.is('}')) {
                const std::string_view word = lexer.text;
                const bool is_word = lexer.token == Token::word;
                lexer.next();
                if (is_word && lexer.is(':')) unit.labels.push_back(word);
            }
            last = lexer.text;
            lexer.next();
        } else {
            bool is_function = directive == ".func" || directive == ".entry";
            while (!lexer.at_end() && !lexer.is(';')) {
                is_function |= lexer.text == ".func" || lexer.text == ".entry";
                if (lexer.is('{')) {
                    piece.heading = static_cast<std::size_t>(lexer.text.data() - begin);
                    last = skip_block(lexer);
                    if (is_function) break;
                    continue;
                }
                last = lexer.text;
                lexer.next();
            }
            if (lexer.is(';') && !(is_function && piece.heading != 0)) {
                if (piece.heading == 0)
                    piece.heading = static_cast<std::size_t>(lexer.text.data() - begin);
                last = lexer.text;
                lexer.next();
            }
            if (is_function) piece.kind = PieceKind::function;
        }
        piece.text = between(begin, last);
        unit.pieces.push_back(std::move(piece));
    }
    const auto piece_of = [&](std::string_view name) -> Piece* {
        const auto found = std::ranges::find_if(
            unit.pieces, [&](const Piece& piece) { return is_within(name, piece.text); });
        return found == unit.pieces.end() ? nullptr : &*found;
    };
    for (const Function& function : unit.module.functions)
        if (Piece* const piece = piece_of(function.name)) piece->function = &function;
    for (const Variable& variable : unit.module.variables) {
        Piece* const piece = piece_of(variable.name);
        // Those in a function's body belong to the function.
        if (piece == nullptr || piece->kind == PieceKind::function) continue;
        piece->kind = PieceKind::variable;
        piece->variables.push_back(&variable);
    }
}

void Link::resolve(const Unit& unit, std::string_view name, Symbol found) {
    found.unit = &unit;
    const auto [at, is_new] = symbols_.try_emplace(name, found);
    if (is_new) return;
    Symbol& known = at->second;
    const bool is_same_kind = (known.function != nullptr) == (found.function != nullptr);
    std::string wrong;
    if (!is_same_kind) {
        wrong = "different kinds";
    } else if (found.function != nullptr) {
        wrong = difference(*known.function, *found.function);
    } else {
        Variable same = *found.variable;
        if (same.is_array && (same.bytes == 0 || known.variable->bytes == 0))
            same.bytes = known.variable->bytes;
        if (!same_type(same, *known.variable)) wrong = "different types";
    }
    if (!wrong.empty()) {
        return fail(fmt::format("The declarations of '{}' in '{}' and '{}' have {}.", name,
                                known.unit->name, unit.name, wrong));
    }
    if (!found.is_defined) {
        const bool is_larger = found.variable != nullptr && !known.is_defined &&
                               found.variable->align > known.variable->align;
        if (is_larger) known = found;
        return;
    }
    if (known.is_defined && !known.is_replaceable && !found.is_replaceable) {
        return fail(fmt::format("Multiple definition of '{}' in '{}', first defined in '{}'", name,
                                unit.name, known.unit->name));
    }
    if (!known.is_defined || (known.is_replaceable && !found.is_replaceable)) known = found;
}

void Link::resolve(Unit& unit) {
    for (const Piece& piece : unit.pieces) {
        if (const Function* const function = piece.function; function != nullptr) {
            if (function->linkage == Linkage::own && !function->entry) continue;
            resolve(unit, function->name,
                    {.function = function,
                     .is_defined = function->defined,
                     .is_replaceable = function->linkage == Linkage::weak});
        }
        for (const Variable* const variable : piece.variables) {
            if (variable->linkage == Linkage::own) continue;
            resolve(unit, variable->name,
                    {.variable = variable,
                     .is_defined = !variable->is_extern(),
                     .is_replaceable = variable->linkage == Linkage::weak ||
                                       variable->linkage == Linkage::common});
        }
    }
}

void Link::check_uses() {
    for (const Unit& unit : units_) {
        const auto used = used_names(unit.module);
        for (const Piece& piece : unit.pieces) {
            const auto check = [&](std::string_view name) {
                const auto found = symbols_.find(name);
                if (found == symbols_.end() || found->second.is_defined || !used.contains(name))
                    return;
                fail(fmt::format("Undefined reference to '{}' in '{}'", name, unit.name));
            };
            const Function* const function = piece.function;
            if (function != nullptr && function->linkage == Linkage::external &&
                !is_provided(function->name))
                check(function->name);
            // An external variable of shared memory is memory that each launch sizes.
            for (const Variable* const variable : piece.variables)
                if (variable->is_extern() && variable->space != Space::shared)
                    check(variable->name);
        }
    }
}

bool Link::is_provided(std::string_view name) const noexcept {
    const Builtin found = builtin_named(name);
    return found != no_builtin && (has_device_runtime_ || !builtin_rows[found].is_device_runtime);
}

// Private names that another input has too get a number.
void Link::rename() {
    std::unordered_set<std::string> taken;
    for (const auto& [name, symbol] : symbols_)
        taken.emplace(name);
    std::uint64_t files = 0;
    std::size_t number = 0;
    for (Unit& unit : units_) {
        unit.files = files;
        for (const auto& [id, path] : unit.module.files)
            files = std::max<std::uint64_t>(files, unit.files + id);
        const auto claim = [&](std::string_view name) {
            if (unit.renamed.contains(name) || taken.emplace(name).second) return;
            std::string made;
            do {
                made = fmt::format("{}__{}", name, ++number);
            } while (!taken.insert(made).second);
            unit.renamed.emplace(name, std::move(made));
        };
        std::unordered_set<std::string_view> own;
        for (const Piece& piece : unit.pieces) {
            const Function* const function = piece.function;
            if (function != nullptr && function->linkage == Linkage::own && !function->entry)
                own.insert(function->name);
            for (const Variable* const variable : piece.variables)
                if (variable->linkage == Linkage::own) own.insert(variable->name);
        }
        own.insert(unit.labels.begin(), unit.labels.end());
        for (const std::string_view name : own)
            claim(name);
    }
}

std::string Link::rewritten(const Unit& unit, std::string_view text, bool is_code) {
    if (unit.renamed.empty() && unit.files == 0) return std::string(text);
    std::string made;
    const char* copied = text.data();
    const auto replace = [&](std::string_view token, std::string_view with) {
        made.append(copied, static_cast<std::size_t>(token.data() - copied));
        made += with;
        copied = token.data() + token.size();
    };
    bool is_file = false;       // The next number is a file's.
    bool is_statement = false;  // The next word is an opcode.
    for (Lexer lexer(text); !lexer.at_end(); lexer.next()) {
        if (lexer.token == Token::integer && is_file)
            replace(lexer.text, std::to_string(lexer.bits + unit.files));
        const auto found = unit.renamed.find(lexer.text);
        if (lexer.token == Token::word && !is_statement && found != unit.renamed.end())
            replace(lexer.text, found->second);
        is_file = lexer.text == ".file" || lexer.text == ".loc" || lexer.text == "inlined_at";
        is_statement =
            is_code && (lexer.is(';') || lexer.is('{') || lexer.is('}') || lexer.is(':'));
    }
    made.append(copied, static_cast<std::size_t>(text.data() + text.size() - copied));
    return made;
}

bool Link::is_kept(const Unit& unit, const Piece& piece) const {
    const auto owns = [&](std::string_view name, const void* declaration) {
        const auto found = symbols_.find(name);
        if (found == symbols_.end()) return true;  // Private.
        const Symbol& symbol = found->second;
        return symbol.unit == &unit &&
               (symbol.function == declaration || symbol.variable == declaration);
    };
    if (piece.function != nullptr) return owns(piece.function->name, piece.function);
    return std::ranges::all_of(
        piece.variables, [&](const Variable* variable) { return owns(variable->name, variable); });
}

void Link::write_variables(bool with_symbols) {
    for (const Unit& unit : units_) {
        for (const Piece& piece : unit.pieces) {
            if (piece.kind != PieceKind::variable || !is_kept(unit, piece)) continue;
            const bool has_symbols = std::ranges::any_of(piece.variables, [](const Variable* one) {
                return std::ranges::any_of(
                    one->initial, [](const Initial& initial) { return !initial.symbol.empty(); });
            });
            if (has_symbols == with_symbols) result_ += rewritten(unit, piece.text, false) + '\n';
        }
    }
}

// Declarations first, so that every function may refer to every symbol.
void Link::write() {
    const auto newest = std::ranges::max_element(units_, {}, [](const Unit& unit) {
        const Result<Arch> arch = Arch::parse(unit.module.target);
        return arch ? std::pair(arch->cc(), unit.module.target.size())
                    : std::pair(ComputeCapability(), std::size_t{0});
    });
    int version = 0;
    for (const Unit& unit : units_)
        version = std::max(version, unit.module.version);
    result_ = fmt::format(".version {}.{}\n.target {}\n.address_size 64\n", version / 100,
                          version % 100, newest->module.target);
    const auto write_all = [&](PieceKind kind) {
        for (const Unit& unit : units_)
            for (const Piece& piece : unit.pieces)
                if (piece.kind == kind) result_ += rewritten(unit, piece.text, false) + '\n';
    };
    write_all(PieceKind::file);
    for (const Unit& unit : units_) {
        for (const Piece& piece : unit.pieces) {
            const Function* const function = piece.function;
            const std::string_view heading = piece.text.substr(0, piece.heading);
            if (function == nullptr || !is_kept(unit, piece)) continue;
            result_ += rewritten(unit, declaration_of(*function, heading), false) + ";\n";
        }
    }
    write_variables(false);
    write_variables(true);
    for (const Unit& unit : units_) {
        for (const Piece& piece : unit.pieces) {
            const bool is_definition = piece.function != nullptr && piece.function->defined;
            if (is_definition && is_kept(unit, piece))
                result_ += rewritten(unit, piece.text, true) + '\n';
        }
    }
    write_all(PieceKind::other);
    write_all(PieceKind::section);
}

// Adds the functions of libcudadevrt.a that are PTX, if an input uses them.
void Link::add_grid_functions() {
    const auto is_used = [](const Function& function) {
        return !function.defined && function.name.starts_with("cudaCG");
    };
    const bool are_used = std::ranges::any_of(units_, [&](const Unit& unit) {
        return std::ranges::any_of(unit.module.functions, is_used);
    });
    if (!has_device_runtime_ || !are_used || std::exchange(has_grid_functions_, true)) return;
    if (const std::string error = add(device_runtime_ptx, "libcudadevrt.a"); !error.empty())
        fail(error);
}

std::string Link::complete() {
    errors_.clear();
    symbols_.clear();
    add_grid_functions();
    for (Unit& unit : units_) {
        if (unit.module.address_size != 64)
            fail(fmt::format("'{}' has 32-bit addresses.", unit.name));
        resolve(unit);
    }
    check_uses();
    if (!errors_.empty()) return errors_;
    rename();
    write();
    Module made;
    ParseError error = parse(result_, made, newest_version_);
    if (error.message.empty()) error = validate(made);
    if (!error.message.empty())
        return fmt::format("Linked PTX, line {}: {}", error.line, error.message);
    return {};
}

}  // namespace lode::emulator::ptx
