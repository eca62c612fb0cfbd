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

}  // namespace

std::vector<DriverCall> driver_calls() {
    return {
#define LODE_CALL(entry, what, ...)            \
    {#entry, what, [](World& w) -> CUresult {  \
         [[maybe_unused]] const auto& t = w.t; \
         __VA_ARGS__                           \
     }},
#define LODE_CALL_WITHOUT_CONTEXT(entry, what, ...)                \
    {#entry, what " without a context", [](World& w) -> CUresult { \
         return w.without_context([&w]() -> CUresult {             \
             [[maybe_unused]] const auto& t = w.t;                 \
             __VA_ARGS__                                           \
         });                                                       \
     }},
#include "tests/gpu/driver_calls.def"
#undef LODE_CALL
#undef LODE_CALL_WITHOUT_CONTEXT
    };
}

}  // namespace lode::test
