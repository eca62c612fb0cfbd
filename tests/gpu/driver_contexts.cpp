// Calls each entry point of a driver where a program may call none, or with objects that are gone.
//
//   lode_driver_contexts list             a line of contexts, then one for each entry point
//   lode_driver_contexts CONTEXT FIRST    calls the entry points from number FIRST on
//
// The second form prints "NUMBER ?" before each call, and "NUMBER CODE" once it has returned, with
// "!" after the code if the call has made a capture invalid. Calls may hang or end the process:
// tests/gpu/driver_contexts starts it again after such a call.
#include "tests/gpu/driver_world.hpp"

#include <lode/base/unwrap.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <exception>
#include <functional>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

namespace lode::test {
namespace {

/// The call to make, which prints its result: where it is made may never be left.
struct Call {
    DriverWorld& world;
    std::function<void()> run;
    bool captured = false;           ///< The world's stream is capturing.
    std::atomic<bool> begun{false};  ///< A call in a callback may itself lead to a callback.
    std::atomic<bool> made{false};

    static void CUDA_CB make(void* call) {
        auto& one = *static_cast<Call*>(call);
        if (one.begun.exchange(true)) return;
        one.run();
        one.made = true;
    }
};

void in_host_function(Call& call) {
    call.world.t.cuLaunchHostFunc(call.world.stream, &Call::make, &call);
    call.world.t.cuStreamSynchronize(call.world.stream);
}

void in_stream_callback(Call& call) {
    const auto add = reinterpret_cast<PFN_cuStreamAddCallback_v5000>(
        unwrap(call.world.driver().resolve("cuStreamAddCallback", 5000)));
    add(
        call.world.stream, [](CUstream, CUresult, void* user) { Call::make(user); }, &call, 0);
    call.world.t.cuStreamSynchronize(call.world.stream);
}

void in_graph_node(Call& call) {
    const auto& t = call.world.t;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    const CUDA_HOST_NODE_PARAMS_v1 parameters{&Call::make, &call};
    t.cuGraphCreate(&graph, 0);
    t.cuGraphAddHostNode(&node, graph, nullptr, 0, &parameters);
    t.cuGraphInstantiateWithFlags(&exec, graph, 0);
    t.cuGraphLaunch(exec, call.world.stream);
    t.cuStreamSynchronize(call.world.stream);
    t.cuGraphExecDestroy(exec);
    t.cuGraphDestroy(graph);
}

void in_destructor(Call& call) {
    CUuserObject object = nullptr;
    call.world.t.cuUserObjectCreate(&object, &call, &Call::make, 1,
                                    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    call.world.t.cuUserObjectRelease(object, 1);
    while (!call.made)  // Perhaps on another thread.
        std::this_thread::yield();
}

void in_log_callback(Call& call) {
    CUlogsCallbackHandle handle = nullptr;
    call.world.t.cuLogsRegisterCallback(
        [](void* user, CUlogLevel, char*, std::size_t) { Call::make(user); }, &call, &handle);
    call.world.t.cuMemFree(1);  // Fails, which is logged.
    call.world.t.cuLogsUnregisterCallback(handle);
}

void in_capture(Call& call, CUstreamCaptureMode mode) {
    call.world.t.cuStreamBeginCapture(call.world.stream, mode);
    call.captured = true;
    call.run();
    CUgraph graph = nullptr;
    call.world.t.cuStreamEndCapture(call.world.stream, &graph);
    if (graph != nullptr) call.world.t.cuGraphDestroy(graph);
}

void after_context(Call& call) {
    call.world.destroy_context();
    call.run();
    call.world.context = nullptr;
}

void after_stream(Call& call) {
    call.world.t.cuStreamDestroy(call.world.stream);
    call.run();
    call.world.stream = nullptr;
}

struct Place {
    std::string_view name;
    void (*make)(Call& call);
    DriverWorld::Owner owner = DriverWorld::Owner::device;
};

constexpr Place places[] = {
    {"anywhere", [](Call& call) { call.run(); }},
    {"host-function", in_host_function},
    {"stream-callback", in_stream_callback},
    {"graph-node", in_graph_node},
    {"user-object", in_destructor},
    {"log-callback", in_log_callback},
    {"capture", [](Call& call) { in_capture(call, CU_STREAM_CAPTURE_MODE_GLOBAL); }},
    {"relaxed-capture", [](Call& call) { in_capture(call, CU_STREAM_CAPTURE_MODE_RELAXED); }},
    {"destroyed-context", after_context, DriverWorld::Owner::program},
    {"destroyed-stream", after_stream},
};

bool capture_is_invalid(const Call& call) {
    auto status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (call.captured) call.world.t.cuStreamIsCapturing(call.world.stream, &status);
    return status == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

void say(std::size_t number, const std::string& what) {
    std::printf("%s", fmt::format("{} {}\n", number, what).c_str());
    std::fflush(stdout);
}

void call_from(std::size_t first, const Place& place) {
    const auto driver = unwrap(Driver::open());
    void* const library = ::dlopen(driver.origin().c_str(), RTLD_NOW);
    const auto all = entry_points();
    const DriverWorld first_world(driver);  // Keeps the primary context open, which takes long.
    for (std::size_t k = first; k < all.size(); ++k) {
        // A fresh thread has no other current contexts, and no mode of captures.
        std::thread([&] {
            void* const address = ::dlsym(library, all[k].symbol);
            if (address == nullptr) return say(k, "absent");
            DriverWorld world(driver, place.owner);
            Call call{world, [&] {
                          say(k, "?");
                          const int result = all[k].call(address, world);
                          say(k, std::to_string(result) + (capture_is_invalid(call) ? "!" : ""));
                      }};
            place.make(call);
        }).join();
    }
}

int run(const char* context, const char* first) {
    const auto place = std::ranges::find(places, context, &Place::name);
    std::size_t number = 0;
    const std::string_view digits = first;
    const auto end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, number);
    if (place == std::end(places) || read.ec != std::errc() || read.ptr != end) return 2;
    call_from(number, *place);
    return 0;
}

int list() {
    for (const Place& place : places)
        std::printf("%s ", std::string(place.name).c_str());
    std::printf("\n");
    for (const EntryPoint& each : entry_points())
        std::printf("%s\n", each.symbol);
    return 0;
}

}  // namespace
}  // namespace lode::test

int main(int count, char** values) {
    try {
        if (count == 2 && std::string_view(values[1]) == "list") return lode::test::list();
        if (count == 3) return lode::test::run(values[1], values[2]);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 2;
    }
    std::fputs("usage: lode_driver_contexts list | CONTEXT FIRST\n", stderr);
    return 2;
}
