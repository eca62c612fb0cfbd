#include "jit/cache/backend_workers.hpp"

#include "base/try.hpp"
#include "jit/request/flags.hpp"
#include "jit/worker/jail.hpp"
#include "jit/worker/once.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

std::string jail_argument(const WorkerOptions& options, const worker::Request& first) {
    worker::JailSetup setup{first.compilation.source.language(),
                            first.nvrtc,
                            {},
                            static_cast<std::uint32_t>(std::max(options.jail->max_open_files, 0)),
                            options.jail->max_read_bytes};
    for (const auto& folder : options.jail->readable_folders) {
        std::error_code ignored;
        setup.folders.push_back(std::filesystem::absolute(folder, ignored));
    }
    return worker::to_argument(setup);
}

}  // namespace

worker::Pool& BackendWorkers::pool_for(const worker::Request& request) {
    if (!options_.jail) return pool_;
    const std::lock_guard guard(jails_mutex_);
    auto& jail = jails_[request.compilation.source.language()];
    if (!jail) jail = std::make_unique<worker::Pool>(options_, jail_argument(options_, request));
    return *jail;
}

void BackendWorkers::quiesce() noexcept {
    pool_.quiesce();
    const std::lock_guard guard(jails_mutex_);
    for (auto& [language, jail] : jails_)
        jail->quiesce();
}

CompileLimits BackendWorkers::with_defaults(CompileLimits limits) const {
    if (limits.time.count() <= 0) limits.time = options_.limits.time;
    if (limits.memory_bytes == 0) limits.memory_bytes = options_.limits.memory_bytes;
    return limits;
}

Result<bool> BackendWorkers::take(const CompileRequest& request, bool prefers_worker) {
    const bool must = with_defaults(request.limits).any() || options_.jail.has_value();
    if (options_.policy == WorkerPolicy::never && must) {
        return fail(Errc::not_supported,
                    fmt::format("Compiling '{}' with limits or in a jail needs a worker, but "
                                "workers are off (WorkerPolicy::never, LODE_WORKERS=off).",
                                request.source.name()));
    }
    if (const auto reason = worker_reason(request); !reason.empty()) {
        const auto found = pool_.find();
        if (found) return true;
        return worker::fail_without_worker(
            reason, fmt::format("compiling '{}'", request.source.name()), found.error());
    }
    if (must || options_.policy == WorkerPolicy::always) return true;
    if (options_.policy == WorkerPolicy::never || !prefers_worker) return false;
    const auto found = pool_.find();
    if (!found && !has_warned_.exchange(true)) {
        log_.write(LogLevel::info,
                   fmt::format("Asynchronous requests are compiled in this process, where "
                               "NVRTC compiles one at a time. {}",
                               found.error().message));
    }
    return found.has_value();
}

worker::Request BackendWorkers::request_for(CompileRequest compilation,
                                            const NvrtcSearchEnvironment& search) const {
    compilation.limits = with_defaults(compilation.limits);
    auto request = worker::request_here(std::move(compilation), options_.jail.has_value());
    request.nvrtc = search;
    return request;
}

Result<CompilerProperties> BackendWorkers::properties(Source nothing,
                                                      const NvrtcSearchEnvironment& search) {
    auto request = request_for({std::move(nothing), Arch({9, 0})}, search);
    request.task = worker::Task::properties;
    LODE_TRY_ASSIGN(worker::Answer answer, run(request, {}));
    LODE_TRY(std::move(answer.image));
    return std::move(answer.properties);
}

Result<Image> BackendWorkers::compile(worker::Request request, const CompileContext& context) {
    request.source_files = context.source_files;
    LODE_TRY_ASSIGN(worker::Answer answer, run(request, *context.control));
    // The caches keep what files contained by their stamps, also for other requests, and so don't
    // take the word of a compiler that untrusted source may have taken over.
    if (options_.jail) answer.files.compiler.distrust_stamps();
    *context.files = std::move(answer.files);
    return std::move(answer.image);
}

Result<worker::Answer> BackendWorkers::run(const worker::Request& request,
                                           const CompileControl& control) {
    return pool_for(request).compile(request, control);
}

}  // namespace LODE_NAMESPACE::cache
