// The head of a source that a precompiled header may stand for.
#include "jit/pch/prefix.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using lode::pch::header_prefix;

TEST_CASE("pch prefix: the directives up to the last include at the head") {
    struct Case {
        std::string_view head;
        std::string_view rest;
    };
    const Case cases[] = {
        {"", ""},
        {"", "__global__ void k() {}\n"},
        {"", "#define A 1\n#pragma once\n#include <a>\n"},
        {"#include <a>\n", "int x;\n#include <b>\n"},
        {"// text\n\n#define A \\\n  1\n#include A\n  #  include \"b\" // c\n",
         "#define C\nint x;"},
        {"#ifdef A\n#include <a>\n#else\n#include <b>\n#endif\n", "#if 1\n#include <c>\n"},
        {"#if 1 /* a\n#include <no>\n*/\n#include <a>\n#endif /* x */\n", "\n\n"},
        {"/* a */ #include <a>\n", "/* unfinished\n#include <b>\n"},
        {"#include <a>\n", "#line 7 \"x\"\n#include <b>\n"},
        {"#include <a>\n", "#endif\n#include <b>\n"},
        {"#include <a>\n", "#include_next <b>\n#include <c>\n"},
        {"#define S \"/* no comment\"\n#include <a>\n", "int x;\n"},
        {"#define C '\"'\n#include <a>\n", "int x;\n"},
        {"", "#define R R\"(\n#include <a>\n)\"\n#include <b>\n"},
        {"// joined \\\n#include <no>\n#include <a>\n", "x"},
        {"#include <a>\r\n", "int x;\r\n"},
        {"", "#include <a>"},  // Without a newline.
        {"#include <a>\n#\n#include <b>\n", "%:include <c>\n"},
    };
    for (const auto& [head, rest] : cases) {
        const std::string code = std::string(head) + std::string(rest);
        CAPTURE(code);
        CHECK(header_prefix(code) == head);
    }
}
