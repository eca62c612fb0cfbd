// Searches for shared libraries and opens them, with a record of every attempt.
#pragma once

#include <lode/base/error.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE {

/// An opened shared library. Never closed: CUDA's libraries have threads and atexit handlers that
/// outlive any handle of ours. Copies share it. Thread-safe.
class SharedLibrary {
public:
    SharedLibrary() noexcept = default;

    /// Opens one path or bare name with RTLD_NOW | RTLD_LOCAL; inside `lode emulate`, the original
    /// that a stand-in replaces. Errors: not_found, with dlerror's text.
    [[nodiscard]] static Result<SharedLibrary> open(const std::filesystem::path& path);

    /// The address of a symbol, or nullptr.
    [[nodiscard]] void* symbol(std::string_view name) const noexcept;

    /// The resolved path of the file that the loader mapped; the requested name if it can't be
    /// determined.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    explicit operator bool() const noexcept { return handle_ != nullptr; }

private:
    void* handle_ = nullptr;
    std::filesystem::path path_;
};

/// Fills function pointers with the addresses of symbols, and remembers what is missing.
class SymbolBinder {
public:
    /// `find` returns a symbol's address, or nullptr.
    explicit SymbolBinder(std::function<void*(std::string_view)> find) : find_(std::move(find)) {}
    /// Finds symbols under their own names. `library` must outlive the binder.
    explicit SymbolBinder(const SharedLibrary& library)
        : SymbolBinder([&library](std::string_view name) { return library.symbol(name); }) {}

    /// Sets `function`, to nullptr if there is no such symbol.
    template <class Function>
    void optional(Function*& function, std::string_view name) const {
        function = reinterpret_cast<Function*>(find_(name));
    }
    /// The same, and remembers the name if there is none.
    template <class Function>
    void required(Function*& function, std::string_view name) {
        optional(function, name);
        if (function == nullptr && missing_.empty()) missing_ = name;
    }
    /// The first required symbol that wasn't found; empty if all were.
    [[nodiscard]] const std::string& missing() const noexcept { return missing_; }

private:
    std::function<void*(std::string_view)> find_;
    std::string missing_;
};

/// Fails with `code` in a program that is linked with -static: there, dlopen brings a second C
/// library, whose threads and memory the program doesn't share. `what` is what it can't open.
[[nodiscard]] Status require_dynamic_program(Errc code, std::string_view what);

/// One candidate location of a library.
struct LibraryPlace {
    std::string why;                  ///< "LODE_NVRTC", "CUDA_HOME", "the loader's path", …
    std::filesystem::path candidate;  ///< A file, or a bare name for the loader to search.
};

/// The outcome of one attempt.
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

/// Opens the first candidate that works. A candidate with a directory part that doesn't exist is
/// skipped with "no such file" (or with the reason why its existence can't be determined), without
/// asking the loader.
LibrarySearch open_first(const std::vector<LibraryPlace>& places);

/// Whether the process has a library already, by path or bare name.
[[nodiscard]] bool is_loaded(const std::filesystem::path& library) noexcept;

/// The folder of the running executable; empty when it can't be determined.
std::filesystem::path executable_folder();

/// The folder of the program or library that contains lode's code; empty when it can't be
/// determined.
std::filesystem::path folder_of_this_code();

/// The root of the CMake build tree around the running program, or around this code; empty if
/// neither is in one.
std::filesystem::path build_tree();

/// The folder of programs of the installed package whose static library this code is; empty when
/// the host wasn't compiled with the package's definition (<lode/base/package.h>).
std::filesystem::path package_programs_folder();

}  // namespace LODE_NAMESPACE
