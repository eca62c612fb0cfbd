#include "jit/cache/place_stamps.hpp"

#include "base/os/library.hpp"
#include "jit/files/file_state.hpp"

#include <lode/base/environment.hpp>

#include <cstdint>

namespace LODE_NAMESPACE::cache {

bool add_stamp(Hasher& hasher, const std::filesystem::path& path) {
    hasher.field(path.string());
    const auto stamp = stamp_of(path);
    hasher.field(std::uint64_t{stamp.has_value()});
    if (!stamp) return false;
    hasher.field(stamp->size);
    hasher.field(static_cast<std::uint64_t>(stamp->modified_ns));
    hasher.field(static_cast<std::uint64_t>(stamp->changed_ns));
    return true;
}

std::filesystem::path add_places(Hasher& hasher, std::span<const LibraryPlace> places) {
    for (const auto& place : places) {
        if (add_stamp(hasher, place.candidate)) return place.candidate;
    }
    hasher.field(environment("LD_LIBRARY_PATH").value_or(""));
    add_stamp(hasher, os::loader_index());
    return {};
}

bool are_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
    const auto first = stamp_of(a);
    const auto second = stamp_of(b);
    return first && second && same_file(*first, *second);
}

}  // namespace LODE_NAMESPACE::cache
