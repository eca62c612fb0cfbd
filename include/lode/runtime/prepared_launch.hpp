/// \file
/// Prepared launches: a launch that is checked once and repeated many times.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/launch.hpp>
#include <lode/runtime/launch_path.hpp>
#include <lode/runtime/stream.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
/// Deletes a prepared launch's state, but not the one that all empty ones share.
struct PreparedStateDeleter {
    void operator()(PreparedCall* state) const noexcept;
};
using PreparedOwner = std::unique_ptr<PreparedCall, PreparedStateDeleter>;

/// The state of an empty prepared launch.
[[nodiscard]] PreparedOwner empty_prepared() noexcept;

/// Checks everything that a launch checks, and opts in where necessary. `arguments` must outlive
/// the state.
[[nodiscard]] Result<PreparedOwner> prepare_launch(UntypedKernel kernel, StreamRef stream,
                                                   const LaunchShape& shape, void** arguments);

[[nodiscard]] const UntypedKernel& kernel_of(const PreparedCall& prepared) noexcept;
}  // namespace detail

/// Only `PreparedLaunch<void(Parameters...)>` exists.
template <class Signature>
class PreparedLaunch {
    static_assert(detail::never<Signature>,
                  "write the kernel's signature as PreparedLaunch<void(float, const float*, int)>");
};

/// A launch with its kernel, stream, shape and arguments, made by Kernel::prepare(). Limits,
/// attributes and buffers were checked then; launch() only calls the driver.
///
/// Move-only. Keeps the kernel loaded; the stream and the buffers must outlive the last launch's
/// run. launch() is thread-safe; set() isn't, and must not run beside a launch. A
/// default-constructed or moved-from prepared launch is empty: every use of it fails with
/// invalid_argument.
template <class... Parameters>
class PreparedLaunch<void(Parameters...)> {
public:
    /// An empty prepared launch, to be assigned to.
    PreparedLaunch() noexcept : state_(detail::empty_prepared()) {}
    /// Leaves `other` empty.
    PreparedLaunch(PreparedLaunch&& other) noexcept : PreparedLaunch() {
        std::swap(values_, other.values_);
        std::swap(state_, other.state_);
    }
    /// Takes over the other's launch and leaves it empty.
    PreparedLaunch& operator=(PreparedLaunch&& other) noexcept {
        PreparedLaunch taken(std::move(other));
        std::swap(values_, taken.values_);
        std::swap(state_, taken.state_);
        return *this;
    }
    ~PreparedLaunch() = default;

    /// Whether there is a launch.
    explicit operator bool() const noexcept { return values_ != nullptr; }

    /// Enqueues the launch once more and returns. The driver copies the arguments' current values.
    /// Errors: device_lost; invalid_argument for an empty object; the driver's own. Errors inside
    /// the kernel are reported by a later sync, or here with LODE_SYNC_LAUNCHES=1.
    [[nodiscard]] Status launch() const { return detail::launch_prepared(*state_); }

    /// Replaces argument `index`, counted from 0 as a template's, for all later launches; messages
    /// count from 1. It is converted as by Kernel::launch(). Errors: invalid_argument for a buffer
    /// of another device, an empty buffer and an empty prepared launch; the argument is then
    /// unchanged.
    template <std::size_t index, class Argument>
    [[nodiscard]] Status set(const Argument& argument) {
        static_assert(index < sizeof...(Parameters), "the kernel has fewer parameters");
        using Parameter = std::tuple_element_t<index, std::tuple<Parameters...>>;
        const UntypedKernel& kernel = detail::kernel_of(*state_);
        if (values_ == nullptr || detail::is_foreign(argument, kernel.launchable().device))
            [[unlikely]] {
            std::array<detail::ArgumentOwner, sizeof...(Parameters)> owners{};
            owners[index] = detail::owner_of(argument);
            if (auto checked = detail::check_owners(kernel.state(), owners); !checked)
                return checked;
        }
        std::get<index>(values_->values) = detail::to_parameter<Parameter>(argument);
        return {};
    }

    /// The current value of argument `index`; the object must not be empty.
    template <std::size_t index>
    [[nodiscard]] const auto& get() const noexcept {
        return std::get<index>(values_->values);
    }

private:
    friend class Kernel<void(Parameters...)>;

    /// The arguments at their final addresses.
    struct Values {
        template <class... Arguments>
        explicit Values(const Arguments&... arguments)
            : values(detail::to_parameter<Parameters>(arguments)...) {
            std::apply([&](auto&... value) { addresses = {&value..., nullptr}; }, values);
        }
        std::tuple<std::remove_cv_t<Parameters>...> values;
        std::array<void*, sizeof...(Parameters) + 1> addresses{};
    };

    PreparedLaunch(std::unique_ptr<Values> values, detail::PreparedOwner state) noexcept
        : values_(std::move(values)), state_(std::move(state)) {}

    std::unique_ptr<Values> values_;
    detail::PreparedOwner state_;  ///< Never null: empty ones share a state that never launches.
};

template <class... Parameters>
template <class... Arguments>
Result<PreparedLaunch<void(Parameters...)>> Kernel<void(Parameters...)>::prepare(
    StreamRef stream, const LaunchShape& shape, const Arguments&... arguments) const {
    static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                  "the number of arguments differs from the kernel's signature");
    using Prepared = PreparedLaunch<void(Parameters...)>;
    const detail::ArgumentOwner owners[] = {detail::owner_of(arguments)..., {}};
    if (auto checked = detail::check_owners(untyped_.state(), owners); !checked)
        return tl::unexpected<Error>(std::move(checked).error());
    auto values = std::make_unique<typename Prepared::Values>(arguments...);
    return detail::prepare_launch(untyped_, stream, shape, values->addresses.data())
        .map([&](detail::PreparedOwner state) {
            return Prepared(std::move(values), std::move(state));
        });
}

}  // namespace LODE_NAMESPACE

LODE_API_END
