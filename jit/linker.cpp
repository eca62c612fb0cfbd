#include "base/cxx_names.hpp"
#include "base/shared_library.hpp"
#include "base/try.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/linker.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode {
namespace {

// The C interface of nvJitLink, unchanged since 12.0. Declared here because a toolkit's nvJitLink.h
// binds every name to that toolkit's version. Source: nvJitLink.h of CUDA 13.0.
using NativeLink = struct nvJitLink*;
constexpr int link_success = 0;
constexpr int input_cubin = 1;
constexpr int input_ptx = 2;

std::string_view result_name(int result) noexcept {
    constexpr std::string_view names[] = {
        "NVJITLINK_SUCCESS",
        "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
        "NVJITLINK_ERROR_MISSING_ARCH",
        "NVJITLINK_ERROR_INVALID_INPUT",
        "NVJITLINK_ERROR_PTX_COMPILE",
        "NVJITLINK_ERROR_NVVM_COMPILE",
        "NVJITLINK_ERROR_INTERNAL",
        "NVJITLINK_ERROR_THREADPOOL",
        "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
        "NVJITLINK_ERROR_FINALIZE",
        "NVJITLINK_ERROR_NULL_INPUT",
        "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
        "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
        "NVJITLINK_ERROR_ARCH_MISMATCH",
        "NVJITLINK_ERROR_OUTDATED_LIBRARY",
        "NVJITLINK_ERROR_MISSING_FATBIN",
        "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
        "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
        "NVJITLINK_ERROR_LTO_NOT_ENABLED",
    };
    const auto index = static_cast<std::size_t>(result);
    return index < std::size(names) ? names[index] : "NVJITLINK_ERROR_UNKNOWN";
}

/// The typed entry points.
struct LinkTable {
    int (*create)(NativeLink*, std::uint32_t, const char* const*) = nullptr;
    int (*destroy)(NativeLink*) = nullptr;
    int (*add_data)(NativeLink, int, const void*, std::size_t, const char*) = nullptr;
    int (*complete)(NativeLink) = nullptr;
    int (*cubin_size)(NativeLink, std::size_t*) = nullptr;
    int (*cubin)(NativeLink, void*) = nullptr;
    int (*error_log_size)(NativeLink, std::size_t*) = nullptr;
    int (*error_log)(NativeLink, char*) = nullptr;
    int (*info_log_size)(NativeLink, std::size_t*) = nullptr;
    int (*info_log)(NativeLink, char*) = nullptr;
    int (*version)(unsigned*, unsigned*) = nullptr;  ///< Absent before 12.3.

    /// Loads all entry points; returns the name of the first missing one, or empty.
    std::string load(const SharedLibrary& library) {
        std::string missing;
        const auto find = [&](auto& slot, const char* name) {
            // Exported under the plain name or, since 12.0, with the version of its first release.
            for (const std::string& spelling : {std::string(name), fmt::format("__{}_13_0", name),
                                                fmt::format("__{}_12_0", name)}) {
                if (void* const address = library.symbol(spelling)) {
                    slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(address);
                    return;
                }
            }
            if (missing.empty()) missing = name;
        };
        find(create, "nvJitLinkCreate");
        find(destroy, "nvJitLinkDestroy");
        find(add_data, "nvJitLinkAddData");
        find(complete, "nvJitLinkComplete");
        find(cubin_size, "nvJitLinkGetLinkedCubinSize");
        find(cubin, "nvJitLinkGetLinkedCubin");
        find(error_log_size, "nvJitLinkGetErrorLogSize");
        find(error_log, "nvJitLinkGetErrorLog");
        find(info_log_size, "nvJitLinkGetInfoLogSize");
        find(info_log, "nvJitLinkGetInfoLog");
        version = reinterpret_cast<decltype(version)>(library.symbol("nvJitLinkVersion"));
        return missing;
    }
};

std::vector<LibraryPlace> places_in(const std::filesystem::path& folder, std::string_view why,
                                    const std::vector<std::string>& names) {
    std::vector<LibraryPlace> places;
    for (const auto& name : names) {
        for (const char* below : {"", "lib64", "lib"})
            places.push_back({std::string(why), folder / below / name});
    }
    return places;
}

std::vector<LibraryPlace> linker_places(const LinkerSearch& search) {
    std::vector<int> majors{13, 12};
    if (search.driver_version != 0) {
        const int preferred = search.driver_version / 1000;
        std::ranges::stable_sort(majors, {}, [&](int m) { return m != preferred; });
    }
    std::vector<std::string> names;
    for (const int version_major : majors)
        names.push_back(fmt::format("libnvJitLink.so.{}", version_major));

    std::vector<LibraryPlace> places;
    const auto add = [&](const std::filesystem::path& place, std::string_view why) {
        if (place.empty()) return;
        std::error_code problem;
        if (std::filesystem::is_directory(place, problem)) {
            std::ranges::move(places_in(place, why, names), std::back_inserter(places));
        } else {
            places.push_back({std::string(why), place});
        }
    };
    add(search.library, "the caller's choice");
    if (search.library.empty()) add(environment("LODE_NVJITLINK").value_or(""), "LODE_NVJITLINK");
    if (!places.empty()) return places;
    for (const auto& folder : search.folders)
        add(folder, "beside NVRTC");
    add(environment("CUDA_HOME").value_or(""), "CUDA_HOME");
    add(environment("CUDA_PATH").value_or(""), "CUDA_PATH");
    add("/usr/local/cuda", "the standard folder");
    for (const auto& name : names)
        places.push_back({"the loader's path", name});
    return places;
}

/// Destroys the native link on every exit path.
class LinkScope {
public:
    LinkScope(const LinkTable& table, NativeLink link) noexcept : table_(table), link_(link) {}
    ~LinkScope() { table_.destroy(&link_); }
    LinkScope(const LinkScope&) = delete;
    LinkScope& operator=(const LinkScope&) = delete;

    /// A log of the linker, with C++ names for its symbols.
    [[nodiscard]] std::string text(int (*size_of)(NativeLink, std::size_t*),
                                   int (*get)(NativeLink, char*)) const {
        std::size_t size = 0;
        if (size_of(link_, &size) != link_success || size == 0) return {};
        std::string log(size, '\0');
        if (get(link_, log.data()) != link_success) return {};
        log.resize(std::min(log.find('\0'), log.size()));
        return with_readable_symbols(log);
    }

    [[nodiscard]] tl::unexpected<Error> failure(int result, std::string_view doing) const {
        return fail(Errc::link_failed, fmt::format("{} fails with {}.", doing, result_name(result)),
                    Native{Native::Origin::nvjitlink, result, std::string(result_name(result))},
                    text(table_.error_log_size, table_.error_log));
    }

private:
    const LinkTable& table_;
    NativeLink link_;
};

std::vector<std::string> flags_of(const Arch& target, const LinkOptions& options) {
    std::vector<std::string> flags{"-arch=" + target.to_string()};
    if (options.max_registers > 0)
        flags.push_back(fmt::format("-maxrregcount={}", options.max_registers));
    if (options.line_info) flags.emplace_back("-lineinfo");
    if (options.debug) flags.emplace_back("-g");
    if (options.verbose) flags.emplace_back("-verbose");
    flags.insert(flags.end(), options.extra_flags.begin(), options.extra_flags.end());
    return flags;
}

}  // namespace

struct Linker::State {
    explicit State(LinkerSearch where) : search(std::move(where)) {}

    /// Opens the library on first use.
    Status open() {
        const std::lock_guard guard(mutex);
        if (opened) return *opened;
        opened = search_and_load();
        return *opened;
    }

    Status search_and_load() {
        for (const auto& place : linker_places(search)) {
            auto found = open_first({place});
            auto& attempt = found.attempts.front();
            if (found.library) {
                const auto missing = table.load(found.library);
                if (!missing.empty()) attempt.outcome = "not usable: it lacks " + missing;
            }
            info.search_attempts.push_back(
                fmt::format("{} ({}): {}", place.candidate.string(), place.why, attempt.outcome));
            if (attempt.outcome != "opened") continue;
            info.path = found.library.path();
            info.version = version_of(table);
            return {};
        }
        return fail(
            Errc::not_found,
            fmt::format("No usable nvJitLink library can be found. Install a CUDA toolkit or "
                        "NVIDIA's wheel nvidia-nvjitlink, or set LODE_NVJITLINK. Places "
                        "tried:\n  {}",
                        fmt::join(info.search_attempts, "\n  ")));
    }

    static int version_of(const LinkTable& table) {
        constexpr int oldest = 12000;
        unsigned version_major = 0;
        unsigned version_minor = 0;
        if (table.version == nullptr ||
            table.version(&version_major, &version_minor) != link_success)
            return oldest;
        return static_cast<int>(version_major * 1000 + version_minor * 10);
    }

    LinkerSearch search;
    std::mutex mutex;
    std::optional<Status> opened;
    LinkTable table;
    LinkerInfo info;
};

Linker::Linker(LinkerSearch search) : state_(std::make_shared<State>(std::move(search))) {}

Result<LinkerInfo> Linker::info() const {
    LODE_TRY(state_->open());
    return state_->info;
}

Result<Image> Linker::link(std::span<const Image> images, const Arch& target,
                           const LinkOptions& options) const {
    if (!target.is_real()) {
        return fail(Errc::invalid_argument,
                    fmt::format("Linking produces machine code, but {} is a virtual target.",
                                target.to_string()));
    }
    if (images.empty()) return fail(Errc::invalid_argument, "Linking needs at least one image.");
    LODE_TRY(state_->open());
    const LinkTable& table = state_->table;

    const auto flags = flags_of(target, options);
    std::vector<const char*> pointers;
    std::ranges::transform(flags, std::back_inserter(pointers), &std::string::c_str);
    NativeLink native = nullptr;
    int result =
        table.create(&native, static_cast<std::uint32_t>(pointers.size()), pointers.data());
    if (result != link_success) {
        return fail(
            Errc::link_failed,
            fmt::format("nvJitLink {} refuses the options {} with {}.", state_->info.version / 1000,
                        fmt::join(flags, " "), result_name(result)),
            Native{Native::Origin::nvjitlink, result, std::string(result_name(result))});
    }
    const LinkScope link(table, native);

    Image linked;
    for (const auto& image : images) {
        const bool is_ptx = !image.ptx.empty();
        if (!is_ptx && image.cubin.empty()) {
            return fail(Errc::invalid_argument,
                        fmt::format("'{}' holds neither PTX nor machine code.", image.name));
        }
        result = is_ptx ? table.add_data(native, input_ptx, image.ptx.c_str(), image.ptx.size() + 1,
                                         image.name.c_str())
                        : table.add_data(native, input_cubin, image.cubin.data(),
                                         image.cubin.size(), image.name.c_str());
        if (result != link_success)
            return link.failure(result,
                                fmt::format("Adding '{}' for {}", image.name, target.to_string()));
        linked.name += (linked.name.empty() ? "" : " + ") + image.name;
        linked.lowered_names.insert(image.lowered_names.begin(), image.lowered_names.end());
        linked.kernels.insert(linked.kernels.end(), image.kernels.begin(), image.kernels.end());
    }
    result = table.complete(native);
    if (result != link_success)
        return link.failure(result,
                            fmt::format("Linking '{}' for {}", linked.name, target.to_string()));

    std::size_t size = 0;
    result = table.cubin_size(native, &size);
    if (result == link_success) {
        linked.cubin.resize(size);
        result = table.cubin(native, linked.cubin.data());
    }
    if (result != link_success)
        return link.failure(result, fmt::format("Reading the cubin of '{}'", linked.name));

    linked.arch = target;
    if (images.size() == 1) linked.ptx = images.front().ptx;
    linked.log = link.text(table.info_log_size, table.info_log);
    linked.compiler = fmt::format("nvJitLink {}.{}", state_->info.version / 1000,
                                  state_->info.version % 1000 / 10);
    return linked;
}

}  // namespace lode
