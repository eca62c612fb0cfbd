/// \file
/// Device: one GPU, its properties, and the objects made on it.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/base/pending.hpp>
#include <lode/jit/cache.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/launch.hpp>
#include <lode/runtime/library.hpp>
#include <lode/runtime/memory.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/stream.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Which processes may create contexts on the device (Programming Guide 3.4).
enum class ComputeMode : std::uint8_t {
    shared,            ///< Any number of processes.
    prohibited,        ///< No process; Runtime::device() fails with device_unavailable.
    exclusive_process  ///< One process at a time.
};

/// The enumerator's own spelling, such as "exclusive_process".
std::string_view to_string(ComputeMode mode) noexcept;

/// Identity and limits of a device, read once when the device is opened (cuDeviceGetAttribute).
struct DeviceProperties {
    int ordinal = 0;                                 ///< The index in the driver's order, from 0.
    std::string name;                                ///< The model, e.g. "NVIDIA H200".
    ComputeCapability cc;                            ///< The compute capability.
    std::array<std::uint8_t, 16> uuid{};             ///< uuid_text() formats it as nvidia-smi does.
    std::string pci_id;                              ///< "0000:3b:00.0"
    ComputeMode compute_mode = ComputeMode::shared;  ///< Which processes may create contexts.

    std::size_t total_memory_bytes = 0;   ///< Device memory.
    int multiprocessors = 0;              ///< Streaming multiprocessors (SMs).
    int memory_bus_bits = 0;              ///< Width of the memory bus.
    std::size_t l2_bytes = 0;             ///< L2 cache.
    int async_engines = 0;                ///< Engines that copy while kernels run.
    bool ecc = false;                     ///< Error correction is on.
    bool integrated = false;              ///< The device shares physical memory with the host.
    bool concurrent_kernels = false;      ///< Kernels of several streams can run at once.
    bool cooperative_launch = false;      ///< LaunchShape::cooperative is supported.
    bool cluster_launch = false;          ///< LaunchShape::cluster is supported.
    bool memory_pools = false;            ///< cuMemAllocAsync is supported.
    bool managed_memory = false;          ///< cuMemAllocManaged is supported.
    std::size_t persisting_l2_bytes = 0;  ///< The most L2 cache that can be set aside (Limit).
    std::size_t access_policy_window_bytes = 0;  ///< The largest AccessPolicyWindow.
    int memory_sync_domains = 1;                 ///< See MemorySyncDomainMap.

    int warp_size = 0;                             ///< Threads.
    int max_threads_per_block = 0;                 ///< For any kernel; see KernelAttributes too.
    Dim3 max_block;                                ///< The most threads in each extent of a block.
    Dim3 max_grid;                                 ///< The most blocks in each extent of a grid.
    int max_threads_per_multiprocessor = 0;        ///< Resident at once.
    int max_blocks_per_multiprocessor = 0;         ///< Resident at once.
    int registers_per_block = 0;                   ///< 32-bit registers.
    int registers_per_multiprocessor = 0;          ///< 32-bit registers.
    std::size_t shared_bytes_per_block = 0;        ///< Without opt-in: 48 KiB.
    std::size_t shared_bytes_per_block_optin = 0;  ///< The maximum with opt-in.
    std::size_t shared_bytes_per_multiprocessor = 0;  ///< For all resident blocks together.
    std::size_t reserved_shared_bytes_per_block = 0;  ///< Reserved by the driver in every block.

    /// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
    [[nodiscard]] std::string uuid_text() const;
};

/// The highest clocks of a device in kHz; 0 if the driver doesn't report them.
struct DeviceClocks {
    int core_khz = 0;    ///< Clock of the multiprocessors.
    int memory_khz = 0;  ///< Clock of the memory.
};

/// Peak memory bandwidth in bytes per second: memory clock × bus width / 8 × 2 transfers per clock.
/// 0 when either is 0. (Best Practices Guide 8.2.1: 1.85 GHz × 384 bit gives 177.6e9.)
double theoretical_bandwidth(int memory_clock_khz, int memory_bus_bits) noexcept;

/// Device memory at the time of the call (cuMemGetInfo).
struct MemoryInfo {
    std::size_t free_bytes = 0;   ///< Available for allocation.
    std::size_t total_bytes = 0;  ///< All of the device's memory.
};

/// How Device::load compiles and loads.
struct KernelOptions {
    CompileOptions compile = {};                     ///< For the compiler.
    LoadOptions load = {};                           ///< For the driver.
    SuffixPolicy suffix = SuffixPolicy::none;        ///< Which "a" or "f" target to prefer.
    std::vector<std::string> name_expressions = {};  ///< Besides the kernel's own name.
    CompileLimits limits = {};                       ///< What a compilation may take.

    /// Compares every member.
    friend bool operator==(const KernelOptions&, const KernelOptions&) = default;
};

/// The name expressions with which Device::load() first compiles a source for a kernel of this
/// name: the name of a template's instance, none for others. A program that fills a cache needs the
/// same.
[[nodiscard]] std::vector<std::string> name_expressions_for(std::string_view kernel);

/// A GPU, made by Runtime::device(). Thread-safe.
///
/// Copies share one primary context. The first call that needs it retains it; the last object made
/// from the device waits for all work in it, if code was loaded, and releases it. Every call leaves
/// the calling thread's current context and context stack unchanged. After a sticky error, such as
/// an illegal address in a kernel, every driver call fails with device_lost until the process is
/// restarted.
class Device {
public:
    /// The index in the driver's order, from 0.
    [[nodiscard]] int ordinal() const noexcept { return properties().ordinal; }
    /// The model, e.g. "NVIDIA H200".
    [[nodiscard]] const std::string& name() const noexcept { return properties().name; }
    /// The compute capability.
    [[nodiscard]] ComputeCapability cc() const noexcept { return properties().cc; }
    /// The properties read when the device was opened; valid as long as the device.
    [[nodiscard]] const DeviceProperties& properties() const noexcept;
    /// The highest clocks. Every call queries the driver, since reading them when the device is
    /// opened would slow the start of every process (0.9 ms on an H200).
    [[nodiscard]] DeviceClocks clocks() const;
    /// Peak memory bandwidth in bytes per second; 0 when the driver doesn't report the clock. Calls
    /// clocks().
    [[nodiscard]] double theoretical_bandwidth() const {
        return lode::theoretical_bandwidth(clocks().memory_khz, properties().memory_bus_bits);
    }

    /// The architecture for which a language's compiler compiles on this device, with the reasons.
    /// Errors: unsupported_arch; compiler_missing; invalid_argument for a wrong LODE_FORCE_PTX.
    [[nodiscard]] Result<Target> target(SuffixPolicy policy = SuffixPolicy::none,
                                        Source::Language language = Source::Language::cuda) const;

    /// Compiles for this device or returns the result from the cache; loads nothing.
    /// Errors: those of target() and CachedCompiler::compile().
    [[nodiscard]] Result<Image> compile(const Source& source,
                                        const KernelOptions& options = {}) const;
    /// The same without a copy: the image is shared with the cache. The report says where it came
    /// from.
    [[nodiscard]] Result<CachedImage> compile_cached(const Source& source,
                                                     const KernelOptions& options = {}) const;

    /// Loads compiled code now, so that errors of the driver's compiler occur here and not at a
    /// launch.
    ///
    /// A cubin that runs on the device is tried first and the PTX next, unless
    /// LoadOptions::prefer_ptx or LODE_FORCE_PTX is set; the software device runs only PTX. PTX
    /// that is too new for the driver is linked with nvJitLink if that is installed. Errors:
    /// unsupported_arch; invalid_image; link_failed; driver_too_old; invalid_argument for options
    /// out of range. The message names the image, its architecture and the device; the driver's log
    /// is in Error::log.
    [[nodiscard]] Result<Library> load(Image image, const LoadOptions& options = {}) const;
    /// The same without a copy: the library shares the image, such as CachedImage::image. Errors:
    /// also invalid_argument for nullptr.
    [[nodiscard]] Result<Library> load(std::shared_ptr<const Image> image,
                                       const LoadOptions& options = {}) const;

    /// The code of an image that load() gives the driver first: machine code, or PTX with its final
    /// NUL. It is for a host that loads into a context of its own (cuModuleLoadData), and makes no
    /// context. Valid as long as the image. Errors: unsupported_arch; invalid_image.
    [[nodiscard]] Result<std::span<const std::byte>> code_for_driver(const Image& image) const;

    /// Compiles `source`, loads it and finds the kernel. `name` is an extern "C" name or any C++
    /// name at global scope, such as `scale<float>`. A cached image that the driver refuses is
    /// dropped and compiled again.
    ///
    /// The kernels of one source, loaded with the same options, share one compilation and one
    /// loaded image, and so its variables; each template instance is a compilation of its own
    /// unless all are in KernelOptions::name_expressions. A kernel that is already loaded is
    /// returned from memory, after the source and its headers were found unchanged. If the context
    /// isn't retained yet, another thread retains it during the compilation. Errors: those of
    /// compile(), of loading, and of Library::kernel().
    [[nodiscard]] Result<UntypedKernel> load(const Source& source, std::string_view name,
                                             const KernelOptions& options = {}) const;

    /// The same with the signature verified: `load<void(float, const float*, float*, int)>(…)`.
    /// Errors also: signature_mismatch; not_supported if neither driver nor PTX gives the
    /// parameters.
    template <class Signature>
    [[nodiscard]] Result<Kernel<Signature>> load(const Source& source, std::string_view name,
                                                 const KernelOptions& options = {}) const {
        return load(source, name, options).and_then([](UntypedKernel untyped) {
            return Kernel<Signature>::from_untyped(std::move(untyped));
        });
    }

    /// The same without blocking: compiles in a worker if there is one (WorkerOptions), and loads
    /// on another thread. Dropping the last copy of the device, the runtime and the Pending
    /// cancels; a load that another thread is just finishing then ends by itself. Errors: also
    /// cancelled.
    [[nodiscard]] Pending<UntypedKernel> load_async(Source source, std::string name,
                                                    KernelOptions options = {}) const;
    /// The same with the signature verified.
    template <class Signature>
    [[nodiscard]] Pending<Kernel<Signature>> load_async(Source source, std::string name,
                                                        KernelOptions options = {}) const {
        return load_async(std::move(source), std::move(name), std::move(options))
            .then([](const UntypedKernel& untyped) {
                return Kernel<Signature>::from_untyped(untyped);
            });
    }

    /// Device memory for `count` elements of T, with undefined content (cuMemAlloc). Zero elements
    /// are allowed and allocate nothing. Errors: out_of_memory with the requested and the free
    /// size.
    template <class T>
    [[nodiscard]] Result<DeviceBuffer<T>> alloc(std::size_t count) const {
        return allocate(count, sizeof(T)).map([&](detail::DeviceMemory memory) {
            return DeviceBuffer<T>(std::move(memory), count);
        });
    }
    /// A buffer with a copy of `values`. Waits as DeviceBuffer::copy_from() does.
    /// Errors: those of alloc() and of the copy.
    template <class T>
    [[nodiscard]] Result<DeviceBuffer<T>> upload(std::span<const T> values) const {
        return alloc<T>(values.size())
            .and_then([&](DeviceBuffer<T> buffer) -> Result<DeviceBuffer<T>> {
                if (auto done = buffer.copy_from(values); !done)
                    return tl::unexpected(std::move(done).error());
                return buffer;
            });
    }
    /// The same for any contiguous range in host memory: an array, a vector, a span, a
    /// PinnedBuffer, a C array, const or not.
    template <detail::HostRange Range>
    [[nodiscard]] Result<DeviceBuffer<detail::HostElement<Range>>> upload(Range&& values) const {
        return upload(std::span<const detail::HostElement<Range>>(std::ranges::data(values),
                                                                  std::ranges::size(values)));
    }
    /// The same for a list: `upload({1.0F, 2.0F})`.
    template <class T>
    [[nodiscard]] Result<DeviceBuffer<T>> upload(std::initializer_list<T> values) const {
        return upload(std::span<const T>(values.begin(), values.size()));
    }
    /// The same for a std::vector<bool>, which packs bits: the buffer has one byte per element.
    template <std::same_as<std::vector<bool>> Bits>
    [[nodiscard]] Result<DeviceBuffer<bool>> upload(const Bits& values) const {
        const auto bytes = std::make_unique<bool[]>(values.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            bytes[i] = values[i];
        return upload(std::span<const bool>(bytes.get(), values.size()));
    }
    /// Page-locked host memory for `count` elements of T, with undefined content (cuMemHostAlloc,
    /// portable to every context). Zero elements are allowed. Errors: out_of_memory.
    template <class T>
    [[nodiscard]] Result<PinnedBuffer<T>> alloc_pinned(std::size_t count) const {
        return allocate_pinned(count, sizeof(T)).map([&](detail::PinnedMemory memory) {
            return PinnedBuffer<T>(std::move(memory), count);
        });
    }

    /// A new stream (cuStreamCreateWithPriority).
    [[nodiscard]] Result<Stream> create_stream(const StreamOptions& options = {}) const;
    /// A new event (cuEventCreate).
    [[nodiscard]] Result<Event> create_event(const EventOptions& options = {}) const;

    /// A view of a stream that the host owns, for example a cudaStream_t. The stream must belong to
    /// this device's primary context and outlive the view. Errors: invalid_argument for a stream of
    /// another context and for nullptr, for which there is default_stream().
    [[nodiscard]] Result<StreamRef> adopt(NativeStream stream) const;
    /// The legacy default stream, which is ordered with every blocking stream. Launches on it are
    /// slower, because the context must be made current for each. The view is valid as long as the
    /// device.
    [[nodiscard]] StreamRef default_stream() const noexcept;
    /// The default stream of the thread that uses the view (CU_STREAM_PER_THREAD), ordered with the
    /// legacy default stream. Launches on it are slower for the same reason.
    [[nodiscard]] StreamRef per_thread_default_stream() const noexcept;

    /// Blocks until all work in the device's primary context is done (cuCtxSynchronize).
    /// Errors: device_lost when a kernel failed.
    [[nodiscard]] Status sync() const;
    /// Free and total device memory now.
    [[nodiscard]] Result<MemoryInfo> memory_info() const;

    /// Whether a sticky error has made the device unusable in this process, or a reset by other
    /// code has destroyed all that was made on it.
    [[nodiscard]] bool is_lost() const noexcept;

    /// The driver's handle.
    [[nodiscard]] NativeDevice native() const noexcept;
    /// The primary context, for interop: retained if needed, not made current. Valid as long as the
    /// device. Errors: device_unavailable; out_of_memory; the driver's own.
    [[nodiscard]] Result<NativeContext> primary_context() const;

    /// For lode's own components, not for hosts.
    explicit Device(std::shared_ptr<detail::DeviceState> state) noexcept
        : state_(std::move(state)) {}
    /// For lode's own components, not for hosts.
    [[nodiscard]] const std::shared_ptr<detail::DeviceState>& state() const noexcept {
        return state_;
    }

private:
    [[nodiscard]] Result<detail::DeviceMemory> allocate(std::size_t count, std::size_t size) const;
    [[nodiscard]] Result<detail::PinnedMemory> allocate_pinned(std::size_t count,
                                                               std::size_t size) const;

    std::shared_ptr<detail::DeviceState> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
