// What lode and its stand-ins for NVIDIA's libraries agree on. Inside `lode emulate` and `lode
// cached` every name and path of such a library leads to a stand-in; lode itself goes on to use the
// original.
#pragma once

#include <lode/base/api.hpp>

namespace LODE_NAMESPACE {

/// The symbol by which a library says that it is a stand-in.
inline constexpr char stand_in_symbol[] = "lode_stand_in";

/// In front of a path, in dlopen: that very file. In front of a name such as libnvrtc.so.13: the
/// file that the process has asked for last, or what the loader finds outside the private folder.
/// Only liblode_redirect.so knows it; without that, dlopen fails.
inline constexpr char original_prefix[] = "lode-original-";

/// The same of the stand-ins that answer from the cache, which may lie below the others.
inline constexpr char cached_symbol[] = "lode_cached";
inline constexpr char uncached_prefix[] = "lode-uncached-";

}  // namespace LODE_NAMESPACE
