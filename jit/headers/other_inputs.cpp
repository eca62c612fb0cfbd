#include "jit/headers/other_inputs.hpp"

#include <algorithm>

namespace LODE_NAMESPACE::cache {
namespace {

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

bool options_put_paths_into_code(const CompileOptions& options) noexcept {
    return options.line_info || options.debug;
}

}  // namespace LODE_NAMESPACE::cache
