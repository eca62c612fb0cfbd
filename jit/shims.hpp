// Host headers for kernel source: <cstdint>, <cassert>, <type_traits> … as in-memory headers.
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/nvrtc/program.hpp"

#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <span>
#include <vector>

namespace lode {

/// Every shim, by name. The C headers and their C++ spellings are lode's own and small; the C++
/// library's headers include libcu++'s counterpart and name it std. Static storage.
std::span<const HeaderView> shims() noexcept;

/// The shims that a compilation gets: those that neither an in-memory header of the user nor a
/// file in the user's include folders or beside the source replaces, which is asked of `files`.
std::vector<HeaderView> shims_for(const Source& source, const CompileOptions& options,
                                  FileAccesses& files);

}  // namespace lode
