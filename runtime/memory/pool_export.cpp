// The part of MemoryPool that shares pools and their buffers with other processes.
#include "base/os/file.hpp"
#include "runtime/memory/pool.hpp"
#include "runtime/memory/size.hpp"
#include "runtime/state/device_checks.hpp"
#include "runtime/state/device_state.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/memory_pool.hpp>

#include <cstring>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

static_assert(sizeof(PoolMemoryHandle::native) == sizeof(CUmemPoolPtrExportData));

constexpr auto pool_handle_type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
constexpr unsigned long long no_pool_flags = 0;

}  // namespace

Result<MemoryPool> MemoryPool::import(const Device& device, int descriptor) {
    detail::DeviceState& state = *device.state();
    LODE_TRY(detail::require_pools(state));
    const auto& entry = state.table().cuMemPoolImportFromShareableHandle;
    LODE_TRY(state.driver->require(entry, "A shared memory pool"));
    if (!os::is_open(descriptor)) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} isn't an open file descriptor.", descriptor));
    }
    CUmemoryPool pool = nullptr;
    LODE_TRY(detail::call_in_context(state, entry, &pool,
                                     reinterpret_cast<void*>(std::intptr_t{descriptor}),
                                     pool_handle_type, no_pool_flags)
                 .map_error([&](Error error) {
                     return std::move(error).in(fmt::format(
                         "importing a memory pool from file descriptor {}", descriptor));
                 }));
    return MemoryPool(UniqueHandle<detail::MemoryPoolTraits>(
        pool, detail::MemoryPoolOwner{device.state(), true}));
}

Result<int> MemoryPool::export_descriptor() const {
    if (!handle_) return detail::fail_empty("memory pool");
    detail::DeviceState& device = *handle_.owner().device;
    const auto& entry = device.table().cuMemPoolExportToShareableHandle;
    LODE_TRY(device.driver->require(entry, "A shared memory pool"));
    int descriptor = -1;
    LODE_TRY(detail::call_in_context(device, entry, static_cast<void*>(&descriptor), native(),
                                     pool_handle_type, no_pool_flags)
                 .map_error([](Error error) {
                     return std::move(error).in(
                         "exporting a memory pool, which needs MemoryPoolOptions{.shareable = "
                         "true}");
                 }));
    return descriptor;
}

Result<PoolMemoryHandle> MemoryPool::export_bytes(const detail::StreamMemory& memory,
                                                  std::size_t bytes) const {
    if (!handle_) return detail::fail_empty("memory pool");
    if (!memory) return detail::fail_empty("buffer");
    detail::DeviceState& device = *handle_.owner().device;
    const auto& entry = device.table().cuMemPoolExportPointer;
    LODE_TRY(device.driver->require(entry, "A shared memory pool"));
    CUmemPoolPtrExportData data{};
    LODE_TRY(detail::call_in_context(device, entry, &data, memory.get()).map_error([](Error error) {
        return std::move(error).in(
            "exporting a buffer, whose pool needs MemoryPoolOptions{.shareable = true}");
    }));
    PoolMemoryHandle handle;
    std::memcpy(handle.native.data(), &data, sizeof data);
    handle.bytes = bytes;
    return handle;
}

Result<detail::StreamMemory> MemoryPool::import_bytes(StreamRef stream,
                                                      const PoolMemoryHandle& handle,
                                                      std::size_t size) const {
    if (!handle_) return detail::fail_empty("memory pool");
    const auto& device = handle_.owner().device;
    LODE_TRY(detail::check_stream_of(*device, stream, "memory"));
    const auto& entry = device->table().cuMemPoolImportPointer;
    LODE_TRY(device->driver->require(entry, "A shared memory pool"));
    LODE_TRY(detail::check_whole_elements(handle.bytes, size));
    CUmemPoolPtrExportData data{};
    std::memcpy(&data, handle.native.data(), sizeof data);
    NativeDevicePointer address = 0;
    LODE_TRY(detail::call_in_context(*device, entry, &address, native(), &data)
                 .map_error([](Error error) {
                     return std::move(error).in(
                         "importing a buffer, which must be one of the exported pool that its "
                         "process hasn't freed");
                 }));
    return detail::StreamMemory(address, detail::StreamMemoryOwner{device, stream.native()});
}

}  // namespace LODE_NAMESPACE
