/// \file
/// Errors: how lode reports failures.
///
/// Every fallible function returns `Result<T>`. The library never throws, prints or exits because
/// of a failure; hosts that prefer exceptions include `<lode/base/unwrap.hpp>`.
#pragma once

#include <lode/base/api.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// What went wrong, classified by what the caller can do next. docs/errors.md lists cause and cure.
/// Values start at 1 so that a zero-initialised code is never a valid error.
enum class Errc : std::uint8_t {
    driver_missing = 1,  ///< No CUDA driver library could be opened.
    driver_too_old,      ///< The driver lacks an entry point or version that the call needs.
    no_device,           ///< The driver works but reports no usable device.
    device_unavailable,  ///< The device exists but refuses contexts (compute mode, in use).
    device_lost,         ///< A sticky error ended the device's context; restart the process.
    compiler_missing,    ///< No NVRTC, or for IR no libNVVM or libLLVM, could be opened.
    compiler_too_old,    ///< NVRTC lacks a feature that the options need.
    compile_failed,      ///< The source doesn't compile; the log is in Error::log.
    link_failed,         ///< Device linking or driver JIT failed; the log is in Error::log.
    unsupported_arch,    ///< No target works for the device with this compiler and driver.
    invalid_image,       ///< The bytes aren't a complete cubin or PTX, or the driver refuses them.
    invalid_argument,    ///< The caller passed a value outside its documented range.
    signature_mismatch,  ///< The C++ kernel signature disagrees with the compiled kernel.
    not_found,           ///< The file, kernel, global or device of that name doesn't exist.
    file_failed,         ///< The operating system refused a file operation.
    out_of_memory,       ///< Host or device memory is exhausted.
    out_of_resources,    ///< A launch needs more than the device has.
    not_ready,           ///< The work isn't finished yet; not a fault.
    not_supported,       ///< The device or driver doesn't offer this feature.
    capture_active,      ///< The call isn't allowed while a stream is being captured.
    process_forked,      ///< CUDA was initialised before fork(); the child can't use it.
    driver_failed,       ///< Any other driver error; Error::native has the code.
    compiler_failed,     ///< Any other compiler error; Error::native has the code.
    timed_out,           ///< A compilation took longer than its limit.
    cancelled,           ///< The caller gave the request up, or closed what it needs.
};

/// The enumerator's own spelling, such as "driver_missing".
std::string_view to_string(Errc code) noexcept;

/// The code that the layer below reported, if one did.
struct Native {
    /// The source of the code.
    enum class Origin : std::uint8_t {
        none,       ///< lode found the failure itself.
        driver,     ///< The CUDA driver.
        nvrtc,      ///< The run-time compiler.
        nvjitlink,  ///< The device linker.
        nvvm,       ///< The compiler of NVVM IR.
        system      ///< The operating system.
    };

    Origin origin = Origin::none;  ///< The source of the code.
    int code = 0;                  ///< CUresult, nvrtcResult, nvJitLinkResult, nvvmResult or errno.
    std::string name;              ///< The code's symbolic name, e.g. "CUDA_ERROR_INVALID_VALUE".

    /// Compares every member.
    friend bool operator==(const Native&, const Native&) = default;
};

/// One failure: a code for programs, a sentence for people, and where it came from. A plain value.
struct Error {
    Errc code;             ///< What the caller can do next.
    std::string message;   ///< Full present-tense sentences; later lines say "while doing X".
    Native native = {};    ///< The code of the layer below, if it reported the failure.
    std::string log = {};  ///< The complete text of the compiler or linker; empty if there is none.

    /// Adds one line "while `doing`" to the message: `in("loading reduce")`.
    Error&& in(std::string_view doing) &&;
    /// The same for a named error object.
    Error& in(std::string_view doing) &;

    /// Code, message, native code and log as one text.
    [[nodiscard]] std::string describe() const;
};

/// A value or an Error; see `tl::expected` for its interface.
template <class T>
using Result = tl::expected<T, Error>;

/// Success or an Error.
using Status = tl::expected<void, Error>;

/// The successful Status, for calls that take nanoseconds: it writes only the flag, while a Status
/// made of `{}` first zeroes the storage of an Error.
[[nodiscard]] inline Status success() noexcept {
    Status status;
    return Status(std::move(status));
}

/// Makes an error for any Result: `return fail(Errc::not_found, "…");`
inline tl::unexpected<Error> fail(Errc code, std::string message, Native native = {},
                                  std::string log = {}) {
    return tl::unexpected<Error>(
        Error{code, std::move(message), std::move(native), std::move(log)});
}

}  // namespace LODE_NAMESPACE

LODE_API_END
