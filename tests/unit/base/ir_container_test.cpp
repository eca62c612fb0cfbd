#include "base/ir_container.hpp"

#include <string_view>

#include <doctest/doctest.h>

using namespace lode;

TEST_CASE("ir container: LTO-IR and OptiX IR differ in one byte, and anything else has no kind") {
    const auto kind = [](std::string_view text) { return ir_kind(std::as_bytes(std::span(text))); };
    using namespace std::string_view_literals;
    CHECK(kind("\xed\x43\x4e\x7f\x01\x41\x02\x62\x03\x02\x07\0\x18\0\x01\0"sv) == IrKind::lto);
    CHECK(kind("\xed\x43\x4e\x7f\x01\x41\x02\x62\x03\x02\x07\0\x18\0\x02\0"sv) == IrKind::optix);
    CHECK(kind("\xed\x43\x4e\x7f"sv) == IrKind::lto);
    CHECK_FALSE(kind("\xed\x43\x4e"sv));
    CHECK_FALSE(
        kind("\x7f"
             "ELF\x01\x41\x02\x62\x03\x02\x07\0\x18\0\x02\0"sv));
    CHECK_FALSE(kind(""sv));
}
