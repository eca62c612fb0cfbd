// The subcommands: each declares its options and prepares its work.
#pragma once

#include "tools/lode/options.hpp"
#include "tools/lode/report.hpp"

#include <lode/base/error.hpp>
#include <lode/runtime/runtime.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace lode::tool {

/// The value of --json without a file.
inline constexpr const char* json_to_stdout = "-";

/// A declared subcommand.
struct Command {
    CLI::App* app;
    /// Reads the parsed options. Its errors are usage errors; errors of the work are failures.
    std::function<Result<Work>()> prepare;
    /// Whether --json prints the answer as JSON; otherwise the command declares its own --json.
    bool prints_json = true;
    /// Whether --log prints the compiler's whole log if a source doesn't compile.
    bool compiles = false;
    /// The arguments that name files to read: one that is missing is said before other mistakes.
    std::vector<const CLI::Option*> inputs = {};
    /// The options that name files to write, besides --json.
    std::vector<const CLI::Option*> results = {};
};

Command declare_info(CLI::App& app);
Command declare_init(CLI::App& app);
Command declare_compile(CLI::App& app);
Command declare_link(CLI::App& app);
Command declare_run(CLI::App& app);
Command declare_variants(CLI::App& app);
Command declare_cache(CLI::App& app);
Command declare_cached(CLI::App& app);
Command declare_warm(CLI::App& app);
Command declare_doctor(CLI::App& app);
Command declare_emulate(CLI::App& app);
Command declare_debug(CLI::App& app);
Command declare_bench(CLI::App& app);
Command declare_completion(CLI::App& app);
/// Hidden: `help --man` stands for it.
Command declare_man(CLI::App& app);

/// The largest values of --jobs and --max-registers.
inline constexpr int most_jobs = 1024;
inline constexpr int most_registers = 255;

/// What --help prints of the command line or of one of its commands, to the terminal's width.
[[nodiscard]] std::string help_text(const CLI::App& app);

/// What to do if there is no driver or it shows no device.
enum class NoDevice : std::uint8_t { take_software_device, take_software_device_silently, fail };

/// The cache's options of a command that compiles. A worker compiles, so that a crash of the
/// compiler is an error, unless LODE_WORKERS is set or lode-worker isn't found. `jobs` is the most
/// workers at once; more than one take workers in any case.
[[nodiscard]] Result<CacheOptions> options_to_compile(std::optional<int> jobs);

/// Opens the driver and its devices. Prints warnings on stderr, among them that the software device
/// is used.
[[nodiscard]] Result<Runtime> open_runtime(NoDevice no_device = NoDevice::take_software_device,
                                           CompileEventHook events = {});

/// An error about a variable that an option stands for, in terms of the option.
[[nodiscard]] Error in_option(Error error, std::string_view variable, std::string_view option);

/// Makes the software device the driver, with the checks of --check. Says so where LODE_DRIVER
/// doesn't. Errors: invalid_argument.
[[nodiscard]] Status use_checks(const std::string& checks);

/// not_found if LODE_FORCE_VARIANT names a kernel family that lode doesn't have; the message lists
/// those it has. invalid_argument if the value can't be parsed.
[[nodiscard]] Status check_forced_families();

/// "There is no kernel family 'x'. The families are: …"
std::string no_family_text(std::string_view name);

/// Declares the compile options on a subcommand that compiles. `flags` must outlive the parsing.
void declare_compile_flags(CLI::App& command, CompileFlags& flags);

}  // namespace lode::tool
