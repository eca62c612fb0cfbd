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

TEST_CASE("arguments: a number without a type waits for the kernel's, an f makes it f32") {
    for (const std::string_view text :
         {"1024", "-3", "0xff", "1k", "2Mi", "18446744073709551615", "2.5", "1e3", "inf", "nan"}) {
        const auto argument = parse_argument(text, 1);
        REQUIRE(argument.has_value());
        CHECK(std::holds_alternative<UntypedArgument>(argument->value));
    }
    CHECK(scalar_type("2.5f") == ElementType::f32);
    CHECK(scalar_type("1f") == ElementType::f32);
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
    CHECK(contains(fault("1e999"), "'1e999' is outside the range of f64, 4.94066e-324 to"));
    CHECK(contains(fault("u64:18446744073709551616"), "0 to 18446744073709551615"));
    CHECK(contains(fault("f32:1e39"),
                   "is outside the range of f32, 1.4013e-45 to 3.40282e+38 in size"));
}

TEST_CASE("arguments: a buffer has a type, a count and a fill") {
    CHECK(buffer("f32[1024]").count == 1024);
    CHECK(buffer("f32[1024]").size_bytes() == 4096);
    CHECK(buffer("u16[3]").size_bytes() == 6);
    CHECK(buffer("f32[0]").count == 0);
    CHECK(buffer("f32[1k]").count == 1000);
    CHECK(buffer("f32[1Mi]:iota").count == 1048576);
    CHECK(contains(fault("f32[1.5k]"), "'1.5k' isn't a whole number"));
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
    CHECK(contains(fault("float[4]"), "isn't an element type. Did you mean 'f32'?"));
    CHECK(contains(fault("unsigned int[4]"), "Did you mean 'u32'?"));
    CHECK(contains(fault("F32[4]"), "isn't an element type. Did you mean 'f32'?"));
    CHECK(contains(fault("f32[4]:iota(1)"), "'iota(1)' isn't a fill. Did you mean 'iota'?"));
    CHECK(contains(fault("f32[4]:value"), "'value' isn't a fill. Did you mean 'value(1)'?"));
    CHECK(contains(fault("abc"), "'abc' isn't a number"));
    CHECK(contains(fault("12abf"), "'12ab' isn't a number"));
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
    CHECK(fit_arguments("saxpy", saxpy, {}, arguments({"2.5f", "f32[4]", "f32[4]", "4"})));
    CHECK(fit_arguments("saxpy", saxpy, {}, arguments({"f32:2", "f32[4]", "i8[4]", "u32:4"})));

    const auto message = [&](const std::vector<std::string>& texts) {
        const auto fitted = fit_arguments("saxpy", saxpy, {}, arguments(texts));
        REQUIRE_FALSE(fitted.has_value());
        CHECK(fitted.error().code == Errc::signature_mismatch);
        return fitted.error().message;
    };
    CHECK(message({"2.5f", "f32[4]"}) ==
          "saxpy takes 4 arguments: f32, pointer, pointer, int32, but 2 are given.");
    CHECK(message({"f64:2.5", "f32[4]", "f32[4]", "4"}) ==
          "Argument 1 ('f64:2.5') is a number of type f64 (8 bytes), but saxpy takes f32 (4 bytes) "
          "there; write 2.5.");
    CHECK(message({"2", "i64:4", "f32[4]", "4"}) ==
          "Argument 2 ('i64:4') is a number of type i64 (8 bytes), but saxpy takes pointer "
          "(8 bytes) there; pass a buffer, e.g. f32[1024]:iota.");
    CHECK(message({"2", "4", "f32[4]", "4"}) ==
          "Argument 2 ('4') is a number, but saxpy takes pointer there; pass a buffer, e.g. "
          "f32[1024]:iota.");
    CHECK(contains(message({"2", "f32[4]", "f32[4]", "4f"}),
                   "takes int32 (4 bytes) there; write 4."));
    CHECK(contains(message({"2", "f32[4]", "f32[4]", "4.5f"}), "there; write a whole number."));
    CHECK(contains(message({"2", "f32[4]", "f32[4]", "f32[4]"}), "is a buffer (8 bytes)"));
    CHECK(contains(message({"f32[4]", "f32[4]", "f32[4]", "4"}), "there; write a number."));
}

TEST_CASE("arguments: a buffer has the numbers of the C++ pointer, or bytes") {
    const std::vector<KernelParameter> pointer = {parameter(Kind::pointer, 8)};
    const auto fit = [&](const std::string& type, const std::string& text) {
        return fit_arguments("k", pointer, std::vector<std::string>{type}, arguments({text}));
    };
    for (const char* const text : {"f64[4]", "u8[4]"})
        CHECK(fit("double const*", text));
    for (const char* const type : {"int*", "unsigned int*", "void*", "char*", "S*"})
        CHECK(fit(type, "i32[4]"));
    CHECK(fit("double*", "f32[4]").error().message ==
          "Argument 1 ('f32[4]') is a buffer of f32, but k takes double* (8 bytes) there; pass a "
          "buffer, e.g. f64[1024]:iota.");
    CHECK_FALSE(fit("float*", "i32[4]"));
    CHECK_FALSE(fit("int*", "i64[4]"));
}

namespace {

/// What a number without a type becomes, or why it doesn't.
std::string fitted(std::string_view text, Kind kind, std::size_t size,
                   const std::vector<std::string>& types = {}) {
    const std::vector<KernelParameter> parameters = {parameter(kind, size)};
    const auto all = fit_arguments("k", parameters, types, arguments({std::string(text)}));
    if (!all) return all.error().message;
    const auto& value = std::get<ScalarArgument>(all->front().value);
    return std::string(to_string(value.type)) + ':' +
           to_string(number_at(value.type, value.bytes.data()));
}

}  // namespace

TEST_CASE("arguments: a number without a type has the parameter's") {
    CHECK(fitted("2.5", Kind::floating_point, 4) == "f32:2.5");
    CHECK(fitted("0.1", Kind::floating_point, 8) == "f64:0.1");
    CHECK(fitted("3", Kind::floating_point, 4) == "f32:3");
    CHECK(fitted("-1", Kind::integer, 1) == "i8:-1");
    CHECK(fitted("200", Kind::integer, 1) == "u8:200");
    CHECK(fitted("1k", Kind::integer, 4) == "i32:1000");
    CHECK(fitted("1Ki", Kind::integer, 2) == "i16:1024");
    CHECK(fitted("0xffffffff", Kind::integer, 4) == "u32:4294967295");
    CHECK(fitted("200", Kind::integer, 1, {"unsigned char"}) == "u8:200");
    CHECK(fitted("7", Kind::integer, 8, {"unsigned long"}) == "u64:7");
    CHECK(fitted("7", Kind::integer, 8, {"ns::Mode"}) == "i64:7");
    CHECK(fitted("1", Kind::integer, 1, {"bool"}) == "u8:1");

    CHECK(fitted("2.5", Kind::integer, 4) ==
          "Argument 1 ('2.5') isn't a whole number; k takes int32 there.");
    CHECK(fitted("4294967296", Kind::integer, 4) ==
          "Argument 1 ('4294967296') is outside the range of u32, 0 to 4294967295; k takes int32 "
          "there.");
    CHECK(fitted("-2147483649", Kind::integer, 4) ==
          "Argument 1 ('-2147483649') is outside the range of i32, -2147483648 to 2147483647; k "
          "takes int32 there.");
    CHECK(contains(fitted("2147483648", Kind::integer, 4, {"int"}), "the range of i32"));
    CHECK(contains(fitted("-1", Kind::integer, 4, {"unsigned int"}), "the range of u32"));
    CHECK(contains(fitted("2", Kind::integer, 1, {"bool"}), "the range of bool, 0 to 1"));
    CHECK(contains(fitted("1e39", Kind::floating_point, 4), "is outside the range of f32"));
    CHECK(contains(fitted("0xff", Kind::floating_point, 4), "isn't a number"));
    // It might be an address.
    CHECK(fitted("7", Kind::integer, 8) ==
          "Argument 1 ('7') is a number, but k takes pointer/int64 there; pass a buffer, or write "
          "i64:7 or u64:7.");
    CHECK(contains(fitted("2.5", Kind::integer, 8), "or write i64:NUMBER or u64:NUMBER."));
    CHECK(fitted("7", Kind::integer, 8, {"double const*"}) ==
          "Argument 1 ('7') is a number, but k takes double const* there; pass a buffer, e.g. "
          "f64[1024]:iota.");
}

TEST_CASE("arguments: bits of unknown kind are checked by size alone") {
    const std::vector<KernelParameter> parameters = {parameter(Kind::unknown, 8),
                                                     parameter(Kind::aggregate, 4)};
    CHECK(fit_arguments("k", parameters, {}, arguments({"f32[1]", "1"})));
    CHECK(fit_arguments("k", parameters, {}, arguments({"2.5", "1f"})));
    CHECK_FALSE(fit_arguments("k", parameters, {}, arguments({"1", "1"})));
    CHECK(fitted("1", Kind::aggregate, 2, {"__half"}) ==
          "Argument 1 ('1') is a number of type i32 (4 bytes), but k takes __half (2 bytes) there; "
          "write its bits as u16:NUMBER.");
    CHECK(fitted("1", Kind::aggregate, 12) ==
          "Argument 1 ('1') is a number of type i32 (4 bytes), but k takes 12 bytes there; `lode "
          "run` passes numbers and buffers alone, so let the kernel take a pointer.");
}

TEST_CASE("arguments: an eight-byte integer parameter takes a number or an address") {
    const std::vector<KernelParameter> parameters = {parameter(Kind::integer, 8)};
    CHECK(fit_arguments("k", parameters, {}, arguments({"i64:1"})));
    CHECK(fit_arguments("k", parameters, {}, arguments({"f32[1]"})));
    const auto fitted = fit_arguments("k", parameters, {}, arguments({"f64:2.5"}));
    REQUIRE_FALSE(fitted.has_value());
    CHECK(fitted.error().message ==
          "Argument 1 ('f64:2.5') is a number of type f64 (8 bytes), but k takes pointer/int64 "
          "(8 bytes) there; pass a buffer, or write i64:NUMBER or u64:NUMBER.");
    // Where the C++ type is known, one of the two.
    const std::vector<std::string> number = {"long"};
    const std::vector<std::string> pointer = {"float*"};
    CHECK(fit_arguments("k", parameters, number, arguments({"i64:1"})));
    CHECK_FALSE(fit_arguments("k", parameters, number, arguments({"f32[1]"})));
    CHECK(fit_arguments("k", parameters, pointer, arguments({"f32[1]"})));
    CHECK_FALSE(fit_arguments("k", parameters, pointer, arguments({"i64:1"})));
}

TEST_CASE("arguments: a kernel without parameters takes none") {
    CHECK(fit_arguments("k", {}, {}, {}));
    const auto fitted = fit_arguments("k", {}, {}, arguments({"1"}));
    REQUIRE_FALSE(fitted.has_value());
    CHECK(fitted.error().message == "k takes 0 arguments, but 1 is given.");
}
