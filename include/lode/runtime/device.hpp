// Device: one GPU, its properties, and everything made on it.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
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
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lode {

/// Who may make contexts on the device (Programming Guide 3.4).
enum class ComputeMode : std::uint8_t { shared, prohibited, exclusive_process };

std::string_view to_string(ComputeMode mode) noexcept;

/// Identity and limits of a device, read once.
struct DeviceProperties {
    int ordinal = 0;
    std::string name;
    ComputeCapability cc;
    std::array<std::uint8_t, 16> uuid{};
    std::string pci_id;  ///< "0000:3b:00.0"
    ComputeMode compute_mode = ComputeMode::shared;

    std::size_t total_memory_bytes = 0;
    int multiprocessors = 0;
    int memory_bus_bits = 0;
    std::size_t l2_bytes = 0;
    int async_engines = 0;
    bool ecc = false;
    bool integrated = false;
    bool concurrent_kernels = false;
    bool cooperative_launch = false;
    bool cluster_launch = false;
    bool memory_pools = false;
    bool managed_memory = false;

    int warp_size = 0;
    int max_threads_per_block = 0;
    Dim3 max_block;
    Dim3 max_grid;
    int max_threads_per_multiprocessor = 0;
    int max_blocks_per_multiprocessor = 0;
    int registers_per_block = 0;
    int registers_per_multiprocessor = 0;
    std::size_t shared_bytes_per_block = 0;        ///< Without opt-in: 48 KiB.
    std::size_t shared_bytes_per_block_optin = 0;  ///< The most a kernel can opt in to.
    std::size_t shared_bytes_per_multiprocessor = 0;
    std::size_t reserved_shared_bytes_per_block = 0;

    /// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
    [[nodiscard]] std::string uuid_text() const;
};

/// The highest clocks of a device; 0 where the driver doesn't tell.
struct DeviceClocks {
    int core_khz = 0;
    int memory_khz = 0;
};

/// Bytes per second: memory clock × bus width / 8 × 2 transfers per clock.
/// Source: Best Practices Guide 8.2.1 (1.85 GHz × 384 bit gives 177.6e9). 0 when unknown.
double theoretical_bandwidth(int memory_clock_khz, int memory_bus_bits) noexcept;

/// Device memory now.
struct MemoryInfo {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
};

/// How Device::load compiles and loads.
struct KernelOptions {
    CompileOptions compile = {};
    LoadOptions load = {};
    SuffixPolicy suffix = SuffixPolicy::none;
    std::vector<std::string> name_expressions = {};  ///< Besides the kernel's own name.
};

/// A GPU. Copies share one retained primary context, released with the last object made from the
/// device. Every call leaves the calling thread's current context and its stack as they were.
/// Thread-safe.
class Device {
public:
    [[nodiscard]] int ordinal() const noexcept { return properties().ordinal; }
    [[nodiscard]] const std::string& name() const noexcept { return properties().name; }
    [[nodiscard]] ComputeCapability cc() const noexcept { return properties().cc; }
    [[nodiscard]] const DeviceProperties& properties() const noexcept;
    /// Asked of the driver by every call, and not with the properties: the answer took 0.9 ms on an
    /// H200, a quarter of what lode adds to the start of a process.
    [[nodiscard]] DeviceClocks clocks() const;
    [[nodiscard]] double theoretical_bandwidth() const {
        return lode::theoretical_bandwidth(clocks().memory_khz, properties().memory_bus_bits);
    }

    /// The architecture that this device's code is compiled for, with the reasons.
    [[nodiscard]] Result<Target> target(SuffixPolicy policy = SuffixPolicy::none) const;

    /// Compiles for this device, or takes what the cache has; loads nothing.
    [[nodiscard]] Result<Image> compile(const Source& source,
                                        const KernelOptions& options = {}) const;
    /// The same, shared with the cache, with a report on where it came from.
    [[nodiscard]] Result<CachedImage> compile_cached(const Source& source,
                                                     const KernelOptions& options = {}) const;

    /// Loads compiled code. invalid_image and unsupported_arch name the image, its architecture
    /// and the device; the driver's log is in Error::log.
    [[nodiscard]] Result<Library> load(Image image, const LoadOptions& options = {}) const;

    /// Compiles `source`, loads it and finds the kernel. A cached image that the driver refuses is
    /// dropped and compiled anew. `name` is an extern "C" name or any C++
    /// name at global scope, e.g. "scale<float>".
    [[nodiscard]] Result<UntypedKernel> load(const Source& source, std::string_view name,
                                             const KernelOptions& options = {}) const;

    /// The same with the signature verified: load<void(float, const float*, float*, int)>(…).
    template <class Signature>
    [[nodiscard]] Result<Kernel<Signature>> load(const Source& source, std::string_view name,
                                                 const KernelOptions& options = {}) const {
        return load(source, name, options).and_then([](UntypedKernel untyped) {
            return Kernel<Signature>::from_untyped(std::move(untyped));
        });
    }

    /// Memory for `count` elements; zero is allowed. out_of_memory says what was asked for and
    /// free.
    template <class T>
    [[nodiscard]] Result<DeviceBuffer<T>> alloc(std::size_t count) const {
        return allocate(count, sizeof(T)).map([&](detail::DeviceMemory memory) {
            return DeviceBuffer<T>(std::move(memory), count);
        });
    }
    /// A buffer filled from the host.
    template <class T>
    [[nodiscard]] Result<DeviceBuffer<T>> upload(std::span<const T> values) const {
        return alloc<T>(values.size())
            .and_then([&](DeviceBuffer<T> buffer) -> Result<DeviceBuffer<T>> {
                if (auto done = buffer.copy_from(values); !done)
                    return tl::unexpected(std::move(done).error());
                return buffer;
            });
    }
    template <class T>
    [[nodiscard]] Result<DeviceBuffer<T>> upload(const std::vector<T>& values) const {
        return upload(std::span<const T>(values));
    }
    /// Page-locked host memory for `count` elements.
    template <class T>
    [[nodiscard]] Result<PinnedBuffer<T>> alloc_pinned(std::size_t count) const {
        return allocate_pinned(count, sizeof(T)).map([&](detail::PinnedMemory memory) {
            return PinnedBuffer<T>(std::move(memory), count);
        });
    }

    [[nodiscard]] Result<Stream> create_stream(const StreamOptions& options = {}) const;
    [[nodiscard]] Result<Event> create_event(const EventOptions& options = {}) const;

    /// A view of a stream that the host owns (cudaStream_t works). It must belong to this device's
    /// primary context and outlive the view; nullptr isn't accepted: see default_stream().
    [[nodiscard]] Result<StreamRef> adopt(NativeStream stream) const;
    /// The legacy default stream, which orders itself with every blocking stream. Launches on it
    /// take a slower path: the context must be made current for the call.
    [[nodiscard]] StreamRef default_stream() const noexcept;

    /// Blocks until everything on the device's primary context is done.
    [[nodiscard]] Status sync() const;
    [[nodiscard]] Result<MemoryInfo> memory_info() const;

    /// Whether a sticky error has ended the device for this process.
    [[nodiscard]] bool is_lost() const noexcept;

    [[nodiscard]] NativeDevice native() const noexcept;
    /// The retained primary context, for interop; not made current.
    [[nodiscard]] Result<NativeContext> primary_context() const;

    /// For lode's own rooms.
    explicit Device(std::shared_ptr<detail::DeviceState> state) noexcept
        : state_(std::move(state)) {}
    [[nodiscard]] const std::shared_ptr<detail::DeviceState>& state() const noexcept {
        return state_;
    }

private:
    [[nodiscard]] Result<detail::DeviceMemory> allocate(std::size_t count, std::size_t size) const;
    [[nodiscard]] Result<detail::PinnedMemory> allocate_pinned(std::size_t count,
                                                               std::size_t size) const;

    std::shared_ptr<detail::DeviceState> state_;
};

}  // namespace lode
