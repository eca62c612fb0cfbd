// Handles: tables of live objects of one kind. A handle is a number that is never reused in the
// process. The table distinguishes live handles from stale and foreign ones; a handle is never
// dereferenced.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lode::emulator::driver {

/// An object with a handle. Handles aren't valid addresses, so a program that dereferences one
/// faults immediately.
class Handled {
public:
    Handled() noexcept = default;
    Handled(const Handled&) = delete;
    Handled& operator=(const Handled&) = delete;
    [[nodiscard]] std::uintptr_t handle() const noexcept { return handle_; }

private:
    static std::uintptr_t next() noexcept {
        static_assert(sizeof(std::uintptr_t) == 8);
        static std::atomic<std::uintptr_t> last{std::uintptr_t{0x10de} << 48};
        constexpr std::uintptr_t step = 16;
        return last.fetch_add(step, std::memory_order_relaxed) + step;
    }
    const std::uintptr_t handle_ = next();
};

/// Shares ownership of the objects with calls that use them. Thread-safe.
template <class Object, class Native>
class Handles {
public:
    Native add(std::shared_ptr<Object> object) {
        const Native native = native_of(*object);
        const std::unique_lock lock(mutex_);
        objects_.emplace(native, std::move(object));
        return native;
    }

    /// nullptr if the handle isn't live.
    [[nodiscard]] std::shared_ptr<Object> find(Native native) const {
        const std::shared_lock lock(mutex_);
        const auto found = objects_.find(native);
        return found == objects_.end() ? nullptr : found->second;
    }

    /// The first object for which `fits` returns true; nullptr if none.
    template <class Predicate>
    [[nodiscard]] std::shared_ptr<Object> find_if(Predicate&& fits) const {
        const std::shared_lock lock(mutex_);
        for (const auto& [native, object] : objects_)
            if (fits(*object)) return object;
        return nullptr;
    }

    /// Removes the object; nullptr if the handle isn't live.
    std::shared_ptr<Object> remove(Native native) {
        const std::unique_lock lock(mutex_);
        const auto found = objects_.find(native);
        if (found == objects_.end()) return nullptr;
        auto object = std::move(found->second);
        objects_.erase(found);
        return object;
    }

    /// Removes every object for which `belongs` returns true.
    template <class Predicate>
    std::vector<std::shared_ptr<Object>> remove_if(Predicate&& belongs) {
        std::vector<std::shared_ptr<Object>> removed;
        const std::unique_lock lock(mutex_);
        for (auto at = objects_.begin(); at != objects_.end();) {
            if (belongs(*at->second)) {
                removed.push_back(std::move(at->second));
                at = objects_.erase(at);
            } else {
                ++at;
            }
        }
        return removed;
    }

    /// Calls visit(object) for each object without holding the lock.
    template <class Visit>
    void for_each(Visit&& visit) const {
        std::vector<std::shared_ptr<Object>> objects;
        {
            const std::shared_lock lock(mutex_);
            for (const auto& [native, object] : objects_)
                objects.push_back(object);
        }
        for (const auto& object : objects)
            visit(*object);
    }

    [[nodiscard]] std::size_t size() const {
        const std::shared_lock lock(mutex_);
        return objects_.size();
    }

    [[nodiscard]] static Native native_of(const Object& object) noexcept {
        if constexpr (std::is_integral_v<Native>) {
            return object.handle();
        } else {
            return reinterpret_cast<Native>(object.handle());
        }
    }

private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<Native, std::shared_ptr<Object>> objects_;
};

}  // namespace lode::emulator::driver
