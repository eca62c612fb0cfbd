#include "lode_kernels/matrix.hpp"

#include <limits>

namespace LODE_NAMESPACE::kernels::detail {

Status check_matrices(std::string_view what, const Elements& from, const Elements& to,
                      std::size_t rows, std::size_t columns) {
    constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
    if (rows > most || columns > most) {
        return fail(Errc::invalid_argument,
                    text_of("The matrix of ", what, " has ", rows, " rows and ", columns,
                            " columns, but at most ", most, " of either are possible."));
    }
    auto valid = check_count(text_of("The input of ", what), from.count, rows * columns);
    if (valid) valid = check_count(text_of("The output of ", what), to.count, rows * columns);
    if (valid) valid = check_apart(text_of("The output of ", what), from, to);
    if (valid) valid = check_aligned(text_of("The input of ", what), from);
    if (valid) valid = check_aligned(text_of("The output of ", what), to);
    return valid;
}

}  // namespace LODE_NAMESPACE::kernels::detail
