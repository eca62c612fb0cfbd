// What an allocation says when the device's memory doesn't suffice, on the software device.
#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/lode.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::emulator_test;
using lode::test::require_error;

namespace {

/// A runtime on a fresh machine of one device.
Runtime open_full_machine() {
    ::setenv("LODE_EMULATOR_DEVICES", "sm_90", 1);
    reset();
    return require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}}));
}

/// The error must name the bytes asked for, the device, and its free and total memory.
void check_says_all(const Device& device, const Error& error, std::size_t bytes) {
    const auto memory = require(device.memory_info());
    CAPTURE(error.message);
    CHECK(error.code == Errc::out_of_memory);
    CHECK_CONTAINS(error.message, "An allocation of " + std::to_string(bytes) +
                                      " bytes exceeds the free memory of device 0 (");
    CHECK_CONTAINS(error.message, "(" + std::to_string(memory.free_bytes) + " of " +
                                      std::to_string(memory.total_bytes) + " bytes)");
}

}  // namespace

TEST_CASE("out of memory: every kind of allocation says what was asked for and what is free") {
    const Runtime runtime = open_full_machine();
    const Device device = require(runtime.device());
    const auto stream = require(device.create_stream());
    const auto some = require(device.alloc<char>(std::size_t{1} << 20));  // Not all is free.
    const std::size_t total = require(device.memory_info()).total_bytes;
    constexpr std::size_t unit = std::size_t{2} << 20;
    const std::size_t bytes = (total / unit + 1) * unit;

    check_says_all(device, require_error(device.alloc<char>(bytes)), bytes);
    check_says_all(device, require_error(ManagedBuffer<char>::allocate(device, bytes)), bytes);
    check_says_all(device, require_error(AsyncBuffer<char>::allocate(device, stream, bytes)),
                   bytes);
    const auto pool = require(MemoryPool::create(device));
    check_says_all(device, require_error(pool.allocate<char>(stream, bytes)), bytes);
    check_says_all(device, require_error(SharedBuffer<char>::create(device, bytes)), bytes);
    auto growing = require(GrowableBuffer<char>::reserve(device, 2 * bytes));
    check_says_all(device, require_error(growing.resize(bytes)), bytes);
    constexpr std::size_t width = 1 << 16;
    check_says_all(device,
                   require_error(PitchedBuffer<float>::allocate(device, {width, bytes / width})),
                   bytes * sizeof(float));
}

TEST_CASE("out of memory: arrays name their bytes too") {
    const Runtime runtime = open_full_machine();
    const Device device = require(runtime.device());
    constexpr std::size_t side = 1 << 14;
    constexpr std::size_t slices = 1 << 14;
    const ArrayExtent extent{side, side, slices};
    const std::size_t bytes = extent.volume() * sizeof(float);
    check_says_all(device, require_error(Array<float>::create(device, extent)), bytes);
    const std::size_t levels = bytes + bytes / 8;
    check_says_all(device, require_error(MipmappedArray<float>::create(device, extent, 2)), levels);
}

TEST_CASE("out of memory: a pool at its limit isn't mistaken for a full device") {
    const Runtime runtime = open_full_machine();
    const Device device = require(runtime.device());
    const auto stream = require(device.create_stream());
    constexpr std::size_t limit = 1 << 20;
    const auto pool = require(MemoryPool::create(device, {.max_bytes = limit}));
    const Error error = require_error(pool.allocate<char>(stream, 8 * limit));
    CHECK(error.code == Errc::out_of_memory);
    CHECK_CONTAINS(error.message, "An allocation of 8388608 bytes isn't possible on device 0 (");
    CHECK_CONTAINS(error.message, "bytes are free: the pool has reached its limit, or ");
}
