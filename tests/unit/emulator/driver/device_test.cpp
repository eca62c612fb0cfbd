#include "emulator/devices/profiles.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <fmt/format.h>

using namespace lode::emulator_test;
using lode::emulator::Profile;
using lode::test::Variable;

namespace {

int attribute(CUdevice_attribute which, CUdevice device = 0) {
    int value = -1;
    CHECK(CU(cuDeviceGetAttribute, 2000)(&value, which, device) == CUDA_SUCCESS);
    return value;
}

/// As nvidia-smi prints it.
std::string uuid_text(CUdevice device) {
    CUuuid uuid{};
    CHECK(CU(cuDeviceGetUuid, 11040)(&uuid, device) == CUDA_SUCCESS);
    std::string text = "GPU";
    for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        CHECK(uuid.bytes[i] != 0);  // Programs take them for a text.
        text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

constexpr struct {
    int number;
    int in_cuda;
} attributes[] = {
#define LODE_ATTRIBUTE(number, name, expression) {number, CU_DEVICE_ATTRIBUTE_##name},
#if CUDA_VERSION < 13050
#define LODE_NEWER_ATTRIBUTE(number, name, expression)
#endif
#include "emulator/driver/attributes.def"
#undef LODE_ATTRIBUTE
};

}  // namespace

TEST_CASE("emulator device: there is a profile for every architecture of NVRTC 13.5") {
    std::string known;
    for (const Profile& profile : lode::emulator::profiles())
        known += std::to_string(profile.cc.number()) + " ";
    CHECK(known == "75 80 86 87 88 89 90 100 103 107 110 120 121 ");
}

TEST_CASE("emulator device: names and attributes match each profile") {
    for (const Profile& profile : lode::emulator::profiles()) {
        const std::string arch = lode::Arch(profile.cc).to_string();
        CAPTURE(arch);
        const Machine machine(arch.c_str());
        char name[64] = {};
        CHECK(CU(cuDeviceGetName, 2000)(name, sizeof(name), 0) == CUDA_SUCCESS);
        CHECK(std::string_view(name) == "lode emulator (CPU) " + arch);
        CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) ==
              profile.cc.number());
        CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) == profile.multiprocessors);
        CHECK(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE) == 32);
        CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) == 49152);
        // A block may use the shared memory of its multiprocessor, except what the driver reserves.
        CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) +
                  attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) ==
              attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
        CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) % 512 == 0);
    }
}

TEST_CASE("emulator device: limits match the published tables") {
    const Machine machine("sm_75,sm_86,sm_90");
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0) == 1024);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0) == 65536);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 1) == 16);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 1) == 101376);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 2) == 32);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 2) == 232448);
}

TEST_CASE("emulator device: every attribute of the enumeration can be queried") {
    const Machine machine;
    constexpr int last = 161;  // CUDA 13.5.
    for (int which = 1; which <= last; ++which) {
        CAPTURE(which);
        int value = 0;
        CHECK(CU(cuDeviceGetAttribute, 2000)(&value, static_cast<CUdevice_attribute>(which), 0) ==
              CUDA_SUCCESS);
    }
    int value = 0;
    CHECK(CU(cuDeviceGetAttribute, 2000)(&value, static_cast<CUdevice_attribute>(last + 1), 0) ==
          CUDA_ERROR_INVALID_VALUE);
    for (const auto& row : attributes)
        CHECK(row.number == row.in_cuda);
}

TEST_CASE("emulator device: ordinals and outputs are checked") {
    const Machine machine("sm_80,sm_90");
    CUdevice device = -1;
    CHECK(CU(cuDeviceGet, 2000)(&device, 1) == CUDA_SUCCESS);
    CHECK(device == 1);
    CHECK(CU(cuDeviceGet, 2000)(&device, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(CU(cuDeviceGet, 2000)(&device, -1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(CU(cuDeviceGet, 2000)(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    char name[5] = {};
    CHECK(CU(cuDeviceGetName, 2000)(name, sizeof(name), 0) == CUDA_SUCCESS);
    CHECK(std::string_view(name) == "lode");
    CHECK(CU(cuDeviceGetName, 2000)(name, 0, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator device: identities differ from device to device") {
    const Machine machine("sm_90,sm_90");
    CUuuid first{};
    CUuuid second{};
    CHECK(CU(cuDeviceGetUuid, 11040)(&first, 0) == CUDA_SUCCESS);
    CHECK(CU(cuDeviceGetUuid, 11040)(&second, 1) == CUDA_SUCCESS);
    CHECK(std::string_view(first.bytes, 16) != std::string_view(second.bytes, 16));
    char bus[16] = {};
    CHECK(CU(cuDeviceGetPCIBusId, 4010)(bus, sizeof(bus), 1) == CUDA_SUCCESS);
    CUdevice device = -1;
    CHECK(CU(cuDeviceGetByPCIBusId, 4010)(&device, bus) == CUDA_SUCCESS);
    CHECK(device == 1);
    CHECK(CU(cuDeviceGetByPCIBusId, 4010)(&device, "0000:77:00.0") == CUDA_ERROR_INVALID_DEVICE);
    int reaches = 0;
    CHECK(CU(cuDeviceCanAccessPeer, 4000)(&reaches, 0, 1) == CUDA_SUCCESS);
    CHECK(reaches == 1);
    CHECK(CU(cuDeviceCanAccessPeer, 4000)(&reaches, 0, 0) == CUDA_SUCCESS);
    CHECK(reaches == 0);
}

TEST_CASE("emulator device: CUDA_VISIBLE_DEVICES shows devices as the driver does") {
    const Machine whole("sm_75,sm_80,sm_90");
    std::string uuids[3];
    for (int device = 0; device < 3; ++device)
        uuids[device] = uuid_text(device);
    CHECK(uuids[0] != uuids[1]);
    struct Row {
        std::string list;
        std::vector<int> shown;
    };
    const Row rows[] = {
        {"2,1", {2, 1}},
        {"0,2,-1,1", {0, 2}},
        {"0,7,1", {0}},
        {" 1 , 0", {1, 0}},
        {"1gpu2,2ampere", {1, 2}},
        {"0,,1", {0}},
        {"", {}},
        {"-1", {}},
        {"none", {}},
        {"1,0,1", {}},
        {"0," + uuids[1], {0}},
        {uuids[2] + "," + uuids[0], {2, 0}},
        {uuids[1].substr(0, 8) + ",GPU-ffff," + uuids[0], {1}},
        {uuids[1].substr(0, 8) + "," + uuids[1], {}},
        {"GPU-", {}},  // Every device begins so.
        {"MIG-" + uuids[0] + "/1/0", {}},
    };
    for (const auto& [list, shown] : rows) {
        CAPTURE(list);
        const Variable variable("CUDA_VISIBLE_DEVICES", list.c_str());
        const Machine machine("sm_75,sm_80,sm_90", false);
        CHECK(CU(cuInit, 2000)(0) == (shown.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS));
        int count = 0;
        CU(cuDeviceGetCount, 2000)(&count);
        REQUIRE(count == static_cast<int>(shown.size()));
        for (int device = 0; device < count; ++device) {
            CHECK(uuid_text(device) == uuids[shown[device]]);
            CHECK(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device) == shown[device] + 1);
            const Current scope(device);
            CUdevice current = -1;
            CHECK(CU(cuCtxGetDevice, 2000)(&current) == CUDA_SUCCESS);
            CHECK(current == device);
        }
    }
}

TEST_CASE("emulator device: CUDA_VISIBLE_DEVICES hides nothing where the device stands in") {
    const Variable variable("CUDA_VISIBLE_DEVICES", "");
    const Machine machine("sm_75,sm_90", false);
    CHECK(CU(cuInit, 2000)(0) == CUDA_ERROR_NO_DEVICE);
    control<decltype(lode_emulator_show_all)>("lode_emulator_show_all")();
    CHECK(CU(cuInit, 2000)(0) == CUDA_SUCCESS);
    int count = 0;
    CHECK(CU(cuDeviceGetCount, 2000)(&count) == CUDA_SUCCESS);
    CHECK(count == 2);
}
