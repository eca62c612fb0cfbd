// RequestGate: what a CachedCompiler does passes it, so that others can wait until nothing is done.
#pragma once

#include <lode/base/error.hpp>

#include <atomic>
#include <cstddef>

namespace LODE_NAMESPACE::cache {

/// Counts the work inside and, while it is closed, lets no more in. A thread that is inside passes
/// freely: work may begin other work, and call functions of the program that do. Thread-safe; takes
/// no lock, so that a fork can't leave one locked.
class RequestGate {
public:
    RequestGate() noexcept = default;
    RequestGate(const RequestGate&) = delete;
    RequestGate& operator=(const RequestGate&) = delete;

    /// Lets one piece of work in, on any thread; waits while the gate is closed.
    void enter() noexcept;
    /// The thread that does a piece of work which was let in; the work leaves with the object.
    class Work {
    public:
        explicit Work(RequestGate& gate) noexcept;
        ~Work();
        Work(const Work&) = delete;
        Work& operator=(const Work&) = delete;

    private:
        friend class RequestGate;
        RequestGate& gate_;
        const Work* const outer_;  ///< Work may begin other work on its thread.
    };

    /// Closes the gate and waits for the work inside. Errors: invalid_argument on a thread that is
    /// inside, for which it would wait forever.
    [[nodiscard]] Status close();
    void open() noexcept;
    /// Waits for the work inside.
    void wait_until_empty() const noexcept;
    /// Whether the calling thread is inside.
    [[nodiscard]] bool is_inside() const noexcept;

private:
    void leave() noexcept;

    static thread_local constinit const Work* innermost;
    std::atomic<std::size_t> inside_ = 0;
    std::atomic<bool> is_closed_ = false;
};

}  // namespace LODE_NAMESPACE::cache
