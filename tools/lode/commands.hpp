// The subcommands: each declares its options and prepares its work.
#pragma once

#include "tools/lode/options.hpp"
#include "tools/lode/report.hpp"

#include <lode/base/error.hpp>
#include <lode/runtime/runtime.hpp>

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

/// The driver and its devices: the software device where there are none, which stderr then says.
[[nodiscard]] Result<Runtime> open_runtime();

/// The compile options, on any subcommand that compiles. `flags` must outlive the parsing.
void declare_compile_flags(CLI::App& command, CompileFlags& flags);

}  // namespace lode::tool
