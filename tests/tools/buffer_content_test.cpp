#include "tools/lode/buffer_content.hpp"

#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"

#include <cstring>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace lode::tool;

BufferArgument buffer(const std::string& text) {
    return std::get<BufferArgument>(parse_argument(text, 1).value().value);
}

template <class T>
std::vector<T> content(const std::string& text) {
    const auto bytes = make_content(buffer(text)).value();
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

}  // namespace

TEST_CASE("buffer content: the constant fills") {
    CHECK(content<float>("f32[3]:zeros") == std::vector<float>{0, 0, 0});
    CHECK(content<double>("f64[2]:ones") == std::vector<double>{1, 1});
    CHECK(content<std::int16_t>("i16[2]:value(-5)") == std::vector<std::int16_t>{-5, -5});
    CHECK(content<float>("f32[0]:ones").empty());
}

TEST_CASE("buffer content: iota counts and wraps in its type") {
    CHECK(content<float>("f32[4]:iota") == std::vector<float>{0, 1, 2, 3});
    const auto bytes = content<std::uint8_t>("u8[258]:iota");
    CHECK(bytes[255] == 255);
    CHECK(bytes[256] == 0);
    CHECK(bytes[257] == 1);
}

TEST_CASE("buffer content: random numbers depend on the seed and nothing else") {
    CHECK(content<float>("f32[64]:random(7)") == content<float>("f32[64]:random(7)"));
    CHECK(content<float>("f32[64]:random(7)") != content<float>("f32[64]:random(8)"));
    // The first outputs of SplitMix64 with seed 0, as printed by its authors' reference code.
    CHECK(
        content<std::uint64_t>("u64[3]:random(0)") ==
        std::vector<std::uint64_t>{0xe220a8397b1dcdafU, 0x6e789e6aa1b965f4U, 0x06c45d188009454fU});
    double sum = 0;
    constexpr int count = 4096;
    for (const float value : content<float>("f32[4096]:random(1)")) {
        CHECK(value >= 0.0F);
        CHECK(value < 1.0F);
        sum += value;
    }
    CHECK(sum / count == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("buffer content: a file gives its bytes if its size is right") {
    const auto scratch = lode::ScratchFolder::create().value();
    const auto path = (scratch.path() / "data.bin").string();
    REQUIRE(lode::write_atomic(path, std::string_view("abcdefgh")));
    CHECK(content<char>("u8[8]@" + path) ==
          std::vector<char>{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'});

    const auto wrong_size = make_content(buffer("f32[3]@" + path));
    REQUIRE_FALSE(wrong_size.has_value());
    CHECK(wrong_size.error().code == lode::Errc::invalid_argument);
    CHECK(wrong_size.error().message == "The file " + path + " has 8 bytes, but f32[3] holds 12.");

    const auto absent = make_content(buffer("f32[3]@" + path + ".not"));
    REQUIRE_FALSE(absent.has_value());
    CHECK(absent.error().code == lode::Errc::not_found);
}

TEST_CASE("buffer content: a summary has the head and the sum") {
    const auto summary = [](const std::string& text) {
        const auto shape = buffer(text);
        return summarise(shape.type, make_content(shape).value(), 3);
    };
    const auto floats = summary("f32[1024]:iota");
    CHECK(floats.head == std::vector<Number>{0.0F, 1.0F, 2.0F});
    CHECK(std::get<double>(floats.sum) == 523776.0);
    CHECK(std::get<double>(summary("f32[16777216]:value(1)").sum) == 16777216.0);
    CHECK(std::get<std::int64_t>(summary("i8[100]:value(-3)").sum) == -300);
    CHECK(std::get<std::uint64_t>(summary("u32[2]:value(4294967295)").sum) == 8589934590U);
    CHECK(std::get<std::int64_t>(summary("i64[2]:value(9223372036854775807)").sum) == -2);
    CHECK(summary("i32[2]:ones").head.size() == 2);
    CHECK(summary("i32[0]").head.empty());
    CHECK(std::get<std::int64_t>(summary("i32[0]").sum) == 0);
}
