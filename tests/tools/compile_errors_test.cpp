#include "tools/lode/compile_errors.hpp"

#include "tests/support/text.hpp"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

using namespace lode::tool;
using lode::test::contains;
using lode::test::lines_of;

std::string message(const std::string& file, int line, const std::string& kind = "error") {
    return fmt::format("{}({}): {}: identifier \"x{}\" is undefined\n      x = 1;\n      ^\n\n",
                       file, line, kind, line);
}

}  // namespace

TEST_CASE("compile errors: a log with nothing to leave out stays as it is") {
    const std::string log = message("a.cu", 1) + message("a.cu", 2, "warning #177-D") +
                            "1 error detected in the compilation of \"a.cu\".\n";
    CHECK(first_errors(log) == log);
    CHECK(first_errors("").empty());
    CHECK(first_errors("no message at all\n") == "no message at all\n");
    const std::string warnings = message("a.cu", 2, "warning #177-D");
    CHECK(first_errors(warnings) == warnings);
}

TEST_CASE("compile errors: three errors, the user's own first, and what is left out") {
    std::string log;
    for (int line = 1; line <= 98; ++line)
        log += message("/cuda/include/cub/cub.cuh", line);
    log += message("a.cu", 7) + message("a.cu", 8, "warning #177-D") + message("sub/b.hpp", 9) +
           "100 errors detected in the compilation of \"a.cu\".\n";
    const std::string text = first_errors(log);
    CHECK(
        text.starts_with("a.cu(7): error: identifier \"x7\" is undefined\n      x = 1;\n      ^\n\n"
                         "sub/b.hpp(9): error:"));
    CHECK(contains(text, "/cuda/include/cub/cub.cuh(1): error:"));
    CHECK_FALSE(contains(text, "cub.cuh(2)"));
    CHECK(
        text.ends_with("\n3 of 100 errors are shown, and 1 warning or remark left out; --log "
                       "prints the whole log.\n"));
    CHECK(lines_of(text) == 13);
}

TEST_CASE("compile errors: a long message is cut") {
    std::string log = "a.cu(1): error: no instance of overloaded function matches\n";
    for (int line = 0; line < 40; ++line)
        log += fmt::format("            function template #{}\n", line);
    const std::string text = first_errors(log);
    CHECK(contains(text, "function template #6\n    … and 33 more lines\n"));
    CHECK(text.ends_with("\n1 error is shortened; --log prints the whole log.\n"));
}

TEST_CASE("compile errors: a long line is cut in the middle") {
    const std::string log =
        "a.cu(1): error: identifier \"" + std::string(6000, 'k') + "\" is undefined\n      x;\n";
    const std::string text = first_errors(log);
    CHECK(text.size() < 600);
    CHECK(contains(text, "kkk…kkk"));
    CHECK(contains(text, "kkk\" is undefined\n      x;\n"));
    CHECK(text.ends_with("\n1 error is shortened; --log prints the whole log.\n"));
}
