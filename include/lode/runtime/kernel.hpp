/// \file
/// Kernels: typed, verified once at load, launched with minimal overhead.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/launch.hpp>
#include <lode/runtime/launch_path.hpp>
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
#include <type_traits>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// What the driver reports about a loaded kernel on its device (cuKernelGetAttribute).
struct KernelAttributes {
    int registers = 0;                         ///< Per thread.
    std::size_t static_shared_bytes = 0;       ///< Per block.
    std::size_t constant_bytes = 0;            ///< User constants of the module.
    std::size_t local_bytes = 0;               ///< Per thread: spills and arrays.
    int max_threads_per_block = 0;             ///< After registers and launch bounds.
    std::size_t max_dynamic_shared_bytes = 0;  ///< With opt-in: the device's limit minus static.
    int ptx_version = 0;                       ///< Capability of the PTX it came from, e.g. 90.
    int binary_version = 0;                    ///< Capability of the machine code, e.g. 90.
};

/// Occupancy as computed by the driver (Programming Guide 5.2.3.1).
struct Occupancy {
    int blocks_per_multiprocessor = 0;  ///< Resident at once.
    double fraction = 0;  ///< Active warps over the multiprocessor's maximum, 0 … 1.
};

namespace detail {
struct KernelState;

/// The numbers that a pointer points to; unknown for bytes and for what isn't a number.
struct PointeeShape {
    KernelParameter::Kind kind = KernelParameter::Kind::unknown;
    std::size_t size = 0;
    friend bool operator==(const PointeeShape&, const PointeeShape&) = default;
};

/// A C++ parameter type as the verifier sees it.
struct ParameterShape {
    std::size_t size;
    std::size_t align;
    KernelParameter::Kind kind;
    PointeeShape pointee = {};
};

/// Compares a C++ signature with the loaded kernel; signature_mismatch names the first difference.
[[nodiscard]] Status verify_signature(const KernelState& kernel,
                                      std::span<const ParameterShape> parameters);

/// What an argument of a launch is.
enum class ArgumentKind : std::uint8_t {
    value,    ///< Copied; belongs to no device.
    memory,   ///< A buffer or a span.
    texture,  ///< A Texture.
    surface   ///< A Surface.
};

/// The object that one argument of a launch refers to.
struct ArgumentOwner {
    ArgumentKind kind = ArgumentKind::value;
    bool has_address = false;             ///< Whether it has an address or a handle.
    const DeviceState* device = nullptr;  ///< The object's device; null for an empty object.
};

/// Refuses an empty kernel, empty objects, and those of another device than the kernel's; the error
/// names both devices. Accepts memory of zero elements, memory of a peer, objects that another
/// Runtime made on the same device, and spans of no particular device. `owners` has one entry per
/// argument.
[[nodiscard]] Status check_owners(const KernelState& kernel, std::span<const ArgumentOwner> owners);

/// Types that stand for a `T*` in a launch: data() is its value, and owner() the memory's device.
template <class T>
inline constexpr bool is_device_memory = false;
template <class T>
inline constexpr bool is_device_memory<DeviceBuffer<T>> = true;
template <class T>
inline constexpr bool is_device_memory<DeviceSpan<T>> = true;

/// The kind of these types.
template <class T>
inline constexpr ArgumentKind argument_kind = ArgumentKind::memory;

template <class T>
constexpr KernelParameter::Kind parameter_kind() {
    if (std::is_pointer_v<T>) return KernelParameter::Kind::pointer;
    if (std::is_floating_point_v<T>) return KernelParameter::Kind::floating_point;
    if (std::is_integral_v<T> || std::is_enum_v<T>) return KernelParameter::Kind::integer;
    return KernelParameter::Kind::aggregate;
}

template <class T>
constexpr PointeeShape pointee_shape() {
    using Pointee = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (std::is_pointer_v<T> && std::is_arithmetic_v<Pointee>) {
        if (sizeof(Pointee) > 1) return {parameter_kind<Pointee>(), sizeof(Pointee)};
    }
    return {};
}

/// Refuses types that can't be kernel parameters at compile time (Programming Guide E.2.10.3/4).
template <class T>
constexpr bool check_parameter() {
    static_assert(!std::is_reference_v<T>,
                  "a kernel parameter can't be a reference: pass by value or by device pointer");
    static_assert(!is_device_memory<std::remove_cvref_t<T>>,
                  "write T* in the kernel's signature and pass the buffer or span to launch()");
    static_assert(!std::is_polymorphic_v<T>,
                  "a kernel parameter can't have virtual functions: its vtable lives on the host");
    static_assert(std::is_trivially_copyable_v<T>,
                  "a kernel parameter must be trivially copyable: it is copied byte by byte");
    static_assert(!std::is_same_v<std::remove_cv_t<T>, long double>,
                  "long double doesn't exist on the device");
    static_assert(!std::is_member_pointer_v<T>, "a pointer to member has no meaning on the device");
    static_assert(!(std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>),
                  "a host function's address has no meaning on the device");
    return true;
}

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<Result<T>> = true;

/// Says why an argument doesn't convert to the parameter.
template <class Parameter, class Argument>
constexpr void refuse_argument() {
    constexpr bool is_object = std::is_pointer_v<Parameter> && std::is_class_v<Argument>;
    static_assert(!is_result<Argument>,
                  "this argument is a Result: pass its value, after a check or by unwrap()");
    static_assert(!is_object || is_result<Argument>,
                  "this object isn't device memory: for a pointer parameter pass a DeviceBuffer, "
                  "such as device.upload(vector) makes, a DeviceSpan or a device pointer");
    static_assert(is_object || is_result<Argument>,
                  "this argument doesn't convert to the kernel's parameter");
}

/// Converts an argument to the parameter's exact type.
template <class Parameter, class Argument>
Parameter to_parameter(const Argument& argument) {
    if constexpr (is_device_memory<Argument>) {
        static_assert(
            std::is_convertible_v<decltype(argument.data()), Parameter>,
            "the element type of this memory doesn't match the kernel's pointer parameter");
        return argument.data();
    } else if constexpr (!std::is_convertible_v<Argument, Parameter>) {
        refuse_argument<Parameter, Argument>();
        __builtin_unreachable();
    } else {
        static_assert(
            !(std::is_floating_point_v<Argument> && std::is_integral_v<Parameter>),
            "a floating-point argument would be truncated to an integer: convert it explicitly");
        static_assert(!(std::is_same_v<Argument, bool> && std::is_floating_point_v<Parameter>),
                      "a bool passed where the kernel takes a floating-point number");
        return static_cast<Parameter>(argument);
    }
}

/// Whether an argument is memory of another device than `device`, or of none; false for other
/// arguments.
template <class Argument>
[[nodiscard]] bool is_foreign(const Argument& argument, const DeviceState* device) noexcept {
    if constexpr (is_device_memory<Argument>) return argument.owner() != device;
    return false;
}
template <class Argument>
[[nodiscard]] ArgumentOwner owner_of(const Argument& argument) noexcept {
    if constexpr (is_device_memory<Argument>)
        return {argument_kind<Argument>, argument.data() != decltype(argument.data()){},
                argument.owner()};
    return {};
}

/// Holds an argument for the driver, which reads it through a pointer. The converted value is
/// stored here; an argument that already has the parameter's type stays where it is.
template <class Parameter, class Argument>
class ArgumentHolder {
public:
    explicit ArgumentHolder(const Argument& argument) : value_(to_parameter<Parameter>(argument)) {}
    [[nodiscard]] void* address() noexcept {
        return const_cast<void*>(static_cast<const void*>(&value_));
    }

private:
    Parameter value_;
};
template <class Parameter>
class ArgumentHolder<Parameter, std::remove_cv_t<Parameter>> {
public:
    explicit ArgumentHolder(const Parameter& argument) noexcept : value_(&argument) {}
    [[nodiscard]] void* address() noexcept {
        return const_cast<void*>(static_cast<const void*>(value_));
    }

private:
    const Parameter* value_;
};
}  // namespace detail

/// A kernel whose parameter types are known only at run time, made by Device::load() or
/// Library::kernel(). Copies share it; it keeps its library loaded. Thread-safe.
///
/// A default-constructed or moved-from kernel is empty: its names are empty, its attributes are
/// zero, and every call that can fail fails with invalid_argument.
class UntypedKernel {
public:
    /// An empty kernel, to be assigned to.
    UntypedKernel() noexcept;
    /// Shares the kernel.
    UntypedKernel(const UntypedKernel&) noexcept = default;
    /// Leaves `other` empty.
    UntypedKernel(UntypedKernel&& other) noexcept;
    /// Shares the other's kernel.
    UntypedKernel& operator=(const UntypedKernel&) noexcept = default;
    /// Takes over the other's kernel and leaves it empty.
    UntypedKernel& operator=(UntypedKernel&& other) noexcept;
    ~UntypedKernel() = default;

    /// Whether there is a kernel.
    explicit operator bool() const noexcept { return launchable_->device != nullptr; }

    /// The name under which it was looked up, e.g. "scale<float>".
    [[nodiscard]] const std::string& name() const noexcept;
    /// The symbol in the image, e.g. "_Z5scaleIfEvPT_S0_i".
    [[nodiscard]] const std::string& symbol() const noexcept;
    /// Registers, shared memory and limits; read once when the kernel was looked up.
    [[nodiscard]] const KernelAttributes& attributes() const noexcept;
    /// The driver's handle, valid as long as the library is loaded.
    [[nodiscard]] NativeKernel native() const noexcept;

    /// Offset and size of every parameter, from the driver (12.4 and newer) or else from the
    /// image's PTX. Errors: not_supported if neither has them.
    [[nodiscard]] Result<std::vector<ParameterSlot>> parameters() const;

    /// Enqueues one launch and returns. `arguments` has one pointer per parameter, to its value;
    /// the driver copies the values during the call. Their types aren't checked. Errors: those of
    /// Kernel::launch(); invalid_argument for a wrong number of arguments, where the number is
    /// known.
    [[nodiscard]] Status launch(StreamRef stream, const LaunchShape& shape,
                                std::span<void*> arguments) const;

    /// The same with packed arguments. Errors also: invalid_argument unless their count, offsets
    /// and sizes match parameters(), where these are known.
    [[nodiscard]] Status launch(StreamRef stream, const LaunchShape& shape,
                                const PackedArguments& arguments) const {
        if (arguments.fits_.get() != launchable_->number) [[unlikely]] {
            if (Status fits = check_arguments(arguments); !fits) return fits;
        }
        return detail::launch_packed(*launchable_, stream.native(), stream.state(), shape,
                                     arguments.data(), arguments.size_bytes());
    }

    /// Loads the code onto the device now, so that the first launch doesn't have to: loading may
    /// wait for a running kernel. (cuFuncLoad; a driver before 12.4 has loaded it already.)
    [[nodiscard]] Status preload() const;

    /// How many blocks of this size fit on one multiprocessor. Shared memory is in bytes per block.
    /// Errors: invalid_argument for zero threads; out_of_resources for a size above the limits.
    [[nodiscard]] Result<Occupancy> occupancy(std::uint32_t threads_per_block,
                                              std::size_t dynamic_shared_bytes = 0) const;

    /// The block size with the highest occupancy, in threads (cuOccupancyMaxPotentialBlockSize).
    /// Errors: out_of_resources for more shared memory than the kernel can use.
    [[nodiscard]] Result<int> suggest_block_size(std::size_t dynamic_shared_bytes = 0) const;

    /// For lode's own components, not for hosts.
    explicit UntypedKernel(std::shared_ptr<const detail::KernelState> state) noexcept;
    /// For lode's own components, not for hosts.
    [[nodiscard]] const detail::KernelState& state() const noexcept { return *state_; }
    /// For lode's own components, not for hosts.
    [[nodiscard]] const detail::LaunchableKernel& launchable() const noexcept {
        return *launchable_;
    }

private:
    /// Compares packed arguments with the parameters, where these are known, and notes in them that
    /// they fit.
    [[nodiscard]] Status check_arguments(const PackedArguments& arguments) const;

    // Never null: all empty kernels share a state that no launch matches, so launches needn't check
    // for null.
    std::shared_ptr<const detail::KernelState> state_;
    const detail::LaunchableKernel* launchable_;  ///< The state, as far as launches need it.
};

template <class Signature>
class PreparedLaunch;

/// Only `Kernel<void(Parameters...)>` exists.
template <class Signature>
class Kernel {
    static_assert(detail::never<Signature>,
                  "write the kernel's signature as Kernel<void(float, const float*, int)>");
};

/// A kernel with its C++ signature, such as `Kernel<void(float, const float*, int)>`.
///
/// The number of parameters, their sizes and their offsets were compared once with the compiled
/// kernel; if the image has its PTX, so was whether each number is floating-point. Copies share the
/// kernel; it keeps its library loaded. A launch takes no lock, allocates nothing and looks nothing
/// up. Thread-safe. A default-constructed or moved-from kernel is empty, like an empty
/// UntypedKernel.
template <class... Parameters>
class Kernel<void(Parameters...)> {
    static_assert((detail::check_parameter<Parameters>() && ...));

public:
    /// An empty kernel, to be assigned to.
    Kernel() noexcept = default;

    /// Whether there is a kernel.
    explicit operator bool() const noexcept { return static_cast<bool>(untyped_); }

    /// Verifies the signature. Errors: signature_mismatch with the first difference and both
    /// signatures; not_supported if neither the driver nor the PTX gives the parameters;
    /// invalid_argument for an empty kernel.
    [[nodiscard]] static Result<Kernel> from_untyped(UntypedKernel untyped) {
        constexpr std::array<detail::ParameterShape, sizeof...(Parameters)> shapes{
            detail::ParameterShape{sizeof(Parameters), alignof(Parameters),
                                   detail::parameter_kind<Parameters>(),
                                   detail::pointee_shape<Parameters>()}...};
        return detail::verify_signature(untyped.state(), shapes).map([&] {
            return Kernel(std::move(untyped));
        });
    }

    /// Enqueues one launch and returns (cuLaunchKernel; with attributes cuLaunchKernelEx).
    ///
    /// Each argument is converted to its parameter's type and copied; a `DeviceBuffer<T>` or a
    /// `DeviceSpan<T>` is passed where the kernel expects a `T*`, and its memory must outlive the
    /// kernel's run. Errors: invalid_argument and out_of_resources for a shape that the kernel or
    /// the device can't run, with the value and the limit; not_supported for an attribute that the
    /// device lacks; invalid_argument for an empty kernel, and for a stream, buffer or span that is
    /// empty or of another device; device_lost; the driver's own. Errors inside the kernel are
    /// reported by a later sync, or here with LODE_SYNC_LAUNCHES=1.
    template <class... Arguments>
    [[nodiscard]] Status launch(StreamRef stream, const LaunchShape& shape,
                                const Arguments&... arguments) const {
        static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                      "the number of arguments differs from the kernel's signature");
        [[maybe_unused]] const auto* const device = untyped_.launchable().device;
        if ((detail::is_foreign(arguments, device) || ...)) [[unlikely]] {
            if (auto checked = check_foreign(arguments...); !checked) return checked;
        }
        return launch_held(stream, shape,
                           detail::ArgumentHolder<Parameters, Arguments>(arguments)...);
    }

    /// A launch with these arguments that is checked now and repeated at will, at the cost of the
    /// driver's call. Needs <lode/runtime/prepared_launch.hpp>. Errors: those of launch().
    template <class... Arguments>
    [[nodiscard]] Result<PreparedLaunch<void(Parameters...)>> prepare(
        StreamRef stream, const LaunchShape& shape, const Arguments&... arguments) const;

    /// The same kernel without its signature, for all calls except launches.
    [[nodiscard]] const UntypedKernel& untyped() const noexcept { return untyped_; }
    /// The name under which it was looked up.
    [[nodiscard]] const std::string& name() const noexcept { return untyped_.name(); }
    /// UntypedKernel::attributes()
    [[nodiscard]] const KernelAttributes& attributes() const noexcept {
        return untyped_.attributes();
    }
    /// UntypedKernel::native()
    [[nodiscard]] NativeKernel native() const noexcept { return untyped_.native(); }
    /// UntypedKernel::preload()
    [[nodiscard]] Status preload() const { return untyped_.preload(); }
    /// UntypedKernel::occupancy()
    [[nodiscard]] Result<Occupancy> occupancy(std::uint32_t threads_per_block,
                                              std::size_t dynamic_shared_bytes = 0) const {
        return untyped_.occupancy(threads_per_block, dynamic_shared_bytes);
    }
    /// UntypedKernel::suggest_block_size()
    [[nodiscard]] Result<int> suggest_block_size(std::size_t dynamic_shared_bytes = 0) const {
        return untyped_.suggest_block_size(dynamic_shared_bytes);
    }
    /// untyped(), so that functions of <lode/runtime/kernel_occupancy.hpp> take a typed kernel.
    operator const UntypedKernel&() const noexcept {  // NOLINT(google-explicit-constructor)
        return untyped_;
    }

private:
    explicit Kernel(UntypedKernel untyped) noexcept : untyped_(std::move(untyped)) {}

    /// A separate function, so that a launch is small enough to be compiled into its caller.
    template <class... Arguments>
    [[nodiscard, gnu::noinline, gnu::cold]] Status check_foreign(
        const Arguments&... arguments) const {
        const detail::ArgumentOwner owners[] = {detail::owner_of(arguments)..., {}};
        return detail::check_owners(untyped_.state(), owners);
    }

    template <class... Holders>
    [[nodiscard, gnu::always_inline]] Status launch_held(StreamRef stream, const LaunchShape& shape,
                                                         Holders&&... holders) const {
        void* pointers[sizeof...(Parameters) + 1] = {holders.address()..., nullptr};
        return detail::launch_inline(untyped_.launchable(), stream.native(), stream.state(), shape,
                                     pointers, nullptr);
    }

    UntypedKernel untyped_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
