#include "tools/lode/report.hpp"

#include "tools/lode/layout.hpp"

#include <limits>

#include <doctest/doctest.h>

namespace {

using namespace lode::tool;
using lode::Errc;
using lode::Error;
using lode::Native;

}  // namespace

TEST_CASE("report: an answer is wrapped in the envelope, whose keys come first") {
    Answer answer{"text"};
    answer.fields["value"] = 7;
    CHECK(answer_json("info", answer, {}).dump() ==
          R"({"lode":1,"command":"info","ok":true,"warnings":[],"value":7})");
    const std::string warnings[] = {"It is slow."};
    CHECK(answer_json("info", answer, warnings)["warnings"].dump() == R"(["It is slow."])");
}

TEST_CASE("report: an error shows code, message, native code and log where there are any") {
    CHECK(
        failure_json("run", "not_found", Error{Errc::not_found, "It is gone."}, {}).dump() ==
        R"({"lode":1,"command":"run","ok":false,"warnings":[],"error":{"code":"not_found","message":"It is gone."}})");
    const Error full{Errc::driver_failed, "It fails.",
                     Native{Native::Origin::driver, 1, "CUDA_ERROR_INVALID_VALUE"}, "line"};
    const auto json = failure_json("run", "driver_failed", full, {});
    CHECK(json["error"]["native"].dump() ==
          R"({"origin":"driver","code":1,"name":"CUDA_ERROR_INVALID_VALUE"})");
    CHECK(json["error"]["log"] == "line");
    CHECK(error_text(full) ==
          "lode: It fails.\n  driver reports CUDA_ERROR_INVALID_VALUE (1)\nline\n");
}

TEST_CASE("report: numbers that JSON can't hold become strings") {
    CHECK(to_json(Number{std::numeric_limits<double>::infinity()}) == "inf");
    CHECK(to_json(Number{-std::numeric_limits<float>::infinity()}) == "-inf");
    CHECK(to_json(Number{std::numeric_limits<float>::quiet_NaN()}) == "nan");
    CHECK(to_json(Number{0.5F}) == 0.5);
    CHECK(to_json(Number{UINT64_MAX}).dump() == "18446744073709551615");
    CHECK(to_string(Number{0.1F}) == "0.1");
    CHECK(to_string(Number{INT64_MIN}) == "-9223372036854775808");
}

TEST_CASE("report: bytes that aren't UTF-8 don't stop the output") {
    CHECK(dump(Json{{"log", "\xff"}}).find("\xef\xbf\xbd") != std::string::npos);
}

TEST_CASE("report: a kernel without a resource report still shows its parameters") {
    lode::Image image;
    image.kernels = {{"_Z5scaleIfEvPT_S0_i",
                      {{lode::KernelParameter::Kind::pointer, 0, 8, 8},
                       {lode::KernelParameter::Kind::floating_point, 8, 4, 4},
                       {lode::KernelParameter::Kind::aggregate, 12, 12, 4}}}};
    const auto json = kernels_json(image);
    CHECK(json[0]["name"] == "void scale<float>(float*, float, int)");
    CHECK(json[0]["parameters"].size() == 3);
    CHECK_FALSE(json[0].contains("registers"));
    CHECK(kernels_text(image).find("[pointer, f32, 12 bytes]") != std::string::npos);
}

TEST_CASE("layout: a section aligns its values, also after line breaks") {
    Section section("Title");
    section.row("a", "1\n2");
    section.row("long label", "3");
    CHECK(section.to_string() ==
          "Title\n"
          "  a           1\n"
          "              2\n"
          "  long label  3\n");
}

TEST_CASE("layout: a table aligns its columns and leaves no blanks at the end") {
    Table table({{"name"}, {"size", Align::right}, {"file"}});
    table.row({"x", "10", ""});
    table.row({"longer", "5", "f"});
    CHECK(table.to_string() ==
          "  name    size  file\n"
          "  x         10\n"
          "  longer     5  f\n");
}

TEST_CASE("layout: bytes are shown in the unit that suits") {
    CHECK(bytes_text(0) == "0 B");
    CHECK(bytes_text(1023) == "1023 B");
    CHECK(bytes_text(1024) == "1.0 KiB");
    CHECK(bytes_text(49152) == "48.0 KiB");
    CHECK(bytes_text(std::uint64_t{141} << 30U) == "141.0 GiB");
    CHECK(bytes_text(std::uint64_t{5000} << 40U) == "5000.0 TiB");
}

TEST_CASE("report: control characters of names and logs are shown, not sent to the terminal") {
    CHECK(visible("a\033[31mb\x7f\n\tc") == "a\\x1b[31mb\\x7f\n\tc");
    CHECK(visible("a\nb", {}) == "a\\nb");
    CHECK(visible("ünï 漢字 \xff") == "ünï 漢字 \xff");
    Error error;
    error.code = Errc::compile_failed;
    error.message = "'\033[2J.cu' fails.";
    error.log = "1 | \033]0;title\007";
    CHECK(error_text(error) == "lode: '\\x1b[2J.cu' fails.\n1 | \\x1b]0;title\\x07\n");
}

TEST_CASE("layout: columns of names with accents and wide letters are aligned") {
    CHECK(columns_of("ünï") == 3);
    CHECK(columns_of("漢字") == 4);
    CHECK(columns_of("\xff\xfe") == 2);
    CHECK(columns_of("\xe6\xbc") == 1);
    Table table({{"name"}, {"size", Align::right}});
    table.row({"a\nb", "1"});
    table.row({"ünï", "10"});
    table.row({"漢字漢", "100"});
    CHECK(table.to_string() ==
          "  name    size\n"
          "  a\\nb       1\n"
          "  ünï       10\n"
          "  漢字漢   100\n");
}
