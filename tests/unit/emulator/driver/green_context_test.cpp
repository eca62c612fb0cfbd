#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <array>
#include <cstring>
#include <vector>

using namespace lode::emulator_test;
using lode::contents_of, lode::resource_of;

namespace {

CUdevResource whole_device(CUdevice device) {
    CUdevResource resource{};
    REQUIRE(CU(cuDeviceGetDevResource, 12040)(device, &resource, CU_DEV_RESOURCE_TYPE_SM) ==
            CUDA_SUCCESS);
    return resource;
}

CUresult green_split(const CUdevResource& input, CUdevResource* groups, unsigned* count,
                     unsigned least, CUdevResource* rest = nullptr, unsigned flags = 0) {
    return CU(cuDevSmResourceSplitByCount, 12040)(groups, count, &input, rest, flags, least);
}

CUdevResourceDesc green_description(CUdevResource& resource) {
    CUdevResourceDesc description = nullptr;
    REQUIRE(CU(cuDevResourceGenerateDesc, 12040)(&description, &resource, 1) == CUDA_SUCCESS);
    return description;
}

}  // namespace

TEST_CASE("emulator green context: a device's multiprocessors and their granularity") {
    const Machine machine("sm_75,sm_80,sm_90");
    CHECK(whole_device(0).sm.smCount == 40);
    CHECK(whole_device(1).sm.smCount == 108);
    const auto hopper = whole_device(2);
    CHECK(hopper.type == CU_DEV_RESOURCE_TYPE_SM);
    CHECK(hopper.sm.smCount == 132);
    CUdevResource resource{};
    CHECK(CU(cuDeviceGetDevResource, 12040)(3, &resource, CU_DEV_RESOURCE_TYPE_SM) ==
          CUDA_ERROR_INVALID_DEVICE);
    CHECK(CU(cuDeviceGetDevResource, 12040)(0, &resource, CU_DEV_RESOURCE_TYPE_INVALID) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    CHECK(CU(cuDeviceGetDevResource, 12040)(0, nullptr, CU_DEV_RESOURCE_TYPE_SM) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator green context: a split rounds up, and the rest is what remains") {
    const Machine machine("sm_90");
    const auto whole = whole_device(0);
    unsigned count = 0;
    CHECK(green_split(whole, nullptr, &count, 20) == CUDA_SUCCESS);
    CHECK(count == 5);  // The device has 24.
    std::array<CUdevResource, 5> groups{};
    CUdevResource rest{};
    CHECK(green_split(whole, groups.data(), &count, 20, &rest) == CUDA_SUCCESS);
    CHECK(count == 5);
    for (const auto& group : groups)
        CHECK(group.sm.smCount == 24);
    CHECK(rest.sm.smCount == 12);
    CHECK(green_split(whole, groups.data(), &count, 5, &rest,
                      CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) == CUDA_SUCCESS);
    CHECK(groups[0].sm.smCount == 6);
    CHECK(rest.sm.smCount == 132 - 5 * 6);

    CHECK(green_split(groups[0], nullptr, &count, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(green_split(whole, nullptr, &count, 133) == CUDA_ERROR_INVALID_VALUE);
    CHECK(green_split(whole, nullptr, &count, 130) == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK(green_split(whole, nullptr, nullptr, 8) == CUDA_ERROR_INVALID_VALUE);
    CHECK(green_split(whole, nullptr, &count, 8, nullptr, 64) == CUDA_ERROR_INVALID_VALUE);
    CHECK(green_split(CUdevResource{}, nullptr, &count, 8) == CUDA_ERROR_INVALID_RESOURCE_TYPE);
    CUdevResource forged = whole;
    std::memset(&forged._internal_padding[0], 0xff, sizeof(forged._internal_padding));
    CHECK(green_split(forged, nullptr, &count, 8) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator green context: streams of it work, and it refers to the primary context") {
    const Machine machine("sm_90,sm_90");
    const auto whole = whole_device(0);
    std::array<CUdevResource, 2> groups{};
    unsigned count = 2;
    REQUIRE(green_split(whole, groups.data(), &count, 64) == CUDA_SUCCESS);
    const auto description = green_description(groups[0]);
    CUgreenCtx green = nullptr;
    const auto& create = CU(cuGreenCtxCreate, 12040);
    CHECK(create(&green, description, 0, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(create(&green, description, 1, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(create(&green, nullptr, 0, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(create(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_GREEN_CONTEXTS) == 1);
    CHECK(machine.live(LODE_EMULATOR_PRIMARY_REFERENCES) == 1);

    CUdevResource own{};
    CHECK(CU(cuGreenCtxGetDevResource, 12040)(green, &own, CU_DEV_RESOURCE_TYPE_SM) ==
          CUDA_SUCCESS);
    CHECK(own.sm.smCount == 64);
    CHECK(green_split(own, nullptr, &count, 8) == CUDA_SUCCESS);
    CHECK(count == 8);

    CUstream stream = nullptr;
    const auto& create_stream = CU(cuGreenCtxStreamCreate, 12050);
    CHECK(create_stream(&stream, green, CU_STREAM_DEFAULT, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(create_stream(&stream, nullptr, CU_STREAM_NON_BLOCKING, 0) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(create_stream(&stream, green, CU_STREAM_NON_BLOCKING, -100) == CUDA_SUCCESS);
    CUgreenCtx of_stream = nullptr;
    CHECK(CU(cuStreamGetGreenCtx, 12040)(stream, &of_stream) == CUDA_SUCCESS);
    CHECK(of_stream == green);
    CUcontext primary = nullptr;
    CUgreenCtx of_both = nullptr;
    CHECK(CU(cuStreamGetCtx, 12050)(stream, &primary, &of_both) == CUDA_SUCCESS);
    CHECK(primary != nullptr);
    CHECK(of_both == green);
    CHECK(CU(cuStreamSynchronize, 2000)(stream) == CUDA_SUCCESS);
    CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);

    const auto& destroy = CU(cuGreenCtxDestroy, 12040);
    CHECK(destroy(green) == CUDA_SUCCESS);
    CHECK(destroy(green) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(machine.live(LODE_EMULATOR_GREEN_CONTEXTS) == 0);
    CHECK(machine.live(LODE_EMULATOR_PRIMARY_REFERENCES) == 0);
    CHECK(machine.live(LODE_EMULATOR_LEAKS) == 0);
}

TEST_CASE("emulator green context: as a context, it is the primary one with its resources") {
    const Machine machine("sm_90");
    CUdevResource group{};
    unsigned count = 1;
    REQUIRE(green_split(whole_device(0), &group, &count, 64) == CUDA_SUCCESS);
    CUgreenCtx green = nullptr;
    REQUIRE(CU(cuGreenCtxCreate, 12040)(&green, green_description(group), 0,
                                        CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS);
    const auto& convert = CU(cuCtxFromGreenCtx, 12040);
    CUcontext context = nullptr;
    CHECK(convert(nullptr, green) == CUDA_ERROR_INVALID_VALUE);
    CHECK(convert(&context, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(convert(&context, green) == CUDA_SUCCESS);
    CUcontext again = nullptr;
    CHECK(convert(&again, green) == CUDA_SUCCESS);
    CHECK(again == context);

    CUcontext primary = nullptr;
    REQUIRE(CU(cuDevicePrimaryCtxRetain, 7000)(&primary, 0) == CUDA_SUCCESS);
    CHECK(context != primary);
    CUcontext now = nullptr;
    REQUIRE(CU(cuCtxSetCurrent, 4000)(context) == CUDA_SUCCESS);
    CHECK(CU(cuCtxGetCurrent, 4000)(&now) == CUDA_SUCCESS);
    CHECK(now == context);
    CUdevice device = -1;
    CHECK(CU(cuCtxGetDevice, 2000)(&device) == CUDA_SUCCESS);
    CHECK(device == 0);
    CUdevResource own{};
    CHECK(CU(cuCtxGetDevResource, 12040)(context, &own, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS);
    CHECK(own.sm.smCount == 64);
    CHECK(CU(cuCtxGetDevResource, 12040)(primary, &own, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS);
    CHECK(own.sm.smCount == 132);

    // Streams that are made in it are its own; memory is the primary context's.
    CUstream stream = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CUgreenCtx of_stream = nullptr;
    CHECK(CU(cuStreamGetGreenCtx, 12040)(stream, &of_stream) == CUDA_SUCCESS);
    CHECK(of_stream == green);
    CUdeviceptr memory = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&memory, 4) == CUDA_SUCCESS);
    REQUIRE(CU(cuCtxPushCurrent, 4000)(primary) == CUDA_SUCCESS);
    CUstream other = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&other, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(CU(cuStreamGetGreenCtx, 12040)(other, &of_stream) == CUDA_SUCCESS);
    CHECK(of_stream == nullptr);
    CHECK(CU(cuMemsetD32Async, 3020)(memory, 7, 1, other) == CUDA_SUCCESS);
    CHECK(CU(cuStreamSynchronize, 2000)(other) == CUDA_SUCCESS);
    CHECK(CU(cuCtxPopCurrent, 4000)(&now) == CUDA_SUCCESS);
    CHECK(now == primary);
    std::uint32_t value = 0;
    CHECK(CU(cuMemcpyDtoHAsync, 3020)(&value, memory, 4, stream) == CUDA_SUCCESS);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
    CHECK(value == 7);

    CHECK(CU(cuCtxDestroy, 4000)(context) == CUDA_ERROR_INVALID_CONTEXT);
    for (const CUstream each : {stream, other})
        CHECK(CU(cuStreamDestroy, 4000)(each) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
    CHECK(CU(cuGreenCtxDestroy, 12040)(green) == CUDA_SUCCESS);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(CU(cuCtxPopCurrent, 4000)(&now) == CUDA_SUCCESS);
    CHECK(now == context);
    CHECK(CU(cuCtxSetCurrent, 4000)(context) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(CU(cuDevicePrimaryCtxRelease, 11000)(0) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_LEAKS) == 0);
}

TEST_CASE("emulator green context: a description has parts of one split, each once") {
    const Machine machine("sm_90");
    const auto whole = whole_device(0);
    std::array<CUdevResource, 3> one{};
    std::array<CUdevResource, 3> other{};
    unsigned count = 3;
    REQUIRE(green_split(whole, one.data(), &count, 8) == CUDA_SUCCESS);
    REQUIRE(green_split(whole, other.data(), &count, 8) == CUDA_SUCCESS);
    CUdevResourceDesc description = nullptr;
    const auto& generate = CU(cuDevResourceGenerateDesc, 12040);
    CHECK(generate(&description, one.data(), 3) == CUDA_SUCCESS);
    std::array<CUdevResource, 2> mixed = {one[0], other[1]};
    CHECK(generate(&description, mixed.data(), 2) == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    mixed = {one[0], one[0]};
    CHECK(generate(&description, mixed.data(), 2) == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK(generate(&description, one.data(), 0) == CUDA_ERROR_INVALID_VALUE);
    CUdevResource nothing{};
    CHECK(generate(&description, &nothing, 1) == CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

TEST_CASE("emulator green context: a split into groups of different sizes") {
    const Machine machine("sm_90");
    const auto split = CU(cuDevSmResourceSplit, 13010);
    const auto whole = whole_device(0);
    std::array<CU_DEV_SM_RESOURCE_GROUP_PARAMS, 2> wishes{};
    wishes[0].smCount = 16;
    std::array<CUdevResource, 2> groups{};
    CUdevResource rest{};
    CHECK(split(groups.data(), 2, &whole, &rest, 0, wishes.data()) == CUDA_SUCCESS);
    CHECK(groups[0].sm.smCount == 16);
    CHECK(wishes[1].smCount == 112);  // All that are left in groups of 8.
    CHECK(groups[1].sm.smCount == 112);
    CHECK(rest.sm.smCount == 4);
    CHECK(green_description(groups[1]) != nullptr);

    // A filled group needs no multiple of the co-scheduled ones.
    wishes[1] = {};
    wishes[1].flags = CU_DEV_SM_RESOURCE_GROUP_BACKFILL;
    CHECK(split(nullptr, 2, &whole, nullptr, 0, wishes.data()) == CUDA_SUCCESS);
    CHECK(wishes[1].smCount == 116);

    const auto result_of = [&](unsigned count, unsigned coscheduled) {
        CU_DEV_SM_RESOURCE_GROUP_PARAMS wish{};
        wish.smCount = count;
        wish.coscheduledSmCount = coscheduled;
        return split(groups.data(), 1, &whole, nullptr, 0, &wish);
    };
    CHECK(result_of(10, 2) == CUDA_SUCCESS);
    CHECK(result_of(10, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(result_of(11, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(result_of(134, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(result_of(0, 64) == CUDA_ERROR_INVALID_VALUE);
    wishes[0].smCount = 128;
    wishes[1] = {};
    CHECK(split(groups.data(), 2, &whole, nullptr, 0, wishes.data()) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK(split(groups.data(), 0, &whole, nullptr, 0, wishes.data()) == CUDA_ERROR_INVALID_VALUE);
    CHECK(split(groups.data(), 1, &whole, nullptr, 1, wishes.data()) == CUDA_ERROR_INVALID_VALUE);
    CHECK(split(groups.data(), 1, nullptr, nullptr, 0, wishes.data()) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator green context: a stream has the multiprocessors of its context") {
    const Machine machine("sm_90");
    const Current scope;
    const auto whole = whole_device(0);
    CUdevResource group{};
    unsigned count = 1;
    REQUIRE(green_split(whole, &group, &count, 24) == CUDA_SUCCESS);
    CUgreenCtx green = nullptr;
    REQUIRE(CU(cuGreenCtxCreate, 12040)(&green, green_description(group), 0,
                                        CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS);
    CUstream stream = nullptr;
    REQUIRE(CU(cuGreenCtxStreamCreate, 12050)(&stream, green, CU_STREAM_NON_BLOCKING, 0) ==
            CUDA_SUCCESS);
    const auto of = [](CUstream of_stream, CUdevResource& resource) {
        return CU(cuStreamGetDevResource, 13010)(of_stream, &resource, CU_DEV_RESOURCE_TYPE_SM);
    };
    CUdevResource resource{};
    CHECK(of(stream, resource) == CUDA_SUCCESS);
    CHECK(resource.sm.smCount == 24);
    CHECK(of(nullptr, resource) == CUDA_SUCCESS);
    CHECK(resource.sm.smCount == 132);
    CHECK(CU(cuStreamGetDevResource, 13010)(stream, nullptr, CU_DEV_RESOURCE_TYPE_SM) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuStreamGetDevResource, 13010)(stream, &resource, CU_DEV_RESOURCE_TYPE_INVALID) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
    CHECK(CU(cuGreenCtxDestroy, 12040)(green) == CUDA_SUCCESS);
}

TEST_CASE("emulator green context: work queues of their own, shared ones and existing ones") {
    const Machine machine("sm_90,sm_90");
    const Current scope;
    const auto& of_device = CU(cuDeviceGetDevResource, 12040);
    CUdevResource config{};
    REQUIRE(of_device(0, &config, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG) == CUDA_SUCCESS);
    CHECK(config.type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG);
    auto wish = contents_of<CUdevWorkqueueConfigResource>(config);
    CHECK(wish.device == 0);
    CHECK(wish.wqConcurrencyLimit == 8);
    CHECK(wish.sharingScope == CU_WORKQUEUE_SCOPE_DEVICE_CTX);
    wish.wqConcurrencyLimit = 3;
    wish.sharingScope = CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED;
    CUdevResource group{};
    unsigned count = 1;
    REQUIRE(green_split(whole_device(0), &group, &count, 24) == CUDA_SUCCESS);

    const auto green_of = [](std::vector<CUdevResource> resources) {
        CUdevResourceDesc description = nullptr;
        REQUIRE(CU(cuDevResourceGenerateDesc, 12040)(&description, resources.data(),
                                                     static_cast<unsigned>(resources.size())) ==
                CUDA_SUCCESS);
        CUgreenCtx green = nullptr;
        REQUIRE(CU(cuGreenCtxCreate, 12040)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) ==
                CUDA_SUCCESS);
        return green;
    };
    const auto resource = [](CUgreenCtx green, CUdevResourceType type) {
        CUdevResource result{};
        REQUIRE(CU(cuGreenCtxGetDevResource, 12040)(green, &result, type) == CUDA_SUCCESS);
        return result;
    };
    const auto queues_of = [&](CUgreenCtx green) {
        const auto queues =
            contents_of<CUdevWorkqueueResource>(resource(green, CU_DEV_RESOURCE_TYPE_WORKQUEUE));
        return std::vector<unsigned char>(std::begin(queues.reserved), std::end(queues.reserved));
    };
    const auto own = resource_of(CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG, wish);
    CUgreenCtx first = green_of({group, own});
    CUgreenCtx second = green_of({own});
    CUgreenCtx third = green_of({group, resource(first, CU_DEV_RESOURCE_TYPE_WORKQUEUE)});
    CUgreenCtx plain = green_of({group});
    const auto set = contents_of<CUdevWorkqueueConfigResource>(
        resource(third, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG));
    CHECK(set.wqConcurrencyLimit == 3);
    CHECK(set.sharingScope == CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED);
    CHECK(resource(first, CU_DEV_RESOURCE_TYPE_SM).sm.smCount == 24);
    CHECK(resource(second, CU_DEV_RESOURCE_TYPE_SM).sm.smCount == 132);
    CHECK(queues_of(first) == queues_of(third));
    CHECK(queues_of(first) != queues_of(second));
    CHECK(queues_of(first) != queues_of(plain));
    CUdevResource of_context{};
    REQUIRE(CU(cuCtxGetDevResource, 12040)(scope.native(), &of_context,
                                           CU_DEV_RESOURCE_TYPE_WORKQUEUE) == CUDA_SUCCESS);
    CHECK(queues_of(green_of({of_context})) == queues_of(plain));
}

TEST_CASE("emulator green context: wrong work queues, and who has none") {
    const Machine machine("sm_90,sm_90");
    const Current scope;
    const auto generated = [](std::vector<CUdevResource> resources) {
        CUdevResourceDesc description = nullptr;
        return CU(cuDevResourceGenerateDesc, 12040)(&description, resources.data(),
                                                    static_cast<unsigned>(resources.size()));
    };
    const auto config = [](CUdevice device, unsigned limit, unsigned shared) {
        CUdevWorkqueueConfigResource wish{device, limit, CU_WORKQUEUE_SCOPE_DEVICE_CTX};
        std::memcpy(&wish.sharingScope, &shared, sizeof(shared));
        return resource_of(CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG, wish);
    };
    CHECK(generated({config(0, 100, 1)}) == CUDA_SUCCESS);
    CHECK(generated({config(0, 0, 0)}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(generated({config(0, 8, 2)}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(generated({config(2, 8, 0)}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(generated({config(0, 8, 0), config(0, 8, 0)}) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK(generated({whole_device(0), config(1, 8, 0)}) ==
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK(generated({resource_of(CU_DEV_RESOURCE_TYPE_WORKQUEUE, CUdevWorkqueueResource{})}) ==
          CUDA_ERROR_INVALID_VALUE);

    CUdevResource resource{};
    CHECK(CU(cuDeviceGetDevResource, 12040)(0, &resource, CU_DEV_RESOURCE_TYPE_WORKQUEUE) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    CHECK(CU(cuStreamGetDevResource, 13010)(nullptr, &resource,
                                            CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    const auto set_version =
        control<decltype(lode_emulator_set_driver_version)>("lode_emulator_set_driver_version");
    set_version(13000);
    CHECK(CU(cuDeviceGetDevResource, 12040)(0, &resource, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG) ==
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    CHECK(generated({config(0, 8, 0)}) == CUDA_ERROR_INVALID_RESOURCE_TYPE);
    set_version(0);
}

TEST_CASE("emulator green context: its events know invalid handles and captures") {
    const Machine machine("sm_90,sm_90");
    const Current other(1);
    CUevent foreign = nullptr;
    REQUIRE(CU(cuEventCreate, 2000)(&foreign, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    const Current scope;
    CUevent event = nullptr;
    REQUIRE(CU(cuEventCreate, 2000)(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    CUdevResource whole = whole_device(0);
    CUgreenCtx green = nullptr;
    REQUIRE(CU(cuGreenCtxCreate, 12040)(&green, green_description(whole), 0,
                                        CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS);
    const auto& record = CU(cuGreenCtxRecordEvent, 12040);
    const auto& wait = CU(cuGreenCtxWaitEvent, 12040);
    CHECK(record(nullptr, event) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(record(green, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(record(green, foreign) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(wait(green, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(wait(green, event) == CUDA_SUCCESS);  // It was never recorded.
    CHECK(record(green, event) == CUDA_SUCCESS);
    CHECK(wait(green, event) == CUDA_SUCCESS);
    CHECK(wait(green, foreign) == CUDA_SUCCESS);

    CUstream stream = nullptr;
    REQUIRE(CU(cuGreenCtxStreamCreate, 12050)(&stream, green, CU_STREAM_NON_BLOCKING, 0) ==
            CUDA_SUCCESS);
    for (const bool records : {true, false}) {
        REQUIRE(CU(cuStreamBeginCapture, 10010)(stream, CU_STREAM_CAPTURE_MODE_RELAXED) ==
                CUDA_SUCCESS);
        CHECK((records ? record(green, event) : wait(green, event)) ==
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CUgraph graph = nullptr;
        CHECK(CU(cuStreamEndCapture, 10000)(stream, &graph) ==
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
    CHECK(CU(cuGreenCtxDestroy, 12040)(green) == CUDA_SUCCESS);
    CHECK(CU(cuEventDestroy, 4000)(event) == CUDA_SUCCESS);
    CHECK(CU(cuEventDestroy, 4000)(foreign) == CUDA_SUCCESS);
}

TEST_CASE("emulator green context: one without a default stream, from CUDA 13.3 on") {
    const Machine machine("sm_90");
    CUdevResource whole = whole_device(0);
    const auto set_version =
        control<decltype(lode_emulator_set_driver_version)>("lode_emulator_set_driver_version");
    CUgreenCtx green = nullptr;
    set_version(13020);
    CHECK(CU(cuGreenCtxCreate, 12040)(&green, green_description(whole), 0, 0) ==
          CUDA_ERROR_INVALID_VALUE);
    set_version(0);
    CHECK(CU(cuGreenCtxCreate, 12040)(&green, green_description(whole), 0, 0) == CUDA_SUCCESS);
    CHECK(CU(cuGreenCtxDestroy, 12040)(green) == CUDA_SUCCESS);
}
