#include "tests/unit/runtime/support.hpp"

#include <cuda.h>

using namespace lode;
using namespace lode::test;

// Every attribute has the number of its namesake in cuda.h, and none is missing.
#if CUDA_VERSION >= 13000
#define LODE_DEVICE_ATTRIBUTE(driver_name, name, unit) \
    static_assert(CU_DEVICE_ATTRIBUTE_##driver_name == static_cast<int>(DeviceAttribute::name));
#if CUDA_VERSION < 13050
#define LODE_NEWER_DEVICE_ATTRIBUTE(driver_name, name, unit)
#endif
#include "runtime/device_attributes.def"
#undef LODE_DEVICE_ATTRIBUTE
#endif

TEST_CASE("device attributes: the table has every number up to the driver's last") {
    int number = 0;
    for (const auto& row : device_attributes()) {
        CAPTURE(row.name);
        CHECK(static_cast<int>(row.attribute) == ++number);
        CHECK(device_attribute_of(row.name) == row.attribute);
    }
    CHECK(number == 161);  // CUDA 13.5.
}

TEST_CASE("device attributes: a name is found in any case and with the driver's prefix") {
    CHECK(device_attribute_of("warp_size") == DeviceAttribute::warp_size);
    CHECK(device_attribute_of("CU_DEVICE_ATTRIBUTE_WARP_SIZE") == DeviceAttribute::warp_size);
    CHECK(device_attribute_of("Warp_Size") == DeviceAttribute::warp_size);
    CHECK_FALSE(device_attribute_of("warp"));
    CHECK_FALSE(device_attribute_of(""));
    CHECK_FALSE(device_attribute_of("CU_DEVICE_ATTRIBUTE_"));
}

TEST_CASE("device attributes: values come from the driver, by number and by name") {
    FakeMachine machine(
        {.devices = {{.attributes = {{CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1},
                                     {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512}}}}});
    const Device device = machine.device();
    CHECK(device_attribute(device, DeviceAttribute::host_numa_id) == -1);
    CHECK(device_attribute(device, "texture_alignment") == 512);
    for (const auto& row : device_attributes())
        CHECK(device_attribute(device, row.attribute));
}

TEST_CASE("device attributes: unknown ones are refused, by the table or by the driver") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto no_name = device_attribute(device, "warp_length");
    REQUIRE_FALSE(no_name);
    CHECK(no_name.error().code == Errc::not_found);
    CHECK(no_name.error().message == "No device attribute is named 'warp_length'.");
    const auto no_number = device_attribute(device, static_cast<DeviceAttribute>(999));
    REQUIRE_FALSE(no_number);
    CHECK(no_number.error().code == Errc::invalid_argument);
    CHECK(no_number.error().message.find("999") != std::string::npos);

    machine.driver.fail_call(1, CUDA_ERROR_INVALID_VALUE);
    const auto too_new = device_attribute(device, DeviceAttribute::numa_id);
    REQUIRE_FALSE(too_new);
    CHECK(too_new.error().code == Errc::not_supported);
    CHECK(too_new.error().message.find("numa_id") != std::string::npos);
    CHECK(too_new.error().message.find("device 0") != std::string::npos);
}
