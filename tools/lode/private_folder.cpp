#include "tools/lode/private_folder.hpp"

#include "base/file.hpp"
#include "base/foreign_environment.hpp"
#include "base/try.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <link.h>

namespace lode::tool {
namespace {

namespace fs = std::filesystem;

/// The folder of libraries that auditwheel puts beside a Python package, if this command has loaded
/// one from there; else empty.
fs::path bundled_libraries() {
    fs::path folder;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* found) {
            const fs::path parent = fs::path(info->dlpi_name).parent_path();
            if (parent.extension() != ".libs") return 0;  // As auditwheel names it.
            *static_cast<fs::path*>(found) = parent;
            return 1;
        },
        &folder);
    return folder;
}

/// The system's temporary folder, if LD_LIBRARY_PATH can name it.
Result<fs::path> temporary_folder() {
    std::error_code problem;
    const auto found = fs::temp_directory_path(problem);
    if (problem) {
        return fail_from_errno("Finding the temporary folder",
                               foreign_environment("TMPDIR").value_or("/tmp"), problem.value());
    }
    auto root = fs::absolute(found, problem);  // The program may run in another folder.
    if (problem) return fail_from_errno("Finding the temporary folder", found, problem.value());
    if (root.native().find_first_of(":;$") != std::string::npos) {
        return fail(Errc::invalid_argument,
                    fmt::format("The path of the temporary folder, '{}', contains one of \":;$\", "
                                "which LD_LIBRARY_PATH can't. Set TMPDIR to another folder.",
                                root.string()));
    }
    return root;
}

}  // namespace

Result<PrivateFolder> PrivateFolder::create(const char* name) {
    LODE_TRY_ASSIGN(const auto root, temporary_folder());
    std::string pattern = (root / fmt::format("{}.XXXXXX", name)).string();
    if (::mkdtemp(pattern.data()) == nullptr)
        return fail_from_errno("Making a temporary folder", pattern, errno);
    return PrivateFolder(pattern);
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateFolder::~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

Status link_to(const fs::path& target, const fs::path& link) {
    std::error_code problem;
    fs::create_symlink(target, link, problem);
    if (problem) return fail_from_errno("Making a link", link, problem.value());
    return {};
}

Status link_bundled_libraries(const fs::path& folder) {
    const auto bundled = bundled_libraries();
    if (bundled.empty()) return {};
    std::error_code problem;
    for (const auto& library : fs::directory_iterator(bundled, problem))
        LODE_TRY(link_to(fs::absolute(library.path()), folder / library.path().filename()));
    if (problem) return fail_from_errno("Reading", bundled, problem.value());
    return {};
}

}  // namespace lode::tool
