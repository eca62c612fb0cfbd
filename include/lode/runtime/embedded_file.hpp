/// \file
/// A file embedded in the program by CMake's lode_embed_kernels.
#pragma once

#include <lode/base/api.hpp>
#include <lode/jit/source.hpp>

#include <string>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// A file embedded in the program by CMake's lode_embed_kernels.
struct EmbeddedFile {
    std::string_view name;     ///< "reduce_sm80.cu", or "reduce_sm80.sm_80.cubin" when precompiled.
    std::string_view content;  ///< Static storage.

    /// A source with the file's code and name, which tells its language.
    [[nodiscard]] Source source() const {
        return Source::named(std::string(content), std::string(name));
    }
};

}  // namespace LODE_NAMESPACE

LODE_API_END
