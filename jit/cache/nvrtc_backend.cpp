#include "base/os/library.hpp"
#include "base/try.hpp"
#include "jit/cache/backend.hpp"
#include "jit/files/file_state.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/provider.hpp"
#include "jit/pch/prefix.hpp"
#include "jit/request/flags.hpp"
#include "jit/worker/jail.hpp"
#include "jit/worker/once.hpp"
#include "jit/worker/pool.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

/// Adds the stamp of a path; returns whether there is a regular file.
bool add_stamp(Hasher& hasher, const std::filesystem::path& path) {
    hasher.field(path.string());
    const auto stamp = stamp_of(path);
    hasher.field(std::uint64_t{stamp.has_value()});
    if (!stamp) return false;
    hasher.field(stamp->size);
    hasher.field(static_cast<std::uint64_t>(stamp->modified_ns));
    hasher.field(static_cast<std::uint64_t>(stamp->changed_ns));
    return true;
}

/// Adds the stamps of the libnvrtc-builtins libraries, which NVRTC loads from its own folder.
void add_companions(Hasher& hasher, const std::filesystem::path& folder) {
    std::error_code problem;
    for (std::filesystem::directory_iterator item(folder, problem), end; !problem && item != end;
         item.increment(problem)) {
        // Cheaper than path::filename() for a folder full of libraries.
        const std::string whole = item->path().string();
        if (whole.substr(whole.rfind('/') + 1).starts_with("libnvrtc-builtins")) {
            add_stamp(hasher, item->path());
        }
    }
}

/// The workers of a backend, in a jail if the options ask for one.
std::unique_ptr<worker::Pool> make_pool(const WorkerOptions& options,
                                        const NvrtcSearchEnvironment& search) {
    if (!options.jail) return std::make_unique<worker::Pool>(options);
    worker::JailSetup setup{search,
                            {},
                            static_cast<std::uint32_t>(std::max(options.jail->max_open_files, 0)),
                            options.jail->max_read_bytes};
    for (const auto& folder : options.jail->readable_folders) {
        std::error_code ignored;
        setup.folders.push_back(std::filesystem::absolute(folder, ignored));
    }
    return std::make_unique<worker::Pool>(options, worker::to_argument(setup));
}

/// A compilation after which sources with the same head go to a worker, which precompiles it.
constexpr std::chrono::milliseconds slow_compilation{250};

class NvrtcBackend final : public CompilerBackend {
public:
    NvrtcBackend(CompilerSearch search, const WorkerOptions& workers, pch::Settings pch, Log log)
        : nvrtc_(std::move(search)),
          workers_(workers),
          pch_(workers.jail ? pch::Settings() : std::move(pch)),
          pool_(make_pool(workers, nvrtc_.environment())),
          log_(std::move(log)) {}

    Digest fingerprint() override {
        const NvrtcSearchEnvironment& here = nvrtc_.environment();
        Hasher hasher;
        hasher.field(here.executable_folder.string());
        hasher.field(here.site_packages.string());
        for (const auto& variable :
             {here.cuda_home, here.cuda_path, here.virtual_env, here.conda_prefix}) {
            hasher.field(variable.value_or(""));
        }
        // All places up to the first that has a library: a library that appears or changes there
        // changes the result; later places don't (see covers()).
        bool found = false;
        for (const auto& place : nvrtc_places(here)) {
            found = add_stamp(hasher, place.candidate);
            if (!found) continue;
            first_ = place.candidate;
            add_companions(hasher, place.candidate.parent_path());
            break;
        }
        // What decides where the loader finds a bare name.
        if (!found) {
            hasher.field(environment("LD_LIBRARY_PATH").value_or(""));
            add_stamp(hasher, os::loader_index());
        }
        return hasher.finish();
    }

    bool covers(const std::filesystem::path& library) override {
        if (first_.empty()) return true;
        const auto first = stamp_of(first_);
        const auto opened = stamp_of(library);
        return first && opened && same_file(*first, *opened);
    }

    std::vector<std::filesystem::path> include_folders(
        const std::filesystem::path& library) override {
        return toolkit_include_folders(library, nvrtc_.environment());
    }

    Result<CompilerProperties> properties() override {
        if (workers_.policy != WorkerPolicy::always && !workers_.jail) return nvrtc_.properties();
        auto request = request_for({Source::text({}, "nothing"), Arch({9, 0})});
        request.task = worker::Task::properties;
        LODE_TRY_ASSIGN(worker::Answer answer, pool_->compile(request, {}));
        LODE_TRY(std::move(answer.image));
        return std::move(answer.properties);
    }

    Result<Image> compile(const CompileRequest& request, const CompileContext& context) override {
        const Source& source = request.source;
        if (source.language() == Source::Language::ptx) return wrap_ptx(source);
        LODE_TRY_ASSIGN(const bool in_worker,
                        goes_to_worker(request, context.control->prefers_worker));
        if (in_worker) return compile_in_worker(request, context);
        LODE_TRY_ASSIGN(const auto nvrtc, nvrtc_.open());
        context.control->enter(CompilePhase::compiling);
        const auto start = std::chrono::steady_clock::now();
        auto image = compile_with(*nvrtc, request, context);
        if (std::chrono::steady_clock::now() - start > slow_compilation) note_slow_head(source);
        return image;
    }

    Result<NvrtcAnswer> answer(const NvrtcCall& call, bool in_new_process, CompileFiles& files,
                               const CompileControl& control) override {
        auto request = request_for({Source::text({}, call.name.value_or("")), Arch({9, 0})});
        request.task = worker::Task::call;
        request.call = call;
        request.needs_new_process = in_new_process;
        request.pch = pch_;
        LODE_TRY_ASSIGN(worker::Answer answer, pool_->compile(request, control));
        LODE_TRY(std::move(answer.image));
        files = std::move(answer.files);
        return std::move(answer.call);
    }

    void quiesce() override { pool_->quiesce(); }

private:
    /// A request's limits, and the backend's in the place of those that it doesn't have.
    [[nodiscard]] CompileLimits with_defaults(CompileLimits limits) const {
        if (limits.time.count() <= 0) limits.time = workers_.limits.time;
        if (limits.memory_bytes == 0) limits.memory_bytes = workers_.limits.memory_bytes;
        return limits;
    }

    /// WorkerPolicy, applied to one compilation.
    Result<bool> goes_to_worker(const CompileRequest& request, bool prefers_worker) {
        const bool must = with_defaults(request.limits).any() || workers_.jail.has_value();
        if (workers_.policy == WorkerPolicy::never && must) {
            return fail(Errc::not_supported,
                        fmt::format("Compiling '{}' with limits or in a jail needs a worker, but "
                                    "workers are off (WorkerPolicy::never, LODE_WORKERS=off).",
                                    request.source.name()));
        }
        if (leaves_traces(request.options)) {
            const auto found = pool_->find();
            if (found) return true;
            return worker::fail_without_worker(
                trace_reason, fmt::format("compiling '{}'", request.source.name()), found.error());
        }
        if (must || workers_.policy == WorkerPolicy::always) return true;
        if (workers_.policy == WorkerPolicy::never) return false;
        if (!prefers_worker && !has_slow_head(request.source) &&
            count_of_foreign_compilations() == 0)
            return false;
        const auto found = pool_->find();
        if (!found && !has_warned_.exchange(true)) {
            log_.write(LogLevel::info,
                       fmt::format("Asynchronous requests are compiled in this process, where "
                                   "NVRTC compiles one at a time. {}",
                                   found.error().message));
        }
        return found.has_value();
    }

    /// The lines at the start of a source that a worker would precompile; nullopt if there are
    /// none.
    [[nodiscard]] std::optional<Digest> head_of(const Source& source) const {
        if (workers_.policy != WorkerPolicy::automatic || pch_.folder.empty()) return std::nullopt;
        const auto head = pch::header_prefix(source.code());
        return head.empty() ? std::nullopt : std::optional(sha256(head));
    }

    void note_slow_head(const Source& source) {
        const auto head = head_of(source);
        const std::lock_guard guard(slow_heads_mutex_);
        if (head) slow_heads_.insert(*head);
    }

    /// Whether a source with the same head took long here, so that a worker will be faster.
    bool has_slow_head(const Source& source) {
        {
            const std::lock_guard guard(slow_heads_mutex_);
            if (slow_heads_.empty()) return false;
        }
        const auto head = head_of(source);
        const std::lock_guard guard(slow_heads_mutex_);
        return head && slow_heads_.contains(*head);
    }

    /// A request with this backend's compiler, limits and jail.
    [[nodiscard]] worker::Request request_for(CompileRequest compilation) const {
        compilation.limits = with_defaults(compilation.limits);
        auto request = worker::request_here(std::move(compilation), workers_.jail.has_value());
        request.nvrtc = nvrtc_.environment();
        return request;
    }

    Result<Image> compile_in_worker(const CompileRequest& compilation,
                                    const CompileContext& context) {
        auto request = request_for(compilation);
        if (workers_.policy != WorkerPolicy::never) request.pch = pch_;
        request.source_files = context.source_files;
        LODE_TRY_ASSIGN(worker::Answer answer, pool_->compile(request, *context.control));
        // The caches keep what files contained by their stamps, also for other requests, and so
        // don't take the word of a compiler that untrusted source may have taken over.
        if (workers_.jail) answer.files.compiler.distrust_stamps();
        *context.files = std::move(answer.files);
        return std::move(answer.image);
    }

    NvrtcProvider nvrtc_;
    const WorkerOptions workers_;
    const pch::Settings pch_;
    const std::unique_ptr<worker::Pool> pool_;
    const Log log_;
    std::atomic<bool> has_warned_ = false;  ///< That asynchronous requests have no worker.
    std::mutex slow_heads_mutex_;
    std::set<Digest> slow_heads_;  ///< Heads of sources that took long to compile here.
    std::filesystem::path first_;  ///< The place where fingerprint() stopped.
};

}  // namespace

pch::Settings pch_settings(const CacheOptions& options) {
    if (options.mode == CacheMode::off || options.folder.empty()) return {};
    // They aren't signed.
    if (options.trust == CacheTrust::signed_only || !options.sign_with.empty()) return {};
    std::error_code ignored;
    return {std::filesystem::absolute(options.folder, ignored), options.mode == CacheMode::on,
            options.precompiled_headers.max_bytes, options.precompiled_headers.least_header_bytes,
            false};
}

std::unique_ptr<CompilerBackend> make_nvrtc_backend(CompilerSearch search,
                                                    const WorkerOptions& workers, pch::Settings pch,
                                                    Log log) {
    return std::make_unique<NvrtcBackend>(std::move(search), workers, std::move(pch),
                                          std::move(log));
}

}  // namespace LODE_NAMESPACE::cache
