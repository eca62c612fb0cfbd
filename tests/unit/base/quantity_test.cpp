#include "base/quantity.hpp"

#include <utility>

#include <doctest/doctest.h>

using namespace lode;

TEST_CASE("quantity: counts have decimal units, and binary ones with an i") {
    const std::pair<const char*, std::uint64_t> good[] = {{"0", 0},
                                                          {"1000", 1000},
                                                          {"1k", 1000},
                                                          {"1K", 1000},
                                                          {"1Ki", 1024},
                                                          {"3M", 3'000'000},
                                                          {"3Mi", 3 << 20},
                                                          {"2G", 2'000'000'000},
                                                          {"1Gi", 1 << 30},
                                                          {"1T", 1'000'000'000'000},
                                                          {"18446744073709551615", UINT64_MAX}};
    for (const auto& [text, count] : good)
        CHECK_MESSAGE(parse_count(text) == count, text);
    for (const char* text : {"", "k", "-1", "+1", " 1", "1 k", "1.5k", "1kk", "1kB", "1m", "1g",
                             "1KI", "1X", "1e3", "0x10"})
        CHECK_MESSAGE(parse_count(text) == tl::unexpected(QuantityFault::malformed), text);
    for (const char* text : {"18446744073709551616", "18446744073709551615k", "20000000T"})
        CHECK_MESSAGE(parse_count(text) == tl::unexpected(QuantityFault::too_large), text);
}

TEST_CASE("quantity: sizes have binary units in every spelling") {
    for (const char* text :
         {"48K", "48k", "48KB", "48kb", "48Ki", "48KiB", "48 KiB", "49152", "49152B"})
        CHECK_MESSAGE(parse_bytes(text) == 49152U, text);
    CHECK(parse_bytes("1GB") == 1U << 30);
    CHECK(parse_bytes("2TiB") == std::uint64_t{2} << 40);
    for (const char* text : {"", "KB", "-1", "1.5KB", "1x", "1i", "1 i", "1  K", "1KBB"})
        CHECK_MESSAGE(parse_bytes(text) == tl::unexpected(QuantityFault::malformed), text);
    CHECK(parse_bytes("99999999999999999999") == tl::unexpected(QuantityFault::too_large));
    CHECK(parse_bytes("16777216T") == tl::unexpected(QuantityFault::too_large));
}

TEST_CASE("quantity: times are milliseconds without a unit") {
    for (const char* text : {"120000", "120000ms", "120 s", "120s", "2min"})
        CHECK_MESSAGE(parse_milliseconds(text) == 120'000U, text);
    CHECK(parse_milliseconds("1h") == 3'600'000U);
    for (const char* text : {"", "s", "-1s", "1.5s", "1m", "1S", "1 ", "1  s", "1us"})
        CHECK_MESSAGE(parse_milliseconds(text) == tl::unexpected(QuantityFault::malformed), text);
    CHECK(parse_milliseconds("18446744073709551616") == tl::unexpected(QuantityFault::too_large));
    CHECK(parse_milliseconds("18446744073709551615s") == tl::unexpected(QuantityFault::too_large));
}
