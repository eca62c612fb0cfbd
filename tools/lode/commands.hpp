// The subcommands: each declares its options and prepares its work.
#pragma once

#include "tools/lode/options.hpp"
#include "tools/lode/report.hpp"

#include <lode/base/error.hpp>
#include <lode/runtime/runtime.hpp>

#include <cstdint>
#include <functional>

#include <CLI/CLI.hpp>

namespace lode::tool {

/// One subcommand, declared.
struct Command {
    CLI::App* app;
    /// Reads the parsed options. Its errors are bad usage; those of the work are failures.
    std::function<Result<Work>()> prepare;
};

Command declare_info(CLI::App& app);
Command declare_compile(CLI::App& app);
Command declare_run(CLI::App& app);
Command declare_variants(CLI::App& app);
Command declare_cache(CLI::App& app);

/// What happens where there is no driver, or it shows no device.
enum class NoDevice : std::uint8_t { take_software_device, fail };

/// The driver and its devices, with warnings on stderr: so the one that the software device stands
/// in.
[[nodiscard]] Result<Runtime> open_runtime(NoDevice no_device = NoDevice::take_software_device);

/// not_found where LODE_FORCE_VARIANT names a kernel family that lode doesn't have, with those that
/// it has; invalid_argument where it isn't readable.
[[nodiscard]] Status check_forced_families();

/// The compile options, on any subcommand that compiles. `flags` must outlive the parsing.
void declare_compile_flags(CLI::App& command, CompileFlags& flags);

}  // namespace lode::tool
