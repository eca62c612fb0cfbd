#include "runtime/state/loaded_libraries.hpp"

#include <utility>

namespace LODE_NAMESPACE::detail {

std::shared_ptr<const LibraryState> LoadedLibraries::find(const LoadedKey& key) const {
    const std::lock_guard guard(mutex_);
    const auto found = entries_.find(key.entry);
    if (found == entries_.end()) return nullptr;
    for (const Entry& entry : found->second) {
        if (entry.key == key) return entry.library.lock();
    }
    return nullptr;
}

std::shared_ptr<const LibraryState> LoadedLibraries::add(
    LoadedKey key, std::shared_ptr<const LibraryState> library) {
    const std::lock_guard guard(mutex_);
    for (auto at = entries_.begin(); at != entries_.end();) {
        std::erase_if(at->second, [](const Entry& entry) { return entry.library.expired(); });
        at = at->second.empty() ? entries_.erase(at) : std::next(at);
    }
    auto& entries = entries_[key.entry];
    for (const Entry& entry : entries) {
        if (entry.key != key) continue;
        if (auto other = entry.library.lock()) return other;
    }
    entries.push_back({std::move(key), library});
    return library;
}

}  // namespace LODE_NAMESPACE::detail
