#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

using namespace lode::emulator_test;

namespace {

/// A launch of the store kernel with one attribute.
struct AttributeBench {
    explicit AttributeBench(const char* devices = "sm_90") : machine(devices) {
        REQUIRE(CU(cuLibraryLoadData, 12000)(&library, store_ptx, nullptr, nullptr, 0, nullptr,
                                             nullptr, 0) == CUDA_SUCCESS);
        REQUIRE(CU(cuLibraryGetKernel, 12000)(&kernel, library, "store") == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&memory, 64) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        config.gridDimX = config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = config.blockDimY = config.blockDimZ = 1;
        config.hStream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
    }

    [[nodiscard]] CUfunction function() const { return reinterpret_cast<CUfunction>(kernel); }

    CUresult launch(CUlaunchAttributeID id) {
        attribute.id = id;
        unsigned value = 9;
        void* arguments[] = {&memory, &value};
        return CU(cuLaunchKernelEx, 11060)(&config, function(), arguments, nullptr);
    }

    [[nodiscard]] CUevent event(unsigned flags) const {
        CUevent made = nullptr;
        CHECK(CU(cuEventCreate, 2000)(&made, flags) == CUDA_SUCCESS);
        return made;
    }

    CUresult set(CUstream to, CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
        return CU(cuStreamSetAttribute, 11000)(to, id, &value);
    }
    [[nodiscard]] CUlaunchAttributeValue get(CUstream from, CUlaunchAttributeID id) const {
        CUlaunchAttributeValue value{};
        CHECK(CU(cuStreamGetAttribute, 11000)(from, id, &value) == CUDA_SUCCESS);
        return value;
    }

    Machine machine;
    Current scope;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    CUlaunchAttribute attribute{};
    CUlaunchConfig config{};
};

}  // namespace

TEST_CASE("emulator attributes: events in launch attributes are recorded after the kernel") {
    AttributeBench bench;
    for (const auto id :
         {CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT}) {
        CAPTURE(static_cast<int>(id));
        const CUevent event = bench.event(CU_EVENT_DISABLE_TIMING);
        bench.attribute.value = {};
        // Both structs begin with the event.
        bench.attribute.value.programmaticEvent.event = event;
        CHECK(bench.launch(id) == CUDA_SUCCESS);
        CHECK(CU(cuEventSynchronize, 2000)(event) == CUDA_SUCCESS);
        unsigned stored = 0;
        CHECK(CU(cuMemcpyDtoH, 3020)(&stored, bench.memory, sizeof(stored)) == CUDA_SUCCESS);
        CHECK(stored == 9);

        bench.attribute.value.programmaticEvent.flags = CU_EVENT_RECORD_EXTERNAL;
        CHECK(bench.launch(id) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuEventDestroy, 4000)(event) == CUDA_SUCCESS);
        bench.attribute.value.programmaticEvent.flags = 0;
        CHECK(bench.launch(id) == CUDA_ERROR_INVALID_HANDLE);
        const CUevent timed = bench.event(CU_EVENT_DEFAULT);
        bench.attribute.value.programmaticEvent.event = timed;
        CHECK(bench.launch(id) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuEventDestroy, 4000)(timed) == CUDA_SUCCESS);
    }
}

TEST_CASE("emulator attributes: hints are accepted within their ranges") {
    AttributeBench bench;
    auto& value = bench.attribute.value;
    const auto check = [&](CUlaunchAttributeID id, auto& field, auto good, auto bad) {
        CAPTURE(static_cast<int>(id));
        field = good;
        CHECK(bench.launch(id) == CUDA_SUCCESS);
        field = bad;
        CHECK(bench.launch(id) == CUDA_ERROR_INVALID_VALUE);
        value = {};
    };
    check(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, value.sharedMemCarveout, 100U,
          101U);
    check(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
          value.clusterSchedulingPolicyPreference, CU_CLUSTER_SCHEDULING_POLICY_SPREAD,
          std::bit_cast<CUclusterSchedulingPolicy>(3));
    check(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, value.memSyncDomain,
          CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE, std::bit_cast<CUlaunchMemSyncDomain>(2));
    check(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, value.memSyncDomainMap.remote,
          static_cast<unsigned char>(0), static_cast<unsigned char>(1));
    check(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, value.accessPolicyWindow.hitRatio, 1.0F, 1.5F);
    check(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, value.accessPolicyWindow.num_bytes,
          std::size_t{128} << 20, (std::size_t{128} << 20) + 1);
    check(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, value.accessPolicyWindow.missProp,
          CU_ACCESS_PROPERTY_STREAMING, CU_ACCESS_PROPERTY_PERSISTING);
#if CUDA_VERSION >= 13000
    check(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING, value.nvlinkUtilCentricScheduling, 1U,
          2U);
#endif
    CHECK(bench.launch(std::bit_cast<CUlaunchAttributeID>(1000)) == CUDA_ERROR_INVALID_VALUE);
    CHECK(bench.launch(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) == CUDA_SUCCESS);
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    CHECK(bench.launch(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) ==
          CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("emulator attributes: a preferred cluster must divide the grid, and is a preference") {
    AttributeBench bench;
    bench.config.gridDimX = 4;
    bench.attribute.value.preferredClusterDim = {2, 1, 1};
    CHECK(bench.launch(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION) == CUDA_SUCCESS);
    bench.attribute.value.preferredClusterDim = {3, 1, 1};
    CHECK(bench.launch(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION) ==
          CUDA_ERROR_INVALID_VALUE);
    bench.attribute.value.preferredClusterDim = {0, 1, 1};
    CHECK(bench.launch(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator attributes: streams keep theirs, and copy them") {
    AttributeBench bench;
    CHECK(bench.get(bench.stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy ==
          CU_SYNC_POLICY_AUTO);
    CUlaunchAttributeValue value{};
    value.syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
    CHECK(bench.set(bench.stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, value) ==
          CUDA_SUCCESS);
    value = {};
    value.priority = -100;
    CHECK(bench.set(bench.stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, value) == CUDA_SUCCESS);
    int priority = 0;
    CHECK(CU(cuStreamGetPriority, 5050)(bench.stream, &priority) == CUDA_SUCCESS);
    CHECK(priority == -5);

    CUstream other = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&other, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(CU(cuStreamCopyAttributes, 11000)(other, bench.stream) == CUDA_SUCCESS);
    CHECK(bench.get(other, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy ==
          CU_SYNC_POLICY_BLOCKING_SYNC);
    CHECK(bench.get(other, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority == -5);

    value = {};
    CHECK(bench.set(bench.stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, value) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(bench.set(bench.stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuStreamGetAttribute, 11000)(bench.stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuStreamSetAttribute, 11000)(bench.stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuStreamDestroy, 4000)(other) == CUDA_SUCCESS);
    CHECK(bench.set(other, CU_LAUNCH_ATTRIBUTE_PRIORITY, value) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("emulator attributes: the occupancy of clusters") {
    AttributeBench bench;
    bench.config.numAttrs = 0;
    int clusters = 0;
    CHECK(CU(cuOccupancyMaxActiveClusters, 11070)(&clusters, bench.function(), &bench.config) ==
          CUDA_SUCCESS);
    CHECK(clusters == 132 * 32);
    int size = 0;
    CHECK(CU(cuOccupancyMaxPotentialClusterSize, 11070)(&size, bench.function(), &bench.config) ==
          CUDA_SUCCESS);
    CHECK(size == 8);
    bench.config.numAttrs = 1;
    bench.attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    const auto active = [&](unsigned blocks) {
        bench.attribute.value.clusterDim = {blocks, 1, 1};
        bench.config.gridDimX = std::max(1u, blocks) * 2;
        return CU(cuOccupancyMaxActiveClusters, 11070)(&clusters, bench.function(), &bench.config);
    };
    CHECK(active(2) == CUDA_SUCCESS);
    CHECK(clusters == 132 / 2 * 32);
    CHECK(active(16) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CHECK(active(0) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CHECK(CU(cuFuncSetAttribute, 9000)(bench.function(),
                                       CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                       1) == CUDA_SUCCESS);
    CHECK(active(16) == CUDA_SUCCESS);
    // Eight groups of 16 multiprocessors, and four more.
    CHECK(clusters == 8 * 32 + 4 * 32 / 16);
    CHECK(CU(cuOccupancyMaxPotentialClusterSize, 11070)(&size, bench.function(), &bench.config) ==
          CUDA_SUCCESS);
    CHECK(size == 16);
    bench.config.numAttrs = 0;
    bench.config.blockDimX = 0;
    CHECK(CU(cuOccupancyMaxActiveClusters, 11070)(&clusters, bench.function(), &bench.config) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuOccupancyMaxActiveClusters, 11070)(&clusters, bench.function(), nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator attributes: launches with clusters are checked as on an H200") {
    AttributeBench bench;
    const auto launch = [&](CUfunction function, unsigned grid, std::array<unsigned, 3> cluster) {
        bench.config.gridDimX = grid;
        bench.attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        bench.attribute.value.clusterDim = {cluster[0], cluster[1], cluster[2]};
        const CUresult state =
            CU(cuLaunchKernelEx, 11060)(&bench.config, function, nullptr, nullptr);
        CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
        return state;
    };
    const auto function_with = [&](const std::string& directives) {
        const std::string ptx =
            ".version 8.0\n.target sm_90\n.address_size 64\n"
            ".visible .entry k()\n" +
            directives + "\n{ ret; }\n";
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        REQUIRE(CU(cuModuleLoadData, 2000)(&module, ptx.c_str()) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module, "k") == CUDA_SUCCESS);
        return function;
    };
    constexpr CUresult wrong = CUDA_ERROR_INVALID_CLUSTER_SIZE;
    CUfunction f = function_with("");
    CHECK(launch(f, 8, {2, 1, 1}) == CUDA_SUCCESS);
    CHECK(launch(f, 7, {2, 1, 1}) == wrong);
    CHECK(launch(f, 9, {9, 1, 1}) == wrong);
    CHECK(launch(f, 8, {0, 1, 1}) == wrong);
    CHECK(launch(f, 8, {0, 0, 0}) == CUDA_SUCCESS);
    CHECK(launch(f, 16, {16, 1, 1}) == wrong);
    REQUIRE(CU(cuFuncSetAttribute, 9000)(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                         1) == CUDA_SUCCESS);
    CHECK(launch(f, 16, {16, 1, 1}) == CUDA_SUCCESS);
    CHECK(launch(f, 12, {12, 1, 1}) == CUDA_SUCCESS);
    CHECK(launch(f, 32, {32, 1, 1}) == wrong);
    f = function_with(".explicitcluster\n.reqnctapercluster 2, 1, 1");
    CHECK(launch(f, 8, {0, 0, 0}) == CUDA_SUCCESS);
    CHECK(launch(f, 7, {0, 0, 0}) == wrong);
    CHECK(launch(f, 8, {2, 1, 1}) == CUDA_SUCCESS);
    CHECK(launch(f, 8, {4, 1, 1}) == wrong);
    CHECK(launch(f, 8, {1, 1, 1}) == wrong);
    CHECK(CU(cuLaunchKernel, 4000)(f, 7, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) == wrong);
    f = function_with(".explicitcluster");
    int must = 0;
    CHECK(CU(cuFuncGetAttribute, 2020)(&must, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, f) ==
          CUDA_SUCCESS);
    CHECK(must == 1);
    CHECK(launch(f, 8, {0, 0, 0}) == wrong);
    CHECK(launch(f, 8, {2, 1, 1}) == CUDA_SUCCESS);
    f = function_with(".maxclusterrank 4");
    CHECK(launch(f, 8, {4, 1, 1}) == CUDA_SUCCESS);
    CHECK(launch(f, 8, {8, 1, 1}) == wrong);
    f = function_with(".maxclusterrank 16");
    CHECK(launch(f, 16, {16, 1, 1}) == wrong);
}

TEST_CASE("emulator attributes: a device before sm_90 has no clusters") {
    AttributeBench bench("sm_80");
    bench.config.gridDimX = 4;
    bench.attribute.value.clusterDim = {2, 1, 1};
    CHECK(bench.launch(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(bench.machine.log().find("launches with clusters") != std::string::npos);
    int has = 1;
    CHECK(CU(cuDeviceGetAttribute, 2000)(&has, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0) ==
          CUDA_SUCCESS);
    CHECK(has == 0);
}

TEST_CASE("emulator attributes: a kernel's cluster settings are kept") {
    AttributeBench bench;
    const auto set = [&](CUfunction_attribute attribute, int value) {
        return CU(cuKernelSetAttribute, 12000)(attribute, value, bench.kernel, 0);
    };
    const auto get = [&](CUfunction_attribute attribute) {
        int value = -1;
        CHECK(CU(cuKernelGetAttribute, 12000)(&value, attribute, bench.kernel, 0) == CUDA_SUCCESS);
        return value;
    };
    CHECK(get(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) == 0);
    CHECK(set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) == CUDA_SUCCESS);
    CHECK(get(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) == 1);
    CHECK(set(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
              CU_CLUSTER_SCHEDULING_POLICY_SPREAD) == CUDA_SUCCESS);
    CHECK(get(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE) ==
          CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
    CHECK(set(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator attributes: the persisting part of the L2 cache is limited by the device") {
    const AttributeBench bench;
    int most = 0;
    CHECK(CU(cuDeviceGetAttribute, 2000)(&most, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE,
                                         0) == CUDA_SUCCESS);
    CHECK(most > 0);
    CHECK(CU(cuCtxSetLimit, 3010)(CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
                                  static_cast<std::size_t>(most) * 2) == CUDA_SUCCESS);
    std::size_t now = 0;
    CHECK(CU(cuCtxGetLimit, 3010)(&now, CU_LIMIT_PERSISTING_L2_CACHE_SIZE) == CUDA_SUCCESS);
    CHECK(now == static_cast<std::size_t>(most));
    CHECK(CU(cuCtxResetPersistingL2Cache, 11000)() == CUDA_SUCCESS);
}

TEST_CASE("emulator attributes: the modes of CUDA 13.2 replace what the function is set to") {
    constexpr auto clusters = static_cast<CUlaunchAttributeID>(17);
    constexpr auto shared_memory = static_cast<CUlaunchAttributeID>(18);
    AttributeBench bench;
    const auto launch = [&](CUlaunchAttributeID id, unsigned mode) {
        bench.attribute.value = {};
        std::memcpy(&bench.attribute.value, &mode, sizeof(mode));
        return bench.launch(id);
    };
    bench.config.sharedMemBytes = 100 << 10;
    CHECK(launch(shared_memory, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(shared_memory, 1) == CUDA_ERROR_INVALID_VALUE);
    for (const unsigned mode : {2U, 3U, 4U})
        CHECK(launch(shared_memory, mode) == CUDA_SUCCESS);
    CHECK(launch(shared_memory, 5) == CUDA_ERROR_INVALID_VALUE);
    const auto set_version =
        control<decltype(lode_emulator_set_driver_version)>("lode_emulator_set_driver_version");
    set_version(13020);  // Before oversized shared memory.
    CHECK(launch(shared_memory, 2) == CUDA_SUCCESS);
    CHECK(launch(shared_memory, 3) == CUDA_ERROR_INVALID_VALUE);
    set_version(13010);
    CHECK(launch(shared_memory, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch(clusters, 1) == CUDA_ERROR_INVALID_VALUE);
    set_version(0);
    CHECK(CU(cuKernelSetAttribute, 12000)(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          100 << 10, bench.kernel, 0) == CUDA_SUCCESS);
    CHECK(launch(shared_memory, 0) == CUDA_SUCCESS);
    CHECK(launch(shared_memory, 1) == CUDA_ERROR_INVALID_VALUE);
    bench.config.sharedMemBytes = 0;

    for (const unsigned mode : {0U, 1U, 2U})
        CHECK(launch(clusters, mode) == CUDA_SUCCESS);
    CHECK(launch(clusters, 3) == CUDA_ERROR_INVALID_VALUE);
    std::array<CUlaunchAttribute, 2> two{};
    two[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    two[0].value.clusterDim = {16, 1, 1};
    two[1].id = clusters;
    bench.config.gridDimX = 16;
    bench.config.attrs = two.data();
    bench.config.numAttrs = 2;
    const auto large = [&](unsigned mode) {
        std::memcpy(&two[1].value, &mode, sizeof(mode));
        unsigned value = 9;
        void* arguments[] = {&bench.memory, &value};
        return CU(cuLaunchKernelEx, 11060)(&bench.config, bench.function(), arguments, nullptr);
    };
    CHECK(large(0) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CHECK(large(1) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CHECK(large(2) == CUDA_SUCCESS);
}
