// The error of a system that can't confine a process.
#pragma once

#include "base/file.hpp"

#include <lode/base/error.hpp>

#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace LODE_NAMESPACE::worker {

/// `what` is missing, as the error number says.
inline tl::unexpected<Error> lacks(std::string_view what, int reason) {
    return fail(Errc::not_supported,
                fmt::format("Untrusted source can't be compiled here: the system has no {} ({}).",
                            what, std::generic_category().message(reason)),
                native_from_errno(reason));
}

}  // namespace LODE_NAMESPACE::worker
