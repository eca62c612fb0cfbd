#include "tools/worker/enter_jail.hpp"

#include "base/try.hpp"
#include "tools/worker/call_filter.hpp"
#include "tools/worker/confine.hpp"
#include "tools/worker/lacks.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>

namespace LODE_NAMESPACE::worker {
namespace {

/// Flags that name files, or write them. Without leading dashes.
constexpr std::string_view file_flags[] = {"optf",    "options-file",  "pch",  "create-pch",
                                           "use-pch", "pch-dir",       "time", "fdevice-time-trace",
                                           "isystem", "system-include"};

/// A compiler's properties. Errors: not_supported if lode can't see which files it reads.
template <class Tools>
Result<CompilerProperties> watched_properties(const Tools& tools) {
    LODE_TRY_ASSIGN(const CompilerProperties properties, tools.properties());
    if (!tools.watches_files()) {
        return fail(Errc::not_supported,
                    fmt::format("Untrusted source can't be compiled here: lode can't see which "
                                "files this {} reads.",
                                properties.info.product));
    }
    return properties;
}

}  // namespace

Result<EnteredJail> enter_jail(const JailSetup& setup) {
    EnteredJail jail;
    // Its properties take a compilation, so that the compiler has loaded everything that it loads
    // at first use.
    LODE_TRY_ASSIGN(const CompilerProperties compiler,
                    with_compiler(jail.compilers, setup.language, [&](auto& opened) {
                        return opened.open(setup.nvrtc).and_then([](const auto& tools) {
                            return watched_properties(*tools);
                        });
                    }));
    for (const auto& folder : setup.folders) {
        std::error_code problem;
        auto real = std::filesystem::canonical(folder, problem);
        if (problem || !std::filesystem::is_directory(real, problem)) {
            return fail(
                Errc::not_found,
                fmt::format("The readable folder '{}' of a jail doesn't exist.", folder.string()));
        }
        jail.limits.folders.push_back(std::move(real).native());
    }
    for (const auto& folder : compiler.info.include_folders) {
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

Status lock_jail(const Request& request, int socket) {
    // The kernel ends the process with the thread that started it, or that inherited it when that
    // thread ended. If other threads of the host go on, they start another process.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return lacks("end with the host", errno);
    const auto asks_for_threads = [](const std::string& text) {
        return text.find("split-compile") != std::string::npos;
    };
    return restrict_calls(
        socket, std::ranges::any_of(request.compilation.options.extra_flags, asks_for_threads) ||
                    std::ranges::any_of(request.environment, asks_for_threads));
}

}  // namespace LODE_NAMESPACE::worker
