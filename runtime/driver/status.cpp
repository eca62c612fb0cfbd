#include "runtime/driver/status.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

/// What a code means to lode's caller.
struct Meaning {
    CUresult result;
    Errc code;
    std::string_view what;       ///< Completes "<call> fails: …".
    std::string_view cure = {};  ///< Whole sentences; empty when `what` says it all.
};

constexpr std::string_view find_with_sanitizer =
    "Run the program under compute-sanitizer to find the line, or with LODE_SYNC_LAUNCHES=1 to "
    "find the launch.";
constexpr std::string_view update_or_match_compiler =
    "Update the driver, compile with an NVRTC that isn't newer than the driver, or load machine "
    "code for the device.";
constexpr std::string_view check_mps =
    "Check the MPS daemon of this machine, or unset CUDA_MPS_PIPE_DIRECTORY to run without it.";
constexpr std::string_view capture_cure =
    "Do this before the capture begins or after it ends; preload kernels beforehand.";

constexpr Meaning meanings[] = {
    {CUDA_ERROR_INVALID_VALUE, Errc::invalid_argument,
     "an argument is outside the range that the driver accepts"},
    {CUDA_ERROR_OUT_OF_MEMORY, Errc::out_of_memory, "memory is exhausted"},
    {CUDA_ERROR_NOT_INITIALIZED, Errc::driver_failed, "the driver isn't initialised"},
    {CUDA_ERROR_DEINITIALIZED, Errc::driver_failed, "the driver is shutting down with the process"},
    {CUDA_ERROR_STUB_LIBRARY, Errc::driver_missing,
     "the library is the CUDA toolkit's link-time stub, not a driver",
     "Install NVIDIA's driver, and keep the toolkit's stubs folder out of LD_LIBRARY_PATH."},
    {CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, Errc::driver_too_old, "the call needs a newer driver"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, Errc::device_unavailable,
     "the device is busy or refuses another process",
     "See its compute mode and its processes with nvidia-smi."},
    {CUDA_ERROR_NO_DEVICE, Errc::no_device, "no CUDA device is visible",
     "Check nvidia-smi and CUDA_VISIBLE_DEVICES."},
    {CUDA_ERROR_INVALID_DEVICE, Errc::no_device, "the device ordinal isn't valid"},
    {CUDA_ERROR_DEVICE_NOT_LICENSED, Errc::device_unavailable, "the virtual GPU has no licence"},
    {CUDA_ERROR_INVALID_IMAGE, Errc::invalid_image,
     "the driver can't read the code image: it is damaged, or not a cubin, PTX or fatbin"},
    {CUDA_ERROR_INVALID_CONTEXT, Errc::driver_failed,
     "the context isn't valid, or none is current"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, Errc::unsupported_arch,
     "the code image has no machine code and no PTX that this device can run",
     "Compile for the device's own architecture, or keep the PTX in the image."},
    {CUDA_ERROR_ECC_UNCORRECTABLE, Errc::device_lost, "an uncorrectable memory error occurred",
     "Look at nvidia-smi -q -d ECC; the GPU may need a reset or a replacement."},
    {CUDA_ERROR_INVALID_PTX, Errc::link_failed, "the driver can't compile the PTX"},
    {CUDA_ERROR_NVLINK_UNCORRECTABLE, Errc::device_lost, "an uncorrectable NVLink error occurred"},
    {CUDA_ERROR_JIT_COMPILER_NOT_FOUND, Errc::link_failed,
     "the driver's PTX compiler library (libnvidia-ptxjitcompiler) can't be found",
     "Install it with the driver (containers need the 'compute' driver capability), or load "
     "machine code for the device."},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, Errc::driver_too_old,
     "the PTX asks for a newer ISA version than the driver knows", update_or_match_compiler},
    {CUDA_ERROR_JIT_COMPILATION_DISABLED, Errc::link_failed,
     "compiling PTX in the driver is switched off",
     "Unset CUDA_DISABLE_PTX_JIT and CUDA_DISABLE_JIT, or load machine code for the device."},
    {CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, Errc::link_failed,
     "the PTX calls cudaDeviceSynchronize, which devices no longer have"},
    {CUDA_ERROR_CONTAINED, Errc::device_lost,
     "the device contained a hardware error and stopped the process's work"},
    {CUDA_ERROR_INVALID_SOURCE, Errc::invalid_image,
     "the device code isn't valid: the image is damaged, or made for a newer driver",
     update_or_match_compiler},
    {CUDA_ERROR_FILE_NOT_FOUND, Errc::not_found, "a file can't be found"},
    {CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, Errc::link_failed,
     "the code refers to an undefined symbol"},
    {CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, Errc::out_of_memory,
     "loading the code fails; the device's malloc heap or printf buffer may not fit",
     "Free device memory, or set a smaller Limit::malloc_heap before the first load."},
    {CUDA_ERROR_OPERATING_SYSTEM, Errc::driver_failed, "an operating system call fails"},
    {CUDA_ERROR_INVALID_HANDLE, Errc::invalid_argument,
     "a handle isn't valid, or belongs to another context"},
    {CUDA_ERROR_ILLEGAL_STATE, Errc::driver_failed,
     "a resource isn't in the state that the call needs"},
    {CUDA_ERROR_NOT_FOUND, Errc::not_found, "the named thing doesn't exist"},
    {CUDA_ERROR_NOT_READY, Errc::not_ready, "the work isn't finished yet"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, Errc::device_lost,
     "a kernel read or wrote an address that isn't valid", find_with_sanitizer},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, Errc::out_of_resources,
     "the launch needs more registers or other resources than the device has"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, Errc::device_lost,
     "a kernel ran longer than the display watchdog allows",
     "Split the kernel, or run it on a GPU that drives no display."},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, Errc::device_lost,
     "the primary context was destroyed, perhaps by cudaDeviceReset in this process"},
    {CUDA_ERROR_ASSERT, Errc::device_lost, "an assert() in a kernel failed",
     "Its text is on the process's stderr."},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, Errc::device_lost,
     "a kernel corrupted its call stack or overflowed it", find_with_sanitizer},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, Errc::device_lost,
     "a kernel encountered an illegal instruction", find_with_sanitizer},
    {CUDA_ERROR_MISALIGNED_ADDRESS, Errc::device_lost,
     "a kernel accessed an address that isn't aligned to the access's size", find_with_sanitizer},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, Errc::device_lost,
     "a kernel used an address of the wrong memory space", find_with_sanitizer},
    {CUDA_ERROR_INVALID_PC, Errc::device_lost, "a kernel jumped to an address that isn't code",
     find_with_sanitizer},
    {CUDA_ERROR_LAUNCH_FAILED, Errc::device_lost, "a kernel failed while it ran",
     find_with_sanitizer},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, Errc::out_of_resources,
     "the cooperative grid has more blocks than can be resident at once"},
    {CUDA_ERROR_TENSOR_MEMORY_LEAK, Errc::device_lost,
     "a kernel ended without freeing its tensor memory", find_with_sanitizer},
    {CUDA_ERROR_NOT_PERMITTED, Errc::driver_failed,
     "the operation isn't permitted; a host function on a stream must not call CUDA"},
    {CUDA_ERROR_NOT_SUPPORTED, Errc::not_supported,
     "the device or the driver doesn't support this"},
    {CUDA_ERROR_SYSTEM_NOT_READY, Errc::no_device, "the system isn't ready to start GPU work",
     "On NVSwitch machines check that nvidia-fabricmanager runs, and wait until it is ready."},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, Errc::driver_failed,
     "the driver library doesn't match the kernel module that is loaded",
     "Reboot after a driver update, or use the library of the loaded module's version (in a "
     "container: the host's)."},
    {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, Errc::driver_failed,
     "CUDA's forward-compatibility package doesn't support this GPU",
     "Remove the cuda-compat folder from LD_LIBRARY_PATH, or update the driver itself."},
    {CUDA_ERROR_MPS_CONNECTION_FAILED, Errc::device_unavailable,
     "the MPS control daemon can't be reached", check_mps},
    {CUDA_ERROR_MPS_RPC_FAILURE, Errc::device_unavailable, "the MPS server doesn't answer",
     check_mps},
    {CUDA_ERROR_MPS_SERVER_NOT_READY, Errc::device_unavailable,
     "the MPS server isn't ready for new clients", check_mps},
    {CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, Errc::device_unavailable,
     "the MPS server has reached its limit of clients", check_mps},
    {CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, Errc::device_unavailable,
     "the MPS server has reached its limit of connections", check_mps},
    {CUDA_ERROR_MPS_CLIENT_TERMINATED, Errc::device_lost, "the MPS server ended this client"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, Errc::capture_active,
     "the call isn't allowed while a stream is being captured", capture_cure},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, Errc::capture_active,
     "an earlier error invalidated the stream's capture"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, Errc::capture_active,
     "an event would join two captures, which invalidates both"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, Errc::capture_active,
     "the capture began on another stream"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, Errc::capture_active,
     "another stream took part in the capture and wasn't joined",
     "Record an event on that stream, and make the capture's first stream wait for it."},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, Errc::capture_active,
     "captured work can't wait for work outside the capture"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, Errc::capture_active,
     "the default stream can't be used while a blocking stream is being captured", capture_cure},
    {CUDA_ERROR_CAPTURED_EVENT, Errc::capture_active,
     "the event was last recorded in a stream that is being captured"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, Errc::capture_active,
     "another thread's capture forbids the call here", capture_cure},
    {CUDA_ERROR_EXTERNAL_DEVICE, Errc::device_lost,
     "another device that took part in the work failed"},
    {CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, Errc::invalid_argument,
     "the device's multiprocessors can't be split like this"},
    {CUDA_ERROR_INVALID_CLUSTER_SIZE, Errc::out_of_resources,
     "the kernel can't run with this cluster size"},
    // CUDA 13.1 and newer: CUDA_ERROR_INSUFFICIENT_LOADER_VERSION, CUDA_ERROR_STREAM_DETACHED and
    // CUDA_ERROR_FABRIC_NOT_READY.
    {static_cast<CUresult>(227), Errc::driver_too_old,
     "the fat binary needs a newer loader than the driver's", update_or_match_compiler},
    {static_cast<CUresult>(917), Errc::invalid_argument,
     "the green context of the stream has been destroyed"},
    {static_cast<CUresult>(919), Errc::no_device, "the GPU fabric isn't ready",
     "On NVSwitch machines check that nvidia-fabricmanager runs, and wait until it is ready."},
    {CUDA_ERROR_UNKNOWN, Errc::driver_failed, "the driver gives no reason",
     "Look for NVRM or Xid lines in dmesg; if cuInit says this, check the nvidia-uvm module."},
};

std::string words_of(const DriverTable& table, CUresult result) {
    const char* words = nullptr;
    if (!table.cuGetErrorString || table.cuGetErrorString(result, &words) != CUDA_SUCCESS ||
        words == nullptr) {
        return fmt::format("the driver reports code {}", static_cast<int>(result));
    }
    return words;
}

Native native_of(const DriverTable& table, CUresult result) {
    const char* name = nullptr;
    if (!table.cuGetErrorName || table.cuGetErrorName(result, &name) != CUDA_SUCCESS ||
        name == nullptr) {
        name = "an unknown CUresult";
    }
    return Native{Native::Origin::driver, static_cast<int>(result), name};
}

}  // namespace

Error error_of(const DriverTable& table, std::string_view call, CUresult result,
               std::optional<std::string_view> found) {
    const auto* const meaning = std::ranges::find(meanings, result, &Meaning::result);
    Native native = native_of(table, result);
    const std::string what =
        meaning == std::end(meanings) ? words_of(table, result) : std::string(meaning->what);
    const std::string_view cure =
        meaning == std::end(meanings) ? std::string_view() : meaning->cure;
    const std::string_view more = found.value_or(cure);
    return Error{meaning == std::end(meanings) ? Errc::driver_failed : meaning->code,
                 fmt::format("{} fails: {}.{}{}", call, what, more.empty() ? "" : " ", more),
                 std::move(native)};
}

bool is_sticky(CUresult result) noexcept {
    const auto* const meaning = std::ranges::find(meanings, result, &Meaning::result);
    return meaning != std::end(meanings) && meaning->code == Errc::device_lost;
}

}  // namespace LODE_NAMESPACE::detail
