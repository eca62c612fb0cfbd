// Streams in calls.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/context.hpp"

#include <memory>
#include <optional>

namespace lode::emulator::driver {

/// A stream and its context, both kept alive.
struct StreamUse {
    std::shared_ptr<Stream> stream;
    std::shared_ptr<Context> context;

    /// Submits work that is skipped if the context has an error.
    void submit(Stream::Work work) const { context->submit_checked(*stream, std::move(work)); }
};

/// The stream of a handle. A null handle and the two reserved values refer to the current context.
/// Errors: INVALID_HANDLE, INVALID_CONTEXT, CONTEXT_IS_DESTROYED, or the context's error.
CUresult resolve_stream(CUstream handle, DefaultStream null_means, StreamUse& use);
/// The same without checking the context's error, for calls that wait and report it.
CUresult find_stream(CUstream handle, DefaultStream null_means, StreamUse& use);

}  // namespace lode::emulator::driver
