#include "jit/worker/jail.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/worker/confine.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace lode::worker {
namespace {

/// Flags that name files, or write them. Without leading dashes.
constexpr std::string_view file_flags[] = {"optf",    "options-file",  "pch",  "create-pch",
                                           "use-pch", "pch-dir",       "time", "fdevice-time-trace",
                                           "isystem", "system-include"};

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

Result<EnteredJail> enter_jail(const JailSetup& setup) {
    EnteredJail jail;
    jail.search = setup.nvrtc;
    LODE_TRY_ASSIGN(jail.nvrtc, NvrtcLibrary::open(setup.nvrtc));
    // A compilation, so that the compiler has loaded everything that it loads at first use.
    LODE_TRY(jail.nvrtc->build());
    if (!jail.nvrtc->watches_files()) {
        return fail(Errc::not_supported,
                    "Untrusted source can't be compiled here: lode can't see which files this "
                    "NVRTC reads.");
    }
    for (const auto& folder : setup.folders) {
        std::error_code problem;
        auto real = std::filesystem::canonical(folder, problem);
        if (problem || !std::filesystem::is_directory(real, problem)) {
            return fail(Errc::not_found,
                        fmt::format("The readable folder '{}' of a jail doesn't exist.", folder));
        }
        jail.limits.folders.push_back(std::move(real).native());
    }
    for (const auto& folder : jail.nvrtc->include_folders()) {
        std::error_code problem;
        auto real = std::filesystem::canonical(folder, problem);
        if (!problem) jail.limits.folders.push_back(std::move(real).native());
    }
    jail.limits.bytes = setup.read_bytes;
    LODE_TRY(confine(jail.limits.folders, setup.open_files));
    return jail;
}

Status check_options(const CompileOptions& options, const EnteredJail& jail) {
    for (const auto& folder : options.include_folders) {
        std::error_code problem;
        const auto real = std::filesystem::weakly_canonical(folder, problem).native();
        if (problem || !is_inside(real, jail.limits.folders)) {
            return fail(Errc::invalid_argument,
                        fmt::format("Include folder '{}' is in no folder that untrusted source may "
                                    "read. Add it to Jail::readable_folders.",
                                    folder.string()));
        }
    }
    for (const auto& flag : options.extra_flags) {
        std::string_view name = flag;
        name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
        name = name.substr(0, name.find_first_of("= "));
        if (std::ranges::find(file_flags, name) != std::end(file_flags)) {
            return fail(Errc::invalid_argument,
                        fmt::format("Extra flag '{}' isn't allowed for untrusted source: it names "
                                    "files.",
                                    flag));
        }
    }
    return {};
}

std::vector<std::string> worker_environment(bool is_jailed) {
    std::vector<std::string> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        const bool is_kept = std::ranges::any_of(
            kept_variables, [&](auto prefix) { return text.starts_with(prefix); });
        if (!is_jailed || is_kept) all.emplace_back(text);
    }
    return all;
}

}  // namespace lode::worker
