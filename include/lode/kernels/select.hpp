/// \file
/// Select and Partition: the elements for which a predicate holds, in their order.
#pragma once

#include <lode/kernels/operation.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <string>
#include <utility>

namespace LODE_NAMESPACE::kernels {

/// Which elements are selected, in CUDA C++.
struct SelectOptions {
    /// An expression of an element `x`, such as "x % 3 == 0".
    std::string predicate = "x > 0";
    /// For the compiler: headers and definitions that the predicate needs, and its options.
    CompileOptions compile = {};
};

namespace detail {
[[nodiscard]] Result<OperationPointer> load_select(const VariantLoader& loader,
                                                   const NumberType& type, bool partitions,
                                                   const SelectOptions& options);
[[nodiscard]] Status run_select(const Operation& operation, StreamRef stream, Elements from,
                                Elements to, Elements selected, Workspace* workspace);
}  // namespace detail

/// Writes the elements for which a predicate holds, in their order, and their number. A value that
/// shares its kernels with its copies. Thread-safe.
template <Number T, bool partitions = false>
class Select {
public:
    /// Compiles and loads the kernel for 2^20 elements. Errors: those of VariantLoader::load();
    /// invalid_argument for an empty predicate.
    [[nodiscard]] static Result<Select> load(const VariantLoader& loader,
                                             const SelectOptions& options = {}) {
        return detail::load_select(loader, detail::number_type<T>, partitions, options)
            .map([](detail::OperationPointer operation) { return Select(std::move(operation)); });
    }

    /// The bytes of workspace for so many elements, at most a 500th of theirs. Loads the kernel for
    /// that many, if it isn't loaded. Errors: those of load().
    [[nodiscard]] Result<std::size_t> workspace_bytes(std::size_t count) const {
        return detail::workspace_bytes(*operation_, {count});
    }

    /// Enqueues the selection and doesn't wait: the selected elements come first in `to`, and
    /// `selected` has their number. A partition puts the others after them, from the end of `to`
    /// on, so their order is reversed; a selection leaves the rest of `to` as it was. `to` has as
    /// many elements as `from`, at most 2^32 - 1, and doesn't overlap it. May be captured, after
    /// workspace_bytes() for that many. Errors: invalid_argument for other sizes, overlaps, a
    /// workspace that is too small, and memory or a stream of another device; those of load() and
    /// of a launch.
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const T> from, DeviceSpan<T> to,
                             DeviceSpan<std::uint32_t> selected, Workspace& workspace) const {
        return detail::run_select(*operation_, stream, from, to, selected, &workspace);
    }
    /// The same with a workspace from the device's pool. Errors: also those of
    /// AsyncBuffer::allocate().
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const T> from, DeviceSpan<T> to,
                             DeviceSpan<std::uint32_t> selected) const {
        return detail::run_select(*operation_, stream, from, to, selected, nullptr);
    }

private:
    explicit Select(detail::OperationPointer operation) noexcept
        : operation_(std::move(operation)) {}
    detail::OperationPointer operation_;
};

/// A selection that keeps the other elements too, after the selected ones.
template <Number T>
using Partition = Select<T, true>;

}  // namespace LODE_NAMESPACE::kernels
