#include "tools/lode/arguments.hpp"

#include "tests/support/text.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::tool;
using lode::Errc;
using lode::KernelParameter;
using lode::test::contains;
using Kind = KernelParameter::Kind;

Number scalar(std::string_view text) {
    const auto argument = parse_argument(text, 1);
    REQUIRE_MESSAGE(argument.has_value(), argument.error().message);
    const auto& value = std::get<ScalarArgument>(argument->value);
    return number_at(value.type, value.bytes.data());
}

ElementType scalar_type(std::string_view text) {
    return std::get<ScalarArgument>(parse_argument(text, 1).value().value).type;
}

BufferArgument buffer(std::string_view text) {
    const auto argument = parse_argument(text, 1);
    REQUIRE_MESSAGE(argument.has_value(), argument.error().message);
    return std::get<BufferArgument>(argument->value);
}

std::string fault(std::string_view text) {
    const auto argument = parse_argument(text, 3);
    REQUIRE_FALSE(argument.has_value());
    CHECK(argument.error().code == Errc::invalid_argument);
    return argument.error().message;
}

std::vector<Argument> arguments(const std::vector<std::string>& texts) {
    std::vector<Argument> list;
    for (const auto& text : texts)
        list.push_back(parse_argument(text, static_cast<int>(list.size()) + 1).value());
    return list;
}

KernelParameter parameter(Kind kind, std::size_t size) {
    return {.kind = kind, .offset = 0, .size = size, .align = size};
}

}  // namespace

TEST_CASE("arguments: an untyped number's spelling gives its type") {
    CHECK(scalar_type("1024") == ElementType::i32);
    CHECK(scalar_type("-3") == ElementType::i32);
    CHECK(scalar_type("0xff") == ElementType::i32);
    CHECK(scalar_type("2.5") == ElementType::f64);
    CHECK(scalar_type("1e3") == ElementType::f64);
    CHECK(scalar_type("2.5f") == ElementType::f32);
    CHECK(scalar_type("1f") == ElementType::f32);
    CHECK(std::get<std::int64_t>(scalar("0xff")) == 255);
    CHECK(std::get<std::int64_t>(scalar("-2147483648")) == -2147483648LL);
    CHECK(std::get<double>(scalar("-2.5e-3")) == -2.5e-3);
    CHECK(std::get<float>(scalar("0.1f")) == 0.1F);
}

TEST_CASE("arguments: a typed number has that type") {
    CHECK(std::get<std::int64_t>(scalar("i64:-9223372036854775808")) == INT64_MIN);
    CHECK(std::get<std::uint64_t>(scalar("u64:18446744073709551615")) == UINT64_MAX);
    CHECK(std::get<std::uint64_t>(scalar("u32:0xffffffff")) == 0xffffffffU);
    CHECK(std::get<std::int64_t>(scalar("i8:-128")) == -128);
    CHECK(std::get<float>(scalar("f32:3")) == 3.0F);
    CHECK(std::get<double>(scalar("f64:inf")) > 1e308);
    for (const std::string_view name :
         {"f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}) {
        CHECK(to_string(scalar_type(std::string(name) + ":1")) == name);
    }
}

TEST_CASE("arguments: a number outside its type's range is refused with the range") {
    CHECK(contains(fault("i8:128"), "'128' is outside the range of i8, -128 to 127"));
    CHECK(contains(fault("i8:-129"), "-128 to 127"));
    CHECK(contains(fault("u8:-1"), "0 to 255"));
    CHECK(contains(fault("2147483648"), "(write i64:2147483648)"));
    CHECK(contains(fault("u64:18446744073709551616"), "0 to 18446744073709551615"));
    CHECK(contains(fault("f32:1e39"), "too large or too small for f32"));
}

TEST_CASE("arguments: a buffer has a type, a count and a fill") {
    CHECK(buffer("f32[1024]").count == 1024);
    CHECK(buffer("f32[1024]").size_bytes() == 4096);
    CHECK(buffer("u16[3]").size_bytes() == 6);
    CHECK(buffer("f32[0]").count == 0);
    CHECK(std::holds_alternative<ZerosFill>(buffer("f32[8]").fill));
    CHECK(std::holds_alternative<ZerosFill>(buffer("f32[8]:zeros").fill));
    CHECK(std::holds_alternative<OnesFill>(buffer("i32[8]:ones").fill));
    CHECK(std::holds_alternative<IotaFill>(buffer("u8[8]:iota").fill));
    CHECK(std::get<RandomFill>(buffer("f64[8]:random").fill).seed == 0);
    CHECK(std::get<RandomFill>(buffer("f64[8]:random(42)").fill).seed == 42);
    const auto filled = buffer("i16[8]:value(-7)");
    const auto value = std::get<ValueFill>(filled.fill);
    CHECK(std::get<std::int64_t>(number_at(filled.type, value.bytes.data())) == -7);
    CHECK(std::get<FileFill>(buffer("f32[8]@a:b[1].bin").fill).path == "a:b[1].bin");
}

TEST_CASE("arguments: malformed text is refused with its place and the accepted forms") {
    const auto message = fault("f32[10x]:iota");
    CHECK(contains(message,
                   "Argument 3 ('f32[10x]:iota') can't be read at character 5: "
                   "'10x' isn't a whole number."));
    CHECK(contains(message, "f32[1024]:random(1)"));
    CHECK(contains(message, "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64"));

    CHECK(contains(fault(""), "character 1: it is empty"));
    CHECK(contains(fault("abc"), "'abc' isn't a whole number"));
    CHECK(contains(fault("1.2.3"), "isn't a number"));
    CHECK(contains(fault("f33[4]"), "'f33' isn't an element type"));
    CHECK(contains(fault("half:1"), "'half' isn't an element type"));
    CHECK(contains(fault("f32:"), "character 5: '' isn't a number"));
    CHECK(contains(fault("i32:2.5"), "'2.5' isn't a whole number"));
    CHECK(contains(fault("f32[4"), "character 5: the count has no closing ]"));
    CHECK(contains(fault("f32[]"), "'' isn't a whole number"));
    CHECK(contains(fault("f32[-1]"), "outside the range of u64"));
    CHECK(contains(fault("f32[4]x"), "character 7: unexpected 'x' after the ]"));
    CHECK(contains(fault("f32[4]:two"), "character 8: 'two' isn't a fill"));
    CHECK(contains(fault("f32[4]:random(x)"), "character 15: 'x' isn't a whole number"));
    CHECK(contains(fault("f32[4]:value(1"), "'value(1' isn't a fill"));
    CHECK(contains(fault("i32[4]:value(1.5)"), "'1.5' isn't a whole number"));
    CHECK(contains(fault("f32[4]@"), "a file's name must follow the @"));
    CHECK(contains(fault("f32@data.bin"), "a buffer needs its count, as in f32[1024]@data.bin"));
    CHECK(contains(fault("f64[137438953473]"), "exceed the limit of 1099511627776 bytes"));
    CHECK(buffer("f64[137438953472]").size_bytes() == max_buffer_bytes);
}

TEST_CASE("arguments: the kernel's parameters decide what fits") {
    const std::vector<KernelParameter> saxpy = {
        parameter(Kind::floating_point, 4), parameter(Kind::pointer, 8),
        parameter(Kind::pointer, 8), parameter(Kind::integer, 4)};
    CHECK(check_arguments("saxpy", saxpy, arguments({"2.5f", "f32[4]", "f32[4]", "4"})));
    CHECK(check_arguments("saxpy", saxpy, arguments({"f32:2", "f32[4]", "i8[4]", "u32:4"})));

    const auto message = [&](const std::vector<std::string>& texts) {
        const auto status = check_arguments("saxpy", saxpy, arguments(texts));
        REQUIRE_FALSE(status.has_value());
        CHECK(status.error().code == Errc::signature_mismatch);
        return status.error().message;
    };
    CHECK(message({"2.5f", "f32[4]"}) ==
          "saxpy takes 4 arguments: f32, pointer, pointer, int32, but 2 are given.");
    CHECK(message({"2.5", "f32[4]", "f32[4]", "4"}) ==
          "Argument 1 ('2.5') is a number of type f64 (8 bytes), but saxpy takes f32 (4 bytes) "
          "there; write f32:NUMBER.");
    CHECK(contains(message({"2", "f32[4]", "f32[4]", "4"}), "Argument 1 ('2')"));
    CHECK(contains(message({"2.5f", "i64:4", "f32[4]", "4"}), "pass a buffer"));
    CHECK(
        contains(message({"2.5f", "f32[4]", "f32[4]", "4.0f"}), "write i32:NUMBER or u32:NUMBER"));
    CHECK(contains(message({"2.5f", "f32[4]", "f32[4]", "f32[4]"}), "is a buffer (8 bytes)"));
}

TEST_CASE("arguments: bits of unknown kind are checked by size alone") {
    const std::vector<KernelParameter> parameters = {parameter(Kind::unknown, 8),
                                                     parameter(Kind::aggregate, 4)};
    CHECK(check_arguments("k", parameters, arguments({"f32[1]", "1"})));
    CHECK(check_arguments("k", parameters, arguments({"2.5", "1f"})));
    CHECK_FALSE(check_arguments("k", parameters, arguments({"1", "1"})));
}

TEST_CASE("arguments: an eight-byte integer parameter takes a number or an address") {
    const std::vector<KernelParameter> parameters = {parameter(Kind::integer, 8)};
    CHECK(check_arguments("k", parameters, arguments({"i64:1"})));
    CHECK(check_arguments("k", parameters, arguments({"f32[1]"})));
    const auto status = check_arguments("k", parameters, arguments({"2.5"}));
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().message ==
          "Argument 1 ('2.5') is a number of type f64 (8 bytes), but k takes pointer/int64 "
          "(8 bytes) there; pass a buffer, or write i64:NUMBER or u64:NUMBER.");
}

TEST_CASE("arguments: a kernel without parameters takes none") {
    CHECK(check_arguments("k", {}, {}));
    const auto status = check_arguments("k", {}, arguments({"1"}));
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().message == "k takes 0 arguments, but 1 is given.");
}
