// A folder for the files of one test or benchmark.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace lode {

/// A private folder (mode 0700) under the system's temporary folder, removed with the object.
class ScratchFolder {
public:
    /// nullopt if no folder can be created.
    [[nodiscard]] static std::optional<ScratchFolder> create(std::string_view prefix = "lode") {
        std::error_code problem;
        const auto root = std::filesystem::temp_directory_path(problem);
        std::string pattern = (root / (std::string(prefix) + ".XXXXXX")).string();
        if (problem || ::mkdtemp(pattern.data()) == nullptr) return std::nullopt;
        return ScratchFolder(pattern);
    }
    ~ScratchFolder() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    ScratchFolder& operator=(ScratchFolder&& other) noexcept {
        std::swap(path_, other.path_);
        return *this;
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    explicit ScratchFolder(std::filesystem::path path) noexcept : path_(std::move(path)) {}
    std::filesystem::path path_;
};

}  // namespace lode
