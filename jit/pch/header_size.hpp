// An estimate of how much text a source includes, to decide whether precompiling it can pay.
#pragma once

#include "jit/nvrtc/program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE::pch {

/// Where an #include is searched.
struct IncludePlaces {
    std::string folder;                 ///< The source's; empty for code in memory.
    std::span<const HeaderView> texts;  ///< Headers in memory.
    std::span<const std::string> folders;
};

/// The bytes of text in headers that the code may include, counted up to about `enough`. Follows
/// every include line, in inactive regions too.
[[nodiscard]] std::uint64_t estimate_header_bytes(std::string_view code,
                                                  const IncludePlaces& places,
                                                  std::uint64_t enough);

}  // namespace LODE_NAMESPACE::pch
