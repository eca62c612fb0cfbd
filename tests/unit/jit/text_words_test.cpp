#include "jit/request/text_words.hpp"

#include "jit/translation_unit.hpp"

#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;

namespace {

bool can_form_time(std::initializer_list<std::string_view> texts) {
    WordPieces pieces;
    for (const auto text : texts)
        pieces.add_code(text);
    return pieces.can_form_any(time_words);
}

/// Whether a compiler may read a word in code. It takes each way to read the text: a quote may be
/// a digit's separator, and a line may end before a literal does.
bool may_read(std::string_view word, std::string_view text) {
    enum : unsigned { code = 1, line_comment = 2, comment = 4, string = 8, character = 16 };
    std::vector<unsigned> ways(text.size() + 2, 0);
    ways[0] = code;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto rest = text.substr(at);
        const unsigned now = ways[at];
        if ((now & code) != 0) {
            if (rest.starts_with(word)) return true;
            if (rest.starts_with("//") || rest.starts_with("/*"))
                ways[at + 2] |= rest[1] == '/' ? line_comment : comment;
            else if (rest[0] == '\'')
                ways[at + 1] |= character | code;
            else if (rest[0] == '"' && rest.find('"', 1) < rest.find('\n'))
                ways[at + 1] |= string;
            else if (rest[0] == '"')
                ways[at + 1] |= string | code;
            else
                ways[at + 1] |= code;
        }
        if ((now & comment) != 0)
            ways[at + (rest.starts_with("*/") ? 2 : 1)] |= rest.starts_with("*/") ? code : comment;
        const auto goes_on = [&](unsigned state, char end) {
            if ((now & state) != 0)
                ways[at + 1] |= rest[0] == end || rest[0] == '\n' ? code : state;
        };
        goes_on(line_comment, '\n');
        goes_on(string, '"');
        goes_on(character, '\'');
    }
    return false;
}

/// A unit without headers; a view of the request.
TranslationUnit unit(const CompileRequest& request) {
    static const FileAccesses none;
    return {request, none, {}};
}

CompileRequest asks(const char* code, CompileOptions options = {},
                    std::vector<std::string> names = {}) {
    return {Source::text(code), {}, std::move(options), std::move(names)};
}

}  // namespace

TEST_CASE("text words: a word counts whole, and across joined lines") {
    CHECK(can_form_time({"const char* t = __TIME__;"}));
    CHECK(can_form_time({"const char* t = __TI\\\nME__;"}));
    CHECK(can_form_time({"const char* t = __TI?\?/\nME__;"}));
    CHECK(can_form_time({"F(x)__TIMESTAMP__"}));
    CHECK_FALSE(can_form_time({"int time_; int my__TIME__; int __TIME__x; int TIMER;"}));
}

TEST_CASE("text words: pieces of a word count, wherever they are") {
    CHECK(can_form_time({"C(__TI, ME__)"}));
    CHECK(can_form_time({"#define P __TI", "P##ME__"}));
    CHECK(can_form_time({"#define P __", "C(P,TIME__)"}));
    CHECK(can_form_time({"CAT(_,_TIME__)"}));
    CHECK(can_form_time({"TIME__"}));
    CHECK(can_form_time({"T I", "M + E"}));
    CHECK(can_form_time({"D,A,T,E"}));
    // A line that the compiler doesn't join has pieces of its own.
    CHECK(can_form_time({"__TI\\ \nME__"}));
    CHECK_FALSE(can_form_time({"T I M"}));
    CHECK_FALSE(can_form_time({"__ _ __TI ME2 1ME__ 0xE"}));
}

TEST_CASE("text words: comments and strings don't count, if they are certainly that") {
    for (const auto* text :
         {"// __DATE__", "int x; // __DATE__\nint y;", "/* a\n\"b\" __DATE__ */ int x;",
          "#define F(x) x /* \\\n__DATE__ */\nint x;", "/**/ /* __DATE__ */ // __DATE__",
          "const char* a = \"//\";\n// __DATE__\n", "f(\"\\\"__DATE__\"); // __DATE__"}) {
        CAPTURE(text);
        CHECK_FALSE(can_form_time({text}));
    }
    for (const auto* text :
         {"#include <a/*b>\n__DATE__ /* */", "f(\"\\\\\"); F(__DATE__, \"\")",
          "const char* a = R\"(\n/* )\" __DATE__ /* */;", "// a \\ \n\"abc \\\n// \" __DATE__",
          "// a\r__DATE__", "// a ?\?/\n\"abc \\\n// \" __DATE__", "/* __DATE__"}) {
        CAPTURE(text);
        CHECK(can_form_time({text}));
    }
    WordPieces option;
    option.add("\"__DATE__\"");
    CHECK(option.can_form_any(time_words));
}

TEST_CASE("text words: a word that any compiler may read counts, in each text of eight parts") {
    constexpr std::string_view parts[] = {"/", "*", "\"", "'", "\n", " __TIME__ "};
    constexpr std::size_t length = 8;
    std::size_t hidden = 0;
    for (std::size_t number = 0; number < 6 * 6 * 6 * 6 * 6 * 6 * 6; ++number) {
        std::string text;
        for (std::size_t rest = number, at = 1; at < length; ++at, rest /= std::size(parts))
            text += parts[rest % std::size(parts)];
        text += parts[5];
        if (can_form_time({text})) continue;
        ++hidden;
        CAPTURE(text);
        REQUIRE_FALSE(may_read(parts[5], text));
    }
    CHECK(hidden > 1000);
}

TEST_CASE("text words: an identifier is found as a whole") {
    CHECK(has_identifier("assert(x)", "assert"));
    CHECK(has_identifier("x;ass\\\nert (x)", "assert"));
    CHECK_FALSE(has_identifier("static_assert(x); assertion", "assert"));
}

TEST_CASE("translation unit: parts in the source, definitions, names and headers make a word") {
    CompileOptions options;
    options.definitions = {{"P", "__TI"}};
    CHECK(unit(asks("C(P,ME__)", options)).may_use_time());
    CHECK_FALSE(unit(asks("C(P,MEM)", options)).may_use_time());
    const std::vector<std::string> names{"k<C(P,ME__)[7]>"};
    CHECK(unit(asks("", options, names)).may_use_time());
    options.definitions = {{"P"}};
    options.headers = {{"a.h", "#define Q __FI"}};
    CHECK(unit(asks("C(Q,LE__)", options)).may_name_files());
    CHECK_FALSE(unit(asks("C(Q,LE__)", options)).may_use_time());
    options.extra_flags = {"--device-int128=__DA"};
    CHECK(unit(asks("TE__", options)).may_use_time());
    CHECK(unit(asks("CAT(__has_, include)(<a.h>)")).may_join_questions());
    CHECK_FALSE(unit(asks("#if __has_include(<a.h>)")).may_join_questions());
    CHECK(unit(asks("CAT(__BASE_, FILE__)")).may_name_source());
    CHECK(unit(asks("f(__builtin_FILE())")).may_name_files());
    CHECK(unit(asks("std::source_location::current()")).may_name_files());
    CHECK(unit(asks("assert(x)")).may_name_files());
    CHECK_FALSE(unit(asks("static_assert(x);")).may_name_files());
}

TEST_CASE("translation unit: macros of the toolkit may name files, its tokens aren't pieces") {
    FileAccesses accesses;
    const auto add = [&](const char* path, const char* text) {
        FileAnswer& answer = accesses.ask(path, false);
        auto content = std::make_shared<FileContent>();
        content->text = text;
        answer.content = std::move(content);
    };
    add("/toolkit/include/a.h",
        "#define WHERE_(x) \\\n  __FILE__ x\n# define WHERE WHERE_(1)\n#define OTHER 1\n"
        "#define PLACE __builtin_source_location()\nint T I M E;");
    const std::vector<std::filesystem::path> toolkit{"/toolkit/include"};
    const auto names_files = [&](const char* code) {
        return TranslationUnit(asks(code), accesses, toolkit).may_name_files();
    };
    CHECK(names_files("h(WHERE)"));
    CHECK(names_files("h(WHERE_(2))"));
    CHECK(names_files("h(PLACE)"));
    CHECK_FALSE(names_files("h(OTHER)"));
    CHECK_FALSE(TranslationUnit(asks(""), accesses, toolkit).may_use_time());
    add("/toolkit/includes/b.h", "T I M E");
    CHECK(TranslationUnit(asks(""), accesses, toolkit).may_use_time());
    add("/toolkit/include/c.h", "f(__DATE__)");
    CHECK(TranslationUnit(asks(""), accesses, toolkit).may_use_time());
}
