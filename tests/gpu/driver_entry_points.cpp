#include "emulator/driver/abi.hpp"  // Before cuda.h, whose renaming macros it disables.
#include "tests/gpu/driver_handles.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lode::test {
namespace {

template <class T>
concept Complete = requires {
    sizeof(T);
};

/// Arguments of one call, by type: live handles, and room for results.
class Arguments {
public:
    explicit Arguments(const DriverHandles& handles) : w_(handles) {}

    template <class T>
    T make() {
        using Pointed = std::remove_pointer_t<T>;
        if constexpr (std::is_same_v<T, unsigned long long>) {
            return w_.memory;
        } else if constexpr (std::is_same_v<T, std::size_t>) {
            return 16;
        } else if constexpr (std::is_same_v<T, int>) {
            return 0;  // A device.
        } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
            return static_cast<T>(1);
        } else if constexpr (std::is_same_v<T, CUcontext>) {
            return w_.context;
        } else if constexpr (std::is_same_v<T, CUstream>) {
            return w_.stream;
        } else if constexpr (std::is_same_v<T, CUevent>) {
            return w_.event;
        } else if constexpr (std::is_same_v<T, CUlibrary>) {
            return w_.library;
        } else if constexpr (std::is_same_v<T, CUkernel>) {
            return w_.kernel;
        } else if constexpr (std::is_same_v<T, CUfunction>) {
            return w_.function;
        } else if constexpr (std::is_same_v<T, CUgraph>) {
            return w_.graph;
        } else if constexpr (std::is_same_v<T, CUgraphNode>) {
            return w_.node;
        } else if constexpr (std::is_same_v<T, CUgraphExec>) {
            return w_.graph_exec;
        } else if constexpr (std::is_same_v<T, CUhostFn>) {
            return [](void*) {};
        } else if constexpr (std::is_same_v<T, CUstreamCallback>) {
            return [](CUstream, CUresult, void*) {};
        } else if constexpr (std::is_same_v<T, const char*>) {
            return "k";
        } else if constexpr (std::is_same_v<T, void**>) {
            // The arguments of a launch come first, then its `extra`.
            return std::exchange(parameters_, nullptr);
        } else if constexpr (std::is_void_v<Pointed>) {
            return w_.pinned;
        } else if constexpr (std::is_pointer_v<T> && !std::is_function_v<Pointed> &&
                             Complete<Pointed>) {
            static_assert(sizeof(Pointed) <= room_for_one);
            return reinterpret_cast<T>(room_.at(next_++).data());
        } else {
            return T{};
        }
    }

private:
    static constexpr std::size_t room_for_one = 4096;
    using Room = std::array<unsigned char, room_for_one>;

    const DriverHandles& w_;
    CUdeviceptr address_ = w_.memory;
    unsigned value_ = 1;
    std::array<void*, 512> values_{&address_, &value_};
    void** parameters_ = values_.data();
    alignas(64) std::array<Room, 12> room_{};
    std::size_t next_ = 0;
};

template <class... Types>
CUresult invoke(void* address, const DriverHandles& handles,
                std::type_identity<CUresult(Types...)> /*f*/) {
    Arguments arguments(handles);
    const std::tuple<Types...> values{arguments.make<Types>()...};  // From left to right.
    return std::apply(reinterpret_cast<CUresult (*)(Types...)>(address), values);
}

constexpr EntryPoint table[] = {
#define LODE_ENTRY_POINT(name, version, stream, symbol)                           \
    {#symbol, [](void* address, const DriverHandles& handles) {                   \
         return invoke(address, handles, std::type_identity<decltype(symbol)>()); \
     }},
#define LODE_UNSUPPORTED(name, version, stream, symbol) \
    LODE_ENTRY_POINT(name, version, stream, symbol)
#define LODE_UNDECLARED(name, version, stream, symbol)  // Its type isn't known.
#include "emulator/driver/entry_points.def"
#include "emulator/driver/unsupported.def"
#undef LODE_ENTRY_POINT
#undef LODE_UNSUPPORTED
    // Ends the process with 7, wherever it is called.
    {"exit", [](void*, const DriverHandles&) -> CUresult { std::exit(7); }},
};

}  // namespace

std::span<const EntryPoint> entry_points() {
    return table;
}

}  // namespace lode::test
