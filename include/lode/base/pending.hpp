/// \file
/// Pending: a result that another thread is making.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Runs a function, now or later, on any thread: a host's own thread pool, for example. A task may
/// block for as long as a compilation takes.
using Executor = std::function<void(std::function<void()>)>;

template <class T>
class Pending;

namespace detail {

/// What copies of a Pending share with the code that makes the result, whatever its type is.
/// Thread-safe.
class PendingCore {
public:
    using Function = std::function<void()>;

    PendingCore(const PendingCore&) = delete;
    PendingCore& operator=(const PendingCore&) = delete;

    /// Calls `on_cancel`, instead of an earlier one, when cancel() is called before the result is
    /// there; now if it was called.
    void on_cancel(Function on_cancel);

    [[nodiscard]] bool is_done() const;
    /// Whether cancel() was called before the result was there.
    [[nodiscard]] bool is_cancelled() const;
    void wait() const;
    [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point time) const;

protected:
    PendingCore();
    ~PendingCore();

    /// Calls `store` with the lock, then runs the continuations; does nothing if there is a result.
    void complete(const Function& store);
    /// Calls `continuation`: now if there is a result, else on the thread that completes.
    void on_done(Function continuation);
    /// Calls on_cancel's function. Returns whether there is no result yet.
    [[nodiscard]] bool request_cancel();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The same with the result.
template <class T>
class PendingState : public PendingCore {
public:
    /// Stores the result and runs the continuations; does nothing if there is a result already.
    void complete(Result<T> result) {
        PendingCore::complete([&] { result_.emplace(std::move(result)); });
    }

    /// Calls `continuation` with the result: now if there is one, else on the thread that
    /// completes.
    void on_done(std::function<void(const Result<T>&)> continuation) {
        PendingCore::on_done(
            [this, continuation = std::move(continuation)] { continuation(*result_); });
    }

    void cancel() {
        if (request_cancel()) complete(fail(Errc::cancelled, "The request was cancelled."));
    }

    /// Blocks until the result is there, which is immutable then.
    [[nodiscard]] const Result<T>& get() const {
        wait();
        return *result_;
    }

private:
    std::optional<Result<T>> result_;
};

/// What a continuation's return type makes pending: `U` for `U`, `Result<U>` and `Pending<U>`.
template <class Returned>
struct PendingValue {
    using Type = Returned;
};
template <class U>
struct PendingValue<Result<U>> {
    using Type = U;
};
template <class U>
struct PendingValue<Pending<U>> {
    using Type = U;
};

template <class F, class T>
struct ContinuationResult {
    using Type = std::invoke_result_t<F&, const T&>;
};
template <class F>
struct ContinuationResult<F, void> {
    using Type = std::invoke_result_t<F&>;
};

}  // namespace detail

/// A result that will be there later: made by Device::load_async() and CachedCompiler's
/// compile_async(). Copies share it; thread-safe.
///
/// It keeps alive what its work needs, so the device may be dropped before the kernel is loaded.
/// Dropping the last copy doesn't cancel: the work goes on as long as something else keeps the
/// device or the compiler, and its result enters the cache. A default-constructed or moved-from
/// Pending is empty: it is ready, and get() fails with invalid_argument.
///
/// For a moment after get() has returned, the thread that made the result may still share the
/// kernel and the device: then that thread, not the caller's, unloads what the caller drops.
template <class T>
class Pending {
public:
    /// The type of the result.
    using Value = T;

    /// An empty one, to be assigned to.
    Pending() noexcept = default;
    /// A result that is there already.
    explicit Pending(Result<T> result) : state_(std::make_shared<detail::PendingState<T>>()) {
        state_->complete(std::move(result));
    }
    /// For lode's own components, not for hosts. `keeps` lives as long as the copies.
    explicit Pending(std::shared_ptr<detail::PendingState<T>> state,
                     std::shared_ptr<const void> keeps = nullptr) noexcept
        : state_(std::move(state)), keeps_(std::move(keeps)) {}

    /// Whether it stands for a result.
    explicit operator bool() const noexcept { return state_ != nullptr; }

    /// Whether get() returns at once.
    [[nodiscard]] bool ready() const { return state_ == nullptr || state_->is_done(); }

    /// Blocks until the result is there.
    void wait() const {
        if (state_ != nullptr) state_->wait();
    }
    /// Blocks until the result is there or the time has passed; returns ready().
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& time) const {
        using Clock = std::chrono::steady_clock;
        // Sums with extreme durations overflow.
        const std::chrono::duration<double> seconds(time);
        if (seconds.count() <= 0) return ready();
        if (seconds > std::chrono::hours(24 * 365)) {
            wait();
            return true;
        }
        return wait_until(Clock::now() + std::chrono::ceil<Clock::duration>(time));
    }
    /// The same until a point in time.
    [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point time) const {
        return state_ == nullptr || state_->wait_until(time);
    }

    /// Blocks until the result is there and returns a copy of it. Can be called again. Errors:
    /// those of the work; cancelled.
    [[nodiscard]] Result<T> get() const {
        if (state_ == nullptr) {
            return fail(Errc::invalid_argument,
                        "The Pending is empty: it was default-constructed or moved from.");
        }
        return state_->get();
    }

    /// Gives the request up: get() fails with `cancelled` from now on, unless the result is there
    /// already. A compilation in a worker is ended within 50 ms, one in this process when NVRTC
    /// calls back next, which it rarely does; unless another request waits for the same one.
    void cancel() const {
        // A copy: a continuation may assign to this object.
        if (const auto state = state_) state->cancel();
    }

    /// For lode's own components, not for hosts: cancels, and keeps nothing alive meanwhile.
    [[nodiscard]] std::function<void()> canceller() const {
        return [state = state_] {
            if (state != nullptr) state->cancel();
        };
    }

    /// Calls `function` with the value (with nothing for `Pending<void>`) once it is there, and
    /// returns a Pending for what that returns: `U`, `Result<U>` or `Pending<U>`. An error skips
    /// the function and becomes the returned Pending's. Cancelling that cancels this one too.
    ///
    /// The function runs on the thread that makes the result, or here if it is there already. It
    /// must not throw; a long one delays other requests.
    template <class F>
    auto then(F function) const {
        using Returned = typename detail::ContinuationResult<F, T>::Type;
        using U = typename detail::PendingValue<Returned>::Type;
        auto made = std::make_shared<detail::PendingState<U>>();
        if (state_ == nullptr) {
            made->complete(tl::unexpected<Error>(std::move(get()).error()));
            return Pending<U>(std::move(made));
        }
        // Weak: they would keep each other if the result never comes.
        made->on_cancel([weak = std::weak_ptr(state_)] {
            if (const auto before = weak.lock()) before->cancel();
        });
        Pending<U> after(made, keeps_);
        const auto state = state_;  // A continuation may assign to this object.
        state->on_done(
            [made, function = std::make_shared<F>(std::move(function))](const Result<T>& result) {
                if (!result) {
                    made->complete(tl::unexpected<Error>(result.error()));
                    return;
                }
                if (made->is_done()) return;  // Cancelled.
                const auto call = [&]() -> Returned {
                    if constexpr (std::is_void_v<T>) {
                        return (*function)();
                    } else {
                        return (*function)(*result);
                    }
                };
                if constexpr (std::is_same_v<Returned, Pending<U>>) {
                    const Pending<U> next = call();
                    made->on_cancel([next] { next.cancel(); });
                    // `next` keeps alive what its work needs.
                    next.on_done([made, next](const Result<U>& value) { made->complete(value); });
                } else if constexpr (std::is_void_v<Returned>) {
                    call();
                    made->complete({});
                } else {
                    made->complete(call());
                }
            });
        return after;
    }

    /// Calls `function` with the result, value or error, once it is there: on the thread that makes
    /// it, or here if it is there already. It must not throw.
    void on_done(std::function<void(const Result<T>&)> function) const {
        // A copy: the function may assign to this object.
        if (const auto state = state_) {
            state->on_done(std::move(function));
        } else {
            function(get());
        }
    }

private:
    std::shared_ptr<detail::PendingState<T>> state_;
    std::shared_ptr<const void> keeps_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
