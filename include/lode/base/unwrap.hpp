/// \file
/// For hosts that prefer exceptions: unwrap(result) returns the value or throws lode::Exception.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <stdexcept>
#include <type_traits>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// An Error as an exception; `what()` is Error::describe().
class Exception : public std::runtime_error {
public:
    /// Stores the error.
    explicit Exception(Error error)
        : std::runtime_error(error.describe()), error_(std::move(error)) {}
    /// The error as the failed function returned it.
    [[nodiscard]] const Error& error() const noexcept { return error_; }

private:
    Error error_;
};

/// The value of `result`; throws Exception when it holds an error.
template <class T>
T unwrap(Result<T> result) {
    if (!result) throw Exception(std::move(result).error());
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace LODE_NAMESPACE

LODE_API_END
