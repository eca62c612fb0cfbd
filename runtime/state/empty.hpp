// Empty objects: default-constructed, moved from or released.
#pragma once

#include <lode/base/error.hpp>

#include <string_view>

namespace LODE_NAMESPACE::detail {

/// A value that is never destroyed, so objects may refer to it until the process ends.
template <class T>
union Permanent {
    constexpr Permanent() noexcept : value() {}
    constexpr ~Permanent() {}  // NOLINT(modernize-use-equals-default): it would be deleted.
    T value;
};

struct StreamState;

/// The state that all empty streams share.
[[nodiscard]] StreamState& empty_stream_state() noexcept;

/// "The stream is empty: …", for a call that needs a non-empty object.
[[nodiscard]] tl::unexpected<Error> fail_empty(std::string_view what);

}  // namespace LODE_NAMESPACE::detail
