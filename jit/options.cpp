#include "base/identifier.hpp"
#include "base/message_text.hpp"
#include "base/try.hpp"
#include "jit/nvcc_flags.hpp"
#include "jit/request/options_fields.hpp"
#include "jit/request/options_text.hpp"

#include <lode/jit/options.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE {
namespace {

constexpr int most_registers = 255;

bool is_identifier(std::string_view text) {
    return !text.empty() && !is_digit(text[0]) &&
           std::ranges::all_of(text, is_identifier_character);
}

/// Whether a text can be a flag or file name: not empty, and usable as one C string.
bool is_one_piece(std::string_view text) {
    return !text.empty() && text.find('\0') == std::string_view::npos;
}

tl::unexpected<Error> refuse(std::string message) {
    return fail(Errc::invalid_argument, std::move(message));
}

/// Without the blanks that the compiler allows around a macro's parameter.
std::string_view bare(std::string_view text) {
    constexpr std::string_view blanks = " \t";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// What is wrong with the parameters of a function-like macro, given without its parentheses; empty
/// if nothing is. "..." or "name..." may be at the end.
std::string wrong_parameters(std::string_view text) {
    if (bare(text).empty()) return {};
    std::vector<std::string_view> names;
    for (bool is_last = false; !is_last;) {
        const auto comma = text.find(',');
        is_last = comma == std::string_view::npos;
        auto parameter = bare(text.substr(0, comma));
        if (!is_last) text.remove_prefix(comma + 1);
        constexpr std::string_view dots = "...";
        if (parameter.ends_with(dots)) {
            if (!is_last) return fmt::format("'{}' isn't its last parameter", dots);
            parameter = bare(parameter.substr(0, parameter.size() - dots.size()));
            if (parameter.empty()) return {};
        }
        if (!is_identifier(parameter) || parameter == "__VA_ARGS__")
            return fmt::format("its parameter '{}' isn't an identifier", shortened(parameter));
        if (std::ranges::find(names, parameter) != names.end())
            return fmt::format("it has the parameter '{}' twice", shortened(parameter));
        names.push_back(parameter);
    }
    return {};
}

/// What is wrong with a macro's name and parameters, "N" or "SQ(x)"; empty if nothing is.
std::string wrong_macro(std::string_view text) {
    const auto open = std::min(text.find('('), text.size());
    const auto name = text.substr(0, open);
    if (!is_identifier(name)) {
        return "it must be an identifier (letters, digits and _, not starting with a digit), with "
               "parameters directly after it if it has any: SQ(x)";
    }
    if (name == "defined" || name == "__VA_ARGS__") return "the preprocessor has it itself";
    if (open == text.size()) return {};
    if (text.find('(', open + 1) != std::string_view::npos || text.find(')') != text.size() - 1)
        return "its parameters must be between one pair of parentheses, at the end: SQ(x)";
    return wrong_parameters(text.substr(open + 1, text.size() - open - 2));
}

Status check_definition(const Definition& definition) {
    if (const auto why = wrong_macro(definition.name); !why.empty()) {
        return refuse(fmt::format("Definition '{}' isn't a macro name: {}.",
                                  shortened(definition.name), why));
    }
    constexpr std::string_view line_ends("\n\r\0", 3);
    if (definition.value && definition.value->find_first_of(line_ends) != std::string::npos) {
        return refuse(
            fmt::format("The value of definition '{}' spans several lines; it must be one line.",
                        shortened(definition.name)));
    }
    return {};
}

Status check_headers(const std::vector<Header>& headers) {
    std::vector<std::string_view> names;
    for (const auto& header : headers) {
        if (!is_one_piece(header.name)) return refuse("An in-memory header has no name.");
        if (!header.text.empty() && !is_one_piece(header.text)) {
            return refuse(
                fmt::format("In-memory header '{}' contains a NUL character.", header.name));
        }
        names.emplace_back(header.name);
    }
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
        return refuse(fmt::format("In-memory header '{}' is given twice.", *twice));
    }
    return {};
}

std::string spelled(const Definition& definition) {
    return definition.value ? fmt::format("{}={}", definition.name, *definition.value)
                            : definition.name;
}
std::string spelled(const std::filesystem::path& folder) {
    return folder.string();
}
std::string spelled(const std::string& text) {
    return text;
}

/// Appends a member's flags; a visitor of each_field().
struct FlagWriter {
    std::vector<std::string>& flags;

    void operator()(const char* /*name*/, const auto& /*value*/, NoFlag) const {}
    void operator()(const char* /*name*/, const auto& value, auto flag) const { put(value, flag); }

    void put(bool is_on, Flag flag) const {
        if (is_on) flags.emplace_back(flag.text);
    }
    void put(int value, Flag flag) const {
        if (value > 0) flags.push_back(fmt::format("{}{}", flag.text, value));
    }
    void put(std::optional<bool> is_on, Flag flag) const {
        if (is_on) flags.push_back(fmt::format("{}{}", flag.text, *is_on));
    }
    template <class Item>
    void put(const std::vector<Item>& items, Flag flag) const {
        for (const auto& item : items)
            flags.push_back(flag.text + spelled(item));
    }
    void put(Standard standard, Flag flag) const {
        flags.push_back(fmt::format("{}{}", flag.text, name_of(standard)));
    }
    /// The preset first, then the switches, so that they win by order and by NVRTC's own rule.
    void put(const Math& math, OwnFlags) const {
        each_field(math, *this);
        if (math.preset == Math::Preset::host_comparable && !math.fmad)
            flags.emplace_back("--fmad=false");
    }
    void put(Math::Preset preset, OwnFlags) const {
        if (preset == Math::Preset::fast) flags.emplace_back("--use_fast_math");
    }
    void put(Tile tile, OwnFlags) const {
        if (tile == Tile::enabled) flags.emplace_back("--enable-tile");
        if (tile == Tile::only) flags.emplace_back("--tile-only");
    }
    /// extra_flags, which compile_flags() has to check.
    void put(const std::vector<std::string>& /*extra*/, OwnFlags) const {}
};

}  // namespace

std::string alternatives(std::span<const std::string_view> names) {
    return fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

std::optional<Standard> standard_of(std::string_view text) {
    constexpr std::string_view prefix = "c++";
    return value_named<Standard>(text.starts_with(prefix) ? std::string(text)
                                                          : fmt::format("{}{}", prefix, text));
}

Definition definition_of(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return {std::string(text)};
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<std::vector<std::string>> compile_flags(const CompileOptions& options) {
    const int registers = options.max_registers;
    if (registers < 0 || registers > most_registers) {
        return refuse(
            fmt::format("The maximum number of registers per thread ({}) is outside [0, {}].",
                        registers, most_registers));
    }
    LODE_TRY(check_headers(options.headers));
    for (const auto& definition : options.definitions)
        LODE_TRY(check_definition(definition));
    for (const auto& folder : options.include_folders)
        if (!is_one_piece(folder.string())) return refuse("An include folder has no name.");
    for (const auto& header : options.pre_includes)
        if (!is_one_piece(header)) return refuse("A pre-include has no name.");
    if (options.tile != Tile::none && options.lto) {
        return refuse(
            "CompileOptions::tile and CompileOptions::lto exclude each other: Tile IR can't be "
            "linked.");
    }
    if (options.optix_ir && (options.lto || options.tile != Tile::none)) {
        return refuse(fmt::format(
            "CompileOptions::optix_ir and CompileOptions::{} exclude each other: the image would "
            "hold two kinds of code.",
            options.lto ? "lto" : "tile"));
    }
    LODE_TRY_ASSIGN(auto passed, passed_flags(options.extra_flags));

    std::vector<std::string> flags;
    each_field(options, FlagWriter{flags});
    if (options.debug) std::erase(flags, "--generate-line-info");  // --device-debug implies it.
    std::ranges::move(passed, std::back_inserter(flags));
    return flags;
}

}  // namespace LODE_NAMESPACE
