#include "emulator/driver/memory/pool_places.hpp"

#include "emulator/driver/driver.hpp"

namespace lode::emulator::driver {

PoolPlaces::Place& PoolPlaces::place_of(const CUmemLocation& location, MemoryKind kind) {
    const bool has_id = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    Place& place = places_[{kind, location.type, has_id ? location.id : 0}];
    if (place.original == nullptr) {
        auto made = std::make_shared<MemoryPool>(location, kind, 0);
        made->permanent = true;
        place.original = place.current = driver().pools.add(std::move(made));
    }
    return place;
}

CUmemoryPool PoolPlaces::get(const CUmemLocation& location, MemoryKind kind, bool current) {
    const std::lock_guard lock(mutex_);
    const Place& place = place_of(location, kind);
    return current ? place.current : place.original;
}

void PoolPlaces::set(const CUmemLocation& location, MemoryKind kind, CUmemoryPool pool) {
    const std::lock_guard lock(mutex_);
    place_of(location, kind).current = pool;
}

void PoolPlaces::forget(CUmemoryPool pool) {
    const std::lock_guard lock(mutex_);
    for (auto& [key, place] : places_) {
        if (place.current == pool) place.current = place.original;
    }
}

std::size_t PoolPlaces::size() const {
    const std::lock_guard lock(mutex_);
    return places_.size();
}

}  // namespace lode::emulator::driver
