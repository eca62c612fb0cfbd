// Host headers for kernel source: <cstdint>, <cassert>, <type_traits> … as in-memory headers.
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/request/header_view.hpp"

#include <lode/jit/compile_request.hpp>

#include <span>
#include <vector>

namespace LODE_NAMESPACE {

/// All shims, by name. The C headers and their C++ spellings are lode's own and small; the C++
/// library's headers include libcu++'s counterpart and put it in namespace std. Static storage.
std::span<const HeaderView> shims() noexcept;

/// The shims for a compilation: those that the user doesn't replace with an in-memory header, or
/// with a file in the include folders or beside the source; `files` is used to look for such files.
/// Those in folders, which adapt a library's own files, aren't replaced by files.
std::vector<HeaderView> shims_for(const CompileRequest& request, FileAccesses& files);

}  // namespace LODE_NAMESPACE
