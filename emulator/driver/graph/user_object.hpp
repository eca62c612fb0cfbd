// User objects: caller's resources that graphs keep alive.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/handles.hpp"

#include <atomic>
#include <memory>

namespace lode::emulator::driver {

/// Counts references; the last one that goes calls the caller's function.
class UserObject : public Handled {
public:
    UserObject(void* pointer, CUhostFn destroy, unsigned references) noexcept
        : pointer_(pointer), destroy_(destroy), references_(references) {}

    /// Removes the references and, with the last one, the handle. False if there are fewer.
    static bool release(const std::shared_ptr<UserObject>& object, unsigned count);
    /// False if the count would exceed its range.
    bool retain(unsigned count) noexcept;

private:
    void* const pointer_;
    const CUhostFn destroy_;
    std::atomic<unsigned> references_;
};

/// References that a graph owns.
class ObjectReference {
public:
    /// Takes over `count` references of the caller.
    ObjectReference(std::shared_ptr<UserObject> object, unsigned count) noexcept
        : object_(std::move(object)), count_(count) {}
    ~ObjectReference();
    ObjectReference(ObjectReference&& other) noexcept
        : object_(std::move(other.object_)), count_(std::exchange(other.count_, 0)) {}
    ObjectReference& operator=(ObjectReference&& other) noexcept {
        std::swap(object_, other.object_);
        std::swap(count_, other.count_);
        return *this;
    }
    ObjectReference(const ObjectReference&) = delete;
    ObjectReference& operator=(const ObjectReference&) = delete;

    [[nodiscard]] const std::shared_ptr<UserObject>& object() const noexcept { return object_; }
    [[nodiscard]] unsigned count() const noexcept { return count_; }
    /// Adds references that the caller has retained.
    void absorb(unsigned count) noexcept { count_ += count; }
    /// Releases some of the references; false if there are fewer.
    bool release(unsigned count);
    /// One more reference, for another owner.
    [[nodiscard]] ObjectReference share() const noexcept;

private:
    std::shared_ptr<UserObject> object_;
    unsigned count_;
};

}  // namespace lode::emulator::driver
