#include "jit/nvrtc/library.hpp"

#include "base/message_text.hpp"
#include "base/os/library.hpp"
#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/nvrtc/bundled_headers.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/program.hpp"

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr int oldest_major = 12;
constexpr int newest_major = 13;

/// The loaded libraries whose files' names begin and end so, without links.
std::vector<std::string> loaded_libraries(std::string_view beginning, std::string_view end) {
    auto paths = os::loaded_libraries();
    std::erase_if(paths, [&](std::string_view path) {
        const auto name = path.substr(path.rfind('/') + 1);
        return !name.starts_with(beginning) || !name.ends_with(end);
    });
    for (auto& path : paths) {
        std::error_code problem;
        const auto real = std::filesystem::canonical(path, problem);
        if (!problem) path = real.string();
    }
    std::ranges::sort(paths);
    return paths;
}

std::string to_line(const LibraryAttempt& attempt) {
    return fmt::format("{} ({}): {}", attempt.place.candidate.string(), attempt.place.why,
                       attempt.outcome);
}

}  // namespace

std::string_view build_in_ptx(std::string_view ptx) noexcept {
    constexpr std::string_view marker = "Cuda compilation tools, release ";
    constexpr std::size_t banner_size = 512;
    ptx = ptx.substr(0, banner_size);
    const auto at = ptx.find(marker);
    if (at == std::string_view::npos) return {};
    auto line = ptx.substr(at + marker.size());
    line = line.substr(0, line.find('\n'));
    const auto version = line.find(", V");
    return version == std::string_view::npos ? std::string_view() : line.substr(version + 3);
}

bool NvrtcLibrary::at_least(int version_major, int version_minor) const noexcept {
    return std::pair(version_major_, version_minor_) >= std::pair(version_major, version_minor);
}

Status NvrtcLibrary::load(const std::filesystem::path& file) {
    path_ = file;
    LODE_TRY_ASSIGN(table_,
                    NvrtcTable::load([&](std::string_view name) { return library_.symbol(name); }));
    if (const auto result = table_.nvrtcVersion(&version_major_, &version_minor_);
        result != NVRTC_SUCCESS) {
        return fail_from_nvrtc(table_, result, "Asking NVRTC for its version");
    }
    if (version_major_ < oldest_major || version_major_ > newest_major) {
        return fail(Errc::compiler_too_old,
                    fmt::format("It is NVRTC {}.{}; lode works with {} to {}.", version_major_,
                                version_minor_, oldest_major, newest_major));
    }
    open_companion();
    watched_ = watch_file_functions(reinterpret_cast<void*>(table_.nvrtcCompileProgram),
                                    TimeQuestions::asked);
    int count = 0;
    auto result = table_.nvrtcGetNumSupportedArchs(&count);
    std::vector<int> numbers(static_cast<std::size_t>(std::max(count, 0)));
    if (result == NVRTC_SUCCESS) result = table_.nvrtcGetSupportedArchs(numbers.data());
    if (result != NVRTC_SUCCESS) {
        return fail_from_nvrtc(table_, result, "Asking NVRTC for its architectures");
    }
    std::ranges::transform(numbers, std::back_inserter(supported_),
                           &ComputeCapability::from_number);
    std::ranges::sort(supported_);
    return {};
}

void NvrtcLibrary::open_companion() const {
    const auto companion = path_.parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}",
                                                             version_major_, version_minor_);
    std::error_code ignored;
    if (std::filesystem::exists(companion, ignored)) (void)SharedLibrary::open(companion);
}

Result<std::shared_ptr<const NvrtcLibrary>> NvrtcLibrary::open(const NvrtcSearchEnvironment& here) {
    LODE_TRY(require_dynamic_program(Errc::compiler_missing, "NVRTC"));
    std::vector<std::string> attempts;
    for (const auto& place : nvrtc_places(here)) {
        const bool is_new = !os::is_library_loaded(place.candidate);
        auto search = open_first({place});
        LibraryAttempt& attempt = search.attempts.front();
        if (search.library) {
            if (is_new) LODE_TRY(refuse_after_exit());
            const std::shared_ptr<NvrtcLibrary> opened(new NvrtcLibrary);
            opened->library_ = std::move(search.library);
            const Status loaded = opened->load(opened->library_.path());
            if (!loaded) attempt.outcome = "not usable: " + loaded.error().message;
            attempts.push_back(to_line(attempt));
            if (!loaded) continue;
            opened->find_headers(here, attempts);
            opened->search_attempts_ = std::move(attempts);
            return opened;
        }
        attempts.push_back(to_line(attempt));
    }
    return fail(Errc::compiler_missing,
                fmt::format("No usable NVRTC library can be found. {} Places tried:\n  {}",
                            nvrtc_cure(here), listed(attempts, search_form)));
}

void NvrtcLibrary::find_headers(const NvrtcSearchEnvironment& here,
                                std::vector<std::string>& attempts) {
    include_folders_ = toolkit_include_folders(path_, here);
    if (!include_folders_.empty()) return;
    const BundledHeaders bundled{
        reinterpret_cast<BundledHeaders::Install*>(library_.symbol("nvrtcInstallBundledHeaders")),
        reinterpret_cast<BundledHeaders::GetInfo*>(library_.symbol("nvrtcGetBundledHeadersInfo"))};
    if (const auto installed = install_headers(path_, bundled); !installed) {
        attempts.push_back("no toolkit's headers: " + installed.error().message);
        return;
    }
    include_folders_ = toolkit_include_folders(path_, here);
}

std::vector<std::string> NvrtcLibrary::machine_flags(const Arch& arch) const {
    std::vector<std::string> flags = {"-arch=" + arch.to_string(), "--modify-stack-limit=false"};
    constexpr int no_cache_since[] = {12, 9};
    if (at_least(no_cache_since[0], no_cache_since[1])) flags.emplace_back("--no-cache");
    return flags;
}

CompilerFile compiler_file(const std::filesystem::path& path) {
    const auto stamp = os::is_library_replaced(path.string()) ? std::nullopt : stamp_of(path);
    return {path, stamp.value_or(FileStamp{})};
}

std::vector<CompilerFile> NvrtcLibrary::files() const {
    const std::lock_guard guard(files_mutex_);
    if (files_) return *files_;
    files_.emplace();
    auto paths = loaded_libraries("libnvrtc-builtins.",
                                  fmt::format(".so.{}.{}", version_major_, version_minor_));
    paths.insert(paths.begin(), path_.string());
    for (const auto& path : paths)
        files_->push_back(compiler_file(path));
    return *files_;
}

Result<CompilerProperties> NvrtcLibrary::properties() const {
    CompilerProperties made;
    made.info.version_major = version_major_;
    made.info.version_minor = version_minor_;
    made.info.path = path_;
    made.info.include_folders = include_folders_;
    made.info.supported = supported_;
    made.info.search_attempts = search_attempts_;
    LODE_TRY_ASSIGN(made.info.build, build());
    made.files = files();
    return made;
}

std::string NvrtcLibrary::describe() const {
    return fmt::format("NVRTC {}.{} ({}){}{}", version_major_, version_minor_, path_.string(),
                       watched_ ? "" : ". ", watched_ ? "" : watched_.error().message);
}

void NvrtcLibrary::learn_build(std::string_view build) const {
    const std::lock_guard guard(build_mutex_);
    if (build_.empty()) build_ = build;
}

Result<std::string> NvrtcLibrary::build() const {
    const std::lock_guard guard(build_mutex_);
    if (build_.empty()) {
        // Any target will do; virtual code of the oldest one needs no assembler.
        const auto arch = Arch(supported_.front()).as_virtual();
        LODE_TRY_ASSIGN(const NvrtcProgram program,
                        NvrtcProgram::create(table_, "", "empty.cu", {}));
        const std::vector<std::string> flags = machine_flags(arch);
        FileAccesses unwanted;
        const FileAccessScope scope(unwanted);
        if (const auto result = program.compile(flags); result != NVRTC_SUCCESS) {
            return fail_from_nvrtc(table_, result, "Compiling an empty program");
        }
        LODE_TRY_ASSIGN(const std::string ptx, program.ptx());
        build_ = build_in_ptx(ptx);
        if (build_.empty()) build_ = fmt::format("{}.{}", version_major_, version_minor_);
    }
    return build_;
}

}  // namespace LODE_NAMESPACE
