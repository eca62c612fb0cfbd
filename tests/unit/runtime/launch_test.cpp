#include <lode/runtime/launch.hpp>

#include <doctest/doctest.h>

TEST_CASE("launch: packed arguments land where the programming guide says") {
    struct alignas(16) Float4 {
        float x[4];
    };
    struct alignas(8) Float2 {
        float x[2];
    };
    lode::PackedArguments arguments;
    REQUIRE(arguments.add(1));
    REQUIRE(arguments.add(Float4{}));
    REQUIRE(arguments.add('c'));
    REQUIRE(arguments.add(2.0F));
    REQUIRE(arguments.add(3ULL));
    REQUIRE(arguments.add(Float2{}));
    const std::size_t offsets[] = {0, 16, 32, 36, 40, 48};
    for (std::size_t i = 0; i < std::size(offsets); ++i)
        CHECK(arguments.offset(i) == offsets[i]);
    CHECK(arguments.size_bytes() == 56);
}

TEST_CASE("launch: packed arguments stop at the parameter limit") {
    lode::PackedArguments arguments;
    const std::vector<std::byte> bytes(lode::PackedArguments::max_bytes + 1);
    const auto too_many = arguments.add_bytes(bytes.data(), bytes.size(), 1);
    REQUIRE_FALSE(too_many);
    CHECK(too_many.error().code == lode::Errc::invalid_argument);
    CHECK(too_many.error().message.find("32764") != std::string::npos);
    CHECK(arguments.size_bytes() == 0);
    CHECK(arguments.add_bytes(bytes.data(), lode::PackedArguments::max_bytes, 4));
}

TEST_CASE("launch: cover rounds up") {
    CHECK(lode::cover(1000, 256).grid.x == 4);
    CHECK(lode::cover(1024, 256).grid.x == 4);
    CHECK(lode::cover(1025, 256).grid.x == 5);
    CHECK(lode::cover(0, 256).grid.x == 1);
    CHECK(lode::cover(~std::uint64_t{0}, 256).grid.x == 0xffffffff);
}

TEST_CASE("launch: cover rounds up in each dimension") {
    static_assert(lode::cover({100, 33}, {32, 8}).grid == lode::Dim3{4, 5});
    static_assert(lode::cover({100, 33}, {32, 8}).block == lode::Dim3{32, 8});
    static_assert(lode::cover({64, 9, 5}, {8, 8, 4}).grid == lode::Dim3{8, 2, 2});
    static_assert(lode::cover({0, 7}, {16, 16}).grid == lode::Dim3{1, 1});
    static_assert(lode::cover({7, 7}, {0, 1}).grid == lode::Dim3{7, 7});  // The launch refuses it.
}
