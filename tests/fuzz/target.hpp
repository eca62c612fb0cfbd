// The targets of fuzzing: what takes bytes from outside, each as one function that takes any bytes.
//
// A target that returns true has understood its bytes. What it understands it looks at once more:
// a value formats to bytes that parse to the same value, indices lie inside their tables, handles
// are gone after a teardown. A broken promise aborts, as a sanitizer does.
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
    std::string_view corpus;   ///< A folder of tests/fuzz/corpus; the targets of PTX share one.
    std::size_t most = 4096;   ///< Bytes of an input.
    std::string_view words{};  ///< What a mutation of text may insert, one a line.
};

// Each adds the rows of its part to the table; where the software device isn't built, its parts
// are empty.
std::span<const Target> cache_targets() noexcept;
std::span<const Target> text_targets() noexcept;
std::span<const Target> ptx_targets() noexcept;
std::span<const Target> command_targets() noexcept;
std::span<const Target> driver_targets() noexcept;

/// Every target; the table lives as long as the process.
std::span<const Target> targets();

/// nullptr when there is no such target.
const Target* find_target(std::string_view name);

/// Ends the process, as a sanitizer would, when a promise is broken.
inline void require(bool ok) {
    if (!ok) std::abort();
}

}  // namespace lode::fuzz
