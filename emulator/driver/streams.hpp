// Streams as callers name them.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/context.hpp"

#include <memory>
#include <optional>

namespace lode::emulator::driver {

/// A stream with its context, both alive while this is.
struct StreamUse {
    std::shared_ptr<Stream> stream;
    std::shared_ptr<Context> context;

    /// Submits work that is skipped once an error sticks.
    void submit(Stream::Work work) const { context->submit_checked(*stream, std::move(work)); }
};

/// The stream of a handle: a null one and the two reserved values need a current context, others
/// bring theirs. Errors: INVALID_HANDLE, INVALID_CONTEXT, CONTEXT_IS_DESTROYED, or the error that
/// sticks to the context.
CUresult resolve_stream(CUstream handle, DefaultStream null_means, StreamUse& use);
/// The same without a look at the context's error: for calls that wait and tell it.
CUresult find_stream(CUstream handle, DefaultStream null_means, StreamUse& use);

}  // namespace lode::emulator::driver
