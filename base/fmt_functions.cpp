// The functions of {fmt} that lode calls and that are not in fmt's headers alone. As parts of lode,
// they keep programs from loading libfmt, and with libfmt a second libstdc++ where the program has
// its own, which takes longer than the rest of a program's start. A function that is missing here,
// as in another version of {fmt}, comes from libfmt.
#undef FMT_SHARED
// NOLINTNEXTLINE(readability-identifier-naming): the name is fmt's.
#define FMT_HEADER_ONLY 1
#include <lode/base/api.hpp>

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

/// Refers to the functions, which are inline here, so that they are compiled.
struct FmtFunctions {
    std::string (*vformat)(fmt::string_view, fmt::format_args) = &fmt::vformat;
#if FMT_VERSION >= 90000 && FMT_VERSION < 100000
    void (*fail)(const char*) = &fmt::detail::throw_format_error;
    bool (*is_printable)(std::uint32_t) = &fmt::detail::is_printable;
    fmt::detail::thousands_sep_result<char> (*separator)(fmt::detail::locale_ref) =
        &fmt::detail::thousands_sep_impl<char>;
#endif
};
[[gnu::used]] const FmtFunctions fmt_functions;

}  // namespace
}  // namespace LODE_NAMESPACE::detail
