// Attempts to make the cache return a wrong hit, with the oracle's compiler.
#include "base/file.hpp"
#include "jit/cache/state.hpp"
#include "tests/cache_oracle/fake_nvrtc.hpp"
#include "tests/unit/jit/cache/fake_compiler.hpp"
#include "tests/unit/jit/cache/scratch.hpp"

#include <lode/jit/cache.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/resource.h>

using namespace lode;
using namespace lode::cache;
namespace fs = std::filesystem;

namespace {

const Arch sm_90 = *Arch::parse("sm_90");

/// Processes that share one cache folder; their answers are compared with an uncached compilation.
class Attack {
public:
    Attack() : home_(fs::current_path()) { fs::create_directory(scratch / "toolkit"); }
    ~Attack() { fs::current_path(home_); }
    Attack(const Attack&) = delete;
    Attack& operator=(const Attack&) = delete;

    /// Compiles in the current process; starts one if there is none.
    Result<CachedImage> ask(const Source& source, const CompileOptions& options = {}) {
        if (!process_) start();
        return process_->compile(source, sm_90, options);
    }
    /// Compiles in a new process and returns the tier. Fails the test if the code differs from that
    /// of an uncached compilation.
    std::string tier(const Source& source, const CompileOptions& options = {}) {
        start();
        return same_process_tier(source, options);
    }
    std::string same_process_tier(const Source& source, const CompileOptions& options = {}) {
        const auto answer = ask(source, options);
        CompileFiles files;
        oracle::FakeNvrtc judge(scratch / "toolkit");
        const auto judged = judge.compile({source, sm_90, options}, {.files = &files});
        REQUIRE_MESSAGE(answer, (answer ? "" : answer.error().describe()));
        REQUIRE(judged);
        CHECK(answer->image->ptx == judged->ptx);
        return answer->report.tier;
    }
    void start() {
        CacheOptions options;
        options.folder = scratch / "cache";
        auto backend = std::make_unique<oracle::FakeNvrtc>(scratch / "toolkit", library);
        fake = backend.get();
        process_ = std::make_unique<CachedCompiler>(
            std::make_shared<CachedCompiler::State>(std::move(backend), std::move(options)));
    }

    Scratch scratch;
    fs::path library;  ///< The folder of the compiler's files; empty if it has none.
    oracle::FakeNvrtc* fake = nullptr;

private:
    fs::path home_;
    std::unique_ptr<CachedCompiler> process_;
};

CompileOptions including(std::vector<fs::path> folders) {
    CompileOptions options;
    options.include_folders = std::move(folders);
    return options;
}

}  // namespace

TEST_CASE("attack: the root of the file system as an include folder") {
    Attack attack;
    const auto source = Source::text("#if __has_include(<no-such-folder/x.h>)\nint x;\n#endif\n");
    CHECK(attack.tier(source, including({"/"})) == "");
    CHECK(attack.tier(source, including({"/"})) == "disk");
}

TEST_CASE("attack: a search folder that is looked for as a header") {
    Attack attack;
    fs::create_directory(attack.scratch / "inc");
    const auto source = Source::text("#if __has_include(<.>)\nint x;\n#endif\nint y;\n");
    const auto options = including({attack.scratch / "inc"});
    attack.start();
    attack.fake->before_question = [&] { fs::remove(attack.scratch / "inc"); };
    CHECK(attack.ask(source, options));
    attack.fake->before_question = nullptr;
    fs::create_directory(attack.scratch / "inc");
    attack.tier(source, options);
}

TEST_CASE("attack: a compiler that is replaced after the key is made") {
    Attack attack;
    attack.library = attack.scratch / "compiler";
    // Longer than a tick of the file system's clock, so that stamps settle.
    const auto tick = [] { std::this_thread::sleep_for(std::chrono::milliseconds(60)); };
    const auto install = [&](const char* version) {
        for (const char* const name : oracle::FakeNvrtc::file_names) {
            attack.scratch.write("compiler/new", version);
            fs::rename(attack.library / "new", attack.library / name);
        }
        tick();
    };
    install("version a\n");
    attack.start();
    CHECK(attack.ask(Source::text("int x;\n")));

    const auto source = Source::text("int y;\n");
    attack.start();
    attack.fake->before_mapping = [&] { install("version b\n"); };
    const auto first = attack.ask(source);
    REQUIRE(first);
    CHECK(first->image->ptx.find("version b") != std::string::npos);
    CHECK(first->report.not_kept != "");

    install("version a\n");
    attack.start();
    const auto second = attack.ask(source);
    REQUIRE(second);
    CHECK(second->image->ptx.find("version a") != std::string::npos);
}

TEST_CASE("attack: the neighbour of an absolute include lies in a search folder") {
    Attack attack;
    const auto& scratch = attack.scratch;
    scratch.write("abs/x.h", "#include \"d/y.h\"\n");
    scratch.write("abs/d/y.h", "int y1;\n");
    scratch.write("other/y.h", "int y1;\n");
    const auto source = Source::text("#include \"" + (scratch / "abs/x.h").string() + "\"\n");
    attack.tier(source, including({scratch / "abs/d"}));
    scratch.write("abs/d/y.h", "int y2;\n");
    attack.tier(source, including({scratch / "other"}));
}

TEST_CASE("attack: an absolute pre-include or in-memory header lies in a search folder") {
    Attack attack;
    const auto& scratch = attack.scratch;
    scratch.write("a/x.h", "int x1;\n");
    scratch.write("b/x.h", "int x1;\n");
    const auto source = Source::text("int k;\n");
    auto options = including({scratch / "a"});
    options.pre_includes = {(scratch / "a/x.h").string()};
    attack.tier(source, options);
    scratch.write("a/x.h", "int x2;\n");
    options.include_folders = {scratch / "b"};
    attack.tier(source, options);

    options.pre_includes.clear();
    options.headers = {{(scratch / "a/m.h").string(), "#include \"x.h\"\n"}};
    const auto user = Source::text("#include \"" + options.headers[0].name + "\"\n");
    options.include_folders = {scratch / "a"};
    attack.tier(user, options);
    scratch.write("b/x.h", "int x2;\n");
    scratch.write("a/x.h", "int x3;\n");
    options.include_folders = {scratch / "b"};
    attack.tier(user, options);
}

TEST_CASE("attack: a working directory with a folder named as code in memory") {
    Attack attack;
    const auto& scratch = attack.scratch;
    scratch.write("p/x.h", "int found;\n");
    scratch.write("q/<memory>/x.h", "int beside;\n");
    const auto source = Source::text("#include \"x.h\"\n", "k.cu");
    fs::current_path(scratch / "p");
    attack.tier(source, including({scratch / "p"}));
    fs::current_path(scratch / "q");
    attack.tier(source, including({scratch / "p"}));
}

TEST_CASE("attack: a header that is a link to the source, and then a file of its own") {
    Attack attack;
    const auto& scratch = attack.scratch;
    const std::string text =
        "#pragma once\n#if __INCLUDE_LEVEL__ == 0\n#include \"self.h\"\n#endif\nint k;\n";
    scratch.write("k.cu", text);
    fs::create_symlink("k.cu", scratch / "self.h");
    const auto source = Source::file(scratch / "k.cu");
    CHECK(attack.tier(source) == "");
    CHECK(attack.tier(source) == "disk");
    fs::remove(scratch / "self.h");
    scratch.write("self.h", text);
    CHECK(attack.tier(source) == "");
}

TEST_CASE("attack: two names of one unsettled file become two files") {
    Attack attack;
    const auto& scratch = attack.scratch;
    const std::string text = "#pragma once\nint a;\n";
    scratch.write("k.cu", "#include \"a.h\"\n#include \"b.h\"\n");
    const auto source = Source::file(scratch / "k.cu");
    const auto link = [&] {
        scratch.write("a.h", text);
        fs::remove(scratch / "b.h");
        fs::create_hard_link(scratch / "a.h", scratch / "b.h");
    };
    link();
    attack.tier(source);
    link();
    CHECK(attack.tier(source) == "disk");
    scratch.write("b.h", text);
    CHECK(attack.tier(source) == "");
}

TEST_CASE("attack: a file that appears while there are no descriptors left") {
    Attack attack;
    const auto& scratch = attack.scratch;
    fs::create_directory(scratch / "inc");
    const auto source = Source::text("#if __has_include(<opt.h>)\nint opt;\n#endif\n");
    const auto options = including({scratch / "inc"});
    CHECK(attack.tier(source, options) == "");
    CHECK(attack.same_process_tier(source, options) == "memory");
    scratch.write("inc/opt.h", "\n");
    rlimit old{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
    const rlimit none{0, old.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    const auto answer = attack.ask(source, options);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
    CHECK_FALSE((answer && answer->report.hit()));
}

TEST_CASE("attack: the working directory changes during a compilation") {
    Attack attack;
    const auto& scratch = attack.scratch;
    for (const char* folder : {"p", "q"}) {
        scratch.write(std::string(folder) + "/inc/x.h", std::string("int in_") + folder + ";\n");
    }
    const auto source = Source::text("#include <x.h>\n");
    fs::current_path(scratch / "p");
    attack.start();
    attack.fake->before_question = [&] { fs::current_path(scratch / "q"); };
    CHECK(attack.ask(source, including({"inc"})));
    attack.fake->before_question = nullptr;
    fs::current_path(scratch / "p");
    attack.tier(source, including({"inc"}));
    fs::current_path(scratch / "q");
    attack.tier(source, including({"inc"}));
}

TEST_CASE("attack: an include folder that is gone isn't hidden by a source without includes") {
    Attack attack;
    fs::create_directory(attack.scratch / "inc");
    const auto source = Source::text("int k;\n");
    const auto options = including({attack.scratch / "inc"});
    CHECK(attack.tier(source, options) == "");
    CHECK(attack.tier(source, options) == "disk");
    fs::remove(attack.scratch / "inc");
    attack.start();
    CHECK_FALSE(attack.ask(source, options));
}

TEST_CASE("attack: a file with the name of an in-memory header, spelled differently") {
    Attack attack;
    const auto& scratch = attack.scratch;
    scratch.write("k.cu", "#include \"m.h\"\n#if __has_include(\"./m.h\")\nint spelled;\n#endif\n");
    fs::current_path(scratch.path());
    CompileOptions options;
    options.headers = {{"m.h", "int memory;\n"}};
    CHECK(attack.tier(Source::file("k.cu"), options) == "");
    scratch.write("m.h", "int file;\n");
    CHECK(attack.tier(Source::file("k.cu"), options) == "");
}

TEST_CASE("attack: code that names a header, and the same folder by another name") {
    Attack attack;
    attack.scratch.write("inc/x.h", "const char* file = __FILE__;\n");
    fs::current_path(attack.scratch.path());
    const auto source = Source::text("#include <x.h>\n");
    for (const fs::path& folder : {fs::path("inc"), attack.scratch / "inc", fs::path("./inc")}) {
        CHECK(attack.tier(source, including({folder})) == "");
        CHECK(attack.tier(source, including({folder})) == "disk");
    }
}
