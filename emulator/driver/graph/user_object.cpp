#include "emulator/driver/graph/user_object.hpp"

#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/log.hpp"

#include <limits>

namespace lode::emulator::driver {
namespace {

/// Reads arguments that all calls on user objects share.
template <class Body>
CUresult enter_object(const char* symbol, CUuserObject handle, unsigned count, Body&& body) {
    return enter(symbol, [&]() -> CUresult {
        const auto object = driver().graph_tables.objects.find(handle);
        if (object == nullptr || count == 0 || count > std::numeric_limits<int>::max())
            return CUDA_ERROR_INVALID_VALUE;
        return body(object);
    });
}

/// enter_object() with a graph.
template <class Body>
CUresult enter_graph_object(const char* symbol, CUgraph graph, CUuserObject handle, unsigned count,
                            Body&& body) {
    return enter_object(symbol, handle, count, [&](const auto& object) -> CUresult {
        GraphTables& tables = driver().graph_tables;
        const std::lock_guard lock(tables.mutex);
        const auto owner = tables.graphs.find(graph);
        return owner == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*owner, object);
    });
}

ObjectReference* find_reference(Graph& graph, const UserObject& object) {
    for (ObjectReference& reference : graph.objects)
        if (reference.object().get() == &object) return &reference;
    return nullptr;
}

}  // namespace

bool UserObject::release(const std::shared_ptr<UserObject>& object, unsigned count) {
    unsigned now = object->references_;
    do {
        if (count > now) return false;
    } while (!object->references_.compare_exchange_weak(now, now - count));
    if (now != count) return true;
    driver().graph_tables.objects.remove(Handles<UserObject, CUuserObject>::native_of(*object));
    try {
        const gate::HostFunction scope;
        object->destroy_(object->pointer_);
    } catch (...) {
        log::report("The destructor of a user object threw an exception, which is ignored.");
    }
    return true;
}

bool UserObject::retain(unsigned count) noexcept {
    unsigned now = references_;
    do {
        if (now == 0 || count > std::numeric_limits<unsigned>::max() - now) return false;
    } while (!references_.compare_exchange_weak(now, now + count));
    return true;
}

ObjectReference::~ObjectReference() {
    if (object_ != nullptr && count_ > 0) UserObject::release(object_, count_);
}

bool ObjectReference::release(unsigned count) {
    if (count > count_) return false;
    count_ -= count;
    return UserObject::release(object_, count);
}

ObjectReference ObjectReference::share() const noexcept {
    return {object_, object_->retain(1) ? 1U : 0U};
}

LODE_ENTRY cuUserObjectCreate(CUuserObject* object_out, void* ptr, CUhostFn destroy,
                              unsigned int initialRefcount, unsigned int flags) {
    return enter(__func__, [&]() -> CUresult {
        if (object_out == nullptr || destroy == nullptr || initialRefcount == 0 ||
            initialRefcount > std::numeric_limits<int>::max() ||
            flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
            return CUDA_ERROR_INVALID_VALUE;
        *object_out = driver().graph_tables.objects.add(
            std::make_shared<UserObject>(ptr, destroy, initialRefcount));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuUserObjectRetain(CUuserObject object, unsigned int count) {
    return enter_object(__func__, object, count, [&](const auto& found) {
        return found->retain(count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuUserObjectRelease(CUuserObject object, unsigned int count) {
    return enter_object(__func__, object, count, [&](const auto& found) {
        return UserObject::release(found, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                   unsigned int flags) {
    return enter_graph_object(__func__, graph, object, count,
                              [&](Graph& owner, const auto& found) -> CUresult {
                                  if ((flags & ~unsigned{CU_GRAPH_USER_OBJECT_MOVE}) != 0)
                                      return CUDA_ERROR_INVALID_VALUE;
                                  const bool moves = (flags & CU_GRAPH_USER_OBJECT_MOVE) != 0;
                                  if (!moves && !found->retain(count))
                                      return CUDA_ERROR_INVALID_VALUE;
                                  if (ObjectReference* const own = find_reference(owner, *found)) {
                                      own->absorb(count);
                                  } else {
                                      owner.objects.emplace_back(found, count);
                                  }
                                  return CUDA_SUCCESS;
                              });
}

LODE_ENTRY cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
    return enter_graph_object(
        __func__, graph, object, count, [&](Graph& owner, const auto& found) -> CUresult {
            ObjectReference* const own = find_reference(owner, *found);
            if (own == nullptr || !own->release(count)) return CUDA_ERROR_INVALID_VALUE;
            std::erase_if(owner.objects, [](const auto& rest) { return rest.count() == 0; });
            return CUDA_SUCCESS;
        });
}

}  // namespace lode::emulator::driver
