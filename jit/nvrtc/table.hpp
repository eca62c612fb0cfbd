// NvrtcTable: NVRTC's entry points, resolved at run time. No NVRTC symbol is linked.
#pragma once

#include <lode/base/error.hpp>

#include <cstddef>
#include <functional>
#include <string_view>

#include <nvrtc.h>

// Functions that <nvrtc.h> declares from 13.2 on. Declaring them again is harmless; none is linked.
// NOLINTBEGIN(readability-identifier-naming,readability-redundant-declaration): NVRTC's names.
extern "C" nvrtcResult nvrtcGetTileIRSize(nvrtcProgram, std::size_t*);
extern "C" nvrtcResult nvrtcGetTileIR(nvrtcProgram, char*);
// NOLINTEND(readability-identifier-naming,readability-redundant-declaration)

namespace LODE_NAMESPACE {

/// One pointer per row of symbols.def. A plain value; valid while its library is open.
struct NvrtcTable {
#define X(name, requirement) decltype(&::name) name = nullptr;
#include "jit/nvrtc/symbols.def"
#undef X

    /// Returns the address of a symbol, or nullptr.
    using Resolver = std::function<void*(std::string_view)>;

    /// Resolves every row. compiler_too_old names the first missing required row.
    [[nodiscard]] static Result<NvrtcTable> load(const Resolver& resolve);
};

/// Converts a failed NVRTC call to an Error: "`doing` fails: NVRTC_ERROR_… ." with the native code.
tl::unexpected<Error> fail_from_nvrtc(const NvrtcTable& table, nvrtcResult result,
                                      std::string_view doing);

/// The code as stored in Error::native.
Native native_of(const NvrtcTable& table, nvrtcResult result);

}  // namespace LODE_NAMESPACE
