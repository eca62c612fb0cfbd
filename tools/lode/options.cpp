#include "tools/lode/options.hpp"

#include "base/message_text.hpp"
#include "base/quantity.hpp"
#include "base/suggested_arch.hpp"
#include "base/try.hpp"
#include "jit/request/options_text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::tool {
namespace {

/// The value named `text`.
template <class Enum>
Result<Enum> choose(std::string_view option, std::string_view text) {
    if (const auto value = value_named<Enum>(text)) return *value;
    return fail(Errc::invalid_argument, fmt::format("{} is '{}' but must be one of {}.", option,
                                                    text, fmt::join(names_of(Enum{}), ", ")));
}

}  // namespace

Result<Standard> parse_standard(std::string_view text) {
    if (const auto standard = standard_of(text)) return *standard;
    return fail(Errc::invalid_argument,
                fmt::format("--std is '{}' but must be one of {}.", text, standards_text));
}

Result<Math::Preset> parse_math(std::string_view text) {
    return choose<Math::Preset>("--math", text);
}

Result<Tile> parse_tile(std::string_view text) {
    return choose<Tile>("--tile", text);
}

Result<CompileOptions> to_compile_options(const CompileFlags& flags) {
    CompileOptions options;
    for (const auto& definition : flags.definitions) {
        options.definitions.push_back(definition_of(definition));
    }
    options.include_folders.assign(flags.include_folders.begin(), flags.include_folders.end());
    if (!flags.standard.empty()) {
        LODE_TRY_ASSIGN(options.standard, parse_standard(flags.standard));
    }
    if (!flags.math.empty()) {
        LODE_TRY_ASSIGN(options.math.preset, parse_math(flags.math));
    }
    if (flags.fast_math) {
        if (!flags.math.empty() && options.math.preset != Math::Preset::fast) {
            return fail(
                Errc::invalid_argument,
                fmt::format("--fast-math and --math {} contradict each other.", flags.math));
        }
        options.math.preset = Math::Preset::fast;
    }
    if (!flags.tile.empty()) {
        LODE_TRY_ASSIGN(options.tile, parse_tile(flags.tile));
    }
    options.line_info = flags.line_info;
    options.debug = flags.debug;
    options.relocatable = flags.relocatable;
    options.lto = flags.lto;
    options.optix_ir = flags.optix_ir;
    options.max_registers = flags.max_registers;
    options.extra_flags = flags.extra_flags;
    LODE_TRY(compile_flags(options));
    return options;
}

Result<Arch> parse_arch(std::string_view option, std::string_view text) {
    if (text == "all" || text.find(',') != std::string_view::npos) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} is '{}', but one architecture is needed here, such as sm_90.",
                                option, text));
    }
    auto arch = Arch::parse(text);
    if (arch) return arch;
    Error error = std::move(arch).error();
    std::string meant = suggested_arch(text);
    static const std::string words[] = {std::string(native_arch), "all"};
    if (meant.empty()) meant = closest(text, words);
    error.message += did_you_mean(meant);
    return tl::unexpected(std::move(error).in(fmt::format("reading {}", option)));
}

Result<ArchList> parse_arch_list(std::span<const std::string> names) {
    ArchList list;
    for (const auto& name : names) {
        if (name == "all" || name == native_arch) {
            (name == native_arch ? list.native : list.all) = true;
            continue;
        }
        LODE_TRY_ASSIGN(const Arch arch, parse_arch("--arch", name));
        if (std::ranges::find(list.archs, arch) == list.archs.end()) list.archs.push_back(arch);
    }
    return list;
}

Result<ComputeCapability> parse_capability(std::string_view text) {
    std::string digits(text);
    // The minor version is one digit: 1.20 isn't 12.0.
    if (text.size() > 2 && text[text.size() - 2] == '.') digits.erase(digits.size() - 2, 1);
    const auto arch = Arch::parse("sm_" + digits);
    if (!arch || arch->suffix() != ArchSuffix::none) {
        const auto meant = Arch::parse(suggested_arch(text));
        return fail(
            Errc::invalid_argument,
            fmt::format("Compute capability '{}' isn't valid: write it as 9.0 or 90.{}", text,
                        did_you_mean(meant ? meant->cc().to_string() : std::string())));
    }
    return arch->cc();
}

Result<int> parse_cuda_version(std::string_view text) {
    int version_major = 0;
    int version_minor = 0;
    const char* const end = text.data() + text.size();
    const auto [dot, wrong] = std::from_chars(text.data(), end, version_major);
    constexpr int last_major = 99;
    constexpr int last_minor = 9;
    if (wrong == std::errc{} && dot != end && *dot == '.' && version_major > 0 &&
        version_major <= last_major) {
        const auto [stop, bad] = std::from_chars(dot + 1, end, version_minor);
        if (bad == std::errc{} && stop == end && version_minor >= 0 && version_minor <= last_minor)
            return version_major * 1000 + version_minor * 10;
    }
    return fail(Errc::invalid_argument,
                fmt::format("--driver is '{}', not a CUDA version: write it as 12.4.", text));
}

Result<SuffixPolicy> parse_suffix(std::string_view text) {
    if (text == "a") return SuffixPolicy::specific;
    if (text == "f") return SuffixPolicy::family;
    if (text == "none") return SuffixPolicy::none;
    return fail(Errc::invalid_argument,
                fmt::format("--suffix is '{}' but must be one of a, f, none.", text));
}

Result<Dim3> parse_dim3(std::string_view option, std::string_view text) {
    Dim3 extents;
    std::string_view rest = text;
    for (auto* axis : {&extents.x, &extents.y, &extents.z}) {
        const auto comma = rest.find(',');
        const auto extent = parse_count(rest.substr(0, comma));
        if (!extent || *extent == 0 || *extent > std::numeric_limits<std::uint32_t>::max()) break;
        *axis = static_cast<std::uint32_t>(*extent);
        if (comma == std::string_view::npos) return extents;
        rest.remove_prefix(comma + 1);
    }
    return fail(Errc::invalid_argument,
                fmt::format("{} is '{}' but must be X, X,Y or X,Y,Z with whole numbers from 1 to "
                            "4294967295.",
                            option, text));
}

}  // namespace lode::tool
