#include "jit/nvrtc/table.hpp"

#include <string>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

enum class Requirement : bool { optional, required };

}  // namespace

Result<NvrtcTable> NvrtcTable::load(const Resolver& resolve) {
    NvrtcTable table;
    std::string_view absent;
    const auto bind = [&](auto& row, std::string_view name, Requirement requirement) {
        row = reinterpret_cast<std::decay_t<decltype(row)>>(resolve(name));
        if (row == nullptr && requirement == Requirement::required && absent.empty()) absent = name;
    };
#define X(name, requirement) bind(table.name, #name, Requirement::requirement);
#include "jit/nvrtc/symbols.def"
#undef X
    if (!absent.empty()) {
        return fail(Errc::compiler_too_old, fmt::format("The library has no {}.", absent));
    }
    return table;
}

Native native_of(const NvrtcTable& table, nvrtcResult result) {
    return {Native::Origin::nvrtc, static_cast<int>(result), table.nvrtcGetErrorString(result)};
}

tl::unexpected<Error> fail_from_nvrtc(const NvrtcTable& table, nvrtcResult result,
                                      std::string_view doing) {
    const Errc code =
        result == NVRTC_ERROR_OUT_OF_MEMORY ? Errc::out_of_memory : Errc::compiler_failed;
    Native native = native_of(table, result);
    auto message = fmt::format("{} fails: {}.", doing, native.name);
    if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
        message +=
            " Its companion library libnvrtc-builtins, from the same build, must be in the same "
            "folder.";
    }
    return fail(code, std::move(message), std::move(native));
}

}  // namespace LODE_NAMESPACE
