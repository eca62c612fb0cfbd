// Opening shared libraries by search, with a record of every attempt.
#pragma once

#include <lode/base/error.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lode {

/// An opened shared library. Never closed once opened: CUDA's libraries keep threads and atexit
/// handlers of their own that outlive any handle of ours. Copies share it. Thread-safe.
class SharedLibrary {
public:
    SharedLibrary() noexcept = default;

    /// Opens one path or bare name with RTLD_NOW | RTLD_LOCAL. not_found carries dlerror's text.
    [[nodiscard]] static Result<SharedLibrary> open(const std::filesystem::path& path);

    /// The address of a symbol, or nullptr.
    [[nodiscard]] void* symbol(std::string_view name) const noexcept;

    /// The file that the loader mapped, resolved; the name asked for if that can't be told.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    explicit operator bool() const noexcept { return handle_ != nullptr; }

private:
    void* handle_ = nullptr;
    std::filesystem::path path_;
};

/// One place where a library may be.
struct LibraryPlace {
    std::string why;                  ///< "LODE_NVRTC", "CUDA_HOME", "the loader's path", …
    std::filesystem::path candidate;  ///< A file, or a bare name for the loader to search.
};

/// What became of one place.
struct LibraryAttempt {
    LibraryPlace place;
    std::string outcome;  ///< "no such file", "not loadable: …", "opened".
};

/// The outcome of a search: a library, if one was found, and every attempt.
struct LibrarySearch {
    SharedLibrary library;
    std::vector<LibraryAttempt> attempts;

    /// One line per attempt, for error messages and `lode info`.
    [[nodiscard]] std::string describe() const;
};

/// Opens the first place that works. A candidate with a directory part is skipped with "no such
/// file" when it doesn't exist (or the reason why that can't be told), without asking the loader.
LibrarySearch open_first(const std::vector<LibraryPlace>& places);

/// The folder of the running executable; empty when it can't be told.
std::filesystem::path executable_folder();

}  // namespace lode
