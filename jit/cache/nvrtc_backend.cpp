#include "base/try.hpp"
#include "jit/cache/backend.hpp"
#include "jit/files/file_state.hpp"
#include "jit/nvrtc/provider.hpp"

#include <lode/base/environment.hpp>

#include <string_view>

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

class NvrtcBackend final : public CompilerBackend {
public:
    explicit NvrtcBackend(CompilerSearch search) : nvrtc_(std::move(search)) {}

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
        LODE_TRY_ASSIGN(const auto nvrtc, nvrtc_.open());
        return compile_with(*nvrtc, task.source, task.arch, task.options, task.name_expressions,
                            &task.files);
    }

private:
    NvrtcProvider nvrtc_;
    std::filesystem::path first_;  ///< The place where fingerprint() stopped.
};

}  // namespace

std::unique_ptr<CompilerBackend> make_nvrtc_backend(CompilerSearch search) {
    return std::make_unique<NvrtcBackend>(std::move(search));
}

}  // namespace lode::cache
