#include "tools/lode/help_page.hpp"

#include <doctest/doctest.h>

using namespace lode::tool;

TEST_CASE("help page: headings in order, the common options last, and no line too long") {
    CommandRow command;
    command.name = "lode do";
    command.meaning = "Do it";
    command.footer = "A note.";
    command.examples = {"lode do it", "lode do it again"};
    command.arguments = {{.names = {"FILE"}, .meaning = "The file", .is_required = true},
                         {.names = {"MORE"}, .meaning = "More files", .repeats = true}};
    const std::string common(common_options);
    command.options = {
        {.names = {"-h", "--help"}, .meaning = "Print this", .group = common},
        {.names = {"-n", "--number"},
         .value = "N",
         .fallback = "3",
         .meaning = "How often it is done",
         .group = "Options"},
        {.names = {"--quite-a-long-option"},
         .value = "WORD",
         .meaning = "It is needed",
         .group = "Other",
         .is_required = true},
        {.names = {"--json"}, .value = "[=FILE]", .meaning = "As JSON", .group = common}};
    CHECK(help_page(command, 40) == R"(Do it.

Usage: lode do [OPTIONS] FILE [MORE...]

Arguments:
  FILE            The file
  MORE...         More files

Options:
  -n, --number N  How often it is done
                  (default 3)

Other:
  --quite-a-long-option WORD
                  It is needed
                  (required)

Common options:
  -h, --help      Print this
  --json[=FILE]   As JSON

A note.

Examples:
  lode do it
  lode do it again
)");
}

TEST_CASE("help page: commands are grouped") {
    CommandRow program;
    program.name = "lode";
    program.meaning = "All of it";
    program.commands = {{.name = "lode one", .meaning = "The first", .group = "A"},
                        {.name = "lode two", .meaning = "The second", .group = "B"},
                        {.name = "lode three", .meaning = "The third", .group = "A"}};
    CHECK(help_page(program, 80) == R"(All of it.

Usage: lode [OPTIONS] COMMAND

A:
  one    The first
  three  The third

B:
  two    The second
)");
}
