#include "jit/cache/headers/text_scan.hpp"

#include "jit/cache/headers/include_scan.hpp"

#include <algorithm>

namespace lode::cache {
namespace {

constexpr std::string_view path_words[] = {"__FILE__", "assert", "source_location",
                                           "__builtin_FILE", "__BASE_FILE__"};
constexpr std::string_view time_words[] = {"__TIME__", "__DATE__", "__TIMESTAMP__"};

/// Environment variables that NVRTC is known to read; others that it asks for are part of the
/// header set. CUDA_CACHE_DISABLE and PWD are left out: lode switches NVRTC's own cache off, and
/// code that names its working directory is bound to it.
constexpr std::string_view variables_in_key[] = {"DUMP_KNOBS_TO_FILE", "EDG_BASE",
                                                 "EDG_MODULES_PATH",   "NVRTCWIZ",
                                                 "NVRTC_APPEND_FLAGS", "NVVM_IR_VER_CHK"};

}  // namespace

std::span<const std::string_view> key_variables() noexcept {
    return variables_in_key;
}

bool is_variable_in_key(std::string_view name) noexcept {
    return name == "CUDA_CACHE_DISABLE" ||
           std::ranges::find(variables_in_key, name) != std::end(variables_in_key);
}

bool mentions_path(std::string_view text) {
    return may_say_any(text, path_words);
}

bool mentions_time(std::string_view text) {
    return may_say_any(text, time_words);
}

bool options_put_paths_into_code(const CompileOptions& options) noexcept {
    return options.line_info || options.debug;
}

}  // namespace lode::cache
