#include "base/tile_ir.hpp"

#include <string_view>

#include <doctest/doctest.h>

using lode::tile_ir_version;

TEST_CASE("tile ir: its version is read, and anything else has none") {
    const auto version = [](std::string_view text) {
        return tile_ir_version(std::as_bytes(std::span(text)));
    };
    using namespace std::string_view_literals;
    CHECK(version("\x7fTileIR\0\r\x05\0\0"sv) == 13050);
    CHECK(version("\x7fTileIR\0\x0e\x00"sv) == 14000);
    CHECK_FALSE(version("\x7fTileIR\0\r"sv));
    CHECK_FALSE(
        version("\x7f"
                "ELFxxxxxxxxxx"sv));
    CHECK_FALSE(version("\x7fTileIRx\r\x05\0\0"sv));
    CHECK_FALSE(version(""sv));
}
