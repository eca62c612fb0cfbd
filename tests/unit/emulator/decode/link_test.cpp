// Linking PTX texts: which definition wins, what is refused, and which names stay private.
#include "emulator/decode/ptx/link.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using lode::emulator::ptx::Link;
using lode::emulator::ptx::own_version;

namespace {

std::string text_for(std::string_view body, std::string_view target = "sm_80") {
    return ".version 8.0\n.target " + std::string(target) + "\n.address_size 64\n" +
           std::string(body);
}

std::string kernel_calling(const std::string& callee, const std::string& name = "k") {
    return text_for(".extern .func (.param .b32 r) " + callee + "(.param .b32 x);\n" +
                    ".visible .entry " + name + "(.param .u64 to) {\n" +
                    "  .reg .b64 %a; .reg .b32 %v;\n  ld.param.u64 %a, [to];\n  mov.u32 %v, 7;\n" +
                    "  { .param .b32 in; .param .b32 out; st.param.b32 [in], %v;\n" +
                    "    call.uni (out), " + callee + ", (in); ld.param.b32 %v, [out]; }\n" +
                    "  st.global.u32 [%a], %v;\n  ret;\n}\n");
}

std::string function(const std::string& name, const std::string& linkage, int added) {
    return text_for(linkage + " .func (.param .b32 r) " + name + "(.param .b32 x) {\n" +
                    "  .reg .b32 %v; ld.param.b32 %v, [x]; add.s32 %v, %v, " +
                    std::to_string(added) + "; st.param.b32 [r], %v; ret;\n}\n");
}

struct Outcome {
    std::string errors;
    std::string text;
};

Outcome link_texts(std::initializer_list<std::string> texts) {
    Link link(own_version);
    int number = 0;
    for (const std::string& text : texts)
        REQUIRE(link.add(text, "input " + std::to_string(++number)) == "");
    Outcome outcome;
    outcome.errors = link.complete();
    outcome.text = link.result();
    return outcome;
}

std::size_t occurrences(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

}  // namespace

TEST_CASE("ptx link: a call finds the definition in another text, in any order") {
    for (const bool callee_first : {false, true}) {
        const auto caller = kernel_calling("f");
        const auto callee = function("f", ".visible", 1);
        const auto linked =
            callee_first ? link_texts({callee, caller}) : link_texts({caller, callee});
        CHECK(linked.errors == "");
        CHECK(occurrences(linked.text, ".extern") == 0);
        CHECK(occurrences(linked.text, "add.s32 %v, %v, 1") == 1);
    }
}

TEST_CASE("ptx link: symbols without a definition or with two are refused by name") {
    CHECK(link_texts({kernel_calling("f")}).errors == "Undefined reference to 'f' in 'input 1'");
    CHECK(link_texts({function("f", ".visible", 1), function("f", ".visible", 2)}).errors ==
          "Multiple definition of 'f' in 'input 2', first defined in 'input 1'");
    CHECK(link_texts({kernel_calling("f", "k"), kernel_calling("g", "k")})
              .errors.starts_with("Multiple definition of 'k' in 'input 2'"));
    const auto other = text_for(".visible .func f(.param .b32 x) { ret; }\n");
    CHECK(link_texts({kernel_calling("f"), other})
              .errors.starts_with("The declarations of 'f' in 'input 1' and 'input 2' have "));
    CHECK(link_texts({text_for(".visible .global .u32 f;\n"), function("f", ".visible", 1)})
              .errors.find("have different kinds") != std::string::npos);
}

TEST_CASE("ptx link: a definition replaces weak ones, and the first of several weak ones stays") {
    auto linked = link_texts({function("f", ".weak", 1), function("f", ".weak", 2)});
    CHECK(linked.errors == "");
    CHECK(occurrences(linked.text, "%v, %v, 1;") == 1);
    CHECK(occurrences(linked.text, "%v, %v, 2;") == 0);
    linked =
        link_texts({function("f", ".weak", 1), kernel_calling("f"), function("f", ".visible", 2)});
    CHECK(linked.errors == "");
    CHECK(occurrences(linked.text, "%v, %v, 1;") == 0);
    CHECK(occurrences(linked.text, "%v, %v, 2;") == 1);
}

TEST_CASE("ptx link: private names of several texts don't meet") {
    const auto unit = [](const std::string& kernel, int value) {
        return text_for(".file 1 \"" + kernel + ".cu\"\n.global .u32 state = " +
                        std::to_string(value) + ";\n.global .u64 place = state;\n" +
                        ".func help() { .reg .b64 %p; mov.u64 %p, state; ret; }\n" +
                        ".visible .entry " + kernel +
                        "() {\n.loc 1 2 3\ncall.uni help;\n"
                        ".loc 1 4 3\nret;\n}\n");
    };
    const auto linked = link_texts({unit("a", 1), unit("b", 2)});
    CHECK(linked.errors == "");
    CHECK(occurrences(linked.text, ".global .u32 state = 1;") == 1);
    CHECK(occurrences(linked.text, ".global .u32 state__") == 1);
    CHECK(occurrences(linked.text, "place = state;") == 1);
    CHECK(occurrences(linked.text, "call.uni help;") == 1);
    CHECK(occurrences(linked.text, ".file 1 \"a.cu\"") == 1);
    CHECK(occurrences(linked.text, ".file 2 \"b.cu\"") == 1);
    CHECK(occurrences(linked.text, ".loc 2 4 3") == 1);
}

TEST_CASE("ptx link: variables are shared, dynamic shared memory is declared once") {
    const auto user = text_for(
        ".extern .global .align 4 .u32 count;\n.extern .shared .align 4 .b8 room[];\n"
        ".global .u64 address = count;\n"
        ".visible .entry k() { .reg .b64 %p; mov.u64 %p, room; mov.u64 %p, count; ret; }\n");
    const auto owner = text_for(
        ".extern .shared .align 16 .b8 room[];\n.visible .global .align 4 .u32 count = 5;\n"
        ".visible .entry l() { .reg .b64 %p; mov.u64 %p, room; ret; }\n",
        "sm_90");
    const auto linked = link_texts({user, owner});
    CHECK(linked.errors == "");
    CHECK(occurrences(linked.text, "room[]") == 1);
    CHECK(occurrences(linked.text, ".align 16 .b8 room[]") == 1);
    CHECK(occurrences(linked.text, "count = 5") == 1);
    CHECK(occurrences(linked.text, ".target sm_90") == 1);
    CHECK(link_texts({user}).errors == "Undefined reference to 'count' in 'input 1'");
}

TEST_CASE("ptx link: what the device provides and what nobody uses need no definition") {
    const auto printing = text_for(
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ".extern .func unused();\n.visible .entry k() { ret; }\n");
    CHECK(link_texts({printing, kernel_calling("f", "l"), function("f", ".visible", 1)}).errors ==
          "");
}

TEST_CASE("ptx link: a text with an error is named, and the others still link") {
    Link link(own_version);
    CHECK(link.add(text_for(".visible .entry k() { nonsense; }\n"), "bad.ptx")
              .starts_with("'bad.ptx', PTX line 4: "));
    CHECK(link.add("no PTX", "worse.ptx").starts_with("'worse.ptx', PTX line 1: "));
    CHECK(link.empty());
    CHECK(link.add(text_for(".visible .entry k() { ret; }\n"), "good.ptx") == "");
    CHECK(link.complete() == "");
    CHECK(link.result().find(".entry k") != std::string::npos);
}

TEST_CASE("ptx link: a text of a newer version links if all of it is understood") {
    Link link(own_version);
    CHECK(link.add(".version 9.5\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
                   "newer.ptx") == "");
    CHECK(link.add(".version 9.5\n.target sm_90\nwhatever PTX 9.5 brings\n", "unknown.ptx") ==
          "'unknown.ptx', PTX line 3: The PTX has version 9.5; the driver supports at most 9.0. "
          "'whatever' isn't a directive.");
    CHECK(link.complete() == "");
    CHECK(link.result().starts_with(".version 9.5\n"));
    CHECK(Link(804).add(".version 8.5\n.target sm_90\n", "newer.ptx") ==
          "'newer.ptx', PTX line 1: The PTX has version 8.5; the driver supports at most 8.4.");
}

TEST_CASE("ptx link: a variable and another kernel have the address of a kernel") {
    Link link(own_version);
    CHECK(link.add(
              text_for(".weak .entry k(.param .u64 k_param_0);\n"
                       ".visible .global .align 8 .u64 table = k;\n"
                       ".weak .entry k(.param .u64 k_param_0) .maxntid 32, 1, 1 { ret; }\n"
                       ".visible .entry first { ret; }\n"
                       ".visible .entry taker {\n .reg .b64 %a;\n mov.u64 %a, first;\n ret;\n}\n"),
              "kernels.ptx") == "");
    CHECK(link.complete() == "");
    CHECK(link.result().find(".maxntid") != std::string::npos);
    CHECK(link.result().find(".maxntid") == link.result().rfind(".maxntid"));
}
