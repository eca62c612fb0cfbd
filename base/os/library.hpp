// Shared libraries, and the loader of the operating system.
#pragma once

#include <lode/base/api.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::os {

/// Opens a path or a bare name, for good. On failure returns nullptr, with the reason in `why`.
[[nodiscard]] void* open_library(const std::string& name, std::string& why);
/// nullptr if there is no such symbol.
[[nodiscard]] void* find_symbol(void* library, const char* name) noexcept;
/// The file that an opened library was loaded from; empty if it isn't known.
[[nodiscard]] std::filesystem::path path_of_library(void* library);
/// Whether the process has a library already, by path or bare name.
[[nodiscard]] bool is_library_loaded(const std::filesystem::path& name) noexcept;
/// The files of all loaded libraries, as the loader names them.
[[nodiscard]] std::vector<std::string> loaded_libraries();
/// Whether the file of a loaded library was removed or replaced.
[[nodiscard]] bool is_library_replaced(const std::string& path);
/// The file in which the loader finds where bare names are.
[[nodiscard]] std::filesystem::path loader_index();
/// Whether this program has a loader for shared libraries: with -static it has none.
[[nodiscard]] bool has_loader() noexcept;

/// The file of the program or library that contains an address, or a link to it; empty if it isn't
/// known.
[[nodiscard]] std::filesystem::path path_at(const void* address);
/// Whether an address is in the program itself, not in a library.
[[nodiscard]] bool is_in_program(const void* address);
/// What the linker calls the build of the library that contains an address, in hexadecimal; empty
/// if the library doesn't say it.
[[nodiscard]] std::string build_id_at(const void* address);

}  // namespace LODE_NAMESPACE::os
