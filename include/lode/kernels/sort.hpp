/// \file
/// Sort and SortPairs: stable sorts of keys, with values or without.
#pragma once

#include <lode/kernels/operation.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <cstdint>
#include <utility>

namespace LODE_NAMESPACE::kernels {

/// How keys are sorted.
struct SortOptions {
    bool descending = false;      ///< The largest key comes first; equal ones keep their order.
    CompileOptions compile = {};  ///< For the compiler.
};

namespace detail {
[[nodiscard]] Result<OperationPointer> load_sort(const VariantLoader& loader,
                                                 const NumberType& type, bool has_values,
                                                 const SortOptions& options);
[[nodiscard]] Status run_sort(const Operation& operation, StreamRef stream, Elements from,
                              Elements to, Elements from_values, Elements to_values,
                              Workspace* workspace);
}  // namespace detail

/// Sorts keys. Floats have a total order: -0 is before 0, NaNs are at the end of their sign. A
/// value that shares its kernels with its copies. Thread-safe.
template <Number Key>
class Sort {
public:
    /// Compiles and loads the kernels for 2^20 keys. Errors: those of VariantLoader::load().
    [[nodiscard]] static Result<Sort> load(const VariantLoader& loader,
                                           const SortOptions& options = {}) {
        return detail::load_sort(loader, detail::number_type<Key>, false, options)
            .map([](detail::OperationPointer operation) { return Sort(std::move(operation)); });
    }

    /// The bytes of workspace for so many keys: as many as the keys have, and up to 40 % more.
    /// Loads the kernels for that many, if they aren't loaded. Errors: those of load().
    [[nodiscard]] Result<std::size_t> workspace_bytes(std::size_t count) const {
        return detail::workspace_bytes(*operation_, {count});
    }

    /// Enqueues the sort of `from` to `to` and doesn't wait. Both have the same number of keys, and
    /// may be the same. May be captured, after workspace_bytes() for that many. Errors:
    /// invalid_argument for other sizes, partial overlaps, a workspace that is too small, and
    /// memory or a stream of another device; those of load() and of a launch.
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const Key> from, DeviceSpan<Key> to,
                             Workspace& workspace) const {
        return detail::run_sort(*operation_, stream, from, to, none, none, &workspace);
    }
    /// The same with a workspace from the device's pool. Errors: also those of
    /// AsyncBuffer::allocate().
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const Key> from,
                             DeviceSpan<Key> to) const {
        return detail::run_sort(*operation_, stream, from, to, none, none, nullptr);
    }

private:
    static constexpr DeviceSpan<std::uint32_t> none{};

    explicit Sort(detail::OperationPointer operation) noexcept : operation_(std::move(operation)) {}
    detail::OperationPointer operation_;
};

/// Sorts keys, and moves a value of 32 bits with each. Equal keys keep their order. A value that
/// shares its kernels with its copies. Thread-safe.
template <Number Key, class Value = std::uint32_t>
class SortPairs {
    static_assert(sizeof(Value) == 4, "SortPairs moves values of 32 bits: sort their places");

public:
    /// Compiles and loads the kernels for 2^20 keys. Errors: those of VariantLoader::load().
    [[nodiscard]] static Result<SortPairs> load(const VariantLoader& loader,
                                                const SortOptions& options = {}) {
        return detail::load_sort(loader, detail::number_type<Key>, true, options)
            .map(
                [](detail::OperationPointer operation) { return SortPairs(std::move(operation)); });
    }

    /// The bytes of workspace for so many pairs: as many as these have, and up to 30 % more. Loads
    /// the kernels for that many, if they aren't loaded. Errors: those of load().
    [[nodiscard]] Result<std::size_t> workspace_bytes(std::size_t count) const {
        return detail::workspace_bytes(*operation_, {count});
    }

    /// Enqueues the sort of the pairs and doesn't wait. All have the same number of elements; keys
    /// may stay where they are, and so may values. May be captured, after workspace_bytes() for
    /// that many. Errors: those of Sort::run().
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const Key> from, DeviceSpan<Key> to,
                             DeviceSpan<const Value> from_values, DeviceSpan<Value> to_values,
                             Workspace& workspace) const {
        return detail::run_sort(*operation_, stream, from, to, from_values, to_values, &workspace);
    }
    /// The same with a workspace from the device's pool. Errors: also those of
    /// AsyncBuffer::allocate().
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const Key> from, DeviceSpan<Key> to,
                             DeviceSpan<const Value> from_values,
                             DeviceSpan<Value> to_values) const {
        return detail::run_sort(*operation_, stream, from, to, from_values, to_values, nullptr);
    }

private:
    explicit SortPairs(detail::OperationPointer operation) noexcept
        : operation_(std::move(operation)) {}
    detail::OperationPointer operation_;
};

}  // namespace LODE_NAMESPACE::kernels
