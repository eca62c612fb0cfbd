// What the workloads share: random data, guarded outputs, comparisons.
#pragma once

#include "lode_kernels/families.hpp"
#include "lode_kernels/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::kernels {

/// The entries, each family in its own namespace: their sources may be compiled as one.
namespace gemm {
std::vector<FamilyEntry> entries();
}  // namespace gemm
namespace histogram {
FamilyEntry entry();
}
namespace layer_norm {
FamilyEntry entry();
}
namespace reduce {
std::vector<FamilyEntry> entries();
}
namespace scan {
std::vector<FamilyEntry> entries();
}
namespace select {
std::vector<FamilyEntry> entries();
}
namespace softmax {
FamilyEntry entry();
}
namespace sort {
std::vector<FamilyEntry> entries();
}
namespace transpose {
FamilyEntry entry();
}
namespace vector {
FamilyEntry entry();
}

/// The random number `index` of a seed: any part of a sequence can be made without the others.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) noexcept;

/// Calls `work` for the parts of 0 … count, on several threads if there are many; waits for all.
void in_parts(std::size_t count,
              const std::function<void(std::size_t first, std::size_t last)>& work);

/// make(random bits) for each element.
template <class T, class Make>
std::vector<T> random_values(std::size_t count, std::uint64_t seed, Make make) {
    std::vector<T> values(count);
    in_parts(count, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i)
            values[i] = make(random_bits(seed, i));
    });
    return values;
}

std::vector<std::uint32_t> random_words(std::size_t count, std::uint64_t seed);
/// Uniform in [-1, 1).
std::vector<float> random_floats(std::size_t count, std::uint64_t seed);

/// A device buffer followed by a guard; both contain the poison until a kernel writes.
template <class T>
class Output {
public:
    static Result<Output> create(const Device& device, std::size_t count, T poison) {
        return device.alloc<T>(count + guard).map([&](DeviceBuffer<T> buffer) {
            return Output(std::move(buffer), count, poison);
        });
    }

    [[nodiscard]] T* data() const noexcept { return buffer_.data(); }
    [[nodiscard]] NativeDevicePointer native() const noexcept { return buffer_.native(); }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    /// The outputs, without the guard.
    [[nodiscard]] DeviceSpan<T> span() { return DeviceSpan<T>(buffer_.span().memory(), count_); }
    [[nodiscard]] Status poison() {
        guard_value_ = poison_;
        if constexpr (sizeof(T) <= 4) {
            return buffer_.fill(poison_);
        } else {
            return buffer_.span().template reinterpret<std::uint32_t>().and_then(
                [&](DeviceSpan<std::uint32_t> words) { return words.fill(half_of(poison_)); });
        }
    }

    /// Zeroes everything in stream order, for kernels that add to existing values.
    [[nodiscard]] Status zero_async(StreamRef stream) {
        guard_value_ = T{};
        return buffer_.zero_async(stream);
    }

    /// The outputs; driver_failed if the guard was overwritten.
    [[nodiscard]] Result<std::vector<T>> read() const {
        auto values = buffer_.to_vector();
        if (!values) return values;
        for (std::size_t i = count_; i < values->size(); ++i) {
            if (std::memcmp(&(*values)[i], &guard_value_, sizeof(T)) == 0) continue;
            return fail(Errc::driver_failed,
                        fmt::format("The kernel writes past its output: element {} of {} isn't "
                                    "intact.",
                                    i, count_));
        }
        values->resize(count_);
        return values;
    }

private:
    static constexpr std::size_t guard = 64;  // Elements.

    static std::uint32_t half_of(const T& value) {
        std::uint32_t half = 0;
        std::memcpy(&half, &value, sizeof(half));
        return half;
    }
    /// Both halves of a wide poison are the first one.
    static T with_equal_halves(T value) {
        if constexpr (sizeof(T) == 8) {
            const std::uint32_t halves[2] = {half_of(value), half_of(value)};
            std::memcpy(&value, halves, sizeof(value));
        }
        return value;
    }

    Output(DeviceBuffer<T> buffer, std::size_t count, T poison)
        : buffer_(std::move(buffer)),
          count_(count),
          poison_(with_equal_halves(poison)),
          guard_value_(poison_) {}
    DeviceBuffer<T> buffer_;
    std::size_t count_;
    T poison_;
    T guard_value_;
};

/// A workload whose kernel reads one matrix of floats and writes another of the same size: x rows
/// and y columns. Derived classes add the reference.
class MatrixWorkload : public Workload {
public:
    Status launch(const LoadedVariant& variant, StreamRef stream) override {
        return detail::launch_on_matrix(variant, stream, problem(), from_.data(), to_.data());
    }
    Status poison() override { return to_.poison(); }
    WorkloadData data() const override { return {{from_.data()}, {to_.data()}}; }
    double bytes() const noexcept override { return 8.0 * static_cast<double>(values_.size()); }

protected:
    /// The parts of a workload, on the device.
    struct Matrices {
        std::vector<float> values;
        DeviceBuffer<float> from;
        Output<float> to;
    };
    static Result<Matrices> upload(const Device& device, std::vector<float> values) {
        auto from = device.upload(values);
        if (!from) return tl::unexpected(from.error());
        auto to =
            Output<float>::create(device, values.size(), std::numeric_limits<float>::quiet_NaN());
        if (!to) return tl::unexpected(to.error());
        return Matrices{std::move(values), *std::move(from), *std::move(to)};
    }

    MatrixWorkload(const Problem& problem, Matrices matrices)
        : Workload(problem),
          values_(std::move(matrices.values)),
          from_(std::move(matrices.from)),
          to_(std::move(matrices.to)) {}

    /// The input, row by row.
    [[nodiscard]] const std::vector<float>& values() const noexcept { return values_; }
    /// See Output::read().
    [[nodiscard]] Result<std::vector<float>> read() const { return to_.read(); }

private:
    std::vector<float> values_;
    DeviceBuffer<float> from_;
    Output<float> to_;
};

/// Compares an output with the reference; the error names the first difference.
class Comparison {
public:
    void add(std::size_t index, double got, double wanted, double limit) {
        ++compared_;
        if (std::abs(got - wanted) <= limit) return;  // Also false for NaN.
        if (wrong_++ == 0) {
            first_ = fmt::format("element {} is {:.9g}, but the reference is {:.9g} (limit {:.3g})",
                                 index, got, wanted, limit);
        }
    }
    /// Takes over what another has found in a later part.
    void merge(const Comparison& later) {
        if (wrong_ == 0) first_ = later.first_;
        compared_ += later.compared_;
        wrong_ += later.wrong_;
    }
    [[nodiscard]] Status result() const {
        if (wrong_ == 0) return {};
        return fail(Errc::driver_failed, fmt::format("{} of {} compared elements are wrong: {}.",
                                                     wrong_, compared_, first_));
    }

private:
    std::size_t compared_ = 0;
    std::size_t wrong_ = 0;
    std::string first_;
};

/// Calls compare(row, comparison) for every row of a matrix, on several threads if it is large.
template <class Compare>
Status compare_rows(std::size_t rows, std::size_t columns, Compare compare) {
    std::mutex mutex;
    std::map<std::size_t, Comparison> parts;
    in_parts(rows * columns, [&](std::size_t first, std::size_t last) {
        Comparison part;
        for (std::size_t row = first / columns; row < last / columns; ++row)
            compare(row, part);
        const std::lock_guard lock(mutex);
        parts.emplace(first, std::move(part));
    });
    Comparison whole;
    for (const auto& [first, part] : parts)
        whole.merge(part);
    return whole.result();
}

/// Requires every element to be equal; driver_failed names the first difference.
template <class T>
Status compare_equal(std::span<const T> got, std::span<const T> wanted) {
    if (std::ranges::equal(got, wanted)) return {};
    std::size_t first = 0;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (got[i] == wanted[i]) continue;
        if (wrong++ == 0) first = i;
    }
    if (wrong == 0) return {};
    return fail(Errc::driver_failed,
                fmt::format("{} of {} elements are wrong: element {} is {}, but the reference is "
                            "{}.",
                            wrong, wanted.size(), first, got[first], wanted[first]));
}

/// Random elements for sums: integers of the whole range, which wrap, or floats that are small
/// integers of either sign, so that no sum is rounded, whatever its order, and any lost element
/// shows.
template <class T>
std::vector<T> random_summands(std::size_t count, std::uint64_t seed) {
    return random_values<T>(count, seed, [](std::uint64_t bits) {
        if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(2 * static_cast<int>(bits >> 60) - 15);
        else
            return static_cast<T>(bits >> (64 - 8 * sizeof(T)));
    });
}

}  // namespace LODE_NAMESPACE::kernels
