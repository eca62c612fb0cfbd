#include "jit/nvrtc/bundled_headers.hpp"

#include "base/cache_folder.hpp"
#include "base/file.hpp"
#include "base/os/descriptor.hpp"
#include "base/os/file.hpp"
#include "base/os/process.hpp"
#include "base/try.hpp"
#include "jit/files/file_state.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/environment.hpp>

#include <algorithm>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

namespace fs = std::filesystem;

/// NVRTC writes it last.
constexpr const char* marker = ".nvrtc_headers_version";

/// Two builds of NVRTC differ in the sizes or the times of their libraries.
std::string key_of(const fs::path& library) {
    std::vector<fs::path> files = {library};
    std::error_code problem;
    for (fs::directory_iterator item(library.parent_path(), problem), end; !problem && item != end;
         item.increment(problem)) {
        if (item->path().filename().string().starts_with("libnvrtc-builtins"))
            files.push_back(item->path());
    }
    std::ranges::sort(files);
    std::string text;
    for (const auto& file : files) {
        const auto stamp = stamp_of(file);
        text += fmt::format("{} {} {}\n", file.filename().string(), stamp ? stamp->size : 0,
                            stamp ? stamp->modified_ns : 0);
    }
    constexpr std::size_t digits = 32;
    return sha256(text).to_hex().substr(0, digits);
}

fs::path folder_of(const fs::path& library) {
    const fs::path cache = default_cache_folder();
    return cache.empty() ? cache : cache / "nvrtc-headers" / key_of(library);
}

/// Whether only this user can have written what is in the folder.
bool is_own_folder(const fs::path& folder) {
    os::FileAttributes attributes;
    return os::attributes_of_link(folder, attributes) && attributes.kind == os::FileKind::folder &&
           attributes.owner == os::user_id() &&
           (attributes.permissions & os::others_may_write) == 0;
}

bool is_installed(const fs::path& folder) {
    std::error_code problem;
    return is_own_folder(folder.parent_path()) && is_own_folder(folder) &&
           fs::exists(folder / marker, problem);
}

/// The number of files but NVRTC's own, whose names begin with a dot.
std::size_t count_headers(const fs::path& folder) {
    std::size_t count = 0;
    std::error_code problem;
    for (fs::recursive_directory_iterator item(folder, problem), end; !problem && item != end;
         item.increment(problem)) {
        const bool is_header =
            item->is_regular_file(problem) && !item->path().filename().string().starts_with('.');
        count += is_header ? 1 : 0;
    }
    return count;
}

Status install_into(const fs::path& folder, const BundledHeaders& bundled) {
    BundledHeaders::Info info{};
    const char* problem = nullptr;
    if (bundled.get_info(&info, &problem) != 0 || info.available == 0)
        return fail(Errc::not_found, "This NVRTC carries no headers.");
    if (bundled.install(folder.string().c_str(), 0, &problem) != 0) {
        return fail(Errc::compiler_failed, fmt::format("NVRTC can't install its headers: {}.",
                                                       problem != nullptr ? problem : "no reason"));
    }
    const std::size_t count = count_headers(folder);
    if (count != info.files) {
        return fail(Errc::compiler_failed,
                    fmt::format("NVRTC installed {} headers of {}.", count, info.files));
    }
    return {};
}

}  // namespace

std::vector<fs::path> installed_headers(const fs::path& library) {
    const fs::path folder = folder_of(library);
    if (folder.empty() || !is_installed(folder)) return {};
    return {folder, folder / "cccl"};
}

Status install_headers(const fs::path& library, const BundledHeaders& bundled) {
    if (bundled.install == nullptr || bundled.get_info == nullptr)
        return fail(Errc::not_found, "This NVRTC carries no headers.");
    const fs::path folder = folder_of(library);
    LODE_TRY_ASSIGN(const auto mode, environment_word("LODE_CACHE"));
    if (folder.empty() || mode.value_or("on") != "on") {
        return fail(Errc::not_found,
                    "NVRTC's own headers need a cache folder that may be written to.");
    }
    if (is_installed(folder)) return {};
    const fs::path parent = folder.parent_path();
    if (const int why = make_folders(parent); why != 0)
        return fail_from_errno("Making a folder", parent, why);
    using os::Open;
    const Descriptor lock =
        os::open_file(folder.string() + ".lock", Open::updating | Open::create | Open::no_link);
    if (lock) (void)os::lock_file(lock.get());  // Without it, the work may be done twice.
    if (is_installed(folder)) return {};

    const fs::path staging = fmt::format("{}.{}.tmp", folder.string(), os::process_id());
    std::error_code problem;
    fs::remove_all(staging, problem);
    Status installed = install_into(staging, bundled);
    if (installed) {
        fs::permissions(staging, fs::perms::owner_all, problem);
        fs::remove_all(folder, problem);  // Whatever is there isn't a complete installation.
        fs::rename(staging, folder, problem);
        if (problem) installed = fail_from_errno("Renaming a folder", folder, problem.value());
    }
    if (!installed) fs::remove_all(staging, problem);
    return installed;
}

}  // namespace LODE_NAMESPACE
