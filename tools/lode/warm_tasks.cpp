#include "tools/lode/warm_tasks.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/cache/packs.hpp"
#include "jit/cache/recorded_line.hpp"
#include "lode_kernels/families.hpp"
#include "tools/lode/commands.hpp"

#include <lode/base/environment.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// A device to compile for: one of this machine, or any of a capability.
struct WarmDevice {
    std::optional<Device> here;
    VariantDeviceProperties properties;
};

/// Makes tasks; opens what it needs once.
class TaskMaker {
public:
    explicit TaskMaker(const CachedCompiler& compiler) : compiler_(compiler) {}

    Status add(const ManifestRequest& request, std::span<const std::optional<Arch>> archs) {
        const auto& wanted = archs.empty() ? std::span(request.archs) : archs;
        const auto add_all = [&]() -> Status {
            for (const auto& arch : wanted)
                LODE_TRY(request.source ? add_source(request, arch) : add_family(request, arch));
            return {};
        };
        return add_all().map_error([&](const Error& error) {
            Error placed = error;
            placed.message = fmt::format("{}: {}", request.where, error.message);
            return placed;
        });
    }
    [[nodiscard]] std::vector<WarmTask> take() && { return std::move(tasks_); }

private:
    Status add_source(const ManifestRequest& request, const std::optional<Arch>& arch) {
        std::vector<std::vector<std::string>> names{request.names};
        if (!request.kernels.empty()) names.clear();
        for (const auto& kernel : request.kernels)
            names.push_back(name_expressions_for(kernel));
        const auto add_for = [&](const Arch& target, const CompileOptions& options) {
            for (const auto& list : names) {
                add_task({request.where,
                          request.source->name(),
                          request.folder,
                          {*request.source, target, options, list},
                          request.compiler,
                          request.compile_ms});
            }
        };
        if (arch) {
            add_for(*arch, request.options);
            return {};
        }
        LODE_TRY_ASSIGN(const auto* devices, devices_here());
        for (const auto& device : *devices) {
            LODE_TRY_ASSIGN(const Target target,
                            device.here->target(request.suffix, request.source->language()));
            add_for(target.arch, request.options);
        }
        return {};
    }

    Status add_family(const ManifestRequest& request, const std::optional<Arch>& arch) {
        const auto* const entry = kernels::find(request.family);
        if (entry == nullptr) return fail(Errc::not_found, no_family_text(request.family));
        std::vector<WarmDevice> devices;
        if (!arch) {
            LODE_TRY_ASSIGN(const auto* here, devices_here());
            devices = *here;
        } else if (arch->is_real()) {
            devices.push_back({std::nullopt, assumed_device_properties(arch->cc())});
        } else {
            return fail(Errc::invalid_argument,
                        fmt::format("A kernel family is warmed for devices, so {} must be a real "
                                    "architecture.",
                                    arch->to_string()));
        }
        for (const auto& device : devices) {
            LODE_TRY_ASSIGN(
                const auto compilations,
                compilations_of(entry->family, device.properties, request.options, request.rows));
            for (const auto& [row, source, options, names, suffix] : compilations) {
                LODE_TRY_ASSIGN(const Arch target, target_on(device, suffix));
                add_task({request.where,
                          fmt::format("{}:{}", request.family, row),
                          request.folder,
                          {source, target, options, names},
                          request.compiler,
                          request.compile_ms});
            }
        }
        return {};
    }

    Result<Arch> target_on(const WarmDevice& device, SuffixPolicy suffix) {
        if (device.here) {
            LODE_TRY_ASSIGN(const Target target, device.here->target(suffix));
            return target.arch;
        }
        LODE_TRY_ASSIGN(const bool force_ptx, environment_flag("LODE_FORCE_PTX"));
        LODE_TRY_ASSIGN(const auto info, compiler_.info());
        LODE_TRY_ASSIGN(const Target target, choose_target({.device = device.properties.cc,
                                                            .supported = info.supported,
                                                            .suffix = suffix,
                                                            .tools = {.force_ptx = force_ptx}}));
        return target.arch;
    }

    /// The devices of this machine; never none.
    Result<const std::vector<WarmDevice>*> devices_here() {
        if (!here_.empty()) return &here_;
        LODE_TRY_ASSIGN(const Runtime runtime, open_runtime(NoDevice::fail));
        LODE_TRY_ASSIGN(const auto devices, runtime.devices());
        for (const auto& device : devices)
            here_.push_back({device, variant_device_properties(device)});
        if (here_.empty()) {
            return fail(Errc::no_device,
                        "There is no device to compile for. Name the architectures with --arch or "
                        "in the manifest.");
        }
        return &here_;
    }

    void add_task(WarmTask task) {
        const auto line = cache::recorded_line(task.request, task.folder);
        if (line && !lines_.insert(*line).second) return;
        tasks_.push_back(std::move(task));
    }

    const CachedCompiler& compiler_;
    std::vector<WarmDevice> here_;
    std::vector<WarmTask> tasks_;
    std::set<std::string> lines_;  ///< Lines of the tasks so far.
};

}  // namespace

Result<std::vector<WarmTask>> tasks_of(std::span<const ManifestRequest> requests,
                                       std::span<const std::optional<Arch>> archs,
                                       const CachedCompiler& compiler) {
    TaskMaker maker(compiler);
    for (const auto& request : requests)
        LODE_TRY(maker.add(request, archs));
    return std::move(maker).take();
}

Result<std::vector<WarmTask>> read_tasks(std::span<const std::string> files,
                                         std::span<const std::optional<Arch>> archs,
                                         const CachedCompiler& compiler) {
    std::vector<ManifestRequest> requests;
    for (const auto& file : files) {
        LODE_TRY_ASSIGN(auto more, read_manifest(file));
        std::ranges::move(more, std::back_inserter(requests));
    }
    return tasks_of(requests, archs, compiler);
}

std::vector<Arch> archs_of(std::span<const WarmTask> tasks) {
    std::vector<Arch> archs;
    for (const auto& task : tasks)
        if (std::ranges::find(archs, task.request.arch) == archs.end())
            archs.push_back(task.request.arch);
    return archs;
}

CacheOptions packs_alone(CacheOptions options, const std::filesystem::path& pack,
                         std::span<const Arch> archs) {
    const auto absolute = std::filesystem::absolute(pack);
    std::error_code unknown;
    options.folder.clear();
    options.packs.clear();
    if (std::filesystem::is_regular_file(absolute, unknown)) {
        options.packs.push_back(absolute);
        return options;
    }
    for (const Arch& arch : archs)
        options.packs.push_back(cache::pack_for(absolute, arch));
    return options;
}

void make_absolute(CacheOptions& options) {
    if (const auto worker = environment("LODE_WORKER"); worker && options.workers.program.empty())
        options.workers.program = *worker;
    std::vector<std::filesystem::path*> paths{&options.folder, &options.workers.program};
    for (auto& pack : options.packs)
        paths.push_back(&pack);
    for (auto* path : paths) {
        std::error_code unknown;
        if (!path->empty()) *path = std::filesystem::absolute(*path, unknown);
    }
}

void for_each_task(std::span<const WarmTask> tasks, std::size_t jobs,
                   const std::function<void(std::size_t, const Status&)>& work) {
    std::map<std::filesystem::path, std::vector<std::size_t>> by_folder;
    for (std::size_t i = 0; i < tasks.size(); ++i)
        by_folder[tasks[i].folder].push_back(i);
    std::error_code unknown;
    const auto before = std::filesystem::current_path(unknown);
    for (auto& group : by_folder) {
        const auto& folder = group.first;
        auto& indices = group.second;
        std::error_code problem;
        std::filesystem::current_path(folder, problem);
        Status entered;
        if (problem)
            entered = fail_from_errno("Entering the working folder", folder, problem.value());
        // The longest first, so that none is left for the end; they are all unknown by default.
        std::ranges::stable_sort(indices, std::ranges::greater(), [&](std::size_t i) {
            return tasks[i].compile_ms.value_or(std::numeric_limits<double>::max());
        });
        std::atomic<std::size_t> next = 0;
        const auto work_on_some = [&] {
            for (std::size_t i = next++; i < indices.size(); i = next++) {
                const WarmTask& task = tasks[indices[i]];
                const bool needs = cache::needs_working_folder(task.request);
                work(indices[i], needs ? entered : Status());
            }
        };
        std::vector<std::thread> threads;
        for (std::size_t i = 1; i < std::min(jobs, indices.size()); ++i)
            threads.emplace_back(work_on_some);
        work_on_some();
        for (auto& thread : threads)
            thread.join();
    }
    if (!unknown) std::filesystem::current_path(before, unknown);
}

}  // namespace lode::tool
