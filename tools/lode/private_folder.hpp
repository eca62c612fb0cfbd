// A private folder of links, in which the loader finds stand-ins.
#pragma once

#include <lode/base/error.hpp>

#include <filesystem>

namespace lode::tool {

/// A folder (mode 0700) under the system's temporary folder, removed with the object.
class PrivateFolder {
public:
    /// Makes it, with a name that begins with `name`. Errors: file_failed; invalid_argument, if
    /// TMPDIR can't be in a variable of paths.
    [[nodiscard]] static Result<PrivateFolder> create(const char* name);
    ~PrivateFolder();
    PrivateFolder(PrivateFolder&& other) noexcept;
    PrivateFolder& operator=(PrivateFolder&&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    explicit PrivateFolder(std::filesystem::path path) noexcept : path_(std::move(path)) {}
    std::filesystem::path path_;
};

/// Makes a link. Errors: file_failed.
[[nodiscard]] Status link_to(const std::filesystem::path& target,
                             const std::filesystem::path& link);

/// Makes links to the libraries that auditwheel puts beside a Python package, if this command has
/// loaded one from there: the loader searches for them relative to the links of stand-ins, not to
/// their files.
[[nodiscard]] Status link_bundled_libraries(const std::filesystem::path& folder);

}  // namespace lode::tool
