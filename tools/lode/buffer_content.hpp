// The contents of a buffer before a kernel runs, and their summary afterwards.
#pragma once

#include "tools/lode/arguments.hpp"

#include <lode/base/error.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace lode::tool {

/// Whether a file that fills the buffer is there and has its size. Errors: not_found, and
/// invalid_argument with both sizes.
[[nodiscard]] Status check_content(const BufferArgument& buffer);

/// The buffer's initial contents, size_bytes() long. Errors: those of check_content(); file_failed.
[[nodiscard]] Result<std::vector<std::byte>> make_content(const BufferArgument& buffer);

/// A summary of a buffer's contents.
struct Summary {
    std::vector<Number> head;  ///< The first elements.
    Number sum;                ///< Floating point in double; integers in 64 bits, wrapping.
};

Summary summarise(ElementType type, std::span<const std::byte> bytes, std::size_t head_count);

}  // namespace lode::tool
