// The texts of a world's files.
#include "tests/cache_oracle/world.hpp"

#include <string_view>

#include <fmt/format.h>

namespace lode::oracle {
namespace {

/// A declaration with a value that shows in the code, wherever and as often as its text is
/// included.
std::string variable(const std::string& value, Dice& dice) {
    constexpr std::size_t names = 1'000'000'000;
    const auto name = fmt::format("v{}", dice.below(names));
    return fmt::format("#ifndef {0}_\n#define {0}_\n__device__ unsigned {0} = {1};\n#endif\n", name,
                       value);
}

constexpr const char* kernel = R"(#ifndef BODY
#define BODY
extern "C" __global__ void kernel(unsigned* out) { *out = tail * 31 + EXTRA; }
#endif
)";
/// The constant after the head of a source follows it, up to the end of the line.
constexpr std::string_view tail_mark = "constexpr unsigned tail = ";

}  // namespace

const std::vector<std::string>& World::folder_names() {
    static const std::vector<std::string> names = {
        "inc", "inc2", "inc/nested", "src",     "",           "cur",
        "lnk", "v1",   "v2",         "src/sub", "src/../inc", "inc/nested/../../inc2"};
    return names;
}

const std::vector<std::string>& World::header_names() {
    static const std::vector<std::string> names = {"h0.h", "h1.h",  "h2.h",
                                                   "h3.h", "opt.h", "stdint.h"};
    return names;
}

std::string World::include_name(Dice& dice) const {
    std::string name = dice.pick(header_names());
    if (dice.percent(12)) name = "sub/" + name;
    if (dice.percent(12)) name = "nested/" + name;
    if (dice.percent(8)) name = "../inc/" + name;
    if (dice.percent(4)) name = "./" + name;
    if (dice.percent(4)) name = "k.cu";
    if (dice.percent(5) && !trees_.empty()) {
        name = (root_ / dice.pick(trees_) / dice.pick(folder_names()) / name).string();
    }
    return dice.percent(55) ? "\"" + name + "\"" : "<" + name + ">";
}

std::string World::header_text(Dice& dice) const {
    std::string text;
    if (dice.percent(35)) text += "#pragma once\n";
    return text + content(dice, [&](const std::string& value) {
               switch (dialect_) {
                   case Dialect::fake:
                       return fmt::format("int tag {};\n", value);
                   case Dialect::cuda:
                       return fmt::format("    sum = sum * 31 + {};\n", value);
                   case Dialect::head:
                       break;
               }
               return variable(value, dice);
           });
}

/// The time or the name of a file, whole or in pieces that several texts may contribute.
std::string World::time_text(Dice& dice,
                             const std::function<std::string(const std::string&)>& statement) {
    static constexpr const char* definitions[] = {
        "CAT(a, b) a##b", "CAT(a, b) CAT2(a, b)", "CAT2(a, b) a##b", "HALF __TI",
        "REST ME__",      "DAY CAT(__DA, TE__)",  "NOW __TIME__"};
    static constexpr const char* values[] = {"__TIME__[7]",
                                             "__DATE__[5]",
                                             "CAT(__TI, ME__)[7]",
                                             "CAT(HALF, ME__)[6]",
                                             "CAT(__TI, REST)[4]",
                                             "DAY[5]",
                                             "NOW[7]",
                                             "(CAT(__TI, ME__)[7] == '3')",
                                             "(NOW[6] == '1')",
                                             "sizeof(CAT(__FI, LE__))",
                                             "sizeof(__FILE__)",
                                             "CAT(__FI, LE__)[CAT(__INCLUDE_, LEVEL__)]",
                                             "CAT(__BASE_, FILE__)[1]"};
    const std::string definition = dice.pick(definitions);
    const std::string name = definition.substr(0, definition.find_first_of("( "));
    std::string text = fmt::format("#ifndef {}\n#define {}\n#endif\n", name, definition);
    if (dice.percent(40)) return text;
    if (dice.percent(50)) text.clear();
    const std::string value = dice.pick(values);
    std::string guard = "1";
    for (const char* const needed : {"CAT", "HALF", "REST", "DAY", "NOW"}) {
        if (value.find(needed) != std::string::npos)
            guard += fmt::format(" && defined({})", needed);
    }
    return text + fmt::format("#if {}\n{}#endif\n", guard, statement(value));
}

void World::define_time(std::vector<Definition>& definitions, Dice& dice) {
    static const std::vector<Definition> all = {{"CAT(a, b)", "a##b"},
                                                {"HALF", "__TI"},
                                                {"REST", "ME__"},
                                                {"NOW", "__TIME__"},
                                                {"DAY", "__DATE__"}};
    for (const auto& definition : all) {
        if (dice.percent(30)) definitions.push_back(definition);
    }
}

/// Statements with values, and directives.
std::string World::content(Dice& dice,
                           const std::function<std::string(const std::string&)>& statement) const {
    std::string text = statement(std::to_string(dice.below(10)));
    if (dice.percent(10)) text += statement("VALUE");
    if (dice.percent(8)) text += fmt::format("#undef VALUE\n#define VALUE {}\n", dice.below(10));
    if (dice.percent(6)) text += "#undef NAMED\n#define NAMED " + include_name(dice) + "\n";
    if (dice.percent(5)) text += statement("__INCLUDE_LEVEL__");
    if (dialect_ == Dialect::fake && dice.percent(4)) text += statement("ORACLE_VALUE");
    if (dice.percent(3)) {
        switch (dialect_) {
            case Dialect::fake:
                text += "const char* file = __FILE__;\n";
                break;
            case Dialect::cuda:
                text += "    for (const char* c = __FILE__; *c; ++c) sum = sum * 31 + *c;\n";
                break;
            case Dialect::head:
                text += statement("sizeof(__FILE__)");
                break;
        }
    }
    if (has_clock_ && dice.percent(30)) text += time_text(dice, statement);
    if (dice.percent(4)) text += "// #include " + include_name(dice) + "\n";
    const std::size_t includes = dice.below(3);
    for (std::size_t i = 0; i < includes; ++i) {
        const std::string name = dice.percent(15) ? "NAMED" : include_name(dice);
        text += "#if __INCLUDE_LEVEL__ < 4\n";
        if (dice.percent(20)) {
            text += fmt::format("#if __has_include({})\n{}#endif\n", name, statement("1000"));
        } else if (dice.percent(5)) {
            const std::string base = dice.pick(header_names());
            text +=
                fmt::format("#if __has_include(<{}>)\n#include_next <{}>\n#endif\n", base, base);
        } else if (dice.percent(95)) {
            text += fmt::format("#if __has_include({})\n#include {}\n#endif\n", name, name);
        } else {
            text += fmt::format("#include {}\n", name);
        }
        text += "#endif\n";
    }
    return text;
}

std::string World::source_text(Dice& dice) const {
    std::string start =
        "#ifndef VALUE\n#define VALUE 5\n#endif\n#ifndef NAMED\n#define NAMED <h0.h>\n#endif\n";
    if (has_clock_ && dice.percent(50)) start += "#ifndef CAT\n#define CAT(a, b) a##b\n#endif\n";
    if (dialect_ == Dialect::head) return start + head_source(dice);
    std::string body;
    const std::size_t count = 1 + dice.below(3);
    for (std::size_t i = 0; i < count; ++i)
        body += header_text(dice);
    if (body.find("#pragma once") != std::string::npos && dice.percent(70)) {
        for (std::size_t at = 0; (at = body.find("#pragma once\n")) != std::string::npos;)
            body.erase(at, 13);
    }
    if (dialect_ == Dialect::fake) return start + body;
    return start +
           "#ifndef BODY\n#define BODY\nextern \"C\" __global__ void kernel(int* out) {\n"
           "    int sum = 0;\n" +
           body + "    *out = sum;\n}\n#else\n    sum += 77;\n#endif\n";
}

/// Directives alone, then the declarations.
std::string World::head_source(Dice& dice) const {
    std::string text;
    const std::size_t count = 1 + dice.below(3);
    for (std::size_t i = 0; i < count; ++i) {
        text += content(dice, [](const std::string& value) {
            return fmt::format("#undef EXTRA\n#define EXTRA {}\n", value);
        });
    }
    // An include outside every #if ends the head, and the name exists in each new tree.
    if (dice.percent(90)) text += "#include \"../inc/h0.h\"\n";
    return text + fmt::format("#ifndef BODY\n{}{};\n#endif\n{}", tail_mark, dice.below(10), kernel);
}

std::string World::with_tail(const std::string& text, Dice& dice) {
    const auto mark = text.find(tail_mark);
    if (mark == std::string::npos) return text;
    const auto at = mark + tail_mark.size();
    constexpr std::size_t values = 1'000'000;
    return text.substr(0, at) + std::to_string(dice.below(values)) +
           text.substr(text.find(';', at));
}

}  // namespace lode::oracle
