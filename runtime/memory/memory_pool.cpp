#include "runtime/memory/device_memory.hpp"
#include "runtime/memory/pool.hpp"
#include "runtime/memory/size.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/memory_pool.hpp>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

void MemoryPoolTraits::destroy(Handle handle, const Owner& owner) noexcept {
    if (!owner.owned) return;
    destroy_in_context(*owner.device, owner.device->table().cuMemPoolDestroy, handle);
}

namespace {

/// Whether work on a stream becomes part of a graph; never that of the default stream.
Result<bool> is_captured(DeviceState& device, NativeStream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream != nullptr)
        LODE_TRY(call_in_context(device, device.table().cuStreamIsCapturing, stream, &status));
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace

void StreamMemoryTraits::destroy(Handle handle, const Owner& owner) noexcept {
    DeviceState& device = *owner.device;
    const DriverTable& table = device.table();
    const bool was_lost = device.is_lost();
    const auto capturing = is_captured(device, owner.stream);
    if (!capturing && !was_lost) device.report(capturing.error());
    // Without its capture, a graph's memory doesn't exist: Capture::finish() has failed.
    if (owner.captured && capturing && !*capturing) return;
    if (!owner.captured && capturing.value_or(false)) {
        destroy_in_context(device, table.cuMemFree, handle);
    } else {
        destroy_in_context(device, table.cuMemFreeAsync, handle, owner.stream);
    }
}

Status require_pools(const DeviceState& device) {
    if (!device.properties.memory_pools) {
        return fail(Errc::not_supported,
                    fmt::format("Stream-ordered memory isn't supported by {}.", device.describe()));
    }
    return device.driver->require(device.table().cuMemAllocAsync, "Stream-ordered memory");
}

Result<StreamMemory> allocate_on_stream(const std::shared_ptr<DeviceState>& device,
                                        NativeMemoryPool pool, StreamRef stream, std::size_t count,
                                        std::size_t size) {
    LODE_TRY(require_pools(*device));
    LODE_TRY(check_stream_of(*device, stream, "memory"));
    LODE_TRY_ASSIGN(const std::size_t bytes, bytes_of(count, size));
    StreamMemoryOwner owner{device, stream.native()};
    if (bytes == 0) return StreamMemory(NativeDevicePointer{}, owner);
    const DriverTable& table = device->table();
    LODE_TRY_ASSIGN(owner.captured, is_captured(*device, stream.native()));
    NativeDevicePointer address = 0;
    const Status done = pool == nullptr
                            ? call_on_stream(stream.state(), table.cuMemAllocAsync, &address, bytes,
                                             stream.native())
                            : call_on_stream(stream.state(), table.cuMemAllocFromPoolAsync,
                                             &address, bytes, pool, stream.native());
    if (!done) {
        return tl::unexpected<Error>(
            explain_out_of_memory(*device, done.error(), bytes, "the pool has reached its limit")
                .in("allocating stream-ordered memory"));
    }
    return StreamMemory(address, std::move(owner));
}

Status check_freeing_stream(const StreamMemory& memory, StreamRef stream) {
    if (memory.owner().device == nullptr) return fail_empty("buffer");
    return check_stream_of(*memory.owner().device, stream, "memory");
}

namespace {

/// Calls an entry point with a pool's device current; fails for an empty pool.
template <class Function, class... Arguments>
Status call_for_pool(const UniqueHandle<MemoryPoolTraits>& pool,
                     EntryPoint<Function> DriverTable::*entry, Arguments... arguments) {
    if (!pool) return fail_empty("memory pool");
    DeviceState& device = *pool.owner().device;
    return call_in_context(device, device.table().*entry, pool.get(), arguments...);
}

Result<std::uint64_t> pool_value(const UniqueHandle<MemoryPoolTraits>& pool,
                                 CUmemPool_attribute which) {
    cuuint64_t value = 0;
    LODE_TRY(call_for_pool(pool, &DriverTable::cuMemPoolGetAttribute, which,
                           static_cast<void*>(&value)));
    return value;
}

Status set_pool_value(const UniqueHandle<MemoryPoolTraits>& pool, CUmemPool_attribute which,
                      cuuint64_t value) {
    return call_for_pool(pool, &DriverTable::cuMemPoolSetAttribute, which,
                         static_cast<void*>(&value));
}

CUmemLocation location_of(const Device& device) {
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device.native();
    return location;
}

}  // namespace
}  // namespace detail

Result<MemoryPool> MemoryPool::create(const Device& device, const MemoryPoolOptions& options) {
    detail::DeviceState& state = *device.state();
    LODE_TRY(detail::require_pools(state));
    constexpr int first_with_limit = 12020;
    if (options.max_bytes != 0)
        LODE_TRY(state.driver->require_version(first_with_limit, "A limit for a memory pool"));
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = detail::location_of(device);
    properties.maxSize = options.max_bytes;
    if (options.shareable) properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemoryPool pool = nullptr;
    LODE_TRY(detail::call_in_context(state, state.table().cuMemPoolCreate, &pool, &properties));
    MemoryPool made(UniqueHandle<detail::MemoryPoolTraits>(
        pool, detail::MemoryPoolOwner{device.state(), true}));
    if (options.release_threshold_bytes != 0)
        LODE_TRY(made.set_release_threshold(options.release_threshold_bytes));
    return made;
}

Result<MemoryPool> MemoryPool::default_of(const Device& device) {
    detail::DeviceState& state = *device.state();
    LODE_TRY(detail::require_pools(state));
    CUmemoryPool pool = nullptr;
    LODE_TRY(detail::call_in_context(state, state.table().cuDeviceGetDefaultMemPool, &pool,
                                     state.device));
    return MemoryPool(UniqueHandle<detail::MemoryPoolTraits>(
        pool, detail::MemoryPoolOwner{device.state(), false}));
}

Result<detail::StreamMemory> MemoryPool::allocate_bytes(StreamRef stream, std::size_t count,
                                                        std::size_t size) const {
    if (!handle_) return detail::fail_empty("memory pool");
    return detail::allocate_on_stream(handle_.owner().device, native(), stream, count, size);
}

Status MemoryPool::make_current() const {
    if (!handle_) return detail::fail_empty("memory pool");
    detail::DeviceState& device = *handle_.owner().device;
    return detail::call_in_context(device, device.table().cuDeviceSetMemPool, device.device,
                                   native());
}

Status MemoryPool::trim(std::size_t keep_bytes) const {
    return detail::call_for_pool(handle_, &detail::DriverTable::cuMemPoolTrimTo, keep_bytes);
}

Result<MemoryPoolStatistics> MemoryPool::statistics() const {
    MemoryPoolStatistics now;
    LODE_TRY_ASSIGN(now.reserved,
                    detail::pool_value(handle_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    LODE_TRY_ASSIGN(now.reserved_high,
                    detail::pool_value(handle_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
    LODE_TRY_ASSIGN(now.used, detail::pool_value(handle_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    LODE_TRY_ASSIGN(now.used_high, detail::pool_value(handle_, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
    return now;
}

Status MemoryPool::reset_high_marks() const {
    LODE_TRY(detail::set_pool_value(handle_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0));
    return detail::set_pool_value(handle_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
}

Result<std::uint64_t> MemoryPool::release_threshold() const {
    return detail::pool_value(handle_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
}

Status MemoryPool::set_release_threshold(std::uint64_t bytes) const {
    return detail::set_pool_value(handle_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes);
}

Result<bool> MemoryPool::is_accessible_from(const Device& peer) const {
    if (!handle_) return detail::fail_empty("memory pool");
    detail::DeviceState& device = *handle_.owner().device;
    CUmemAccess_flags flags{};
    CUmemLocation location = detail::location_of(peer);
    LODE_TRY(detail::call_in_context(device, device.table().cuMemPoolGetAccess, &flags, native(),
                                     &location));
    return flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

Status MemoryPool::set_access(const Device& peer, bool accessible) const {
    if (!handle_) return detail::fail_empty("memory pool");
    detail::DeviceState& device = *handle_.owner().device;
    if (!accessible && peer.native() == device.device) {
        return fail(
            Errc::invalid_argument,
            fmt::format("A pool's own device ({}) always has access to it.", device.describe()));
    }
    LODE_TRY(detail::check_one_driver(*peer.state(), device));
    if (peer.native() != device.device) LODE_TRY(detail::require_access(*peer.state(), device));
    CUmemAccessDesc access{};
    access.location = detail::location_of(peer);
    access.flags = accessible ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return detail::call_for_pool(handle_, &detail::DriverTable::cuMemPoolSetAccess,
                                 static_cast<const CUmemAccessDesc*>(&access), std::size_t{1});
}

}  // namespace LODE_NAMESPACE
