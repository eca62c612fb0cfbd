#include "tools/lode/result_file.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "tools/lode/input.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace lode::tool {
namespace {

namespace fs = std::filesystem;

/// The error for a path that leads through something that isn't a folder.
Status check_way(std::string_view option, const fs::path& path, const fs::path& folder) {
    fs::path existing = folder;
    std::error_code problem;
    while (!existing.empty() && !fs::exists(existing, problem) &&
           existing != existing.parent_path())
        existing = existing.parent_path();
    if (existing.empty() || !fs::exists(existing, problem) || fs::is_directory(existing, problem))
        return {};
    return fail(Errc::invalid_argument, fmt::format("{} is '{}', but '{}' isn't a folder.", option,
                                                    path.string(), existing.string()));
}

}  // namespace

Status check_result_file(std::string_view option, const fs::path& file,
                         std::span<const std::string> inputs, std::string_view folder_cure) {
    if (file.empty()) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} is empty; it must name a file.", option));
    }
    if (file == standard_input) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} is '-', but results aren't written to standard output. Name a "
                                "file.",
                                option));
    }
    std::error_code problem;
    if (!file.has_filename() || fs::is_directory(file, problem)) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} is '{}', a folder; it must name a file. {}", option,
                                file.string(), folder_cure));
    }
    for (const auto& input : inputs) {
        if (!fs::equivalent(file, input, problem)) continue;
        return fail(Errc::invalid_argument,
                    fmt::format("{} is '{}', which is an input too. Name another file.", option,
                                file.string()));
    }
    return check_way(option, file, file.parent_path());
}

Status check_result_kind(const fs::path& file, std::string_view kind, std::string_view result,
                         const Arch& arch) {
    static constexpr std::string_view kinds[] = {"cubin", "ptx", "ltoir", "tileir"};
    const std::string extension = file.extension().string();
    const auto named = std::string_view(extension).substr(extension.empty() ? 0 : 1);
    if (named == kind || std::ranges::find(kinds, named) == std::end(kinds)) return {};
    return fail(Errc::invalid_argument,
                fmt::format("--output is '{}', but the result is {}.{}", file.string(), result,
                            named == "ptx" ? fmt::format(" --arch {} gives PTX alone.",
                                                         arch.as_virtual().to_string())
                                           : ""));
}

Status check_result_folder(const fs::path& folder) {
    if (folder.empty())
        return fail(Errc::invalid_argument, "--out-dir is empty; it must name a folder.");
    return check_way("--out-dir", folder, folder);
}

Status check_output(std::string_view option, const std::filesystem::path& file) {
    const auto refuse = [&](std::string_view why) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} can't write '{}': {}.", option, file.string(), why));
    };
    if (file.empty()) return {};
    std::error_code ignored;
    switch (std::filesystem::symlink_status(file, ignored).type()) {
        case std::filesystem::file_type::directory:
            return refuse("it is a folder");
        case std::filesystem::file_type::symlink:
            return refuse("it is a link, and would be replaced");
        case std::filesystem::file_type::none:
        case std::filesystem::file_type::not_found:
        case std::filesystem::file_type::regular:
            break;
        default:
            return refuse("it isn't a regular file");
    }
    const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
    if (errno == ENOENT)
        return refuse(fmt::format("the folder '{}' doesn't exist", folder.string()));
    return refuse(fmt::format("the folder '{}': {}", folder.string(),
                              std::generic_category().message(errno)));
}

Status make_parent_folders(const fs::path& file) {
    if (!file.has_parent_path()) return {};
    std::error_code problem;
    fs::create_directories(file.parent_path(), problem);
    if (problem) {
        return fail_from_errno("Making the folder of a result", file.parent_path(),
                               problem.value());
    }
    return {};
}

Status write_result(const fs::path& file, std::span<const std::byte> bytes) {
    std::error_code problem;
    const auto kind = fs::status(file, problem).type();
    if (kind != fs::file_type::not_found && kind != fs::file_type::regular) {
        const Descriptor open = os::open_file(file, os::Open::writing);
        if (!open) return fail_from_errno("Opening a file", file, errno);
        if (const int error = write_all(open.get(), bytes); error != 0)
            return fail_from_errno("Writing a file", file, error);
        return {};
    }
    LODE_TRY(make_parent_folders(file));
    const auto target = fs::is_symlink(file, problem) ? fs::weakly_canonical(file, problem) : file;
    return write_atomic(target.empty() ? file : target, bytes);
}

}  // namespace lode::tool
