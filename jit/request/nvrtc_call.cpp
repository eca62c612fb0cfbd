#include "jit/request/nvrtc_call.hpp"

#include "base/foreign_environment.hpp"
#include "jit/request/text_words.hpp"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// An option of NVRTC whose effect is known: a function of its text and of files that lode sees.
struct KnownOption {
    std::string_view name;  ///< Without dashes.
    bool takes_value = false;
    /// Later compilations in the process give what they give in a new one.
    bool is_traceless = true;
};

// By the documentation of NVRTC 12.0 to 13.3. Left out: those that make or use files that no list
// of headers shows (precompiled headers, --options-file, --time, --fdevice-time-trace).
// tests/cache_oracle/sequences has found which ones leave traces; those that it doesn't try count
// as leaving some.
constexpr KnownOption known_options[] = {
    {"gpu-architecture", true},
    {"arch", true},
    {"device-c"},
    {"dc"},
    {"device-w"},
    {"dw"},
    {"relocatable-device-code", true},
    {"rdc", true},
    {"extensible-whole-program"},
    {"ewp"},
    {"device-debug", false, false},
    {"G", false, false},
    {"generate-line-info"},
    {"lineinfo"},
    {"dopt", true, false},
    {"Ofast-compile", true, false},
    {"Ofc", true, false},
    {"ptxas-options", true},
    {"Xptxas", true},
    {"maxrregcount", true},
    {"ftz", true},
    {"prec-sqrt", true},
    {"prec-div", true},
    {"fmad", true},
    {"use_fast_math"},
    {"extra-device-vectorization"},
    {"modify-stack-limit", true},
    {"dlink-time-opt"},
    {"dlto"},
    {"gen-opt-lto", false, false},
    {"optix-ir", false, false},
    {"jump-table-density", true},
    {"jtd", true},
    {"device-stack-protector", true},
    {"no-cache"},
    {"frandom-seed", true, false},
    {"define-macro", true},
    {"D", true},
    {"undefine-macro", true},
    {"U", true},
    {"include-path", true},
    {"I", true},
    {"pre-include", true},
    {"include", true},
    {"no-source-include"},
    {"std", true},
    {"builtin-move-forward", true},
    {"builtin-initializer-list", true},
    {"disable-warnings"},
    {"w"},
    {"restrict", false, false},
    {"device-as-default-execution-space"},
    {"default-device"},
    {"device-int128"},
    {"device-float128"},
    {"optimization-info", true, false},
    {"opt-info", true, false},
    {"display-error-number"},
    {"err-no"},
    {"no-display-error-number"},
    {"no-err-no"},
    {"diag-error", true},
    {"diag-suppress", true},
    {"diag-warn", true},
    {"diag-remark", true},
    {"brief-diagnostics", true},
    {"split-compile", true},
    {"fdevice-syntax-only"},
    {"minimal"},
    {"version-ident", true},
    {"enable-tile", false, false},
    {"tile-only", false, false},
};

/// What an option of a call is.
struct ReadOption {
    const KnownOption* known = nullptr;
    std::string_view value = {};
    std::size_t taken = 1;
};

/// The option at the start of some.
ReadOption read_option(std::span<const std::string> options) {
    const std::string_view text = options.front();
    const auto dashes = std::min(text.find_first_not_of('-'), text.size());
    if (dashes == 0 || dashes > 2) return {};
    const auto equals = text.find('=');
    const auto name = text.substr(dashes, equals - dashes);
    const auto* const found = std::ranges::find(known_options, name, &KnownOption::name);
    if (found != std::end(known_options)) {
        if (equals != std::string_view::npos) return {found, text.substr(equals + 1)};
        if (!found->takes_value) return {found};
        // What follows is the value, and an option only of the assembler.
        const bool is_for_ptxas = name == "Xptxas" || name == "ptxas-options";
        const bool has_value = options.size() > 1 && (is_for_ptxas || !options[1].starts_with('-'));
        return has_value ? ReadOption{found, options[1], 2} : ReadOption{found};
    }
    // A letter and its value: -DN=4.
    if (dashes != 1 || text.size() < 3) return {};
    for (const auto& option : known_options) {
        constexpr std::string_view joined = "DUI";
        if (option.name.size() == 1 && option.name[0] == text[1] &&
            joined.find(text[1]) != std::string_view::npos)
            return {&option, text.substr(2)};
    }
    return {};
}

/// Calls use(option, texts) for each option; stops at one that isn't known, and returns it.
std::string_view each_option(std::span<const std::string> options, const auto& use) {
    while (!options.empty()) {
        const ReadOption option = read_option(options);
        if (option.known == nullptr) return options.front();
        use(option);
        options = options.subspan(option.taken);
    }
    return {};
}

}  // namespace

const NvrtcAnswer::Output* NvrtcAnswer::output(std::string_view name) const noexcept {
    const auto found = std::ranges::find(outputs, name, &Output::name);
    return found == outputs.end() ? nullptr : &*found;
}

std::size_t NvrtcAnswer::approximate_bytes() const noexcept {
    std::size_t bytes = sizeof(NvrtcAnswer);
    for (const auto& output : outputs)
        bytes += sizeof(Output) + output.bytes.size();
    for (const auto& name : names)
        bytes += sizeof(Name) + name.expression.size() + name.lowered.size();
    return bytes;
}

void write(ByteWriter& out, const std::vector<Header>& headers) {
    out.list(headers, [&](const Header& header) {
        out.text(header.name);
        out.long_text(header.text);
    });
}

std::vector<Header> read_headers(ByteReader& in) {
    return in.list([&] { return Header{in.text(), in.long_text()}; });
}

void write(ByteWriter& out, const NvrtcCall& call) {
    out.long_text(call.source);
    out.flag(call.name.has_value());
    out.text(call.name.value_or(""));
    write(out, call.headers);
    out.texts(call.options);
    out.texts(call.name_expressions);
}

NvrtcCall read_nvrtc_call(ByteReader& in) {
    NvrtcCall call;
    call.source = in.long_text();
    const bool has_name = in.flag();
    std::string name = in.text();
    if (has_name) call.name = std::move(name);
    call.headers = read_headers(in);
    call.options = in.texts();
    call.name_expressions = in.texts();
    return call;
}

void write(ByteWriter& out, const NvrtcAnswer& answer) {
    out.number(answer.result);
    out.list(answer.outputs, [&](const NvrtcAnswer::Output& output) {
        out.text(output.name);
        out.number(output.size_result);
        out.number(output.result);
        out.long_text(output.bytes);
    });
    out.list(answer.names, [&](const NvrtcAnswer::Name& name) {
        out.text(name.expression);
        out.number(name.result);
        out.text(name.lowered);
    });
    out.number(answer.other_name);
}

NvrtcAnswer read_nvrtc_answer(ByteReader& in) {
    NvrtcAnswer answer;
    answer.result = in.number<std::int32_t>();
    answer.outputs = in.list([&] {
        NvrtcAnswer::Output output;
        output.name = in.text();
        output.size_result = in.number<std::int32_t>();
        output.result = in.number<std::int32_t>();
        output.bytes = in.long_text();
        return output;
    });
    answer.names = in.list([&] {
        NvrtcAnswer::Name name;
        name.expression = in.text();
        name.result = in.number<std::int32_t>();
        name.lowered = in.text();
        return name;
    });
    answer.other_name = in.number<std::int32_t>();
    return answer;
}

std::string uncacheable_reason(const NvrtcCall& call) {
    if (foreign_environment("NVRTC_APPEND_FLAGS"))
        return "the variable NVRTC_APPEND_FLAGS adds options";
    const auto unknown = each_option(call.options, [](const ReadOption& /*known*/) {});
    if (!unknown.empty() || std::ranges::any_of(call.options, &std::string::empty)) {
        constexpr std::size_t shown = 60;
        return fmt::format("the option '{}' may have effects that the cache's key doesn't cover",
                           unknown.substr(0, shown));
    }
    const auto says_time = [](std::string_view text) {
        return std::ranges::any_of(
            time_words, [&](std::string_view word) { return has_identifier(text, word); });
    };
    const auto texts_say = [&](const std::vector<std::string>& texts) {
        return std::ranges::any_of(texts, says_time);
    };
    if (says_time(call.source) || texts_say(call.options) || texts_say(call.name_expressions) ||
        std::ranges::any_of(call.headers, says_time, &Header::text))
        return std::string(time_obstacle);
    return {};
}

bool leaves_traces(const NvrtcCall& call) {
    bool leaves = false;
    const auto unknown = each_option(call.options, [&](const ReadOption& option) {
        leaves = leaves || !option.known->is_traceless;
    });
    return leaves || !unknown.empty();
}

std::vector<std::string> include_folders_of(const NvrtcCall& call) {
    std::vector<std::string> folders;
    each_option(call.options, [&](const ReadOption& option) {
        if (option.known->name == "I" || option.known->name == "include-path")
            folders.emplace_back(option.value);
    });
    return folders;
}

std::vector<std::filesystem::path> toolkit_folders_of(const NvrtcCall& call) {
    constexpr const char* toolkit_headers[] = {"cuda_runtime_api.h", "cuda/std/version",
                                               "cub/version.cuh", "thrust/version.h"};
    std::vector<std::filesystem::path> folders;
    for (const auto& name : include_folders_of(call)) {
        const std::filesystem::path folder = name;
        std::error_code ignored;
        const bool is_toolkit = std::ranges::any_of(toolkit_headers, [&](const char* header) {
            return std::filesystem::exists(folder / header, ignored);
        });
        if (is_toolkit) folders.push_back(folder);
    }
    return folders;
}

CompileRequest request_of(const NvrtcCall& call) {
    CompileRequest request{Source::text(call.source, call.name.value_or("")),
                           Arch({7, 5}).as_virtual()};
    CompileOptions& options = request.options;
    options.toolkit_headers = false;
    options.headers = call.headers;
    options.extra_flags = call.options;
    request.name_expressions = call.name_expressions;
    each_option(call.options, [&](const ReadOption& option) {
        const auto name = option.known->name;
        if (name == "arch" || name == "gpu-architecture")
            request.arch = Arch::parse(option.value).value_or(request.arch);
        options.debug = options.debug || name == "G" || name == "device-debug";
        options.line_info = options.line_info || name == "lineinfo" || name == "generate-line-info";
    });
    return request;
}

}  // namespace LODE_NAMESPACE
