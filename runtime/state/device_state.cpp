#include "runtime/state/device_state.hpp"

#include "base/message_text.hpp"

#include <bit>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

/// Whether a call may fail like this because its objects were lost with an earlier context.
bool may_follow_reset(CUresult result) noexcept {
    return result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT ||
           result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

DeviceState::DeviceState(std::shared_ptr<const DriverState> driver_state, CUdevice native,
                         DeviceProperties device_properties, CachedCompiler device_compiler,
                         std::shared_ptr<DeviceLines> device_lines, bool sync)
    : sync_launches(sync),
      driver(std::move(driver_state)),
      device(native),
      properties(std::move(device_properties)),
      compiler(std::move(device_compiler)),
      lines(std::move(device_lines)),
      host_calls(driver->log),
      default_stream(*this, StreamState::Kind::of_context),
      per_thread_stream(*this, StreamState::Kind::of_context) {}

DeviceState::~DeviceState() {
    if (retained_context() == nullptr || notice_reset()) return;
    // Kernels that still run may print, and the driver calls functions on streams with an argument
    // that this object owns.
    if (has_loaded_code.load(std::memory_order_relaxed) || !host_calls.empty()) finish();
    const auto& release = table().cuDevicePrimaryCtxRelease;
    report_destroy(release.name, release(device));
}

void DeviceState::finish() {
    if (is_lost()) return;
    const OutsideCapture outside(*driver);
    if (const auto waited = call_in_context(*this, table().cuCtxSynchronize); !waited)
        report(waited.error());
}

Result<CUcontext> DeviceState::context() {
    if (CUcontext context = retained_context()) [[likely]]
        return context;
    const std::lock_guard guard(context_mutex_);
    if (CUcontext context = retained_context()) return context;
    CUcontext context = nullptr;
    LODE_TRY(call(table().cuDevicePrimaryCtxRetain, &context, device).map_error([&](Error error) {
        return std::move(error).in("retaining the primary context of " + describe());
    }));
    unsigned long long id = 0;
    if (auto asked = call(table().cuCtxGetId, context, &id); !asked) {
        const auto& release = table().cuDevicePrimaryCtxRelease;
        report_destroy(release.name, release(device));
        return tl::unexpected<Error>(std::move(asked).error());
    }
    context_id_.store(id, std::memory_order_relaxed);
    context_.store(context, std::memory_order_release);
    return context;
}

bool DeviceState::notice_reset() noexcept {
    if (was_reset()) return true;
    CUcontext context = retained_context();
    if (context == nullptr || is_lost()) return false;
    unsigned long long id = 0;
    const CUresult asked = table().cuCtxGetId(context, &id);
    if (asked == CUDA_SUCCESS && id == context_id_.load(std::memory_order_relaxed)) return false;
    if (asked != CUDA_SUCCESS) {
        unsigned flags = 0;
        int active = 1;
        const CUresult state = table().cuDevicePrimaryCtxGetState(device, &flags, &active);
        if (state != CUDA_SUCCESS || active != 0) {
            report_destroy(table().cuCtxGetId.name, asked);
            return false;
        }
    }
    {
        const std::lock_guard guard(mutex_);
        if (was_reset_.exchange(true)) return true;
        stop_calls();
    }
    host_calls.give_up();
    // A reset keeps the references. Without this one, retaining the context makes a new one.
    const auto& release = table().cuDevicePrimaryCtxRelease;
    driver->report_destroy(release.name, release(device));
    return true;
}

void DeviceState::report_destroy(std::string_view call_name, CUresult result) const noexcept {
    if (!is_lost()) driver->report_destroy(call_name, result);
}

void DeviceState::report(const Error& error) const noexcept {
    if (error.code == Errc::process_forked || error.native.code == CUDA_ERROR_DEINITIALIZED) return;
    driver->log.write(LogLevel::warning, error.message);
}

Error DeviceState::lost_error() const {
    if (was_reset()) return reset_error();
    const std::lock_guard guard(mutex_);
    Error error = *first_failure_;
    error.message = fmt::format(
        "This process has lost {} and must be restarted. The first "
        "failure: {}",
        describe(), error.message);
    return error;
}

Error DeviceState::reset_error() const {
    return Error{
        Errc::device_lost,
        fmt::format("Other code of this process has reset {} (cudaDeviceReset or "
                    "cuDevicePrimaryCtxReset): all that was made on it is gone. Open it again with "
                    "Runtime::device(), and load and allocate there.",
                    describe()),
        Native{Native::Origin::driver, CUDA_ERROR_CONTEXT_IS_DESTROYED,
               "CUDA_ERROR_CONTEXT_IS_DESTROYED"}};
}

Error DeviceState::failed(std::string_view call_name, CUresult result, const StreamState* stream) {
    Error error = driver->error(call_name, result);
    if (may_follow_reset(result) && notice_reset()) return reset_error();
    if (!is_sticky(result)) return error;
    mark_lost(error, stream);
    host_calls.give_up();  // The driver won't call them any more.
    return error;
}

void DeviceState::mark_lost(Error& error, const StreamState* stream) {
    const std::lock_guard guard(mutex_);
    // A finding of the software device names its kernel.
    if (error.message.find('\n') == std::string::npos) error.message += suspects(stream);
    if (!first_failure_) first_failure_ = error;
    stop_calls();
    error.message += fmt::format(" This process has lost {} and must be restarted.", describe());
}

void DeviceState::stop_calls() noexcept {
    lost_.store(true, std::memory_order_release);
    for (auto* known : streams_)
        known->plain_device.store(nullptr, std::memory_order_relaxed);
}

std::string DeviceState::suspects(const StreamState* stream) const {
    if (stream != nullptr) {
        if (const auto launch = stream->last_launch(); !launch.empty())
            return fmt::format(" The suspect is the last launch on this stream: {}.",
                               shortened(launch));
    }
    std::vector<std::string> launches;
    for (const auto* other : streams_) {
        if (auto launch = other->last_launch(); !launch.empty())
            launches.push_back(std::move(launch));
    }
    if (launches.empty()) return {};
    if (launches.size() == 1)
        return fmt::format(" The suspect is the launch {}.", shortened(launches[0]));
    return fmt::format(" The suspects are the last launches of each stream: {}.",
                       listed(launches, {.separator = "; "}));
}

std::string DeviceState::describe() const {
    return fmt::format("device {} ({}, compute capability {})", properties.ordinal, properties.name,
                       properties.cc.to_string());
}

void DeviceState::set_peer(CUdevice peer, bool accessible) {
    const std::lock_guard guard(mutex_);
    if (accessible) {
        peers_.insert(peer);
    } else {
        peers_.erase(peer);
    }
}

bool DeviceState::reaches(const DeviceState& other) const {
    if (is_same_device(other)) return true;  // A device has one primary context per driver.
    if (!same_driver(other)) return false;
    const std::lock_guard guard(mutex_);
    return peers_.contains(other.device);
}

const std::string* DeviceState::intern(const std::string& name) {
    const std::lock_guard guard(mutex_);
    return &*names_.insert(name).first;
}

const LaunchRecord* DeviceState::intern(LaunchRecord record) {
    const std::lock_guard guard(mutex_);
    return &*launches_.insert(std::move(record)).first;
}

void DeviceState::note_kernel(const void* function, const void* kernel,
                              const std::shared_ptr<const LibraryState>& library) {
    const std::lock_guard guard(mutex_);
    kernels_[function] = library;
    kernels_[kernel] = library;
    if (captures_ != 0) captured_.insert(library);
}

std::shared_ptr<const LibraryState> DeviceState::library_of(const void* handle) const {
    const std::lock_guard guard(mutex_);
    const auto found = kernels_.find(handle);
    return found == kernels_.end() ? nullptr : found->second.lock();
}

void DeviceState::begin_capture() {
    const std::lock_guard guard(mutex_);
    ++captures_;
    for (const auto& [handle, library] : kernels_) {
        if (auto loaded = library.lock()) captured_.insert(std::move(loaded));
    }
}

void DeviceState::end_capture() noexcept {
    std::set<std::shared_ptr<const LibraryState>> released;  // Unloading needs the mutex.
    const std::lock_guard guard(mutex_);
    if (--captures_ == 0) released.swap(captured_);
}

void DeviceState::forget_kernels() noexcept {
    const std::lock_guard guard(mutex_);
    std::erase_if(kernels_, [](const auto& entry) { return entry.second.expired(); });
}

StreamState& DeviceState::adopted(CUstream stream) {
    {
        const std::lock_guard guard(mutex_);
        if (const auto found = adopted_.find(stream); found != adopted_.end())
            return *found->second;
    }
    auto state = std::make_unique<StreamState>(*this);  // Registers itself under the same mutex.
    const std::lock_guard guard(mutex_);
    // A concurrent call may have inserted first: try_emplace then leaves `state` alone, and its
    // destructor must not run under the mutex.
    return *adopted_.try_emplace(stream, std::move(state)).first->second;
}

StreamState::StreamState(DeviceState& owner, Kind kind) : device(&owner) {
    const std::lock_guard guard(owner.mutex_);
    const bool is_plain = kind == Kind::made && !owner.sync_launches && !owner.is_lost();
    plain_device = is_plain ? &owner : nullptr;
    owner.streams_.insert(this);
}

StreamState::~StreamState() {
    if (device == nullptr) return;
    const std::lock_guard guard(device->mutex_);
    device->streams_.erase(this);
}

std::string StreamState::last_launch() const {
    const std::uintptr_t last = last_launch_.load(std::memory_order_relaxed);
    if (last == 0) return {};
    const auto describe = [](const std::string& kernel, const Dim3& grid, const Dim3& block) {
        return fmt::format("'{}' with grid {} and block {}", kernel, grid.to_string(),
                           block.to_string());
    };
    if ((last & is_record) != 0) {
        const auto& record = *reinterpret_cast<const LaunchRecord*>(last - is_record);
        return describe(record.kernel, record.grid, record.block);
    }
    std::array<std::uint32_t, 6> extents{};
    for (std::size_t i = 0; i < last_extents_.size(); ++i) {
        const std::uint64_t both = last_extents_[i].load(std::memory_order_relaxed);
        extents[2 * i] = static_cast<std::uint32_t>(both);
        extents[2 * i + 1] = static_cast<std::uint32_t>(both >> 32);
    }
    const auto [gx, gy, gz, bx, by, bz] = extents;
    return describe(*reinterpret_cast<const std::string*>(last), {gx, gy, gz}, {bx, by, bz});
}

}  // namespace LODE_NAMESPACE::detail
