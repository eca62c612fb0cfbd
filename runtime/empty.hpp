// Objects that hold nothing: default-constructed, moved from or released.
#pragma once

#include <lode/base/error.hpp>

#include <string_view>

namespace lode::detail {

/// A value that is never destroyed, so that objects which live to the end may refer to it.
template <class T>
union Permanent {
    constexpr Permanent() noexcept : value() {}
    constexpr ~Permanent() {}  // NOLINT(modernize-use-equals-default): it would be deleted.
    T value;
};

/// "The stream is empty: …", for a call that needs it.
[[nodiscard]] tl::unexpected<Error> fail_empty(std::string_view what);

}  // namespace lode::detail
