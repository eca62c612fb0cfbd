// The fuzz targets: each wraps code that reads bytes from outside in a function that accepts any
// bytes.
//
// A target returns true if it understood the bytes. It then checks the result: a value formats to
// bytes that parse to the same value, indices lie inside their tables, handles are gone after a
// teardown. A failed check aborts, as a sanitizer does.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string_view>

namespace lode::fuzz {

using Bytes = std::span<const std::byte>;

inline std::string_view text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// How a target's inputs are mutated.
enum class Form : unsigned char { bytes, text, ptx };

struct Target {
    std::string_view name;
    bool (*run)(Bytes);
    Form form;
    std::string_view corpus;   ///< A folder in tests/fuzz/corpus; the PTX targets share one.
    std::size_t most = 4096;   ///< Maximum input size in bytes.
    std::string_view words{};  ///< Words that a mutation of text may insert, one per line.
};

// Each returns its part of the table; empty if the part isn't built.
std::span<const Target> cache_targets() noexcept;
std::span<const Target> remote_targets() noexcept;
std::span<const Target> text_targets() noexcept;
std::span<const Target> ptx_targets() noexcept;
std::span<const Target> command_targets() noexcept;
std::span<const Target> driver_targets() noexcept;

/// All targets; the table has static lifetime.
std::span<const Target> targets();

/// nullptr if there is no such target.
const Target* find_target(std::string_view name);

/// Aborts, as a sanitizer would, if a check fails.
inline void require(bool ok) {
    if (!ok) std::abort();
}

}  // namespace lode::fuzz
