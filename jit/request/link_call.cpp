#include "jit/request/link_call.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// An option of nvJitLink whose effect is known: a function of its text.
struct KnownLinkOption {
    std::string_view name;  ///< Without the dash.
    bool is_traceless = true;
};

// By the documentation of nvJitLink 12.0 to 13.5. Left out: -time, and those that compile on other
// threads, which aren't watched. What tests/cache_oracle/sequences doesn't try counts as leaving
// traces.
constexpr KnownLinkOption known_link_options[] = {
    {"arch"},
    {"maxrregcount"},
    {"verbose"},
    {"lto"},
    {"ptx"},
    {"O0", false},
    {"O3"},
    {"Ofc", false},
    {"g"},
    {"lineinfo"},
    {"ftz"},
    {"prec-div"},
    {"prec-sqrt"},
    {"fma"},
    {"kernels-used"},
    {"variables-used"},
    {"optimize-unused-variables"},
    {"Xptxas"},
    {"nvvm-latest", false},
    {"jump-table-density", false},
    {"no-cache"},
    {"device-stack-protector", false},
    {"r", false},
};

/// nullptr if the option isn't known.
const KnownLinkOption* known_link_option(std::string_view option) {
    if (!option.starts_with('-')) return nullptr;
    const auto name = option.substr(1, option.find('=') - 1);
    const auto* const found = std::ranges::find(known_link_options, name, &KnownLinkOption::name);
    if (found == std::end(known_link_options)) return nullptr;
    return name == "Xptxas" && is_opaque_link_flag(option) ? nullptr : found;
}

}  // namespace

bool is_opaque_link_flag(std::string_view flag) {
    constexpr std::string_view parts[] = {"optf", "options-file", "time", "trace", "index"};
    return std::ranges::any_of(
        parts, [&](std::string_view part) { return flag.find(part) != std::string_view::npos; });
}

Header input_of_link(int type, std::span<const std::byte> bytes, const char* name) {
    return {name != nullptr ? fmt::format("{} {}", type, name) : fmt::format("{}", type),
            std::string(as_text(bytes))};
}

std::string uncacheable_link_reason(const NvrtcCall& call) {
    for (const std::string_view option : call.options) {
        if (known_link_option(option) != nullptr) continue;
        constexpr std::size_t shown = 60;
        return fmt::format("the option '{}' may have effects that the cache's key doesn't cover",
                           option.substr(0, shown));
    }
    return {};
}

bool link_leaves_traces(const NvrtcCall& call) {
    return std::ranges::any_of(call.options, [](std::string_view option) {
        const auto* const known = known_link_option(option);
        return known == nullptr || !known->is_traceless;
    });
}

CompileRequest link_request_of(const NvrtcCall& call) {
    std::string name;
    for (const auto& input : call.headers) {
        const auto space = std::min(input.name.find(' '), input.name.size());
        name +=
            (name.empty() ? "" : " + ") + input.name.substr(std::min(space + 1, input.name.size()));
    }
    CompileRequest request{Source::text({}, name), Arch({7, 5}).as_virtual()};
    request.options.toolkit_headers = false;
    for (const std::string_view option : call.options) {
        constexpr std::string_view arch = "-arch=";
        if (option.starts_with(arch))
            request.arch = Arch::parse(option.substr(arch.size())).value_or(request.arch);
    }
    return request;
}

bool is_lasting_link(const NvrtcAnswer& answer) {
    constexpr int internal = 6;
    constexpr int no_threads = 7;
    constexpr int last_known = 18;
    return answer.result >= 0 && answer.result <= last_known && answer.result != internal &&
           answer.result != no_threads;
}

}  // namespace LODE_NAMESPACE
