// Link keys: the inputs of one link as a key text.
#pragma once

#include "jit/store/key.hpp"

#include <lode/base/arch.hpp>
#include <lode/jit/linker.hpp>

#include <span>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE::cache {

/// The key of an entry for a link: the linker's build, and everything that it is given. A link
/// reads no file, so it has no headers.
Key link_key(const LinkerInfo& linker, std::span<const LinkInput> inputs, const Arch& target,
             const LinkOptions& options);

/// What nvJitLink asks the environment for, besides what NVRTC does.
[[nodiscard]] std::span<const std::string_view> link_variables() noexcept;

/// Why a link can't be cached: a flag that reads or writes a file. Empty when it can.
std::string uncacheable_link_reason(const LinkOptions& options);

}  // namespace LODE_NAMESPACE::cache
