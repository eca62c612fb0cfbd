#include "tests/gpu/driver_world.hpp"

#include <cstdint>

namespace lode::test {
namespace {

using World = DriverWorld;

constexpr int no_such = 99999;

/// A value outside of an enumeration.
template <class T>
T bad(int value = no_such) {
    return static_cast<T>(value);
}

constexpr unsigned char fill8 = 1;
constexpr unsigned short fill16 = 1;

/// Creates an array, and destroys it if that works.
CUresult array_of(World& w, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    CUarray array = nullptr;
    const CUresult result = w.t.cuArray3DCreate(&array, &descriptor);
    return result == CUDA_SUCCESS ? w.t.cuArrayDestroy(array) : result;
}

/// Creates a texture of a line of four floats with these options, and destroys both.
CUresult texture_of(World& w, CUarray_format format, const CUDA_TEXTURE_DESC& texture) {
    const CUDA_ARRAY3D_DESCRIPTOR descriptor{4, 0, 0, format, 1, 0};
    CUarray array = nullptr;
    if (const CUresult made = w.t.cuArray3DCreate(&array, &descriptor); made != CUDA_SUCCESS)
        return made;
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    CUtexObject object = 0;
    const CUresult result = w.t.cuTexObjectCreate(&object, &resource, &texture, nullptr);
    if (result == CUDA_SUCCESS) w.t.cuTexObjectDestroy(object);
    w.t.cuArrayDestroy(array);
    return result;
}

}  // namespace

std::vector<DriverCall> driver_calls() {
    return {
#define LODE_CALL(entry, what, ...)            \
    {#entry, what, [](World& w) -> CUresult {  \
         [[maybe_unused]] const auto& t = w.t; \
         __VA_ARGS__                           \
     }},
#define LODE_REFUSED_CALL(entry, what, ...)    \
    {#entry, what,                             \
     [](World& w) -> CUresult {                \
         [[maybe_unused]] const auto& t = w.t; \
         __VA_ARGS__                           \
     },                                        \
     true},
#define LODE_CALL_WITHOUT_CONTEXT(entry, what, ...)                \
    {#entry, what " without a context", [](World& w) -> CUresult { \
         return w.without_context([&w]() -> CUresult {             \
             [[maybe_unused]] const auto& t = w.t;                 \
             __VA_ARGS__                                           \
         });                                                       \
     }},
#include "tests/gpu/driver_calls.def"
#undef LODE_CALL
#undef LODE_REFUSED_CALL
#undef LODE_CALL_WITHOUT_CONTEXT
    };
}

}  // namespace lode::test
