#include "jit/cache/recorded_line.hpp"

#include "base/base64.hpp"
#include "base/try.hpp"
#include "jit/request/options_fields.hpp"
#include "jit/request/options_text.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace LODE_NAMESPACE::cache {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view measurement_start = R"(,"compiler":)";

// A member of options as JSON.
Json json_of(bool value) {
    return value;
}
Json json_of(int value) {
    return value;
}
Json json_of(const std::optional<bool>& value) {
    return value ? Json(*value) : Json();
}
Json json_of(const std::vector<std::string>& texts) {
    return texts;
}
template <class Enum>
requires std::is_enum_v<Enum> Json json_of(Enum value) {
    return name_of(value);
}
Json json_of(const std::filesystem::path& path) {
    return path.string();
}
Json json_of(const Definition& definition) {
    return definition.value ? definition.name + "=" + *definition.value : definition.name;
}
Json json_of(const Header& header) {
    Json json;
    json["name"] = header.name;
    json["text"] = header.text;
    return json;
}
template <class Item>
Json json_of(const std::vector<Item>& items) {
    Json list = Json::array();
    for (const auto& item : items)
        list.push_back(json_of(item));
    return list;
}
Json json_of(const Math& math);

/// The members that differ from their defaults.
template <class Options>
Json changes_of(const Options& options) {
    const auto members_of = [](const Options& all) {
        Json members = Json::object();
        each_field(all, [&](const char* name, const auto& member, auto /*flag*/) {
            members[name] = json_of(member);
        });
        return members;
    };
    const Json defaults = members_of({});
    const Json members = members_of(options);
    Json changes = Json::object();
    for (const auto& [name, value] : members.items())
        if (value != defaults[name]) changes[name] = value;
    return changes;
}

Json json_of(const Math& math) {
    return changes_of(math);
}

}  // namespace

bool needs_working_folder(const CompileRequest& request) {
    const auto& [source, arch, options, names, limits] = request;
    const auto is_relative = [](const std::filesystem::path& path) { return path.is_relative(); };
    return (source.is_file() && is_relative(source.name())) ||
           std::ranges::any_of(options.include_folders, is_relative) ||
           !options.pre_includes.empty() || !options.extra_flags.empty();
}

Result<std::string> recorded_line(const CompileRequest& request,
                                  const std::filesystem::path& working_folder) {
    const Source& source = request.source;
    const auto dump = [&](const char* key, const auto& code_of) {
        Json line;
        line["manifest"] = 1;
        if (source.is_file()) {
            line["file"] = source.name();
        } else {
            line["name"] = source.name();
            line[key] = code_of(source.code());
        }
        const auto usual =
            source.is_file() ? Source::language_of(source.name()) : Source::Language::cuda;
        if (source.language() != usual) line["language"] = name_of(source.language());
        line["folder"] = working_folder.string();
        line["arch"] = request.arch.to_string();
        if (auto changes = changes_of(request.options); !changes.empty())
            line["options"] = std::move(changes);
        if (!request.name_expressions.empty()) line["names"] = request.name_expressions;
        return line.dump();
    };
    try {
        try {
            return dump("text", [](const std::string& code) { return code; });
        } catch (const Json::type_error&) {  // JSON can't hold it.
            return dump("base64", to_base64);
        }
    } catch (const Json::type_error&) {
        return fail(Errc::invalid_argument,
                    fmt::format("The request for '{}' isn't recorded: it contains a text that "
                                "isn't UTF-8, which JSON can't hold.",
                                source.name()));
    }
}

std::string with_measurement(std::string line, std::string_view compiler, double milliseconds) {
    line.pop_back();
    return fmt::format("{}{}{},\"compile_ms\":{:.1f}}}\n", line, measurement_start,
                       Json(compiler).dump(), milliseconds);
}

std::string_view without_measurement(std::string_view line) noexcept {
    return line.substr(0, line.rfind(measurement_start));
}

}  // namespace LODE_NAMESPACE::cache
