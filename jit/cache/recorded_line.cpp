#include "jit/cache/recorded_line.hpp"

#include "base/try.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::string_view measurement_start = R"(,"compiler":)";

/// The number of bytes of the character at the start of `text`; 0 if it isn't UTF-8 (RFC 3629).
std::size_t character_bytes(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t count = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < count) return 0;
    for (std::size_t i = 1; i < count; ++i)
        if ((byte(i) & 0xC0U) != 0x80) return 0;
    // Too long forms, surrogates, and numbers above U+10FFFF.
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
        (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F))
        return 0;
    return count;
}

/// Writes one JSON object.
class ObjectWriter {
public:
    explicit ObjectWriter(std::string start = "{") : text_(std::move(start)) {}

    ObjectWriter& raw(std::string_view key, std::string_view json) {
        if (text_.back() != '{' && text_.back() != ',') text_ += ',';
        text_ += fmt::format("\"{}\":{}", key, json);
        return *this;
    }
    ObjectWriter& text(std::string_view key, std::string_view value) {
        return raw(key, quoted(value));
    }
    ObjectWriter& texts(std::string_view key, std::span<const std::string> values) {
        std::string list;
        for (const auto& value : values)
            list += (list.empty() ? "" : ",") + quoted(value);
        return raw(key, "[" + list + "]");
    }
    ObjectWriter& flag(std::string_view key, bool value) {
        return raw(key, value ? "true" : "false");
    }
    /// Adds what an inner object couldn't hold.
    void take_problem_of(const ObjectWriter& inner) { is_valid_ &= inner.is_valid_; }

    [[nodiscard]] bool empty() const noexcept { return text_ == "{"; }
    [[nodiscard]] bool is_valid() const noexcept { return is_valid_; }
    [[nodiscard]] std::string end() const { return text_ + "}"; }

private:
    std::string quoted(std::string_view value) {
        std::string out = "\"";
        while (!value.empty()) {
            const std::size_t count = character_bytes(value);
            is_valid_ &= count > 0;
            const std::string_view character = value.substr(0, std::max<std::size_t>(count, 1));
            value.remove_prefix(character.size());
            if (character == "\n") {
                out += "\\n";
            } else if (character == "\"" || character == "\\") {
                out += '\\';
                out += character;
            } else if (static_cast<unsigned char>(character[0]) < 0x20) {
                out += fmt::format("\\u{:04x}", character[0]);
            } else {
                out += character;
            }
        }
        return out + "\"";
    }

    std::string text_;
    bool is_valid_ = true;
};

std::string_view name_of(Math::Preset preset) noexcept {
    switch (preset) {
        case Math::Preset::fast:
            return "fast";
        case Math::Preset::host_comparable:
            return "host_comparable";
        case Math::Preset::ieee:
            break;
    }
    return "ieee";
}

std::string_view name_of_standard(Standard standard) noexcept {
    switch (standard) {
        case Standard::cxx11:
            return "c++11";
        case Standard::cxx14:
            return "c++14";
        case Standard::cxx20:
            return "c++20";
        case Standard::cxx17:
            break;
    }
    return "c++17";
}

// The bindings below name every member, so that a new one doesn't compile until it is written here.

ObjectWriter math_json(const Math& math) {
    const auto& [preset, ftz, prec_div, prec_sqrt, fmad] = math;
    ObjectWriter out;
    if (preset != Math{}.preset) out.text("preset", name_of(preset));
    const std::pair<std::string_view, std::optional<bool>> switches[] = {
        {"ftz", ftz}, {"prec_div", prec_div}, {"prec_sqrt", prec_sqrt}, {"fmad", fmad}};
    for (const auto& [name, value] : switches)
        if (value) out.flag(name, *value);
    return out;
}

/// The members that differ from their defaults.
ObjectWriter options_json(const CompileOptions& options) {
    const auto& [definitions, include_folders, headers, pre_includes, standard, math, max_registers,
                 line_info, debug, source_files, relocatable, lto, minimal, tile, toolkit_headers,
                 extra_flags] = options;
    ObjectWriter out;
    std::vector<std::string> texts;
    for (const auto& [name, value] : definitions)
        texts.push_back(value ? name + "=" + *value : name);
    if (!texts.empty()) out.texts("definitions", texts);
    texts.clear();
    for (const auto& folder : include_folders)
        texts.push_back(folder.string());
    if (!texts.empty()) out.texts("include_folders", texts);
    std::string list;
    for (const auto& [name, text] : headers) {
        ObjectWriter header;
        header.text("name", name).text("text", text);
        out.take_problem_of(header);
        list += (list.empty() ? "" : ",") + header.end();
    }
    if (!list.empty()) out.raw("headers", "[" + list + "]");
    if (!pre_includes.empty()) out.texts("pre_includes", pre_includes);
    const CompileOptions defaults;
    if (standard != defaults.standard) out.text("standard", name_of_standard(standard));
    if (math != defaults.math) out.raw("math", math_json(math).end());
    if (max_registers != defaults.max_registers)
        out.raw("max_registers", std::to_string(max_registers));
    const auto flag = [&](std::string_view name, bool value, bool usual) {
        if (value != usual) out.flag(name, value);
    };
    flag("line_info", line_info, defaults.line_info);
    flag("debug", debug, defaults.debug);
    flag("source_files", source_files, defaults.source_files);
    flag("relocatable", relocatable, defaults.relocatable);
    flag("lto", lto, defaults.lto);
    flag("minimal", minimal, defaults.minimal);
    if (tile != defaults.tile) out.text("tile", tile == Tile::only ? "only" : "enabled");
    flag("toolkit_headers", toolkit_headers, defaults.toolkit_headers);
    if (!extra_flags.empty()) out.texts("extra_flags", extra_flags);
    return out;
}

}  // namespace

bool needs_working_folder(const Source& source, const CompileOptions& options) {
    const auto is_relative = [](const std::filesystem::path& path) { return path.is_relative(); };
    return (source.is_file() && is_relative(source.name())) ||
           std::ranges::any_of(options.include_folders, is_relative) ||
           !options.pre_includes.empty() || !options.extra_flags.empty();
}

Result<std::string> recorded_line(const Source& source, const Arch& arch,
                                  const CompileOptions& options, std::span<const std::string> names,
                                  const std::filesystem::path& working_folder) {
    ObjectWriter out{std::string(recorded_line_start)};
    if (source.is_file()) {
        out.text("file", source.name());
    } else {
        LODE_TRY_ASSIGN(const std::string text, source.read());
        out.text("name", source.name()).text("text", text);
    }
    out.text("folder", working_folder.string());
    out.text("arch", arch.to_string());
    const ObjectWriter inner = options_json(options);
    out.take_problem_of(inner);
    if (!inner.empty()) out.raw("options", inner.end());
    if (!names.empty()) out.texts("names", names);
    if (out.is_valid()) return out.end();
    return fail(Errc::invalid_argument,
                fmt::format("The request for '{}' isn't recorded: it contains a text that isn't "
                            "UTF-8, which JSON can't hold.",
                            source.name()));
}

std::string with_measurement(std::string line, std::string_view compiler, double milliseconds) {
    line.pop_back();
    ObjectWriter out(std::move(line));
    out.text("compiler", compiler).raw("compile_ms", fmt::format("{:.1f}", milliseconds));
    return out.end() + "\n";
}

std::string_view without_measurement(std::string_view line) noexcept {
    return line.substr(0, line.rfind(measurement_start));
}

}  // namespace LODE_NAMESPACE::cache
