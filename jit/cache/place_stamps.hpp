// The state of the places where a library is searched, for CompilerBackend::fingerprint().
#pragma once

#include "base/shared_library.hpp"

#include <lode/base/digest.hpp>

#include <filesystem>
#include <span>

namespace LODE_NAMESPACE::cache {

/// Adds the stamp of a path; returns whether there is a regular file.
bool add_stamp(Hasher& hasher, const std::filesystem::path& path);

/// Adds all places up to the first that has the library, and returns that one: a library that
/// appears or changes there changes what a search finds; later places don't. Without one, adds what
/// decides where the loader finds a bare name, and returns an empty path.
std::filesystem::path add_places(Hasher& hasher, std::span<const LibraryPlace> places);

/// Whether two paths are of one file.
[[nodiscard]] bool are_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace LODE_NAMESPACE::cache
