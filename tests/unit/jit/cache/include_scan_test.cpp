#include "jit/headers/include_scan.hpp"

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;
using Form = IncludeMention::Form;

TEST_CASE("include scan: every way to name a header is found") {
    const auto scan = scan_includes(R"(
#include <a.h>
  #  include "b/c.h" // comment
#include/**/<d.h>
/* lead */ #include <e.h>
%: include <f.h>
#include_next <g.h>
#if __has_include(<h.h>) && __has_include ( "i.h" )
#endif
#inc\
lude <j.h>
#if 0
#include <k.h>
#endif
const char* s = R"x(
#include <l.h>
)x";
)");
    const std::vector<IncludeMention> expected = {
        {Form::include, false, "a.h"},     {Form::include, true, "b/c.h"},
        {Form::include, false, "d.h"},     {Form::include, false, "e.h"},
        {Form::include, false, "f.h"},     {Form::include_next, false, "g.h"},
        {Form::has_include, false, "h.h"}, {Form::has_include, true, "i.h"},
        {Form::include, false, "j.h"},     {Form::include, false, "k.h"},
        {Form::include, false, "l.h"},
    };
    CHECK(scan.mentions == expected);
    CHECK_FALSE(scan.computed);
}

TEST_CASE("include scan: detects headers named by macros, not ordinary uses of the word") {
    CHECK(scan_includes("#include HEADER\n").computed);
    CHECK(scan_includes("# /* c */ include\tHEADER\n").computed);
    CHECK(scan_includes("?\?=include HEADER\n").computed);
    CHECK(scan_includes("#if __has_include(HEADER)\n").computed);
    CHECK_FALSE(scan_includes("#ifdef __has_include\n").computed);
    CHECK_FALSE(scan_includes("#if defined(__has_include)\n").computed);
    CHECK_FALSE(scan_includes("int include = 3; // include this\n").computed);
    CHECK(scan_includes("int includes; int my_include_x; #include \"unclosed\n").mentions.empty());
}

TEST_CASE("include scan: detects __has_include under another name") {
    CHECK(scan_includes("#define HI __has_include\n").computed);
    CHECK(scan_includes("#if (__has_include)\n").computed);
}

TEST_CASE("include scan: recognises a text without includes, even with joined lines") {
    CHECK(is_free_of_includes("__global__ void k() {}"));
    CHECK_FALSE(is_free_of_includes("#include <a.h>"));
    CHECK_FALSE(is_free_of_includes("#inc\\\nlude <a.h>"));
    CHECK_FALSE(is_free_of_includes("#inc\\ \r\nlude <a.h>"));
    CHECK_FALSE(is_free_of_includes("#inc?\?/\nlude <a.h>"));
    CHECK_FALSE(is_free_of_includes("#if P(__has_inc ## lude)(<a.h>)"));
}
