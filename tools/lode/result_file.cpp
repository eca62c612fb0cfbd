#include "tools/lode/result_file.hpp"

#include "base/file.hpp"
#include "base/os/file.hpp"
#include "tools/lode/input.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lode::tool {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> refuse(std::string_view option, const fs::path& path, std::string_view why) {
    return fail(Errc::invalid_argument, fmt::format("{} is '{}', {}", option, path.string(), why));
}

std::string unwritable(int error_number) {
    return fmt::format("can't be written: {}.", std::generic_category().message(error_number));
}

/// Refuses a path whose missing folders can't be made in the first one that exists.
Status check_way(std::string_view option, const fs::path& path, const fs::path& folder) {
    fs::path existing = folder.empty() ? "." : folder;
    std::error_code problem;
    while (!fs::exists(existing, problem) && existing != existing.parent_path()) {
        existing = existing.parent_path();
        if (existing.empty()) existing = ".";
    }
    if (!fs::is_directory(existing, problem)) {
        return refuse(option, path, fmt::format("but '{}' isn't a folder.", existing.string()));
    }
    if (::access(existing.c_str(), W_OK | X_OK) == 0) return {};
    return refuse(option, path,
                  fmt::format("but the folder '{}' {}", existing.string(), unwritable(errno)));
}

/// The kinds of files that hold compiled code.
constexpr std::string_view code_kinds[] = {"cubin", "ptx", "ltoir", "tileir", "optixir"};

/// A file's extension without its dot.
std::string kind_of(const fs::path& file) {
    const std::string extension = file.extension().string();
    return extension.substr(extension.empty() ? 0 : 1);
}

bool is_same(const fs::path& a, const fs::path& b) {
    std::error_code problem;
    if (fs::equivalent(a, b, problem)) return true;
    const auto path = fs::weakly_canonical(a, problem);
    return !path.empty() && path == fs::weakly_canonical(b, problem);
}

/// Whether the command's text on stdout or stderr goes to this file. Nothing is lost in /dev/null.
bool is_standard_stream(const fs::path& file) {
    os::FileAttributes named;
    os::FileAttributes stream;
    os::FileAttributes null;
    if (!os::attributes_of(file, named)) return false;
    const auto is = [&](const os::FileAttributes& other) {
        return named.device == other.device && named.number == other.number;
    };
    if (os::attributes_of("/dev/null", null) && is(null)) return false;
    return std::ranges::any_of(
        std::initializer_list<int>{STDOUT_FILENO, STDERR_FILENO},
        [&](int standard) { return os::attributes_of(standard, stream) && is(stream); });
}

}  // namespace

Status check_result_file(const NamedFile& result, std::span<const NamedFile> others,
                         std::string_view folder_cure) {
    const auto& [option, file] = result;
    if (file == standard_input || is_standard_stream(file)) {
        return refuse(option, file, "but the command's own text goes there. Name a file.");
    }
    std::error_code problem;
    const auto kind = fs::status(file, problem).type();
    // The name of a folder that exists may have any characters.
    const bool is_pattern = file.filename().native().find_first_of("*?") != std::string::npos;
    if (is_pattern && kind == fs::file_type::not_found) {
        return refuse(option, file, "a pattern. Name a file.");
    }
    if (!file.has_filename() || kind == fs::file_type::directory) {
        return refuse(option, file, fmt::format("a folder; it must name a file. {}", folder_cure));
    }
    if (kind == fs::file_type::none) {
        return refuse(option, file, fmt::format("which {}", unwritable(problem.value())));
    }
    const bool exists = kind != fs::file_type::not_found;
    if (exists && kind != fs::file_type::regular) {
        if (::access(file.c_str(), W_OK) == 0) return {};
        return refuse(option, file, fmt::format("which {}", unwritable(errno)));
    }
    for (const auto& other : others) {
        if (!is_same(file, other.file)) continue;
        return refuse(option, file,
                      fmt::format("which {} too. Name another file.",
                                  other.name.empty() ? "is an input" : other.name + " names"));
    }
    if (exists && ::access(file.c_str(), W_OK) != 0)
        return refuse(option, file, fmt::format("which {}", unwritable(errno)));
    return check_way(option, file, follow_links(file).parent_path());
}

Status check_result_kind(const fs::path& file, std::string_view kind, std::string_view result,
                         const Arch& arch) {
    const std::string named = kind_of(file);
    if (named == kind || std::ranges::find(code_kinds, named) == std::end(code_kinds)) return {};
    return fail(Errc::invalid_argument,
                fmt::format("--output is '{}', but the result is {}.{}", file.string(), result,
                            named == "ptx" ? fmt::format(" --arch {} gives PTX alone.",
                                                         arch.as_virtual().to_string())
                                           : ""));
}

Status check_report_file(const fs::path& file) {
    const std::string kind = kind_of(file);
    if (kind != "pack" && std::ranges::find(code_kinds, kind) == std::end(code_kinds)) return {};
    return refuse("--json", file,
                  fmt::format("which may replace a result. Name the report '{}'.",
                              fs::path(file).replace_extension("json").string()));
}

Status check_result_folder(const fs::path& folder) {
    return check_way("--out-dir", folder, folder);
}

Result<MemoryFile> make_memory_file() {
    Descriptor file(::memfd_create("lode-result", 0));
    if (!file) return fail_from_errno("Making a file in memory", "lode-result", errno);
    const auto path = os::path_of(file.get());
    return MemoryFile{std::move(file), path};
}

}  // namespace lode::tool
