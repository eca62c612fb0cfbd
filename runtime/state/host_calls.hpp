// Host functions that wait on a device's streams.
#pragma once

#include "runtime/driver/cuda_abi.hpp"

#include <lode/base/log.hpp>

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>

namespace LODE_NAMESPACE::detail {

class HostCalls;

/// Calls a function of the program; an exception is logged as one of `what`, such as "A host
/// function on a stream", and ignored.
void call_logged(const std::function<void()>& function, const Log& log,
                 std::string_view what) noexcept;

/// A host function that the driver calls once or, after a device error, never.
struct HostCall {
    std::function<void()> function;  ///< Empty once it has begun or was given up.
    HostCalls& owner;

    /// The driver's entry; ends with the call's destruction.
    static void CUDA_CB run(void* argument) noexcept;
};

/// Owns the functions of a device's streams until they have run, so that each is destroyed exactly
/// once even if the driver never calls it. Thread-safe.
class HostCalls {
public:
    explicit HostCalls(Log log) noexcept : log_(std::move(log)) {}
    HostCalls(const HostCalls&) = delete;
    HostCalls& operator=(const HostCalls&) = delete;

    /// The argument for HostCall::run().
    HostCall* add(std::function<void()> function);
    /// Destroys a call that the driver refused to enqueue, or that has run.
    void remove(HostCall* call) noexcept;
    /// Destroys the functions that haven't begun. Their calls stay, because the driver may still
    /// have them.
    void give_up() noexcept;
    [[nodiscard]] bool empty() const noexcept;

private:
    friend struct HostCall;
    /// Takes the function, so that only one of run() and give_up() has it.
    std::function<void()> take(HostCall& call) noexcept;

    Log log_;
    mutable std::mutex mutex_;
    std::list<std::unique_ptr<HostCall>> calls_;
};

}  // namespace LODE_NAMESPACE::detail
