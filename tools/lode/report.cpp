#include "tools/lode/report.hpp"

#include "base/cxx_names.hpp"
#include "base/message_text.hpp"
#include "tools/lode/arguments.hpp"
#include "tools/lode/compile_errors.hpp"
#include "tools/lode/layout.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lode::tool {
namespace {

std::string_view to_string(Native::Origin origin) noexcept {
    switch (origin) {
        case Native::Origin::none:
            break;
        case Native::Origin::driver:
            return "driver";
        case Native::Origin::nvrtc:
            return "nvrtc";
        case Native::Origin::nvjitlink:
            return "nvjitlink";
        case Native::Origin::nvvm:
            return "nvvm";
        case Native::Origin::system:
            return "system";
    }
    return "none";
}

std::string_view to_string(Diagnostic::Severity severity) noexcept {
    switch (severity) {
        case Diagnostic::Severity::remark:
            return "remark";
        case Diagnostic::Severity::warning:
            return "warning";
        case Diagnostic::Severity::error:
            break;
    }
    return "error";
}

std::string_view to_string(KernelParameter::Kind kind) noexcept {
    switch (kind) {
        case KernelParameter::Kind::unknown:
            break;
        case KernelParameter::Kind::integer:
            return "integer";
        case KernelParameter::Kind::floating_point:
            return "floating_point";
        case KernelParameter::Kind::pointer:
            return "pointer";
        case KernelParameter::Kind::aggregate:
            return "aggregate";
    }
    return "unknown";
}

Json envelope(std::string_view command, bool ok, std::span<const std::string> warnings) {
    Json json = {{"lode", json_shape}, {"command", command}, {"ok", ok}};
    json["warnings"] = Json::array();
    for (const auto& warning : warnings)
        json["warnings"].push_back(warning);
    return json;
}

}  // namespace

Json to_json(const Error& error) {
    Json json = {{"code", to_string(error.code)}, {"message", error.message}};
    if (error.native.origin != Native::Origin::none) {
        json["native"] = {{"origin", to_string(error.native.origin)},
                          {"code", error.native.code},
                          {"name", error.native.name}};
    }
    if (!error.log.empty()) json["log"] = error.log;
    return json;
}

Json to_json(const Dim3& extents) {
    return Json::array({extents.x, extents.y, extents.z});
}

Json to_json(const Number& number) {
    return std::visit(
        [&](auto value) -> Json {
            if constexpr (std::is_floating_point_v<decltype(value)>) {
                if (!std::isfinite(value)) return to_string(number);
            }
            return value;
        },
        number);
}

Json to_json(const CompileReport& report) {
    const auto text = [](const std::string& clause) {
        return clause.empty() ? Json(nullptr) : Json(clause);
    };
    return {{"from", report.hit() ? report.tier : "compiler"},
            {"key", report.key == Digest{} ? Json(nullptr) : Json(report.key.to_hex())},
            {"taken_ms", report.milliseconds},
            {"saved_ms", report.saved_milliseconds},
            {"reason", text(report.miss.to_string())},
            {"not_kept", text(report.not_kept)}};
}

Json to_json(const Diagnostic& diagnostic) {
    return {{"severity", to_string(diagnostic.severity)},
            {"file", diagnostic.file},
            {"line", diagnostic.line},
            {"column", diagnostic.column},
            {"code", diagnostic.code},
            {"text", diagnostic.text}};
}

Json answer_json(std::string_view command, const Answer& answer,
                 std::span<const std::string> warnings) {
    Json json = envelope(command, !answer.failure, warnings);
    if (answer.failure) json["error"] = to_json(*answer.failure);
    json.update(answer.fields);
    return json;
}

Json failure_json(std::string_view command, std::string_view code, const Error& error,
                  std::span<const std::string> warnings) {
    Json json = envelope(command, false, warnings);
    json["error"] = to_json(error);
    json["error"]["code"] = code;
    return json;
}

Json kernels_json(const Image& image) {
    Json kernels = Json::array();
    for (const auto& kernel : image.kernels) {
        Json json = {{"symbol", kernel.kernel},
                     {"name", lode::demangled(kernel.kernel).value_or(kernel.kernel)}};
        json["parameters"] = Json::array();
        for (const auto& parameter : kernel.parameters) {
            json["parameters"].push_back({{"kind", to_string(parameter.kind)},
                                          {"offset", parameter.offset},
                                          {"size", parameter.size},
                                          {"align", parameter.align}});
        }
        if (const auto* resources = image.resources_of(kernel.kernel)) {
            json["registers"] = resources->registers;
            json["shared_bytes"] = resources->shared_bytes;
            json["constant_bytes"] = resources->constant_bytes;
            json["stack_bytes"] = resources->stack_bytes;
            json["spill_store_bytes"] = resources->spill_store_bytes;
            json["spill_load_bytes"] = resources->spill_load_bytes;
            json["barriers"] = resources->barriers;
        }
        kernels.push_back(std::move(json));
    }
    return kernels;
}

std::string kernels_text(const Image& image) {
    if (image.kernels.empty()) return "  no kernels\n";
    Table table({{"registers", Align::right},
                 {"shared", Align::right},
                 {"stack", Align::right},
                 {"spill stores", Align::right},
                 {"spill loads", Align::right},
                 {"barriers", Align::right},
                 {"kernel"}});
    for (const auto& kernel : image.kernels) {
        const auto name = lode::demangled(kernel.kernel).value_or(kernel.kernel);
        std::vector<std::string> cells(6, "-");
        if (const auto* resources = image.resources_of(kernel.kernel)) {
            cells = {
                std::to_string(resources->registers),    bytes_text(resources->shared_bytes),
                bytes_text(resources->stack_bytes),      bytes_text(resources->spill_store_bytes),
                bytes_text(resources->spill_load_bytes), std::to_string(resources->barriers)};
        }
        std::string parameters;
        for (const auto& parameter : kernel.parameters) {
            parameters += (parameters.empty() ? "" : ", ") + describe(parameter);
        }
        cells.push_back(fmt::format("{} [{}]", name, parameters));
        table.row(std::move(cells));
    }
    return table.to_string();
}

std::string dump(const Json& json) {
    constexpr int indent = 2;
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string message_text(std::string_view message, std::size_t width) {
    constexpr std::string_view prefix = "lode: ";
    return wrapped(message, width, prefix.size());
}

std::string error_text(const Error& error, CompilerLog log, const Colors& colors,
                       std::size_t width) {
    constexpr std::string_view prefix = "lode:";
    const auto message = message_text(fmt::format("{} {}", prefix, visible(error.message)), width);
    std::string text = colors.error(prefix) + message.substr(prefix.size()) + "\n";
    const bool is_shortened = log == CompilerLog::first_errors &&
                              (error.code == Errc::compile_failed || error.code == Errc::not_found);
    if (error.native.origin != Native::Origin::none && !is_shortened) {
        text += fmt::format("  {} reports {} ({})\n", to_string(error.native.origin),
                            error.native.name, error.native.code);
    }
    // A wrong name's message has the compiler's reason; its log repeats that of lode's own request.
    const bool repeats = is_shortened && error.code == Errc::not_found;
    std::string_view rest = repeats ? std::string_view() : error.log;
    // The message has begun with the first of several findings.
    if (const auto first = first_entry(rest);
        first.find('\n') != first.npos && error.message.starts_with(first)) {
        rest.remove_prefix(std::min(first.size() + 1, rest.size()));
        if (!rest.empty()) text += "\n" + message_text(visible(rest), width);
    } else if (!rest.empty()) {
        text += colors.log(visible(is_shortened ? first_errors(rest) : rest));
        if (!text.ends_with('\n')) text += '\n';
    }
    return text;
}

}  // namespace lode::tool
