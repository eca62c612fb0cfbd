#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

namespace {

DeviceCandidate candidate(int ordinal, const std::string& name, ComputeCapability cc,
                          int multiprocessors, std::size_t memory, std::size_t free) {
    DeviceCandidate made;
    made.properties.ordinal = ordinal;
    made.properties.name = name;
    made.properties.cc = cc;
    made.properties.multiprocessors = multiprocessors;
    made.properties.total_memory_bytes = memory;
    made.properties.pci_id = "0000:0" + std::to_string(ordinal) + ":00.0";
    made.properties.uuid.fill(static_cast<std::uint8_t>(0xa0 + ordinal));
    made.free_bytes = [free]() -> Result<std::size_t> { return free; };
    made.attribute = [](DeviceAttribute attribute) -> Result<int> {
        if (attribute == DeviceAttribute::cluster_launch) return 0;
        return static_cast<int>(attribute);
    };
    return made;
}

std::vector<DeviceCandidate> three_devices() {
    return {candidate(0, "Fake T4", {7, 5}, 40, 16000, 15000),
            candidate(1, "Fake H200", {9, 0}, 132, 141000, 1000),
            candidate(2, "Fake H100", {9, 0}, 132, 80000, 79000)};
}

DeviceChoice chosen(const DeviceCriteria& criteria) {
    return require(choose_device(three_devices(), criteria));
}

}  // namespace

TEST_CASE("choose device: without criteria it is the first, and the others say so") {
    const auto choice = chosen({});
    CHECK(choice.ordinal == 0);
    REQUIRE(choice.verdicts.size() == 3);
    CHECK(choice.verdicts[0].suitable);
    CHECK(choice.verdicts[0].reason == "it is chosen");
    CHECK(choice.verdicts[2].suitable);
    CHECK(choice.to_string() ==
          "Device 0 (Fake T4): it is chosen.\n"
          "Device 1 (Fake H200): it isn't better than device 0, which comes first.\n"
          "Device 2 (Fake H100): it isn't better than device 0, which comes first.\n");
}

TEST_CASE("choose device: every requirement refuses with the value and the limit") {
    const auto reason = [](const DeviceCriteria& criteria, std::size_t device) {
        const auto choice = chosen(criteria);
        CHECK_FALSE(choice.verdicts[device].suitable);
        return choice.verdicts[device].reason;
    };
    CHECK(reason({.min_cc = {8, 0}}, 0) == "its compute capability 7.5 is below 8.0");
    CHECK(reason({.min_memory_bytes = 100000}, 2) ==
          "it has 80000 bytes of memory, fewer than 100000");
    CHECK(reason({.name_contains = "H1"}, 1) == "its name doesn't contain 'H1'");
    CHECK(reason({.pci_id = "0000:01:00.0"}, 0) ==
          "its PCI address 0000:00:00.0 isn't 0000:01:00.0");
    CHECK(reason({.min_free_bytes = 20000}, 1) ==
          "it has 1000 bytes of memory free, fewer than 20000");
    CHECK(reason({.uuid = "GPU-a2"}, 1) ==
          "its UUID GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1 isn't GPU-a2");
}

TEST_CASE("choose device: a UUID or its beginning selects, also that of a MIG instance") {
    CHECK(chosen({.uuid = "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1"}).ordinal == 1);
    CHECK(chosen({.uuid = "MIG-A2A2"}).ordinal == 2);
    CHECK(chosen({.uuid = "gpu-a0"}).ordinal == 0);
}

TEST_CASE("choose device: preferences decide in their order") {
    using enum DevicePreference;
    CHECK(chosen({.prefer = {highest_cc}}).ordinal == 1);
    CHECK(chosen({.prefer = {most_free_memory}}).ordinal == 2);
    CHECK(chosen({.prefer = {most_multiprocessors, most_free_memory}}).ordinal == 2);
    const auto choice = chosen({.prefer = {most_multiprocessors, most_memory}});
    CHECK(choice.ordinal == 1);
    CHECK(choice.verdicts[0].reason == "it has 40 multiprocessors, fewer than the 132 of device 1");
    CHECK(choice.verdicts[2].reason ==
          "it has 80000 bytes of memory, fewer than the 141000 of device 1");
    CHECK(chosen({.prefer = {highest_cc}}).verdicts[0].reason ==
          "its compute capability 7.5 is below the 9.0 of device 1");
}

TEST_CASE("choose device: free memory is asked only of devices that meet the rest") {
    auto devices = three_devices();
    int asked = 0;
    for (auto& device : devices) {
        device.free_bytes = [&asked]() -> Result<std::size_t> {
            ++asked;
            return std::size_t{5000};
        };
    }
    CHECK(require(choose_device(devices, {.min_cc = {9, 0}})).ordinal == 1);
    CHECK(asked == 0);
    CHECK(require(choose_device(devices, {.min_cc = {9, 0}, .min_free_bytes = 10})).ordinal == 1);
    CHECK(asked == 2);
    devices[1].free_bytes = []() -> Result<std::size_t> {
        return fail(Errc::device_unavailable, "It is busy.");
    };
    const auto choice = require(choose_device(devices, {.min_cc = {9, 0}, .min_free_bytes = 10}));
    CHECK(choice.ordinal == 2);
    CHECK(choice.verdicts[1].reason == "its free memory can't be read: It is busy");
}

TEST_CASE("choose device: if none is suitable, the error has every reason") {
    auto devices = three_devices();
    devices[2].unavailable = "Its compute mode is 'prohibited'.";
    const DeviceCriteria criteria{.min_cc = {9, 0},
                                  .attributes = {{DeviceAttribute::cluster_launch, 1}}};
    const auto error = require_error(choose_device(devices, criteria));
    CHECK(error.code == Errc::not_found);
    CHECK(error.message ==
          "No device meets the criteria. Device 0 (Fake T4): its compute capability 7.5 is below "
          "9.0. Device 1 (Fake H200): its cluster_launch is 0, less than 1. Device 2 (Fake H100): "
          "it can't be opened: Its compute mode is 'prohibited'.");
    CHECK(require_error(choose_device(std::span<const DeviceCandidate>(), criteria)).code ==
          Errc::no_device);
}

TEST_CASE("choose device: a runtime's devices, of which one is prohibited") {
    const std::map<CUdevice_attribute, int> prohibited = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_PROHIBITED}};
    const std::map<CUdevice_attribute, int> exclusive = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_EXCLUSIVE_PROCESS}};
    FakeMachine machine({.devices = {{.name = "one", .attributes = prohibited},
                                     {.name = "two", .attributes = exclusive},
                                     {.name = "three"}}});
    const auto chosen_device = require(choose_device(machine.runtime));
    CHECK(chosen_device.device.name() == "two");
    CHECK_CONTAINS(chosen_device.choice.verdicts[0].reason, "it can't be opened: Device 0");
    const auto shared = require(choose_device(machine.runtime, {.shared_only = true}));
    CHECK(shared.device.name() == "three");
    CHECK_CONTAINS(shared.choice.verdicts[1].reason, "'exclusive_process'");
    const auto by_attribute = require(choose_device(
        machine.runtime, {.min_free_bytes = 1, .prefer = {DevicePreference::most_free_memory}}));
    CHECK(by_attribute.device.ordinal() == 1);
}

TEST_CASE("choose device: without devices the error is that of opening one") {
    FakeMachine machine({.devices = {}});
    CHECK(require_error(choose_device(machine.runtime)).code == Errc::no_device);
}
