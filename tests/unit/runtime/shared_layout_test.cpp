#include <lode/runtime/launch.hpp>
#include <lode/runtime/shared_layout.hpp>

#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

using namespace lode;

TEST_CASE("shared layout: arrays follow each other at aligned offsets") {
    SharedLayout layout;  // The example of Programming Guide B.2.3.
    CHECK(layout.add<short>(128) == 0);
    CHECK(layout.add<float>(64) == 256);
    CHECK(layout.add<int>(256) == 512);
    CHECK(layout.bytes() == 1536);
}

TEST_CASE("shared layout: padding aligns an array after a smaller type") {
    SharedLayout layout;
    CHECK(layout.add<char>(127) == 0);
    CHECK(layout.add<float>(1) == 128);
    CHECK(layout.add<char>(1) == 132);
    CHECK(layout.add<double>(2) == 136);
    CHECK(layout.bytes() == 152);
    CHECK(layout.add<double>(0) == 152);
    CHECK(layout.bytes() == 152);
    static_assert(SharedLayout().bytes() == 0);
}

TEST_CASE("shared layout: a size beyond 32 bits isn't wrapped, and a launch takes it as it is") {
    constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    SharedLayout layout;
    CHECK(layout.add<char>(8) == 0);
    CHECK(layout.add<double>(std::numeric_limits<std::size_t>::max() / 8) == most);
    CHECK(LaunchShape{.dynamic_shared_bytes = layout.bytes()}.dynamic_shared_bytes == most);
    CHECK(layout.add<char>(1) == most);
    CHECK(layout.bytes() == most);

    SharedLayout large;
    CHECK(large.add<char>(most) == 0);
    CHECK(large.bytes() == most);
    SharedLayout larger;
    CHECK(larger.add<char>(1) == 0);
    CHECK(larger.add<double>(most / 8) == most);
    CHECK(larger.bytes() == most);
}
