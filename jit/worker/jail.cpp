#include "jit/worker/jail.hpp"

#include "base/os/process.hpp"

#include <algorithm>
#include <cstddef>

namespace LODE_NAMESPACE::worker {
namespace {

/// The variables of a jailed worker: what the compiler, the loader and the search for both read.
constexpr std::string_view kept_variables[] = {"NVRTC",
                                               "CUDA_",
                                               "NVVM_",
                                               "EDG_",
                                               "DUMP_KNOBS_TO_FILE",
                                               "LD_LIBRARY_PATH=",
                                               "PWD=",
                                               "LANG=",
                                               "LC_",
                                               "NV_NVVM_VERSION",
                                               "LLVM_OVERRIDE_PRODUCER",
                                               "LIBNVVM_DISABLE_CONCURRENT_API"};

}  // namespace

std::string to_argument(const JailSetup& setup) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : format_setup(setup)) {
        text += digits[std::to_integer<std::size_t>(byte) >> 4];
        text += digits[std::to_integer<std::size_t>(byte) & 15];
    }
    return text;
}

Result<JailSetup> setup_of_argument(std::string_view argument) {
    constexpr std::string_view digits = "0123456789abcdef";
    Bytes bytes;
    for (std::size_t at = 0; at + 1 < argument.size(); at += 2) {
        const auto high = digits.find(argument[at]);
        const auto low = digits.find(argument[at + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) break;
        bytes.push_back(static_cast<std::byte>(high * 16 + low));
    }
    if (2 * bytes.size() != argument.size())
        return fail(Errc::invalid_image, "A worker's setup isn't hexadecimal.");
    return parse_setup(bytes);
}

std::vector<std::string> worker_environment(bool is_jailed) {
    std::vector<std::string> all = os::environment_lines();
    std::erase_if(all, [&](std::string_view text) {
        const bool is_kept = std::ranges::any_of(
            kept_variables, [&](auto prefix) { return text.starts_with(prefix); });
        // A preloaded allocator would get memory of the worker's own malloc().
        return !is_kept && (is_jailed || text.starts_with("LD_PRELOAD="));
    });
    return all;
}

}  // namespace LODE_NAMESPACE::worker
