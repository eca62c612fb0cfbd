#include "runtime/device_checks.hpp"
#include "runtime/library_state.hpp"

#include <lode/base/environment.hpp>
#include <lode/runtime/device.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lode {

const DeviceProperties& Device::properties() const noexcept {
    return state_->properties;
}

DeviceClocks Device::clocks() const {
    const auto read = [&](CUdevice_attribute attribute) {
        return detail::read_attribute(*state_->driver, state_->device, attribute).value_or(0);
    };
    return {read(CU_DEVICE_ATTRIBUTE_CLOCK_RATE), read(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)};
}

Result<Target> Device::target(SuffixPolicy policy) const {
    LODE_TRY_ASSIGN(const bool force_ptx, environment_flag("LODE_FORCE_PTX"));
    LODE_TRY_ASSIGN(const CompilerInfo compiler, state_->compiler.info());
    return choose_target(
        {.device = cc(),
         .supported = compiler.supported,
         .suffix = policy,
         .tools = {.compiler_version = compiler.version_major * 1000 + compiler.version_minor * 10,
                   .driver_version = state_->driver->version,
                   .force_ptx = force_ptx}});
}

Result<CachedImage> Device::compile_cached(const Source& source,
                                           const KernelOptions& options) const {
    const auto in_compile = [&](Error error) {
        return std::move(error).in(
            fmt::format("compiling {} for {}", source.name(), state_->describe()));
    };
    Arch arch = Arch(cc()).as_virtual();
    if (source.language() == Source::Language::cuda) {
        LODE_TRY_ASSIGN(const Target chosen, target(options.suffix).map_error(in_compile));
        arch = chosen.arch;
    }
    CompileOptions compile = options.compile;
    // Line information costs nothing on the emulator and lets its reports name source lines.
    if (state_->driver->is_emulator()) compile.line_info = true;
    return state_->compiler.compile(source, arch, compile, options.name_expressions)
        .map_error(in_compile);
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

Result<UntypedKernel> Device::load(const Source& source, std::string_view name,
                                   const KernelOptions& options) const {
    KernelOptions with_name = options;
    auto& names = with_name.name_expressions;
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
    LODE_TRY_ASSIGN(CachedImage cached, compile_cached(source, with_name));
    auto library = load(cached.image, options.load);
    if (!library && library.error().code == Errc::invalid_image && cached.report.hit()) {
        state_->compiler.discard(cached);
        LODE_TRY_ASSIGN(cached, compile_cached(source, with_name));
        library = load(cached.image, options.load);
    }
    return library.and_then([&](const Library& loaded) { return loaded.kernel(name); });
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

}  // namespace lode
