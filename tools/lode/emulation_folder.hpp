// The private folder of `lode emulate`: what a program and its child processes find there in place
// of the CUDA driver.
#pragma once

#include "tools/lode/child_process.hpp"

#include <lode/base/error.hpp>

#include <filesystem>

namespace lode::tool {

/// A folder (mode 0700) under the system's temporary folder, removed with the object.
class EmulationFolder {
public:
    /// Makes the folder, with links to the software device's library `device`. Errors: file_failed.
    [[nodiscard]] static Result<EmulationFolder> create(const std::filesystem::path& device);
    ~EmulationFolder();
    EmulationFolder(EmulationFolder&& other) noexcept;
    EmulationFolder& operator=(EmulationFolder&&) = delete;

    /// Variables that make a program find the folder's files before all others.
    [[nodiscard]] ChildEnvironment environment() const;
    /// The file to which the software device's processes add their reports.
    [[nodiscard]] std::filesystem::path journal() const { return path_ / "journal"; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    explicit EmulationFolder(std::filesystem::path path) noexcept : path_(std::move(path)) {}
    std::filesystem::path path_;
    std::filesystem::path device_;
};

}  // namespace lode::tool
