// Every entry point of the software device, called with live, dead, foreign and invalid handles,
// addresses and sizes, in a sequence that the bytes choose. No call may crash or hang, and nothing
// may be left after everything has been released.
#include "emulator/driver/control.h"
#include "tests/fuzz/driver_symbols.hpp"
#include "tests/fuzz/driver_world.hpp"

#include <tuple>
#include <utility>

namespace lode::fuzz {

std::span<const char* const> unsupported_symbols() noexcept {
    static constexpr const char* names[] = {
#define LODE_UNSUPPORTED(name, version, stream, symbol) #symbol,
#include "emulator/driver/unsupported.def"
#undef LODE_UNSUPPORTED
    };
    return names;
}

namespace {

template <class Function>
auto* entry(const char* symbol) {
    return reinterpret_cast<Function*>(driver_symbol(symbol));
}
#define LODE_CALL(symbol) entry<decltype(::symbol)>(#symbol)

template <class... Arguments>
CUresult invoke(World& world, const char* symbol, void* address,
                std::type_identity<CUresult(Arguments...)> /*type*/) {
    world.begin(symbol);
    // Braces guarantee evaluation from left to right.
    const std::tuple<Arguments...> arguments{world.make<Arguments>()...};
    const auto function = reinterpret_cast<CUresult (*)(Arguments...)>(address);
    const CUresult result = std::apply(function, arguments);
    if (result == CUDA_SUCCESS)
        std::apply([&](auto... argument) { (world.keep(argument), ...); }, arguments);
    return result;
}

struct Row {
    const char* symbol;
    CUresult (*call)(World& world, const char* symbol, void* address);
    void* address = nullptr;
};

std::span<const Row> rows() {
    static const auto table = [] {
        std::vector<Row> made{
#define LODE_ENTRY_POINT(name, version, stream, symbol)                                     \
    Row{#symbol, [](World& world, const char* name_, void* address) {                       \
            return invoke(world, name_, address, std::type_identity<decltype(::symbol)>()); \
        }},
#include "emulator/driver/entry_points.def"
#undef LODE_ENTRY_POINT
        };
        for (Row& row : made)
            row.address = driver_symbol(row.symbol);
        return made;
    }();
    return table;
}

void call_unsupported(Source& source) {
    const auto names = unsupported_symbols();
    const char* const name = names[source.take<std::uint16_t>() % names.size()];
    require(entry<int()>(name)() != CUDA_SUCCESS);
}

/// Creates a context, a module and an object of each kind, so that calls find live handles.
void furnish(World& world) {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    require(LODE_CALL(cuInit)(0) == CUDA_SUCCESS);
    require(LODE_CALL(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS);
    require(LODE_CALL(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
    const char* const ptx =
        ".version 8.0\n.target sm_75\n.address_size 64\n.global .align 4 .u32 g[4];\n"
        ".visible .entry touch(.param .u64 p)\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n"
        "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 7;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
    require(LODE_CALL(cuModuleLoadData)(&module, ptx) == CUDA_SUCCESS);
    CUfunction function = nullptr;
    require(LODE_CALL(cuModuleGetFunction)(&function, module, "touch") == CUDA_SUCCESS);
    require(LODE_CALL(cuMemAlloc_v2)(&memory, 4096) == CUDA_SUCCESS);
    require(LODE_CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    require(LODE_CALL(cuEventCreate)(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
    world.keep(&context);
    world.keep(&module);
    world.keep(&function);
    world.keep(&memory);
    world.keep(&stream);
    world.keep(&event);
}

/// Ends the captures of a context's default stream; while a stream of this thread captures, most
/// calls that release something are refused.
void end_captures(CUcontext context) {
    if (LODE_CALL(cuCtxSetCurrent)(context) != CUDA_SUCCESS) return;
    CUgraph graph = nullptr;
    if (LODE_CALL(cuStreamEndCapture)(CU_STREAM_PER_THREAD, &graph) == CUDA_SUCCESS)
        (void)LODE_CALL(cuGraphDestroy)(graph);
}

/// Releases everything; releasing a dead handle is refused.
void tear_down(World& world, Areas& areas) {
    CUcontext context = nullptr;
    // Fails if cuInit was never called; then there is nothing to release.
    if (LODE_CALL(cuDevicePrimaryCtxRetain)(&context, 0) != CUDA_SUCCESS) return;
    for (const CUcontext created : world.given<CUcontext>())
        end_captures(created);
    end_captures(context);
    for (const CUevent event : world.given<CUevent>())
        (void)LODE_CALL(cuEventDestroy_v2)(event);
    for (const CUstream stream : world.given<CUstream>())
        (void)LODE_CALL(cuStreamDestroy_v2)(stream);
    for (const CUdeviceptr memory : world.addresses())
        (void)LODE_CALL(cuMemFree_v2)(memory);
    for (void* const memory : world.host_addresses())
        (void)LODE_CALL(cuMemFreeHost)(memory);
    for (const std::size_t offset : {0, 64, 512, 4096, 1, 3, 8192})
        (void)LODE_CALL(cuMemHostUnregister)(areas.host + offset);
    for (const CUlibrary library : world.given<CUlibrary>())
        (void)LODE_CALL(cuLibraryUnload)(library);
    for (const CUmodule module : world.given<CUmodule>())
        (void)LODE_CALL(cuModuleUnload)(module);
    for (const CUmemoryPool pool : world.given<CUmemoryPool>())
        (void)LODE_CALL(cuMemPoolDestroy)(pool);
    for (const CUcontext created : world.given<CUcontext>())
        (void)LODE_CALL(cuCtxDestroy_v2)(created);
    for (const CUdevice device : {0, 1}) {
        while (LODE_CALL(cuDevicePrimaryCtxRelease_v2)(device) == CUDA_SUCCESS)
            continue;
    }
    static constexpr lode_emulator_kind kinds[] = {LODE_EMULATOR_PRIMARY_REFERENCES,
                                                   LODE_EMULATOR_CONTEXTS,
                                                   LODE_EMULATOR_STREAMS,
                                                   LODE_EMULATOR_EVENTS,
                                                   LODE_EMULATOR_LIBRARIES,
                                                   LODE_EMULATOR_MODULES,
                                                   LODE_EMULATOR_DEVICE_ALLOCATIONS,
                                                   LODE_EMULATOR_HOST_ALLOCATIONS,
                                                   LODE_EMULATOR_HOST_REGISTRATIONS,
                                                   LODE_EMULATOR_MEMORY_POOLS};
    for (const auto kind : kinds)
        require(LODE_CALL(lode_emulator_live)(kind) == 0);
}

bool driver_calls(Bytes bytes) {
    static const std::unique_ptr<Areas> areas = std::make_unique<Areas>();
    constexpr std::size_t most_calls = 48;
    Source source(bytes);
    World world(source, *areas);
    require(LODE_CALL(lode_emulator_reset)("sm_90,sm_75") == 0);
    const std::uint8_t start = source.take();
    if (start % 8 != 0) furnish(world);
    bool succeeded = false;
    for (std::size_t k = 0; k < most_calls && !source.empty(); ++k) {
        const std::size_t choice = source.take<std::uint16_t>();
        if (choice % 32 == 31) {
            call_unsupported(source);
            continue;
        }
        const Row& row = rows()[choice % rows().size()];
        succeeded |= row.call(world, row.symbol, row.address) == CUDA_SUCCESS;
    }
    tear_down(world, *areas);
    return succeeded;
}

constexpr Target driver_rows[] = {
    {"driver_calls", driver_calls, Form::bytes, "driver_calls", 1024},
};

}  // namespace

std::span<const Target> driver_targets() noexcept {
    return driver_rows;
}

}  // namespace lode::fuzz
