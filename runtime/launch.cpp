#include <lode/runtime/launch.hpp>

#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace lode {

std::string Dim3::to_string() const {
    return fmt::format("({}, {}, {})", x, y, z);
}

Status PackedArguments::add_bytes(const void* value, std::size_t size, std::size_t align) {
    constexpr std::size_t largest_align = 16;
    if (!std::has_single_bit(align) || align > largest_align) {
        return fail(Errc::invalid_argument,
                    fmt::format("Alignment {} of argument {} isn't a power of two up to {}.", align,
                                count(), largest_align));
    }
    const std::size_t offset = (bytes_.size() + align - 1) & ~(align - 1);
    if (size > max_bytes || offset > max_bytes - size) {
        return fail(Errc::invalid_argument,
                    fmt::format("Argument {} ends at byte {}, past the {} bytes that kernel "
                                "parameters may occupy.",
                                count(), offset + size, max_bytes));
    }
    bytes_.resize(offset + size);
    if (size != 0) std::memcpy(bytes_.data() + offset, value, size);
    slots_.push_back({offset, size});
    return {};
}

}  // namespace lode
