// NvJitLink: the opened library and its entry points.
#pragma once

#include "base/shared_library.hpp"
#include "jit/files/file_accesses.hpp"
#include "jit/nvrtc/library.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/linker.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::nvjitlink {

// The C interface of nvJitLink, unchanged since 12.0. Declared here because a toolkit's nvJitLink.h
// binds every name to that toolkit's version. Source: nvJitLink.h of CUDA 13.0.
using Handle = struct nvJitLink*;
inline constexpr int success = 0;
inline constexpr const char* product = "nvJitLink";

/// "NVJITLINK_ERROR_PTX_COMPILE"
std::string_view result_name(int result) noexcept;

/// nvJitLinkInputType for a format.
int input_type(LinkInput::Kind kind) noexcept;

/// The typed entry points. A plain value; valid while its library is open.
struct Table {
    int (*create)(Handle*, std::uint32_t, const char* const*) = nullptr;
    int (*destroy)(Handle*) = nullptr;
    int (*add_data)(Handle, int, const void*, std::size_t, const char*) = nullptr;
    int (*complete)(Handle) = nullptr;
    int (*cubin_size)(Handle, std::size_t*) = nullptr;
    int (*cubin)(Handle, void*) = nullptr;
    int (*ptx_size)(Handle, std::size_t*) = nullptr;  ///< May be null, as `ptx`.
    int (*ptx)(Handle, char*) = nullptr;
    int (*lto_ir_size)(Handle, std::size_t*) = nullptr;  ///< Null before 13.3, as `lto_ir`.
    int (*lto_ir)(Handle, void*) = nullptr;
    int (*error_log_size)(Handle, std::size_t*) = nullptr;
    int (*error_log)(Handle, char*) = nullptr;
    int (*info_log_size)(Handle, std::size_t*) = nullptr;
    int (*info_log)(Handle, char*) = nullptr;
    int (*version)(unsigned*, unsigned*) = nullptr;  ///< Absent before 12.3.
};

/// Whether a link optimises across its inputs.
[[nodiscard]] bool is_lto(std::span<const LinkInput> inputs, const LinkOptions& options);

/// The options of a link, in canonical order.
[[nodiscard]] std::vector<std::string> flags_of(std::span<const LinkInput> inputs,
                                                const Arch& target, const LinkOptions& options);

/// The opened library. Never closed.
struct Library {
    Table table;
    LinkerInfo info;
};

/// Those of the library, which is `file`. The targets are those that its release of CUDA has.
[[nodiscard]] CompilerProperties properties_of(const Library& library, const CompilerFile& file);

/// All places to try for the library, best first; none is opened.
[[nodiscard]] std::vector<LibraryPlace> places(const LinkerSearch& search);

/// Searches and opens the library, on a compiler's thread. Errors: not_found lists every place
/// tried.
[[nodiscard]] Result<Library> open(const LinkerSearch& search);

/// Linker::link() of inputs that were checked, on a compiler's thread. `accesses` records what the
/// linker calculates with the C library. Errors: those of Linker::link().
[[nodiscard]] Result<Image> link(const Library& library, std::span<const LinkInput> inputs,
                                 const Arch& target, const LinkOptions& options,
                                 FileAccesses& accesses);

}  // namespace LODE_NAMESPACE::nvjitlink
