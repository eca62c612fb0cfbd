// What the tests of lode::kernels share.
#pragma once

#include "tests/unit/kernels/emulated_machine.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/kernels/operation.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace lode::test {

/// One device, a stream and a workspace of `bytes`, full of ones.
struct Host {
    explicit Host(const char* architecture = "sm_90", std::size_t bytes = 1 << 22)
        : machine(architecture),
          device(machine.loader->device()),
          stream(unwrap(device.create_stream())),
          memory(unwrap(device.alloc<std::byte>(bytes))),
          workspace(memory) {
        unwrap(memory.fill(std::byte{0xff}));
    }

    template <class T>
    std::vector<T> read(const DeviceBuffer<T>& buffer) {
        unwrap(stream.sync());
        return unwrap(buffer.to_vector());
    }

    Machine machine;
    Device device;
    Stream stream;
    DeviceBuffer<std::byte> memory;
    kernels::Workspace workspace;
};

/// Requires invalid_argument with a message that has `part`.
inline void check_refused(const Status& status, std::string_view part) {
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Errc::invalid_argument);
    CAPTURE(status.error().message);
    CHECK(status.error().message.find(part) != std::string::npos);
}

}  // namespace lode::test
