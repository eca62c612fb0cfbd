// MemoryTier: decoded values by digest, bounded in bytes, with least-recently-used eviction.
#pragma once

#include <lode/base/digest.hpp>

#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace LODE_NAMESPACE::cache {

/// The first bytes of a digest are already uniformly distributed.
struct DigestHash {
    std::size_t operator()(const Digest& digest) const noexcept {
        std::size_t value = 0;
        std::memcpy(&value, digest.bytes().data(), sizeof(value));
        return value;
    }
};

/// The first tier: shares values instead of copying them, so a hit costs only a lookup. A value
/// larger than the whole bound isn't kept. Thread-safe.
template <class Value>
class MemoryTier {
public:
    explicit MemoryTier(std::size_t max_bytes) noexcept : max_bytes_(max_bytes) {}

    /// The value, or nullptr for a miss.
    [[nodiscard]] std::shared_ptr<const Value> get(const Digest& key) {
        const std::lock_guard guard(mutex_);
        const auto found = index_.find(key);
        if (found == index_.end()) return nullptr;
        items_.splice(items_.begin(), items_, found->second);
        return found->second->value;
    }

    /// Keeps a value of about `bytes` bytes; replaces one with the same key.
    void put(const Digest& key, std::shared_ptr<const Value> value, std::size_t bytes) {
        const std::lock_guard guard(mutex_);
        erase(key);
        if (bytes > max_bytes_) return;
        items_.push_front({key, std::move(value), bytes});
        index_.emplace(key, items_.begin());
        used_bytes_ += bytes;
        while (used_bytes_ > max_bytes_)
            erase(Digest(items_.back().key));
    }

    /// Removes a value; does nothing if there is none.
    void remove(const Digest& key) {
        const std::lock_guard guard(mutex_);
        erase(key);
    }

private:
    struct Item {
        Digest key;
        std::shared_ptr<const Value> value;
        std::size_t bytes;
    };
    using Items = std::list<Item>;

    void erase(const Digest& key) {
        const auto found = index_.find(key);
        if (found == index_.end()) return;
        used_bytes_ -= found->second->bytes;
        items_.erase(found->second);
        index_.erase(found);
    }

    const std::size_t max_bytes_;
    std::mutex mutex_;
    Items items_;  ///< Most recently used first.
    std::unordered_map<Digest, typename Items::iterator, DigestHash> index_;
    std::size_t used_bytes_ = 0;
};

}  // namespace LODE_NAMESPACE::cache
