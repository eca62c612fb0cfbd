// The import table of a loaded shared library: redirects its calls to other libraries.
#pragma once

#include <lode/base/api.hpp>

#include <atomic>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// A function that a library imports, and its replacement.
struct ImportedFunction {
    const char* name;
    void* replacement;
    /// Receives the previously called function, unless it isn't bound yet. Not null.
    std::atomic<void*>* next;
};

/// Redirects every import of these names to its replacement, in the library that contains `symbol`.
/// Symbol versions aren't compared. The library must stay loaded. Concurrent calls in other threads
/// use either the old or the new function. An import is redirected once: a later call leaves it as
/// it is. Returns the names of the replaced imports; nullopt if the table can't be read or written,
/// or contains one of `forbidden`.
[[nodiscard]] std::optional<std::vector<std::string_view>> replace_imports(
    const void* symbol, std::span<const ImportedFunction> functions,
    std::span<const std::string_view> forbidden);

}  // namespace LODE_NAMESPACE
