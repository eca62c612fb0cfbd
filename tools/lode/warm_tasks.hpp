// From the requests of manifests to single compilations, for `lode warm` and `lode doctor`.
#pragma once

#include "tools/lode/warm_manifest.hpp"

#include <lode/jit/cache.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lode::tool {

/// One compilation.
struct WarmTask {
    std::string where;             ///< The request in its manifest.
    std::string label;             ///< "saxpy.cu", or "reduce:redux" for the row of a family.
    std::filesystem::path folder;  ///< The working folder that relative paths need.
    CompileRequest request;
    std::string compiler;              ///< That of the recording; empty if unknown.
    std::optional<double> compile_ms;  ///< What it took when it was recorded.
};

/// The compilations of these requests, without duplicates: each source for each architecture, each
/// row of a family that can run there. `archs`, if not empty, take the place of the requests' own.
/// Opens the driver only for the devices of this machine, and the compiler only for families.
/// Errors: those of the driver and of choose_target(); not_found for an unknown family or row.
[[nodiscard]] Result<std::vector<WarmTask>> tasks_of(std::span<const ManifestRequest> requests,
                                                     std::span<const std::optional<Arch>> archs,
                                                     const CachedCompiler& compiler);

/// Reads manifests and resolves them. Errors: those of read_manifest() and tasks_of().
[[nodiscard]] Result<std::vector<WarmTask>> read_tasks(std::span<const std::string> files,
                                                       std::span<const std::optional<Arch>> archs,
                                                       const CachedCompiler& compiler);

/// The architectures of the tasks, each once.
[[nodiscard]] std::vector<Arch> archs_of(std::span<const WarmTask> tasks);

/// The same cache with nothing but the packs that `lode warm --pack` names after `pack`, one for
/// each architecture, or `pack` itself if there is such a file.
[[nodiscard]] CacheOptions packs_alone(CacheOptions options, const std::filesystem::path& pack,
                                       std::span<const Arch> archs);

/// Makes the paths absolute on which the cache and its workers depend, so that they keep their
/// meaning while the working folder changes.
void make_absolute(CacheOptions& options);

/// Calls `work` for every task, on up to `jobs` threads at once, in the working folder of each.
/// `work` gets the index of the task, and the error of a folder that it needs and that can't be
/// entered.
void for_each_task(std::span<const WarmTask> tasks, std::size_t jobs,
                   const std::function<void(std::size_t, const Status&)>& work);

}  // namespace lode::tool
