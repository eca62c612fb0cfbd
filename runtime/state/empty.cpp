#include "runtime/state/empty.hpp"

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {

tl::unexpected<Error> fail_empty(std::string_view what) {
    return fail(
        Errc::invalid_argument,
        fmt::format("The {} is empty: it was default-constructed, moved from or released.", what));
}

}  // namespace LODE_NAMESPACE::detail
