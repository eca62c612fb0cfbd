#include "jit/memory_headers.hpp"

#include "tests/support/scratch.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::CompileOptions;
using lode::Compiler;
using lode::FileAnswer;
using lode::Header;
using lode::Source;
using lode::VirtualFolder;
using lode::test::contains;
using lode::test::sm;

namespace {

lode::Result<lode::Image> compile(const Source& source, std::vector<Header> headers,
                                  CompileOptions options = {}) {
    options.headers = std::move(headers);
    return Compiler().compile(source, sm(90).as_virtual(), options);
}

}  // namespace

TEST_CASE("memory headers: a path in a folder") {
    CHECK(lode::path_in_folder("a/b.h") == "a/b.h");
    CHECK(lode::path_in_folder("./a//../b/./c.h") == "b/c.h");
    CHECK(lode::path_in_folder("a/..") == "");
    CHECK(lode::path_in_folder("../a.h") == std::nullopt);
    CHECK(lode::path_in_folder("a/../../b.h") == std::nullopt);
    CHECK(lode::path_in_folder("/a.h") == std::nullopt);
}

TEST_CASE("memory headers: a virtual folder answers for its files, under both of its names") {
    VirtualFolder folder("<m>", {{"a/b.h", "one"}, {"c.h", "two!"}});
    FileAnswer* const file = folder.ask("<m>/a/b.h");
    REQUIRE(file != nullptr);
    CHECK(file->kind == FileAnswer::Kind::file);
    CHECK(file->content->text == "one");
    CHECK(file->attributes.size == 3);
    CHECK(folder.ask("/<m>/c.h/../a/b.h") != nullptr);
    const FileAnswer* const same = folder.ask("/<m>/x/../a/b.h");
    CHECK(same->attributes.number == file->attributes.number);
    CHECK(folder.ask("/<m>/c.h")->attributes.number != file->attributes.number);
    CHECK(folder.ask("<m>")->kind == FileAnswer::Kind::folder);
    CHECK(folder.ask("<m>/a")->kind == FileAnswer::Kind::folder);
    CHECK(folder.ask("<m>/d.h")->kind == FileAnswer::Kind::absent);
    CHECK(folder.ask("<m>/../c.h")->kind == FileAnswer::Kind::absent);
    CHECK(folder.ask("<mm>/c.h") == nullptr);
    CHECK(folder.ask("c.h") == nullptr);
    CHECK(VirtualFolder().ask("") == nullptr);
}

TEST_CASE("memory headers: a header includes what lies beside it and above it") {
    const auto image =
        compile(Source::text("#include \"a/b.h\"\n#include <a/deep/d.h>\n"
                             "static_assert(B + C + X + D == 1111);\n"),
                {{"a/b.h", "#include \"c.h\"\n#include \"../x.h\"\n#define B 1\n"},
                 {"a/c.h", "#pragma once\n#define C 10\n"},
                 {"x.h", "#pragma once\n#define X 100\n"},
                 {"a/deep/d.h", "#include \"../c.h\"\n#include \"../../x.h\"\n#define D 1000\n"}});
    CHECK_MESSAGE(image, image.error().describe());
}

TEST_CASE("memory headers: of two files of one name, each folder gets its own") {
    const std::vector<Header> headers = {
        {"a/b.h", "#include \"c.h\"\nstatic_assert(C == 1);\n#undef C\n"},
        {"d/b.h", "#include \"c.h\"\nstatic_assert(C == 2);\n#undef C\n"},
        {"a/c.h", "#define C 1\n"},
        {"d/c.h", "#define C 2\n"}};
    const auto source = Source::text("#include \"a/b.h\"\n#include <d/b.h>\n#include \"a/b.h\"\n");
    const auto image = compile(source, headers);
    CHECK_MESSAGE(image, image.error().describe());

    // With a third one at the top, whose name alone matches.
    auto more = headers;
    more.push_back({"c.h", "#define C 3\n"});
    for (const std::string form : {"\"c.h\"", "<c.h>"}) {
        const auto third = compile(Source::text("#include \"a/b.h\"\n#include <d/b.h>\n#include " +
                                                form + "\nstatic_assert(C == 3);\n"),
                                   more);
        CHECK_MESSAGE(third, third.error().describe());
    }
}

TEST_CASE("memory headers: a neighbour named as a header of lode's is the neighbour") {
    const auto image = compile(
        Source::text("#include \"util/all.h\"\n#include <string.h>\n#include <math.h>\n"
                     "static_assert(MINE == 1);\n"
                     "__global__ void k(size_t* out) { *out = strlen(\"abc\") + (M_PI > 3); }\n"),
        {{"util/all.h", "#include \"string.h\"\n"}, {"util/string.h", "#define MINE 1\n"}});
    CHECK_MESSAGE(image, image.error().describe());
}

TEST_CASE("memory headers: #pragma once and guards hold, whichever way a header is found") {
    const auto image = compile(
        Source::text("#include \"x.h\"\n#include <x.h>\n#include \"./x.h\"\n#include \"a/b.h\"\n"
                     "#include \"a/../x.h\"\n"),
        {{"x.h", "#pragma once\nstruct X {};\n"}, {"a/b.h", "#include \"../x.h\"\nX made;\n"}}, [] {
            CompileOptions options;
            options.extra_flags = {"-default-device"};
            return options;
        }());
    CHECK_MESSAGE(image, image.error().describe());
}

TEST_CASE("memory headers: messages, __FILE__ and line numbers are those of the user's names") {
    const auto wrong = compile(Source::text("#include \"a/b.h\"\n", "k.cu"),
                               {{"a/b.h", "\n#include \"c.h\"\n"}, {"a/c.h", "\n\nint x = y;\n"}});
    REQUIRE_FALSE(wrong);
    CHECK_MESSAGE(contains(wrong.error().message, " a/c.h:3:"), wrong.error().message);
    CHECK_FALSE(contains(wrong.error().log, "<memory>/a"));

    const auto named =
        compile(Source::text("#include \"a/b.h\"\n__device__ const char* f() { return name(); }\n"
                             "__global__ void k(const char** out) { *out = f(); }\n"),
                {{"a/b.h", "#include \"c.h\"\n"},
                 {"a/c.h", "__device__ inline const char* name() { return __FILE__; }\n"}});
    REQUIRE_MESSAGE(named, named.error().describe());
    // "a/c.h" as bytes, with or without the zero at its end.
    CHECK(contains(named->ptx, "{97, 47, 99, 46, 104"));
}

TEST_CASE("memory headers: source in memory has neighbours too, source in a file its own first") {
    const auto image =
        compile(Source::text("#include \"c.h\"\nstatic_assert(C == 1);\n", "src/k.cu"),
                {{"src/c.h", "#define C 1\n"}, {"other/c.h", "#define C 2\n"}});
    CHECK_MESSAGE(image, image.error().describe());

    const auto scratch = lode::test::make_scratch();
    lode::test::put(scratch.path() / "k.cu",
                    "#include \"in_memory.h\"\nstatic_assert(C + D == 3);\n");
    lode::test::put(scratch.path() / "in_memory.h", "#error the file\n");
    lode::test::put(scratch.path() / "d.h", "#define D 2\n");
    const auto from_file = compile(Source::file(scratch.path() / "k.cu"),
                                   {{"in_memory.h", "#include \"d.h\"\n#define C 1\n"}}, [&] {
                                       CompileOptions options;
                                       options.include_folders = {scratch.path()};
                                       return options;
                                   }());
    CHECK_MESSAGE(from_file, from_file.error().describe());
}

TEST_CASE("memory headers: without a watched NVRTC names match as a whole") {
    const std::vector<Header> users = {{"a/b.h", "text"}, {"c.h", "other"}};
    const lode::MemoryHeaders headers(users, {}, false);
    REQUIRE(headers.literal().size() == 2);
    CHECK(std::string(headers.literal()[0].text) == "text");
    CHECK(headers.folders().empty());
    CHECK(headers.first_flag() == "");
    CHECK(headers.shims_flag() == "");
}

TEST_CASE("memory headers: a file's own neighbour comes before lode's header of that name") {
    const auto scratch = lode::test::make_scratch();
    lode::test::put(scratch.path() / "all.h", "#include \"sub/inner.h\"\n");
    std::filesystem::create_directory(scratch.path() / "sub");
    lode::test::put(scratch.path() / "sub/inner.h", "#include \"climits\"\n");
    lode::test::put(scratch.path() / "sub/climits", "#define MINE 1\n");
    CompileOptions options;
    options.include_folders = {scratch.path()};
    const auto image = compile(
        Source::text("#include <all.h>\n#include <climits>\nstatic_assert(MINE && INT_MAX > 0);\n"),
        {}, options);
    CHECK_MESSAGE(image, image.error().describe());
}
