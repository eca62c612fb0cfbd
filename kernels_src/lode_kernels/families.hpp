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

namespace LODE_NAMESPACE::kernels {

/// Device memory of a workload, for running another library on the same data.
struct WorkloadData {
    std::vector<const void*> inputs;  ///< In the order of the kernel's parameters.
    std::vector<void*> outputs;
};

/// One problem of a family on a device, with random data. Not thread-safe: all launches of a
/// workload share its buffers.
class Workload {
public:
    virtual ~Workload() = default;
    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;

    /// Enqueues the kernel on the workload's data, after any preparation (such as zeroing counts).
    [[nodiscard]] virtual Status launch(const LoadedVariant& variant, StreamRef stream) = 0;
    /// Overwrites every output, and the guard after it, with values that no correct result has.
    [[nodiscard]] virtual Status poison() = 0;
    /// Compares the outputs with the host's reference; doesn't wait. driver_failed names the first
    /// difference, the number of differences and the limit, or the overwritten guard.
    [[nodiscard]] virtual Status check() const = 0;

    /// Valid as long as the workload.
    [[nodiscard]] virtual WorkloadData data() const = 0;
    [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
    /// The minimum number of bytes that a launch moves to and from memory.
    [[nodiscard]] virtual double bytes() const noexcept = 0;
    /// Floating-point operations of a launch; 0 for families measured by bandwidth.
    [[nodiscard]] virtual double operations() const noexcept { return 0; }

protected:
    explicit Workload(const Problem& problem) noexcept : problem_(problem) {}

private:
    Problem problem_;
};

/// A family with everything needed to run it.
struct FamilyEntry {
    KernelFamily family;
    std::string_view folder;              ///< Where the sources are, under kernels_src.
    std::string_view extents;             ///< What x, y and z of a Problem mean, e.g. "m, n, k".
    std::vector<Problem> test_problems;   ///< Small and awkward sizes; every row handles some.
    std::vector<Problem> bench_problems;  ///< Large ones.
    Result<std::unique_ptr<Workload>> (*make)(const Device&, const Problem&, std::uint64_t seed);
};

/// All families, in alphabetical order.
std::span<const FamilyEntry> all();

/// Whether a problem of a family is so small that the software device runs it in a moment.
bool is_small(const FamilyEntry& entry, const Problem& problem) noexcept;

/// A family by name; nullptr if there is none.
const FamilyEntry* find(std::string_view name) noexcept;

}  // namespace LODE_NAMESPACE::kernels
