#include "base/identifier.hpp"
#include "base/try.hpp"
#include "jit/options_text.hpp"

#include <lode/jit/options.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

namespace lode {
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

/// A flag that lode passes itself, and the option that controls it.
struct OwnedFlag {
    std::string_view name;  ///< Without leading dashes.
    std::string_view instead;
};

constexpr std::string_view from_device = "the call's arch argument chooses the target";
constexpr std::string_view for_host = "lode always sets it, to leave the host process as it is";

constexpr OwnedFlag owned_flags[] = {
    {"arch", from_device},
    {"gpu-architecture", from_device},
    {"gencode", from_device},
    {"generate-code", from_device},
    {"code", from_device},
    {"gpu-code", from_device},
    {"modify-stack-limit", for_host},
    {"no-cache", for_host},
    {"fdevice-time-trace", "it writes a file, which a cached result wouldn't do"},
    {"dlto", "use CompileOptions::lto"},
    {"dlink-time-opt", "use CompileOptions::lto"},
    {"gen-opt-lto", "an Image can't hold optimised LTO-IR"},
    {"optix-ir", "an Image can't hold OptiX-IR"},
    {"define-macro", "use CompileOptions::definitions"},
    {"include-path", "use CompileOptions::include_folders"},
    {"include", "use CompileOptions::pre_includes"},
    {"pre-include", "use CompileOptions::pre_includes"},
    {"std", "use CompileOptions::standard"},
    {"use_fast_math", "use CompileOptions::math"},
    {"ftz", "use CompileOptions::math"},
    {"prec-div", "use CompileOptions::math"},
    {"prec-sqrt", "use CompileOptions::math"},
    {"fmad", "use CompileOptions::math"},
    {"maxrregcount", "use CompileOptions::max_registers"},
    {"lineinfo", "use CompileOptions::line_info"},
    {"generate-line-info", "use CompileOptions::line_info"},
    {"G", "use CompileOptions::debug"},
    {"device-debug", "use CompileOptions::debug"},
    {"rdc", "use CompileOptions::relocatable"},
    {"relocatable-device-code", "use CompileOptions::relocatable"},
    {"minimal", "use CompileOptions::minimal"},
    {"enable-tile", "use CompileOptions::tile"},
    {"tile-only", "use CompileOptions::tile"},
    {"dc", "use CompileOptions::relocatable"},
    {"device-c", "use CompileOptions::relocatable"},
    {"dw", "use CompileOptions::relocatable"},
    {"device-w", "use CompileOptions::relocatable"},
};

tl::unexpected<Error> refuse(std::string message) {
    return fail(Errc::invalid_argument, std::move(message));
}

Status check_definition(const Definition& definition) {
    if (!is_identifier(definition.name)) {
        return refuse(
            fmt::format("Definition '{}' isn't a macro name: it must be an identifier "
                        "(letters, digits and _, not starting with a digit).",
                        definition.name));
    }
    constexpr std::string_view line_ends("\n\r\0", 3);
    if (definition.value && definition.value->find_first_of(line_ends) != std::string::npos) {
        return refuse(
            fmt::format("The value of definition '{}' spans several lines; it must be one line.",
                        definition.name));
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

Status check_extra_flag(std::string_view flag) {
    if (!is_one_piece(flag)) return refuse("An extra flag is empty.");
    // NVRTC skips leading blanks, which would hide the flag from the checks below.
    if (!flag.starts_with('-') && std::isspace(static_cast<unsigned char>(flag[0])) != 0) {
        return refuse(fmt::format("Extra flag '{}' begins with a blank.", flag));
    }
    if (const auto instead = owner_of(flag); !instead.empty()) {
        return refuse(fmt::format("Extra flag '{}' isn't allowed: {}.", flag, instead));
    }
    return {};
}

std::string_view name_of(Standard standard) {
    switch (standard) {
        case Standard::cxx11:
            return "c++11";
        case Standard::cxx14:
            return "c++14";
        case Standard::cxx17:
            return "c++17";
        case Standard::cxx20:
            return "c++20";
    }
    return "c++17";
}

/// The preset first, then the switches, so that they win by order and by NVRTC's own rule.
void append_math(const Math& math, std::vector<std::string>& flags) {
    if (math.preset == Math::Preset::fast) flags.emplace_back("--use_fast_math");
    auto fmad = math.fmad;
    if (math.preset == Math::Preset::host_comparable && !fmad) fmad = false;
    const auto append = [&](std::string_view name, std::optional<bool> on) {
        if (on) flags.push_back(fmt::format("--{}={}", name, *on));
    };
    append("ftz", math.ftz);
    append("prec-div", math.prec_div);
    append("prec-sqrt", math.prec_sqrt);
    append("fmad", fmad);
}

}  // namespace

std::string_view owner_of(std::string_view flag) {
    if (flag.starts_with("-D")) return "use CompileOptions::definitions";
    if (flag.starts_with("-I")) return "use CompileOptions::include_folders";
    flag.remove_prefix(std::min(flag.find_first_not_of('-'), flag.size()));
    const auto name = flag.substr(0, flag.find('='));
    const auto* found = std::ranges::find(owned_flags, name, &OwnedFlag::name);
    return found == std::end(owned_flags) ? std::string_view() : found->instead;
}

std::optional<Standard> standard_of(std::string_view text) {
    if (constexpr std::string_view prefix = "c++"; text.starts_with(prefix))
        text.remove_prefix(prefix.size());
    for (const auto standard : {Standard::cxx11, Standard::cxx14, Standard::cxx17, Standard::cxx20})
        if (name_of(standard).substr(3) == text) return standard;
    return std::nullopt;
}

Definition definition_of(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return {std::string(text)};
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<std::vector<std::string>> compile_flags(const CompileOptions& options) {
    if (options.max_registers < 0 || options.max_registers > most_registers) {
        return refuse(
            fmt::format("The maximum number of registers per thread ({}) is outside [0, {}].",
                        options.max_registers, most_registers));
    }
    LODE_TRY(check_headers(options.headers));

    std::vector<std::string> flags;
    flags.push_back(fmt::format("--std={}", name_of(options.standard)));
    for (const auto& definition : options.definitions) {
        LODE_TRY(check_definition(definition));
        flags.push_back(definition.value
                            ? fmt::format("-D{}={}", definition.name, *definition.value)
                            : fmt::format("-D{}", definition.name));
    }
    for (const auto& folder : options.include_folders) {
        if (!is_one_piece(folder.native())) return refuse("An include folder has no name.");
        flags.push_back("-I" + folder.native());
    }
    for (const auto& header : options.pre_includes) {
        if (!is_one_piece(header)) return refuse("A pre-include has no name.");
        flags.push_back("--pre-include=" + header);
    }
    append_math(options.math, flags);
    if (options.max_registers > 0) {
        flags.push_back(fmt::format("--maxrregcount={}", options.max_registers));
    }
    if (options.debug) {
        flags.emplace_back("--device-debug");  // Implies --generate-line-info.
    } else if (options.line_info) {
        flags.emplace_back("--generate-line-info");
    }
    if (options.relocatable) flags.emplace_back("--relocatable-device-code=true");
    if (options.lto) flags.emplace_back("--dlink-time-opt");
    if (options.minimal) flags.emplace_back("--minimal");
    if (options.tile != Tile::none && options.lto) {
        return refuse(
            "CompileOptions::tile and CompileOptions::lto exclude each other: Tile IR can't be "
            "linked.");
    }
    if (options.tile == Tile::enabled) flags.emplace_back("--enable-tile");
    if (options.tile == Tile::only) flags.emplace_back("--tile-only");
    for (const auto& flag : options.extra_flags) {
        LODE_TRY(check_extra_flag(flag));
        flags.push_back(flag);
    }
    return flags;
}

}  // namespace lode
