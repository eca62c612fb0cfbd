// The driver's entry points: one member per row of symbols.def.
#pragma once

#include "runtime/driver/cuda_abi.hpp"

#include <lode/runtime/driver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::detail {

/// One resolved entry point; `function` is null when an optional one is absent.
template <class Function>
struct EntryPoint {
    const char* name;
    int abi;  ///< The CUDA version of the signature, e.g. 12040.
    bool required;
    Function function = nullptr;

    explicit operator bool() const noexcept { return function != nullptr; }

    template <class... Arguments>
    CUresult operator()(Arguments... arguments) const noexcept {
        return function(arguments...);
    }
};

struct DriverTable {
    static constexpr bool required = true;
    static constexpr bool optional = false;

#define X(symbol, version, need) \
    EntryPoint<PFN_##symbol##_v##version> symbol{#symbol, version, need};
#include "runtime/driver/symbols.def"
#undef X

    /// Resolves every row.
    void resolve(const DriverResolver& resolver);

    /// The names of the absent rows of one kind.
    [[nodiscard]] std::vector<std::string> missing(bool need) const;
};

}  // namespace LODE_NAMESPACE::detail
