// The import table of a loaded shared library: which of its calls to other libraries go where.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lode {

/// A function that a library imports, and what it is to call instead.
struct ImportedFunction {
    const char* name;
    void* replacement;
    /// Receives what the library called until now, unless that isn't bound yet. Not null.
    std::atomic<void*>* next;
};

/// Points every import of these names, in the library that `symbol` is in, to its replacement.
/// Symbol versions aren't compared. The library must stay loaded. Calls that other threads are
/// making meanwhile go the old way or the new one. Returns the names of the imports that were
/// replaced; nullopt where the table can't be read or written, or holds one of `forbidden`.
[[nodiscard]] std::optional<std::vector<std::string_view>> replace_imports(
    const void* symbol, std::span<const ImportedFunction> functions,
    std::span<const std::string_view> forbidden);

}  // namespace lode
