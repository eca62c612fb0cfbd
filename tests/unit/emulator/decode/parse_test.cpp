// The texts that the PTX reader rejects and accepts, as ptxas 13.0 does.
#include "emulator/exec/machine.hpp"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace lode::emulator::exec {
namespace {

constexpr std::string_view header = ".version 8.5\n.target sm_90\n.address_size 64\n";

/// Loads a module on a device of compute capability 9.0.
LoadOutcome load_text(std::string_view text, int newest_ptx = 900) {
    Memory memory;
    LoadOptions options;
    options.newest_ptx = newest_ptx;
    LoadOutcome outcome = Module::load(memory, text, 9, 0, options);
    outcome.module.reset();
    return outcome;
}

/// A module with these statements on its sixth line.
std::string in_kernel(std::string_view statements) {
    return fmt::format(
        "{}.visible .entry k()\n{{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred "
        "%p<9>;\n{}\nret;\n}}"
        "\n",
        header, statements);
}

void check_invalid(const std::string& text, std::string_view log) {
    CAPTURE(text);
    const LoadOutcome outcome = load_text(text);
    CHECK(outcome.status == LoadStatus::invalid_ptx);
    CHECK(outcome.log == log);
}

}  // namespace

TEST_CASE("ptx: a text begins with .version and .target") {
    const auto refused = [](const char* text, std::string_view log) { check_invalid(text, log); };
    const std::string_view no_version =
        "PTX line 1: The text isn't PTX: it doesn't begin with .version.";
    refused("hello", no_version);
    refused("", no_version);
    refused("extern \"C\" __global__ void k() {}", no_version);
    refused(".target sm_90\n.version 8.5\n", no_version);
    refused("\n// nothing\n", "PTX line 3: The text isn't PTX: it doesn't begin with .version.");
    refused(".version 8.5\n.address_size 64\n",
            "PTX line 2: The text has no .target after its .version.");
    refused(".version 8\n.target sm_90\n",
            "PTX line 1: Expected a version number such as 9.0 before '8'.");
    refused(".version x.y\n.target sm_90\n",
            "PTX line 1: Expected a version number such as 9.0 before 'x'.");
    refused(".version",
            "PTX line 1: Expected a version number such as 9.0 before the end of the text.");
    refused(".version 8.5\n.target\n", "PTX line 3: Expected a name before the end of the text.");
    refused(".version 8.5\n.target sm_90, rubbish\n",
            "PTX line 2: The .target option 'rubbish' is unknown.");
    refused(".version 8.5\n.target sm_90\n.address_size 48\n",
            "PTX line 4: The .address_size is neither 32 nor 64.");
    refused(".version 8.5\n.target sm_90\n.address_size 32\n",
            "The software device only runs PTX with 64-bit addresses.");
    CHECK(load_text(".version 8.5\n.target sm_90\n").status == LoadStatus::ok);
    CHECK(load_text(".version 7.0 .target sm_52, texmode_independent .address_size 64").status ==
          LoadStatus::ok);
}

TEST_CASE("ptx: an error in PTX of a newer version is an unsupported version") {
    const auto newer = load_text(".version 9.1\n.target sm_90\nwhatever PTX 9.1 brings");
    CHECK(newer.status == LoadStatus::unsupported_version);
    CHECK(newer.log ==
          "PTX line 1: The PTX has version 9.1; the driver supports at most 9.0. PTX line 3: "
          "'whatever' isn't a directive.");
    CHECK(load_text(".version 10.0\n.target sm_90\n").status == LoadStatus::ok);
    CHECK(load_text(".version 8.55\n.target sm_90\n").status == LoadStatus::unsupported_version);
    CHECK(load_text(".version 9.0\n.target sm_90\n").status == LoadStatus::ok);
    CHECK(load_text(".version 8.5\n.target sm_90\n", 804).status ==
          LoadStatus::unsupported_version);
    CHECK(load_text(".version 8.4\n.target sm_90\n", 804).status == LoadStatus::ok);
}

TEST_CASE("ptx: the target must be the device's or an older one, following the suffix rules") {
    const auto status = [](std::string_view target) {
        return load_text(fmt::format(".version 8.8\n.target {}\n", target)).status;
    };
    for (const char* fine : {"sm_90", "sm_90a", "sm_75", "sm_52", "compute_80"}) {
        CAPTURE(fine);
        CHECK(status(fine) == LoadStatus::ok);
    }
    for (const char* wrong :
         {"sm_100", "sm_100f", "sm_80a", "sm_99", "foo", "sm_", "sm_9x", "90"}) {
        CAPTURE(wrong);
        CHECK(status(wrong) != LoadStatus::ok);
    }
    for (const char* unknown : {"sm_80a", "sm_90f", "sm_9", "sm_1000", "sm_90b", "sm_compute_90"}) {
        const auto outcome = load_text(fmt::format(".version 8.8\n.target {}\n", unknown));
        CHECK(outcome.status == LoadStatus::wrong_target);
        CHECK(outcome.log == fmt::format("The .target {} is unknown.", unknown));
    }
    // Syntax specific to another architecture doesn't make the text invalid.
    const auto newer = load_text(".version 8.8\n.target sm_100a\nwhatever sm_100a brings");
    CHECK(newer.status == LoadStatus::wrong_target);
    CHECK(newer.log ==
          "The PTX is for sm_100a and doesn't run on a device of compute capability 9.0.");
}

TEST_CASE("ptx: unclosed, duplicate and trailing text is reported with its line") {
    const std::string start(header);
    const std::string kernel = ".visible .entry k()\n{\nret;\n}\n";
    check_invalid(start + ".visible .entry k()\n{\nret;\n",
                  "PTX line 7: Expected '}' before the end of the text.");
    check_invalid(start + kernel + "}\n", "PTX line 8: '}' isn't a directive.");
    check_invalid(start + kernel + "rubbish\n", "PTX line 8: 'rubbish' isn't a directive.");
    check_invalid(start + kernel + "/* no end\n", "PTX line 8: '/' isn't a directive.");
    check_invalid(start + ".pragma \"no end\n",
                  "PTX line 4: Expected a pragma string before '\"no end\n'.");
    check_invalid(start + ".section .debug_str {\n.b8 1\n",
                  "PTX line 6: Expected '}' before the end of the text.");
    check_invalid(start + kernel + kernel, "PTX line 8: 'k' is defined twice.");
    check_invalid(start + ".global .u32 g;\n.global .u32 g;\n",
                  "PTX line 5: 'g' is defined twice.");
    check_invalid(start + ".global .u32 k;\n" + kernel, "PTX line 5: 'k' is defined twice.");
    check_invalid(start + ".visible .entry k(.param .u32 a,\n.param .u32 a)\n{\nret;\n}\n",
                  "PTX line 5: 'a' is declared twice.");
    check_invalid(start + ".visible .entry k(.param .u32 a,)\n{\nret;\n}\n",
                  "PTX line 4: Expected a type before ')'.");
    check_invalid(start + ".visible .entry k(.reg .u32 a)\n{\nret;\n}\n",
                  "PTX line 4: The parameter 'a' can't be in this state space.");
    check_invalid(start + ".visible .entry k()\n.rubbish 4\n{\nret;\n}\n",
                  "PTX line 5: The directive '.rubbish' isn't valid before a kernel's body.");
    check_invalid(start + ".visible .entry k()\n.maxntid 0\n{\nret;\n}\n",
                  "PTX line 5: The number 0 isn't between 1 and 4294967295.");
    check_invalid(start + ".alias a, b;\n", "PTX line 4: 'a' isn't declared.");
}

TEST_CASE("ptx: invalid statements are reported with their line") {
    const auto refused = [](std::string_view statements, std::string_view log) {
        check_invalid(in_kernel(statements), fmt::format("PTX line 6: {}", log));
    };
    refused("mov.u32 %r1,%tid.x %r2;", "Expected ';' before '%r2'.");
    refused("mov.u32 %r1,#5;", "Expected an operand before '#'.");
    refused("mov.u32 %r1,0xzz;", "The number 0x has no digits.");
    refused("mov.u64 %rd1,99999999999999999999999;",
            "The number 99999999999999999999999 is too large.");
    refused("add.u32 %r1,%r2,%r3,;", "Expected an operand before ';'.");
    refused("ld.global.v2.u32 {%r1,%r2,},[%rd1];", "Expected an operand before '}'.");
    refused("mov.u32 %r9,0;", "'%r9' isn't declared.");
    refused("@%r1 mov.u32 %r1,0;", "The guard '%r1' isn't a predicate.");
    refused("@1 mov.u32 %r1,0;", "Expected a name before '1'.");
    refused(".reg .b32 %q<4>, x; .reg .b32 x;", "'x' is declared twice.");
    refused(".reg .pred x; .reg .b32 x;", "'x' is declared twice.");
    refused(".reg .b32 %q<4>; .reg .b64 %q<2>;", "'%q' is declared twice.");
    refused("L: mov.u32 %r1,0; L: bra L;", "'L' is declared twice.");
    refused(".reg .b32 %q<-1>;", "Expected a number before '-'.");
    refused(".target sm_90;", "The directive '.target' isn't valid in a function's body.");
    refused("call nowhere;", "'nowhere' isn't declared.");
    // Inner scopes have their own names.
    CHECK(load_text(in_kernel("{ .reg .b32 x; mov.u32 x,1; } { .reg .b64 x; mov.u64 x,1; }"))
              .status == LoadStatus::ok);
}

TEST_CASE(
    "ptx: a variable needs a valid type, size and alignment, and not too many initial values") {
    const auto log_of = [](std::string_view declaration) {
        return load_text(fmt::format("{}{}\n", header, declaration)).log;
    };
    CHECK(log_of(".global s;") == "PTX line 4: Expected a type before 's'.");
    CHECK(log_of(".global .u33 s;") == "PTX line 4: Expected a type before '.u33'.");
    CHECK(log_of(".global .align 3 .b8 s[16];") ==
          "PTX line 4: The alignment 3 isn't a power of two.");
    CHECK(log_of(".global .align 0 .b8 s[16];") ==
          "PTX line 4: The alignment 0 isn't a power of two.");
    CHECK(log_of(".shared .b8 s[-4];") == "PTX line 4: Expected a number before '-'.");
    CHECK(log_of(".global .b64 s[4294967296][4294967296];") ==
          "PTX line 4: The array is too large.");
    CHECK(log_of(".global .u32 s[2] = {1,2,3};") ==
          "PTX line 4: 's' has more initial values than elements.");
    CHECK(log_of(".shared .u32 s = 5;") == "PTX line 4: 's' can't have an initial value.");
    CHECK(log_of(".local .u32 s;") ==
          "PTX line 4: A variable in this state space can't be declared here.");
    CHECK(log_of(".global .u64 s = nowhere;") ==
          "PTX line 4: 'nowhere' isn't declared before its address is used.");
    for (const char* fine :
         {".global .u32 s[2] = {1};", ".global .v4 .f32 v = {1.0,2.0,3.0,4.0};",
          ".global .u32 a[2] = {0}, b[3], c = 5;", ".global .attribute(.managed) .u32 g;",
          ".extern .shared .align 4 .b8 e[];", ".global .texref t;", ".const .u32 c[] = {1,2,3};",
          ".global .u32 e; .extern .global .u32 e;", ".func f(); .func f() { ret; }",
          ".func f(.reg .u32 a) { ret; }"}) {
        CHECK_MESSAGE(log_of(fine).empty(), fine);
    }
}

TEST_CASE("ptx: an alias is another name for a function") {
    Memory memory;
    const auto outcome =
        Module::load(memory,
                     std::string(header) +
                         ".visible .func f() { ret; }\n.visible .func g();\n"
                         ".alias g, f;\n.visible .entry k()\n{\ncall g;\nret;\n}\n",
                     9, 0);
    REQUIRE(outcome.status == LoadStatus::ok);
    CHECK(outcome.module->refusal("k") == nullptr);
}

}  // namespace lode::emulator::exec
