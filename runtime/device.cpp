#include "runtime/load_kernel.hpp"
#include "runtime/state/device_checks.hpp"
#include "runtime/state/library_state.hpp"

#include <lode/base/environment.hpp>
#include <lode/runtime/device.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

const DeviceProperties& Device::properties() const noexcept {
    return state_->properties;
}

DeviceClocks Device::clocks() const {
    const auto read = [&](CUdevice_attribute attribute) {
        return detail::read_attribute(*state_->driver, state_->device, attribute).value_or(0);
    };
    return {read(CU_DEVICE_ATTRIBUTE_CLOCK_RATE), read(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)};
}

Result<Target> Device::target(SuffixPolicy policy, Source::Language language) const {
    return detail::target_of(*state_, policy, language);
}

Result<CachedImage> Device::compile_cached(const Source& source,
                                           const KernelOptions& options) const {
    return detail::compile_for(*state_, source, options, options.name_expressions);
}

Result<Image> Device::compile(const Source& source, const KernelOptions& options) const {
    return compile_cached(source, options).map([](const CachedImage& cached) {
        return *cached.image;
    });
}

Result<Library> Device::load(Image image, const LoadOptions& options) const {
    return load(std::make_shared<const Image>(std::move(image)), options);
}

Result<Library> Device::load(std::shared_ptr<const Image> image, const LoadOptions& options) const {
    if (image == nullptr)
        return fail(Errc::invalid_argument, "Device::load() needs an image; the pointer is null.");
    return detail::load_library(state_, std::move(image), options).map([](auto library) {
        return Library(std::move(library));
    });
}

Result<std::span<const std::byte>> Device::code_for_driver(const Image& image) const {
    return detail::code_for_driver(image, *state_);
}

Result<UntypedKernel> Device::load(const Source& source, std::string_view name,
                                   const KernelOptions& options) const {
    return detail::load_kernel(state_, source, name, options).map([](detail::LoadedKernel loaded) {
        return std::move(loaded.kernel);
    });
}

Pending<UntypedKernel> Device::load_async(Source source, std::string name,
                                          KernelOptions options) const {
    return detail::load_kernels_async(state_, std::move(source), {std::move(name)},
                                      std::move(options))
        .front();
}

Result<Stream> Device::create_stream(const StreamOptions& options) const {
    const detail::DriverTable& table = state_->table();
    LODE_TRY_ASSIGN(const auto scope, detail::CurrentContext::enter(*state_));
    int least_urgent = 0;
    int most_urgent = 0;
    LODE_TRY(state_->call(table.cuCtxGetStreamPriorityRange, &least_urgent, &most_urgent));
    const int priority = std::clamp(options.priority, std::min(most_urgent, least_urgent),
                                    std::max(most_urgent, least_urgent));
    const unsigned flags = options.blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
    CUstream stream = nullptr;
    LODE_TRY(state_->call(table.cuStreamCreateWithPriority, &stream, flags, priority));
    UniqueHandle<detail::StreamTraits> handle(stream, state_);
    return Stream(std::move(handle), std::make_unique<detail::StreamState>(*state_));
}

Result<Event> Device::create_event(const EventOptions& options) const {
    const unsigned flags = (options.timing ? 0U : unsigned{CU_EVENT_DISABLE_TIMING}) |
                           (options.blocking_sync ? unsigned{CU_EVENT_BLOCKING_SYNC} : 0U) |
                           (options.interprocess ? unsigned{CU_EVENT_INTERPROCESS} : 0U);
    if (options.interprocess && options.timing) {
        return fail(Errc::invalid_argument,
                    "An event that other processes can open can't have timing.");
    }
    CUevent event = nullptr;
    LODE_TRY(detail::call_in_context(*state_, state_->table().cuEventCreate, &event, flags));
    return Event(UniqueHandle<detail::EventTraits>(event, state_), options.timing);
}

Result<StreamRef> Device::adopt(NativeStream stream) const {
    if (stream == nullptr) {
        return fail(Errc::invalid_argument,
                    "A null stream can't be adopted; Device::default_stream() is the default "
                    "stream.");
    }
    LODE_TRY_ASSIGN(NativeContext own, primary_context());
    NativeContext of_stream = nullptr;
    LODE_TRY(detail::call_in_context(*state_, state_->table().cuStreamGetCtx, stream, &of_stream));
    if (of_stream != own) {
        return fail(Errc::invalid_argument,
                    fmt::format("The stream doesn't belong to the primary context of {}.",
                                state_->describe()));
    }
    return StreamRef(stream, state_->adopted(stream));
}

StreamRef Device::default_stream() const noexcept {
    return StreamRef(nullptr, state_->default_stream);
}

StreamRef Device::per_thread_default_stream() const noexcept {
    return StreamRef(CU_STREAM_PER_THREAD, state_->per_thread_stream);
}

Status Device::sync() const {
    return detail::call_in_context(*state_, state_->table().cuCtxSynchronize);
}

Result<MemoryInfo> Device::memory_info() const {
    MemoryInfo info;
    LODE_TRY(detail::call_in_context(*state_, state_->table().cuMemGetInfo, &info.free_bytes,
                                     &info.total_bytes));
    return info;
}

bool Device::is_lost() const noexcept {
    return state_->is_lost();
}

NativeDevice Device::native() const noexcept {
    return state_->device;
}

Result<NativeContext> Device::primary_context() const {
    return state_->context();
}

}  // namespace LODE_NAMESPACE
