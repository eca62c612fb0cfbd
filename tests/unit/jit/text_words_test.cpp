#include "jit/request/text_words.hpp"

#include "jit/translation_unit.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;

namespace {

bool can_form_time(std::initializer_list<std::string_view> texts) {
    WordPieces pieces;
    for (const auto text : texts)
        pieces.add(text);
    return pieces.can_form_any(time_words);
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

TEST_CASE("text words: a word counts whole, across joined lines and in comments") {
    CHECK(can_form_time({"const char* t = __TIME__;"}));
    CHECK(can_form_time({"const char* t = __TI\\\nME__;"}));
    CHECK(can_form_time({"const char* t = __TI?\?/\nME__;"}));
    CHECK(can_form_time({"// __DATE__"}));
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
        "#define WHERE_(x) \\\n  __FILE__ x\n# define WHERE WHERE_(1)\n#define OTHER 1\nint T I M "
        "E;");
    const std::vector<std::filesystem::path> toolkit{"/toolkit/include"};
    const auto names_files = [&](const char* code) {
        return TranslationUnit(asks(code), accesses, toolkit).may_name_files();
    };
    CHECK(names_files("h(WHERE)"));
    CHECK(names_files("h(WHERE_(2))"));
    CHECK_FALSE(names_files("h(OTHER)"));
    CHECK_FALSE(TranslationUnit(asks(""), accesses, toolkit).may_use_time());
    add("/toolkit/includes/b.h", "T I M E");
    CHECK(TranslationUnit(asks(""), accesses, toolkit).may_use_time());
    add("/toolkit/include/c.h", "f(__DATE__)");
    CHECK(TranslationUnit(asks(""), accesses, toolkit).may_use_time());
}
