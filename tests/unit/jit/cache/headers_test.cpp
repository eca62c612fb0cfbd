#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <fstream>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

using namespace lode;
using namespace lode::cache;
namespace fs = std::filesystem;

namespace {

/// A source file with an include folder, and processes that compile it one after the other.
class Project {
public:
    explicit Project(bool lists_headers = true) : lists_headers_(lists_headers) {
        scratch.write("src/k.cu", "#include \"own.h\"\n#include <lib/a.h>\n__global__ void k();\n");
        scratch.write("src/own.h", "int own;\n");
        scratch.write("inc/lib/a.h", "#include \"b.h\"\nint a;\n");
        scratch.write("inc/lib/b.h", "int b;\n");
        scratch.write("inc/lib/unused.h", "int unused;\n");
        fs::create_directory(scratch / "early");
        options.include_folders = {scratch / "early", scratch / "inc"};
        settle();
    }

    /// Compiles in a process of its own. "" when that compiled.
    std::string tier() const {
        const FakeProcess process(scratch / "cache");
        process.fake->lists_headers = lists_headers_;
        return process.tier(Source::file(scratch / "src/k.cu"), options);
    }
    /// Writes a file, and waits until that is in the past.
    void write(const char* name, const char* text) const {
        scratch.write(name, text);
        settle();
    }

    Scratch scratch;
    CompileOptions options;

private:
    bool lists_headers_;
};

}  // namespace

TEST_CASE("headers: an edit of any header that was read is a miss, undoing it a hit") {
    for (const bool lists_headers : {true, false}) {
        CAPTURE(lists_headers);
        const Project project(lists_headers);
        CHECK(project.tier() == "");
        CHECK(project.tier() == "disk");
        for (const char* name : {"src/own.h", "inc/lib/a.h", "inc/lib/b.h"}) {
            CAPTURE(name);
            const std::string old = *read_text(project.scratch / name);
            project.write(name, (old + "int more;\n").c_str());
            CHECK(project.tier() == "");
            CHECK(project.tier() == "disk");
            project.write(name, old.c_str());
            CHECK(project.tier() == "disk");
        }
    }
}

TEST_CASE("headers: an edit of any other file is a hit") {
    const Project project;
    CHECK(project.tier() == "");
    project.write("inc/lib/unused.h", "int other;\n");
    project.write("src/unused.h", "int other;\n");
    project.write("early/unused.h", "int other;\n");
    CHECK(project.tier() == "disk");
}

TEST_CASE("headers: the same content with another stamp is a hit") {
    const Project project;
    CHECK(project.tier() == "");
    project.write("inc/lib/a.h", "#include \"b.h\"\nint a;\n");
    CHECK(project.tier() == "disk");
    CHECK(project.tier() == "disk");
}

TEST_CASE("headers: an edit that keeps size and modification time is seen") {
    const Project project;
    CHECK(project.tier() == "");
    const fs::path file = project.scratch / "inc/lib/b.h";
    const auto time = fs::last_write_time(file);
    std::ofstream(file, std::ios::trunc) << "int B;\n";
    fs::last_write_time(file, time);
    settle();
    CHECK(project.tier() == "");
}

TEST_CASE("headers: one that appears earlier in the search path is seen") {
    for (const bool lists_headers : {true, false}) {
        CAPTURE(lists_headers);
        const Project project(lists_headers);
        CHECK(project.tier() == "");
        // <lib/a.h> is found in the first folder now.
        project.write("early/lib/a.h", "int early;\n");
        CHECK(project.tier() == "");
        CHECK(project.tier() == "disk");
        fs::remove_all(project.scratch / "early/lib");
        CHECK(project.tier() == "disk");
    }
}

TEST_CASE("headers: one that is removed is seen") {
    const Project project;
    CHECK(project.tier() == "");
    fs::remove(project.scratch / "src/own.h");
    const FakeProcess process(project.scratch / "cache");
    CHECK_FALSE(process.cached->compile(Source::file(project.scratch / "src/k.cu"),
                                        *Arch::parse("sm_90a"), project.options));
    // The quoted include is looked for in the include folders too.
    project.write("inc/own.h", "int own;\n");
    CHECK(project.tier() == "");
}

TEST_CASE("headers: the answer of __has_include is part of the key") {
    const Scratch scratch;
    scratch.write("k.cu", "#if __has_include(\"option.h\")\n#endif\n__global__ void k();\n");
    settle();
    const auto tier = [&] {
        return FakeProcess(scratch / "cache").tier(Source::file(scratch / "k.cu"));
    };
    CHECK(tier() == "");
    CHECK(tier() == "disk");
    scratch.write("option.h", "");
    settle();
    CHECK(tier() == "");
    CHECK(tier() == "disk");
    fs::remove(scratch / "option.h");
    CHECK(tier() == "disk");
}

TEST_CASE("headers: folders with other contents are another state, back and forth hits") {
    Project project;
    project.write("inc2/lib/a.h", "int second;\n");
    CHECK(project.tier() == "");
    project.options.include_folders[1] = project.scratch / "inc2";
    CHECK(project.tier() == "");
    CHECK(project.tier() == "disk");
    project.options.include_folders[1] = project.scratch / "inc";
    CHECK(project.tier() == "disk");
}

TEST_CASE("headers: one that mentions its path has to be where it was") {
    const Project project;
    project.write("inc/lib/b.h", "const char* b = __FILE__;\n");
    CHECK(project.tier() == "");
    CHECK(project.tier() == "disk");
    fs::rename(project.scratch / "inc", project.scratch / "inc3");
    Project moved = Project();
    CHECK(project.scratch.path() != moved.scratch.path());
    CompileOptions options = project.options;
    options.include_folders[1] = project.scratch / "inc3";
    CHECK(FakeProcess(project.scratch / "cache")
              .tier(Source::file(project.scratch / "src/k.cu"), options) == "");
}

TEST_CASE("headers: one that was written during the compilation isn't trusted") {
    const Project project;
    const FakeProcess process(project.scratch / "cache");
    process.fake->on_compile = [&] { project.scratch.write("inc/lib/b.h", "int changing;\n"); };
    const auto report =
        process.compile(Source::file(project.scratch / "src/k.cu"), project.options).report;
    CHECK(report.not_kept.find("b.h") != std::string::npos);
    settle();
    CHECK(project.tier() == "");
    CHECK(project.tier() == "disk");
}

TEST_CASE("headers: macro-named ones are covered by the compiler's list only") {
    const Scratch scratch;
    scratch.write("k.cu", "#define H <a.h>\n# include H\n#include <a.h>\n__global__ void k();\n");
    const auto source = Source::file(scratch / "k.cu");
    scratch.write("a.h", "int a;\n");
    settle();
    CompileOptions options;
    options.include_folders = {scratch.path()};
    const FakeProcess listing(scratch / "cache");
    CHECK(listing.compile(source, options).report.not_kept == "");
    scratch.write("a.h", "int changed;\n");
    settle();
    CHECK(listing.tier(source, options) == "");

    const FakeProcess blind(scratch / "cache2");
    blind.fake->lists_headers = false;
    CHECK(blind.compile(source, options).report.not_kept.find("macro") != std::string::npos);
    CHECK(blind.fake->trace.spoiled);  // Nothing tells whether there was a #line directive.
}

TEST_CASE("headers: the compiler lists none where a #line directive is, or is lode's own") {
    const Scratch scratch;
    scratch.write("plain.h", "int a;\n");
    scratch.write("generated.h", "#line 7 \"grammar.y\"\nint b;\n");
    scratch.write("plain.cu", "#include \"plain.h\"\n");
    scratch.write("line.cu", "#include \"plain.h\"\n# 3 \"k.pp\"\n");
    scratch.write("deep.cu", "#include \"generated.h\"\n");
    settle();
    const FakeProcess process(scratch / "cache");
    const auto traces_of = [&](const Source& source) {
        const int before = process.fake->traces;
        CHECK(process.compile(source).report.not_kept == "");
        return process.fake->traces - before;
    };
    CHECK(traces_of(Source::file(scratch / "plain.cu")) == 1);
    CHECK(traces_of(Source::file(scratch / "line.cu")) == 0);
    CHECK(traces_of(Source::file(scratch / "deep.cu")) == 0);
    CHECK_FALSE(process.fake->trace.spoiled);

    CompileOptions options;
    options.include_folders = {scratch.path()};
    process.compile(Source::text("#include <plain.h>\n"), options);
    CHECK(process.fake->traces == 1);
}

TEST_CASE("headers: a #line directive that couldn't be foreseen ends the lists") {
    const Scratch scratch;
    scratch.write("generated.h", "#line 7 \"grammar.y\"\nint b;\n");
    scratch.write("k.cu", "#define H \"generated.h\"\n# include H\n#include \"generated.h\"\n");
    scratch.write("next.cu", "#include \"plain.h\"\n");
    scratch.write("plain.h", "int a;\n");
    settle();
    const FakeProcess process(scratch / "cache");
    process.compile(Source::file(scratch / "k.cu"));
    CHECK(process.fake->trace.spoiled);
    CHECK(process.fake->traces == 1);
    process.compile(Source::file(scratch / "next.cu"));
    CHECK(process.fake->traces == 1);
}

TEST_CASE("headers: in-memory ones count by content and hide files") {
    const Project project;
    CompileOptions options = project.options;
    options.headers = {{"lib/a.h", "int in_memory;\n"}};
    const auto source = Source::file(project.scratch / "src/k.cu");
    const FakeProcess process(project.scratch / "cache");
    CHECK(process.tier(source, options) == "");
    CHECK(process.tier(source, options) == "memory");
    project.write("inc/lib/a.h", "int hidden;\n");
    CHECK(process.tier(source, options) == "memory");
    options.headers[0].text = "int other;\n";
    CHECK(process.tier(source, options) == "");
}

TEST_CASE("headers: a remembered failure is forgotten when its header is mended") {
    const Scratch scratch;
    const auto source = Source::text("#include <missing.h>\n", "k.cu");
    CompileOptions options;
    options.include_folders = {scratch.path()};
    const FakeProcess process(scratch / "cache");
    const auto sm_90 = *Arch::parse("sm_90");
    settle();
    CHECK_FALSE(process.cached->compile(source, sm_90, options));
    CHECK_FALSE(process.cached->compile(source, sm_90, options));
    CHECK(process.fake->compilations == 1);
    scratch.write("missing.h", "int here;\n");
    settle();
    CHECK(process.cached->compile(source, sm_90, options));
    CHECK(process.fake->compilations == 2);
}

TEST_CASE("headers: a damaged manifest is a miss that heals") {
    const Project project;
    CHECK(project.tier() == "");
    for (const auto& item :
         fs::recursive_directory_iterator(project.scratch / "cache/v2/manifests")) {
        if (item.is_regular_file())
            REQUIRE(write_atomic(item.path(), std::string_view("bad"), 0600));
    }
    CHECK(project.tier() == "");
    CHECK(project.tier() == "disk");
}
