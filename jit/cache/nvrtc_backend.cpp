#include "base/try.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/backend_workers.hpp"
#include "jit/cache/place_stamps.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/provider.hpp"
#include "jit/pch/prefix.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::cache {
namespace {

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

/// A compilation after which sources with the same head go to a worker, which precompiles it.
constexpr std::chrono::milliseconds slow_compilation{250};

class NvrtcBackend final : public CompilerBackend {
public:
    NvrtcBackend(CompilerSearch search, std::shared_ptr<BackendWorkers> workers, pch::Settings pch)
        : nvrtc_(std::move(search)),
          workers_(std::move(workers)),
          pch_(workers_->options().jail ? pch::Settings() : std::move(pch)) {}

    Digest fingerprint() override {
        const NvrtcSearchEnvironment& here = nvrtc_.environment();
        Hasher hasher;
        hasher.field(here.executable_folder.string());
        hasher.field(here.site_packages.string());
        for (const auto& variable :
             {here.cuda_home, here.cuda_path, here.virtual_env, here.conda_prefix}) {
            hasher.field(variable.value_or(""));
        }
        if (auto found = add_places(hasher, nvrtc_places(here)); !found.empty()) {
            first_ = std::move(found);
            add_companions(hasher, first_.parent_path());
        }
        return hasher.finish();
    }

    bool covers(const std::filesystem::path& library) override {
        return first_.empty() || are_same_file(first_, library);
    }

    std::vector<std::filesystem::path> include_folders(
        const std::filesystem::path& library) override {
        return toolkit_include_folders(library, nvrtc_.environment());
    }

    Result<CompilerProperties> properties() override {
        if (!workers_->take_all()) return nvrtc_.properties();
        return workers_->properties(Source::text({}, "nothing"), nvrtc_.environment());
    }

    Result<Image> compile(const CompileRequest& request, const CompileContext& context) override {
        const Source& source = request.source;
        if (source.language() == Source::Language::ptx) return wrap_ptx(source);
        LODE_TRY_ASSIGN(
            const bool in_worker,
            workers_->take(request, context.control->prefers_worker || has_slow_head(source) ||
                                        count_of_foreign_compilations() > 0));
        if (in_worker) {
            auto sent = workers_->request_for(request, nvrtc_.environment());
            if (workers_->options().policy != WorkerPolicy::never) sent.pch = pch_;
            return workers_->compile(std::move(sent), context);
        }
        LODE_TRY_ASSIGN(const auto nvrtc, nvrtc_.open());
        context.control->enter(CompilePhase::compiling);
        const auto start = std::chrono::steady_clock::now();
        auto image = compile_with(*nvrtc, request, context);
        if (std::chrono::steady_clock::now() - start > slow_compilation) note_slow_head(source);
        return image;
    }

    Result<NvrtcAnswer> answer(const NvrtcCall& call, bool in_new_process, CompileFiles& files,
                               const CompileControl& control) override {
        auto request = workers_->request_for(
            {Source::text({}, call.name.value_or("")), Arch({9, 0})}, nvrtc_.environment());
        request.task = worker::Task::call;
        request.call = call;
        request.needs_new_process = in_new_process;
        request.pch = pch_;
        LODE_TRY_ASSIGN(worker::Answer answer, workers_->run(request, control));
        LODE_TRY(std::move(answer.image));
        files = std::move(answer.files);
        return std::move(answer.call);
    }

    void quiesce() override { workers_->quiesce(); }

private:
    /// The lines at the start of a source that a worker would precompile; nullopt if there are
    /// none.
    [[nodiscard]] std::optional<Digest> head_of(const Source& source) const {
        if (workers_->options().policy != WorkerPolicy::automatic || pch_.folder.empty())
            return std::nullopt;
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

    NvrtcProvider nvrtc_;
    const std::shared_ptr<BackendWorkers> workers_;
    const pch::Settings pch_;
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
                                                    std::shared_ptr<BackendWorkers> workers,
                                                    pch::Settings pch) {
    return std::make_unique<NvrtcBackend>(std::move(search), std::move(workers), std::move(pch));
}

std::unique_ptr<CompilerBackend> make_nvrtc_backend(CompilerSearch search,
                                                    const WorkerOptions& workers, pch::Settings pch,
                                                    Log log) {
    auto own = std::make_shared<BackendWorkers>(workers, std::move(log));
    return make_nvrtc_backend(std::move(search), std::move(own), std::move(pch));
}

}  // namespace LODE_NAMESPACE::cache
