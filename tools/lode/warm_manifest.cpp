#include "tools/lode/warm_manifest.hpp"

#include "base/base64.hpp"
#include "base/file.hpp"
#include "base/message_text.hpp"
#include "base/suggested_arch.hpp"
#include "base/try.hpp"
#include "jit/request/options_fields.hpp"
#include "jit/request/options_text.hpp"
#include "jit/text.hpp"
#include "tools/lode/options.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lode::tool {
namespace {

using ManifestJson = nlohmann::ordered_json;

/// A value and its place: "app.json: /requests/3", or "app.json: " for the whole file.
class Node {
public:
    Node(const ManifestJson& json, std::string where) : json_(json), where_(std::move(where)) {}

    [[nodiscard]] std::string_view where() const noexcept {
        const std::string_view where = where_;
        return where.substr(0, where.find_last_not_of(": ") + 1);
    }
    [[nodiscard]] tl::unexpected<Error> wrong(std::string_view must) const {
        constexpr std::size_t most = 60;
        const auto value = json_.dump(-1, ' ', false, ManifestJson::error_handler_t::replace);
        return fail(Errc::invalid_argument,
                    fmt::format("{} is {}; {}.", where(), shortened(value, most), must));
    }
    /// The error of a function that names what it refuses, at this place.
    [[nodiscard]] tl::unexpected<Error> refused(const Error& error) const {
        return fail(error.code, fmt::format("{}: {}", where(), error.message));
    }

    [[nodiscard]] Result<std::string> text() const {
        if (!json_.is_string()) return wrong("it must be a text");
        return json_.get<std::string>();
    }
    [[nodiscard]] Result<bool> flag() const {
        if (!json_.is_boolean()) return wrong("it must be true or false");
        return json_.get<bool>();
    }
    [[nodiscard]] Result<int> integer() const {
        if (!json_.is_number_integer() || json_ < std::numeric_limits<int>::min() ||
            json_ > std::numeric_limits<int>::max())
            return wrong("it must be a whole number");
        return json_.get<int>();
    }
    [[nodiscard]] Result<double> number() const {
        if (!json_.is_number()) return wrong("it must be a number");
        return json_.get<double>();
    }
    [[nodiscard]] Result<std::vector<Node>> items() const {
        if (!json_.is_array()) return wrong("it must be a list");
        std::vector<Node> list;
        for (const auto& item : json_)
            list.emplace_back(item, fmt::format("{}/{}", where_, list.size()));
        return list;
    }
    [[nodiscard]] Result<std::vector<std::string>> texts() const {
        LODE_TRY_ASSIGN(const auto list, items());
        std::vector<std::string> values;
        for (const auto& item : list) {
            LODE_TRY_ASSIGN(values.emplace_back(), item.text());
        }
        return values;
    }
    [[nodiscard]] bool is_text() const noexcept { return json_.is_string(); }
    [[nodiscard]] bool has(const char* key) const { return json_.contains(key); }

    /// What to do with the value of a key.
    struct Key {
        std::string_view name;
        std::function<Status(const Node&)> read;
    };
    /// Reads every key of an object. Errors: a key that isn't among these; those of `read`.
    [[nodiscard]] Status read(std::span<const Key> keys) const {
        if (!json_.is_object()) return wrong("it must be an object");
        for (const auto& [name, value] : json_.items()) {
            const auto found = std::ranges::find(keys, name, &Key::name);
            const Node node(value, fmt::format("{}/{}", where_, shortened(name)));
            if (found == keys.end()) {
                std::vector<std::string_view> known;
                for (const auto& key : keys)
                    known.push_back(key.name);
                return fail(Errc::invalid_argument,
                            fmt::format("{} isn't a key that lode knows; it must be one of {}.",
                                        node.where(), fmt::join(known, ", ")));
            }
            LODE_TRY(found->read(node));
        }
        return {};
    }

private:
    const ManifestJson& json_;
    std::string where_;
};

/// Reads a value into a variable.
Status take(const Node& node, std::string& value) {
    LODE_TRY_ASSIGN(value, node.text());
    return {};
}
Status take(const Node& node, bool& value) {
    LODE_TRY_ASSIGN(value, node.flag());
    return {};
}
Status take(const Node& node, std::optional<bool>& value) {
    LODE_TRY_ASSIGN(value, node.flag());
    return {};
}
Status take(const Node& node, int& value) {
    LODE_TRY_ASSIGN(value, node.integer());
    return {};
}
Status take(const Node& node, std::optional<double>& value) {
    LODE_TRY_ASSIGN(value, node.number());
    return {};
}
Status take(const Node& node, std::vector<std::string>& value) {
    LODE_TRY_ASSIGN(value, node.texts());
    return {};
}
Status take(const Node& node, Standard& value) {
    LODE_TRY_ASSIGN(const auto text, node.text());
    const auto standard = standard_of(text);
    if (!standard) return node.wrong("it must be " + alternatives(standard_names));
    value = *standard;
    return {};
}
template <class Enum>
requires std::is_enum_v<Enum> Status take(const Node& node, Enum& value) {
    LODE_TRY_ASSIGN(const auto text, node.text());
    const auto named = value_named<Enum>(text);
    if (!named) return node.wrong("it must be " + alternatives(names_of(value)));
    value = *named;
    return {};
}
/// Reads an object by the names of its members.
template <class Object>
Status take_members(const Node& node, Object& value) {
    std::vector<Node::Key> keys;
    each_field(value, [&](const char* name, auto& member, auto /*flag*/) {
        keys.push_back({name, [&member](const Node& it) { return take(it, member); }});
    });
    return node.read(keys);
}
Status take(const Node& node, Math& value) {
    if (node.is_text()) return take(node, value.preset);
    return take_members(node, value);
}
Status take(const Node& node, std::vector<Definition>& value) {
    LODE_TRY_ASSIGN(const auto texts, node.texts());
    for (const auto& text : texts)
        value.push_back(definition_of(text));
    return {};
}
Status take(const Node& node, std::vector<std::filesystem::path>& value) {
    LODE_TRY_ASSIGN(const auto texts, node.texts());
    value.assign(texts.begin(), texts.end());
    return {};
}
Status take(const Node& node, std::vector<Header>& value) {
    LODE_TRY_ASSIGN(const auto items, node.items());
    for (const auto& item : items) {
        Header& header = value.emplace_back();
        const Node::Key keys[] = {{"name", [&](const Node& it) { return take(it, header.name); }},
                                  {"text", [&](const Node& it) { return take(it, header.text); }}};
        LODE_TRY(item.read(keys));
        if (!item.has("name") || !item.has("text"))
            return item.wrong("it must have 'name' and 'text'");
    }
    return {};
}
Status take(const Node& node, CompileOptions& value) {
    LODE_TRY(take_members(node, value));
    if (const auto valid = compile_flags(value); !valid) return node.refused(valid.error());
    return {};
}
/// One architecture or a list.
Status take(const Node& node, std::vector<std::optional<Arch>>& value) {
    std::vector<Node> nodes{node};
    if (!node.is_text()) {
        LODE_TRY_ASSIGN(nodes, node.items());
    }
    for (const auto& item : nodes) {
        LODE_TRY_ASSIGN(const auto text, item.text());
        const auto arch = parse_manifest_arch(text);
        if (!arch) {
            const auto meant = suggested_arch(text);
            return item.wrong("it must be native, or an architecture such as sm_90a" +
                              (meant.empty() ? "" : "; '" + meant + "' may be meant"));
        }
        value.push_back(*arch);
    }
    if (value.empty()) return node.wrong("it must name at least one architecture");
    return {};
}

Status check_version(const Node& node) {
    LODE_TRY_ASSIGN(const int version, node.integer());
    if (version == manifest_version) return {};
    return node.wrong(fmt::format("this lode reads version {}", manifest_version));
}

/// A file as lode_embed_kernels puts it into a program.
Result<Header> embedded(const std::filesystem::path& file) {
    LODE_TRY_ASSIGN(std::string text, read_text(file));
    return Header{file.filename().string(), std::move(text)};
}

/// Reads one request; in a recording each has the version.
Result<ManifestRequest> read_request(const Node& node, const std::filesystem::path& folder) {
    ManifestRequest request;
    request.where = node.where();
    std::string file;
    std::string text;
    std::string name = "source.cu";
    auto language = Source::Language::cuda;
    std::string own_folder;
    std::vector<std::string> flags;
    std::vector<std::string> embedded_headers;
    const auto into = [](auto& member) { return [&](const Node& it) { return take(it, member); }; };
    const Node::Key keys[] = {
        {"manifest", check_version},
        {"file", into(file)},
        {"text", into(text)},
        {"base64",
         [&](const Node& it) -> Status {
             LODE_TRY_ASSIGN(const auto encoded, it.text());
             auto bytes = from_base64(encoded);
             if (!bytes) return it.wrong("it must be base64");
             text = *std::move(bytes);
             return {};
         }},
        {"name", into(name)},
        {"language", into(language)},
        {"embedded", into(embedded_headers)},
        {"family", into(request.family)},
        {"rows", into(request.rows)},
        {"folder", into(own_folder)},
        {"arch", into(request.archs)},
        {"suffix",
         [&](const Node& it) -> Status {
             LODE_TRY_ASSIGN(const auto suffix, it.text());
             const auto policy = parse_suffix(suffix);
             if (!policy) return it.wrong("it must be a, f or none");
             request.suffix = *policy;
             return {};
         }},
        {"options", into(request.options)},
        {"flags",
         [&](const Node& it) -> Status {
             LODE_TRY(take(it, flags));
             auto options = CompileOptions::parse(flags);
             if (!options) return it.refused(options.error());
             request.options = *std::move(options);
             return {};
         }},
        {"names", into(request.names)},
        {"kernels", into(request.kernels)},
        {"compiler", into(request.compiler)},
        {"compile_ms", into(request.compile_ms)},
    };
    LODE_TRY(node.read(keys));

    const auto either = [&](const char* first, const char* second) -> Status {
        if (!node.has(first) || !node.has(second)) return {};
        return fail(Errc::invalid_argument,
                    fmt::format("{} has both '{}' and '{}'; only one of them is possible.",
                                node.where(), first, second));
    };
    const bool has_code = node.has("text") || node.has("base64");
    if (!node.has("file") && !has_code && !node.has("family")) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} says nothing to compile: it needs 'file', 'text', 'base64' or "
                                "'family'.",
                                node.where()));
    }
    for (const auto& [first, second] :
         {std::pair("file", "text"),         std::pair("file", "family"),
          std::pair("text", "family"),       std::pair("file", "name"),
          std::pair("family", "name"),       std::pair("family", "language"),
          std::pair("embedded", "language"), std::pair("text", "embedded"),
          std::pair("family", "embedded"),   std::pair("options", "flags"),
          std::pair("names", "kernels"),     std::pair("family", "names"),
          std::pair("family", "kernels"),    std::pair("file", "rows"),
          std::pair("text", "rows"),         std::pair("text", "base64"),
          std::pair("file", "base64"),       std::pair("base64", "family"),
          std::pair("base64", "embedded"),   std::pair("base64", "rows")}) {
        LODE_TRY(either(first, second));
    }
    request.folder = (folder / own_folder).lexically_normal();
    if (node.has("file")) {
        request.source = node.has("language") ? Source::file(file, language) : Source::file(file);
    }
    if (node.has("embedded")) {
        LODE_TRY_ASSIGN(Header source, embedded(request.folder / file));
        request.source = Source::text(std::move(source.text), std::move(source.name));
        for (const auto& header : embedded_headers) {
            LODE_TRY_ASSIGN(request.options.headers.emplace_back(),
                            embedded(request.folder / header));
        }
    }
    if (has_code) request.source = Source::of(language, std::move(text), name);
    const auto is_virtual = [](const auto& arch) { return arch && !arch->is_real(); };
    if (request.source && request.source->language() == Source::Language::ptx &&
        std::ranges::any_of(request.archs, is_virtual)) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} is for a virtual architecture: '{}' is PTX, of which only "
                                "machine code can be made.",
                                node.where(), request.source->name()));
    }
    if (request.archs.empty()) request.archs.emplace_back();
    return request;
}

Result<ManifestJson> parse(std::string_view text, const std::string& where) {
    try {
        return ManifestJson::parse(text);
    } catch (const ManifestJson::parse_error& error) {
        const auto before = text.substr(0, std::min(error.byte, text.size() + 1) - 1);
        const auto line = 1 + std::ranges::count(before, '\n');
        const auto column = before.size() - (before.rfind('\n') + 1) + 1;
        return fail(
            Errc::invalid_argument,
            fmt::format("{} isn't valid JSON from line {}, column {} on.", where, line, column));
    }
}

/// Whether the file is a recording: its first line is a request.
bool is_recording(std::string_view text) {
    const auto first = ManifestJson::parse(take_line(text), nullptr, false);
    return first.is_object() && first.contains("manifest") && !first.contains("requests");
}

Result<std::vector<ManifestRequest>> read_recording(std::string_view text, const std::string& name,
                                                    const std::filesystem::path& folder) {
    std::vector<ManifestRequest> requests;
    for (int number = 1; !text.empty(); ++number) {
        const auto line = trimmed(take_line(text));
        if (line.empty()) continue;
        const auto where = fmt::format("{}, line {}", name, number);
        LODE_TRY_ASSIGN(const auto json, parse(line, where));
        const Node node(json, where + ": ");
        if (!node.has("manifest")) {
            return fail(Errc::invalid_argument,
                        fmt::format("{} has no 'manifest', the version of the format.", where));
        }
        LODE_TRY_ASSIGN(requests.emplace_back(), read_request(node, folder));
    }
    return requests;
}

}  // namespace

Result<std::optional<Arch>> parse_manifest_arch(const std::string& text) {
    if (text == "native") return std::nullopt;
    auto arch = Arch::parse(text);
    if (arch) return *arch;
    Error error = std::move(arch).error();
    error.message += did_you_mean(text == "Native" ? "native" : suggested_arch(text));
    return tl::unexpected(std::move(error));
}

Result<std::vector<ManifestRequest>> read_manifest(const std::filesystem::path& file) {
    LODE_TRY_ASSIGN(const std::string text, read_text(file));
    const std::string name = file.string();
    const auto folder = std::filesystem::absolute(file).parent_path();
    if (is_recording(text)) return read_recording(text, name, folder);

    LODE_TRY_ASSIGN(const auto json, parse(text, name));
    const Node root(json, name + ": ");
    std::string own_folder;
    std::vector<Node> nodes;
    const Node::Key keys[] = {{"manifest", check_version},
                              {"folder", [&](const Node& it) { return take(it, own_folder); }},
                              {"requests", [&](const Node& it) -> Status {
                                   LODE_TRY_ASSIGN(nodes, it.items());
                                   return {};
                               }}};
    LODE_TRY(root.read(keys));
    for (const char* needed : {"manifest", "requests"}) {
        if (root.has(needed)) continue;
        return fail(
            Errc::invalid_argument,
            fmt::format("{} has no '{}': a manifest is {{\"manifest\": {}, \"requests\": […]}}.",
                        name, needed, manifest_version));
    }
    std::vector<ManifestRequest> requests;
    for (const auto& node : nodes) {
        LODE_TRY_ASSIGN(requests.emplace_back(), read_request(node, folder / own_folder));
    }
    return requests;
}

}  // namespace lode::tool
