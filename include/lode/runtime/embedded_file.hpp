/// \file
/// A file embedded in the program by CMake's lode_embed_kernels.
#pragma once

#include <lode/base/api.hpp>

#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// A file embedded in the program by CMake's lode_embed_kernels.
struct EmbeddedFile {
    std::string_view name;     ///< "reduce_sm80.cu", or "reduce_sm80.sm_80.cubin" when precompiled.
    std::string_view content;  ///< Static storage.
};

}  // namespace LODE_NAMESPACE

LODE_API_END
