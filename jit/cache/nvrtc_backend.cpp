#include "base/try.hpp"
#include "jit/cache/backend.hpp"
#include "jit/files/file_state.hpp"
#include "jit/nvrtc/provider.hpp"
#include "jit/worker/jail.hpp"
#include "jit/worker/pool.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lode::cache {
namespace {

/// Adds the stamp of a path; returns whether there is a regular file.
bool add_stamp(Hasher& hasher, const std::filesystem::path& path) {
    hasher.field(path.string());
    const auto stamp = stamp_of(path.string());
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
        const std::string_view whole = item->path().native();
        if (whole.substr(whole.rfind('/') + 1).starts_with("libnvrtc-builtins")) {
            add_stamp(hasher, item->path());
        }
    }
}

/// The workers of a backend; nullptr if it has none. A jail always has one.
std::unique_ptr<worker::Pool> make_pool(WorkerOptions options,
                                        const NvrtcSearchEnvironment& search) {
    if (!options.jail) {
        if (options.max_processes <= 0) return nullptr;
        return std::make_unique<worker::Pool>(std::move(options));
    }
    options.max_processes = std::max(options.max_processes, 1);
    worker::JailSetup setup{search,
                            {},
                            static_cast<std::uint32_t>(std::max(options.jail->max_open_files, 0)),
                            options.jail->max_read_bytes};
    for (const auto& folder : options.jail->readable_folders) {
        std::error_code ignored;
        setup.folders.push_back(std::filesystem::absolute(folder, ignored).native());
    }
    return std::make_unique<worker::Pool>(std::move(options), worker::to_argument(setup));
}

class NvrtcBackend final : public CompilerBackend {
public:
    NvrtcBackend(CompilerSearch search, WorkerOptions workers, pch::Settings pch)
        : nvrtc_(std::move(search)),
          is_jailed_(workers.jail.has_value()),
          pch_(is_jailed_ ? pch::Settings() : std::move(pch)),
          pool_(make_pool(std::move(workers), nvrtc_.environment())) {}

    Digest fingerprint() override {
        const NvrtcSearchEnvironment& here = nvrtc_.environment();
        Hasher hasher;
        hasher.field(here.executable_folder.string());
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
            add_stamp(hasher, "/etc/ld.so.cache");
        }
        return hasher.finish();
    }

    bool covers(const std::filesystem::path& library) override {
        if (first_.empty()) return true;
        const auto first = stamp_of(first_.native());
        const auto opened = stamp_of(library.native());
        return first && opened && same_file(*first, *opened);
    }

    std::vector<std::filesystem::path> include_folders(
        const std::filesystem::path& library) override {
        return toolkit_include_folders(library, nvrtc_.environment());
    }

    Result<CompilerInfo> info() override { return nvrtc_.info(); }

    Result<Image> compile(const CompileTask& task) override {
        if (task.source.language() == Source::Language::ptx) return wrap_ptx(task.source);
        if (pool_ != nullptr) return compile_in_worker(task);
        LODE_TRY_ASSIGN(const auto nvrtc, nvrtc_.open());
        return compile_with(*nvrtc, task.source, task.arch, task.options, task.name_expressions,
                            &task.files);
    }

private:
    Result<Image> compile_in_worker(const CompileTask& task) {
        std::error_code problem;
        const auto folder = std::filesystem::current_path(problem);
        LODE_TRY_ASSIGN(
            worker::Answer answer,
            pool_->compile({nvrtc_.environment(),
                            problem ? "/" : folder.native(),
                            worker::worker_environment(is_jailed_),
                            task.source,
                            task.arch,
                            task.options,
                            {task.name_expressions.begin(), task.name_expressions.end()},
                            pch_}));
        task.files = std::move(answer.files);
        return std::move(answer.image);
    }

    NvrtcProvider nvrtc_;
    const bool is_jailed_;
    const pch::Settings pch_;
    const std::unique_ptr<worker::Pool> pool_;  ///< Null without workers.
    std::filesystem::path first_;               ///< The place where fingerprint() stopped.
};

}  // namespace

std::unique_ptr<CompilerBackend> make_nvrtc_backend(CompilerSearch search, WorkerOptions workers,
                                                    pch::Settings pch) {
    return std::make_unique<NvrtcBackend>(std::move(search), std::move(workers), std::move(pch));
}

}  // namespace lode::cache
