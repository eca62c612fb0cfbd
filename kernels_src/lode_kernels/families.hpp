// lode's own kernel families, and a workload for each: data, launch, reference and check.
#pragma once

#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>
#include <lode/runtime/variants.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace lode::kernels {

/// One problem of a family with random data on a device. Not thread-safe: the launches of one
/// workload share its buffers.
class Workload {
public:
    virtual ~Workload() = default;
    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;

    /// Enqueues the kernel on the workload's data, with what it needs done before (zeroed counts).
    [[nodiscard]] virtual Status launch(const LoadedVariant& variant, StreamRef stream) = 0;
    /// Overwrites every output, and the guard behind it, with values that no right answer has.
    [[nodiscard]] virtual Status poison() = 0;
    /// Compares the outputs with the host's reference; waits for nothing. driver_failed names the
    /// first difference, the number of them and the limit, or the guard that was written over.
    [[nodiscard]] virtual Status check() const = 0;

    [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
    /// Bytes that a launch must at least move to and from memory.
    [[nodiscard]] virtual double bytes() const noexcept = 0;
    /// Floating-point operations of a launch; 0 where bandwidth is the measure.
    [[nodiscard]] virtual double operations() const noexcept { return 0; }

protected:
    explicit Workload(const Problem& problem) noexcept : problem_(problem) {}

private:
    Problem problem_;
};

/// A family with everything needed to run it.
struct FamilyEntry {
    KernelFamily family;
    std::string_view folder;              ///< Of its sources, under kernels_src.
    std::string_view extents;             ///< What x, y and z of a Problem mean, e.g. "m, n, k".
    std::vector<Problem> test_problems;   ///< Small and awkward sizes; every row can do some.
    std::vector<Problem> bench_problems;  ///< Large ones.
    Result<std::unique_ptr<Workload>> (*make)(const Device&, const Problem&, std::uint64_t seed);
};

/// All families, in alphabetical order.
std::span<const FamilyEntry> all();

/// A family by name; nullptr when there is none.
const FamilyEntry* find(std::string_view name) noexcept;

}  // namespace lode::kernels
