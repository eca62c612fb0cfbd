// NvrtcTable: NVRTC's entry points, resolved at run time. No symbol of NVRTC is ever linked.
#pragma once

#include <lode/base/error.hpp>

#include <functional>
#include <string_view>

#include <nvrtc.h>

namespace lode {

/// One pointer per row of symbols.def. A plain value; valid while its library is open.
struct NvrtcTable {
#define X(name, requirement) decltype(&::name) name = nullptr;
#include "jit/nvrtc/symbols.def"
#undef X

    /// Gives the address of a symbol, or nullptr.
    using Resolver = std::function<void*(std::string_view)>;

    /// Resolves every row. compiler_too_old names the first required row that is absent.
    [[nodiscard]] static Result<NvrtcTable> load(const Resolver& resolve);
};

/// A failed NVRTC call as an Error: "`doing` fails: NVRTC_ERROR_… ." with the native code.
tl::unexpected<Error> fail_from_nvrtc(const NvrtcTable& table, nvrtcResult result,
                                      std::string_view doing);

/// The code as Error::native carries it.
Native native_of(const NvrtcTable& table, nvrtcResult result);

}  // namespace lode
