#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <fstream>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

using namespace lode;
using namespace lode::cache;
namespace fs = std::filesystem;

namespace {

/// A source file with an include folder, compiled by one process after another.
class Project {
public:
    Project() {
        scratch.write("src/k.cu", "#include \"own.h\"\n#include <lib/a.h>\n__global__ void k();\n");
        scratch.write("src/own.h", "int own;\n");
        scratch.write("inc/lib/a.h", "#include \"b.h\"\nint a;\n");
        scratch.write("inc/lib/b.h", "int b;\n");
        scratch.write("inc/lib/unused.h", "int unused;\n");
        fs::create_directory(scratch / "early");
        options.include_folders = {scratch / "early", scratch / "inc"};
        settle();
    }

    /// Compiles in a new process and returns the tier; "" after a compilation.
    std::string tier() const {
        const FakeProcess process(scratch / "cache");
        return process.tier(Source::file(scratch / "src/k.cu"), options);
    }
    /// Writes a file, then waits until its stamp can be trusted.
    void write(const char* name, const char* text) const {
        scratch.write(name, text);
        settle();
    }

    Scratch scratch;
    CompileOptions options;
};

}  // namespace

TEST_CASE("headers: an edit of any header that was read is a miss, undoing it a hit") {
    {
        const Project project;
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

TEST_CASE("headers: a header that appears earlier in the search path is seen") {
    {
        const Project project;
        CHECK(project.tier() == "");
        // <lib/a.h> is now found in the first folder.
        project.write("early/lib/a.h", "int early;\n");
        CHECK(project.tier() == "");
        CHECK(project.tier() == "disk");
        fs::remove_all(project.scratch / "early/lib");
        CHECK(project.tier() == "disk");
    }
}

TEST_CASE("headers: a removed header is seen") {
    const Project project;
    CHECK(project.tier() == "");
    fs::remove(project.scratch / "src/own.h");
    const FakeProcess process(project.scratch / "cache");
    CHECK_FALSE(process.cached->compile(Source::file(project.scratch / "src/k.cu"),
                                        *Arch::parse("sm_90a"), project.options));
    // The include folders are searched for the quoted include too.
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

TEST_CASE("headers: folders with other contents are another state, and switching back hits") {
    Project project;
    project.write("inc2/lib/a.h", "int second;\n");
    CHECK(project.tier() == "");
    project.options.include_folders[1] = project.scratch / "inc2";
    CHECK(project.tier() == "");
    CHECK(project.tier() == "disk");
    project.options.include_folders[1] = project.scratch / "inc";
    CHECK(project.tier() == "disk");
}

TEST_CASE("headers: a header that mentions its path only hits in its old place") {
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

TEST_CASE("headers: a header that is written during the compilation is kept as it was read") {
    const Project project;
    const FakeProcess process(project.scratch / "cache");
    process.fake->on_compile = [&] { project.scratch.write("inc/lib/b.h", "int changing;\n"); };
    // on_compile changes the header before the compiler reads it, within one clock tick.
    const auto source = Source::file(project.scratch / "src/k.cu");
    CHECK(process.compile(source, project.options).report.not_kept == "");
    CHECK(project.tier() == "disk");
    project.write("inc/lib/b.h", "int other;\n");
    CHECK(project.tier() == "");
}

TEST_CASE("headers: nothing is kept of a compiler whose queries aren't seen") {
    const Scratch scratch;
    scratch.write("a.h", "int a;\n");
    const FakeProcess process(scratch / "cache");
    process.fake->is_watched = false;
    CompileOptions options;
    options.include_folders = {scratch.path()};
    for (const char* text : {"#include <a.h>\n", "int plain;\n"}) {
        const auto answer = process.compile(Source::text(text), options);
        CHECK(answer.report.not_kept == "lode can't see what this compiler reads");
    }
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

TEST_CASE("headers: a remembered failure is forgotten when its header is fixed") {
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

TEST_CASE("headers: a damaged manifest is a miss and is repaired") {
    const Project project;
    CHECK(project.tier() == "");
    for (const auto& item :
         fs::recursive_directory_iterator(project.scratch / "cache/v6/manifests")) {
        if (item.is_regular_file())
            REQUIRE(write_atomic(item.path(), std::string_view("bad"), 0600));
    }
    CHECK(project.tier() == "");
    CHECK(project.tier() == "disk");
}
