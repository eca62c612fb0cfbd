// The private folder of `lode emulate`: what a program and its child processes find there in place
// of the CUDA driver.
#pragma once

#include "tools/lode/child_process.hpp"
#include "tools/lode/private_folder.hpp"

#include <lode/base/error.hpp>

#include <filesystem>
#include <utility>

namespace lode::tool {

/// Whether the programs print the software device's log, which then has the facts about findings.
[[nodiscard]] bool log_is_on_stderr();

/// A private folder, removed with the object.
class EmulationFolder {
public:
    /// Makes the folder, with links to the software device's library `device`. Errors: file_failed.
    [[nodiscard]] static Result<EmulationFolder> create(const std::filesystem::path& device);

    /// Variables that make a program find the folder's files before all others.
    [[nodiscard]] ChildEnvironment environment() const;
    /// The file to which the software device's processes add their reports.
    [[nodiscard]] std::filesystem::path journal() const { return path() / "journal"; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }

private:
    EmulationFolder(PrivateFolder folder, std::filesystem::path device) noexcept
        : folder_(std::move(folder)), device_(std::move(device)) {}
    PrivateFolder folder_;
    std::filesystem::path device_;
};

}  // namespace lode::tool
