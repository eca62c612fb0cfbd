// Streams in calls.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/context/context.hpp"
#include "emulator/driver/gate.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace lode::emulator::driver {

/// A stream and its context, both kept alive.
struct StreamUse {
    std::shared_ptr<Stream> stream;
    std::shared_ptr<Context> context;

    /// Submits work that is skipped if the context has an error.
    void submit(Stream::Work work) const { context->submit_checked(*stream, std::move(work)); }
    /// Waits for a launch, and returns its error, if CUDA_LAUNCH_BLOCKING is 1.
    [[nodiscard]] CUresult wait_if_blocking() const;
};

/// The stream of a handle. A null handle and the two reserved values refer to the current context.
/// Errors: INVALID_HANDLE, INVALID_CONTEXT, CONTEXT_IS_DESTROYED, or the context's error.
CUresult resolve_stream(CUstream handle, DefaultStream null_means, StreamUse& use);
/// The same without checking the context's error, for calls that wait and report it.
CUresult find_stream(CUstream handle, DefaultStream null_means, StreamUse& use);

/// CUDA_SUCCESS, or why a capture of the stream forbids this call.
CUresult allowed_on(const StreamUse& use, const char* symbol) noexcept;

/// enter() with a stream: body(const StreamUse&).
template <class Body>
CUresult enter_stream(const char* symbol, CUstream handle, DefaultStream null_means,
                      Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        StreamUse use;
        if (const CUresult state = resolve_stream(handle, null_means, use); state != CUDA_SUCCESS)
            return state;
        if (const CUresult state = allowed_on(use, symbol); state != CUDA_SUCCESS) return state;
        return body(std::as_const(use));
    });
}

/// Calls a host function of the program. An exception becomes a context error that is reported
/// once, as the device itself isn't affected.
void call_host_function(Context& context, std::string_view entry_point, CUhostFn function,
                        void* user) noexcept;

}  // namespace lode::emulator::driver
