// LoadedLibraries: the images that Device::load() has loaded on a device, to be shared.
#pragma once

#include <lode/base/digest.hpp>
#include <lode/runtime/library.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::detail {

struct LibraryState;

/// Which image was loaded, and how.
struct LoadedKey {
    Digest entry;      ///< CompileReport::key
    std::string name;  ///< Image::name
    LoadOptions options;
    bool force_ptx = false;  ///< LODE_FORCE_PTX

    friend bool operator==(const LoadedKey&, const LoadedKey&) = default;
};

/// Keeps nothing loaded: an image is found as long as a kernel or a library of it exists.
/// Thread-safe.
class LoadedLibraries {
public:
    /// Null if it isn't loaded.
    [[nodiscard]] std::shared_ptr<const LibraryState> find(const LoadedKey& key) const;
    /// Remembers a library, unless another thread was faster; returns the one to use.
    [[nodiscard]] std::shared_ptr<const LibraryState> add(
        LoadedKey key, std::shared_ptr<const LibraryState> library);

private:
    struct Entry {
        LoadedKey key;
        std::weak_ptr<const LibraryState> library;
    };
    mutable std::mutex mutex_;
    std::map<Digest, std::vector<Entry>> entries_;  ///< By LoadedKey::entry.
};

}  // namespace LODE_NAMESPACE::detail
