/// \file
/// Boxes of elements in two and three dimensions.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// The size of a box in elements. A plane has a depth of 1, a row also a height of 1.
struct BoxExtent {
    std::size_t width = 1;   ///< Elements in a row.
    std::size_t height = 1;  ///< Rows in a slice.
    std::size_t depth = 1;   ///< Slices.

    /// All elements; the product isn't checked for overflow.
    [[nodiscard]] constexpr std::size_t volume() const noexcept { return width * height * depth; }
    /// Compares every member.
    friend bool operator==(const BoxExtent&, const BoxExtent&) = default;
};

/// The position of a box's first element within another box.
struct BoxOffset {
    std::size_t x = 0;  ///< Elements.
    std::size_t y = 0;  ///< Rows.
    std::size_t z = 0;  ///< Slices.

    /// Compares every member.
    friend bool operator==(const BoxOffset&, const BoxOffset&) = default;
};

namespace detail {
/// Refuses a box that doesn't lie within another one.
[[nodiscard]] Status check_box(BoxOffset offset, BoxExtent part, BoxExtent whole);
/// Refuses a copy between boxes of different sizes.
[[nodiscard]] Status check_same_extent(BoxExtent given, BoxExtent extent);
/// Refuses dense memory whose size isn't that of the box.
[[nodiscard]] Status check_dense(std::size_t elements, BoxExtent extent);
}  // namespace detail

/// A view of a box of elements in host memory: rows of contiguous elements. T may be const.
///
/// Trivially copyable; the memory must outlive the view and the copies that use it.
template <class T>
class HostBox {
public:
    /// A box of no elements.
    constexpr HostBox() noexcept = default;
    /// A read-only view of the same box.
    template <class U>
    requires std::is_same_v<T, const U>
    constexpr HostBox(HostBox<U> other) noexcept
        : data_(other.data()),
          extent_(other.extent()),
          row_elements_(other.row_elements()),
          slice_rows_(other.slice_rows()) {}

    /// A view of all elements of `memory`, row after row and slice after slice.
    /// Errors: invalid_argument unless the size of `memory` is that of the box.
    [[nodiscard]] static Result<HostBox> over(std::span<T> memory, BoxExtent extent) {
        return detail::check_dense(memory.size(), extent).map([&] {
            return HostBox(memory.data(), extent, extent.width, extent.height);
        });
    }

    /// Its size in elements.
    [[nodiscard]] constexpr BoxExtent extent() const noexcept { return extent_; }
    /// The first element.
    [[nodiscard]] constexpr T* data() const noexcept { return data_; }
    /// Elements from the start of a row to that of the next.
    [[nodiscard]] constexpr std::size_t row_elements() const noexcept { return row_elements_; }
    /// Rows from the start of a slice to that of the next.
    [[nodiscard]] constexpr std::size_t slice_rows() const noexcept { return slice_rows_; }

    /// The part of this size at `offset`.
    /// Errors: invalid_argument if it doesn't lie within the box.
    [[nodiscard]] Result<HostBox> box(BoxOffset offset, BoxExtent part) const {
        return detail::check_box(offset, part, extent_).map([&] {
            const std::size_t first =
                (offset.z * slice_rows_ + offset.y) * row_elements_ + offset.x;
            return HostBox(data_ + first, part, row_elements_, slice_rows_);
        });
    }

private:
    constexpr HostBox(T* data, BoxExtent extent, std::size_t row_elements,
                      std::size_t slice_rows) noexcept
        : data_(data), extent_(extent), row_elements_(row_elements), slice_rows_(slice_rows) {}

    T* data_ = nullptr;
    BoxExtent extent_{0, 0, 0};
    std::size_t row_elements_ = 0;
    std::size_t slice_rows_ = 0;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
