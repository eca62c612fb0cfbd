// From source to kernel: the steps of Device::load(), load_async() and Batch.
#pragma once

#include "runtime/state/device_state.hpp"

#include <lode/base/pending.hpp>
#include <lode/jit/cache.hpp>
#include <lode/runtime/device.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::detail {

/// Adds to the error of a compilation what was compiled and for which device.
[[nodiscard]] Error in_compile(Error error, const std::string& source, const DeviceState& device);

/// Device::target()
[[nodiscard]] Result<Target> target_of(const DeviceState& device, SuffixPolicy policy,
                                       Source::Language language);

/// Device::compile_cached() with other name expressions.
[[nodiscard]] Result<CachedImage> compile_for(const DeviceState& device, const Source& source,
                                              const KernelOptions& options,
                                              std::span<const std::string> names);

/// The request that compile_for() makes.
[[nodiscard]] Result<CompileRequest> request_for(const DeviceState& device, const Source& source,
                                                 const KernelOptions& options,
                                                 std::span<const std::string> names);

/// A kernel, and the names and the cache's entry that it was compiled with.
struct LoadedKernel {
    UntypedKernel kernel;
    std::vector<std::string> name_expressions;
    Digest entry;  ///< CompileReport::key
};

/// Device::load()
[[nodiscard]] Result<LoadedKernel> load_kernel(const std::shared_ptr<DeviceState>& device,
                                               const Source& source, std::string_view name,
                                               const KernelOptions& options);

/// Device::load_async() for several kernels of one source: one compilation, as long as that works
/// for all of them. The results are in the order of the names.
[[nodiscard]] std::vector<Pending<UntypedKernel>> load_kernels_async(
    const std::shared_ptr<DeviceState>& device, Source source, std::vector<std::string> names,
    KernelOptions options);

}  // namespace LODE_NAMESPACE::detail
