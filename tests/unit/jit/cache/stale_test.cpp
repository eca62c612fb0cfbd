// Ways in which a compile cache can return stale code, tested with NVRTC.
#include "base/file.hpp"
#include "tests/support/child.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/jit/cache/scratch.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/jit/cache.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using lode::cache::Scratch;
using lode::test::Variable;
namespace fs = std::filesystem;

namespace {

const Arch stale_arch = *Arch::parse("sm_90");

/// A kernel that stores V, which `head` defines.
std::string kernel(const std::string& head) {
    return head + "\nextern \"C\" __global__ void k(int* x) { *x = V; }\n";
}

/// Defines V as a number that occurs nowhere else in the code.
std::string define(int value) {
    return fmt::format("#define V {}\n", 70000 + value);
}

/// Compilations on one cache folder, each as if in a new process.
class Stale {
public:
    Result<CachedImage> ask(const Source& source, const CompileOptions& options = {},
                            CacheMode mode = CacheMode::on) const {
        CacheOptions cache;
        cache.folder = scratch / "cache";
        cache.mode = mode;
        return CachedCompiler({}, cache).compile(source, stale_arch, options);
    }
    CachedImage compile(const Source& source, const CompileOptions& options = {}) const {
        auto answer = ask(source, options);
        REQUIRE_MESSAGE(answer, (answer ? "" : answer.error().describe()));
        return *std::move(answer);
    }
    /// The number passed to define(); -1 if the code doesn't contain it.
    int value(const Source& source, const CompileOptions& options = {}) const {
        const auto answer = compile(source, options);
        return value_of(*answer.image);
    }
    static int value_of(const Image& image) {
        const auto at = image.ptx.find(", 70");
        return at == std::string::npos ? -1 : std::atoi(image.ptx.c_str() + at + 2) - 70000;
    }
    Source file(const char* name) const { return Source::file(scratch / name); }

    Scratch scratch;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("stale: twenty folders whose headers have the same size and time") {
    const Stale stale;
    stale.scratch.write("a.cu", kernel("#include <c.h>"));
    for (int i = 1; i <= 20; ++i)
        stale.scratch.write(fmt::format("v{}/c.h", i), define(i));
    for (int i = 1; i <= 20; ++i) {
        CompileOptions options;
        options.include_folders = {stale.scratch / fmt::format("v{}", i)};
        CHECK(stale.value(stale.file("a.cu"), options) == i);
    }
}

TEST_CASE("stale: two projects with the same source beside different headers") {
    const Stale stale;
    for (int i = 1; i <= 4; ++i) {
        stale.scratch.write(fmt::format("p{}/a.cu", i), kernel("#include \"c.h\""));
        stale.scratch.write(fmt::format("p{}/c.h", i), define(i));
    }
    for (int i = 1; i <= 4; ++i) {
        CHECK(stale.value(stale.file(fmt::format("p{}/a.cu", i).c_str())) == i);
    }
}

TEST_CASE("stale: a link that is redirected, and a folder that is replaced by a rename") {
    const Stale stale;
    stale.scratch.write("a.cu", kernel("#include <c.h>"));
    stale.scratch.write("v1/c.h", define(1));
    stale.scratch.write("v2/c.h", define(2));
    fs::create_directory_symlink("v1", stale.scratch / "cur");
    CompileOptions options;
    options.include_folders = {stale.scratch / "cur"};
    CHECK(stale.value(stale.file("a.cu"), options) == 1);
    fs::remove(stale.scratch / "cur");
    fs::create_directory_symlink("v2", stale.scratch / "cur");
    CHECK(stale.value(stale.file("a.cu"), options) == 2);

    options.include_folders = {stale.scratch / "v1"};
    CHECK(stale.value(stale.file("a.cu"), options) == 1);
    fs::rename(stale.scratch / "v1", stale.scratch / "old");
    fs::rename(stale.scratch / "v2", stale.scratch / "v1");
    CHECK(stale.value(stale.file("a.cu"), options) == 2);
}

namespace {

/// Creates folders v1 and v2 with one header each, and a link to v1. Calls `swap` at each eighth of
/// a compilation that searches `folder`. After `swap`, and again after `swap_back`, the code must
/// match the files that are in place.
void swap_while_compiling(const char* folder, const std::function<void(const Scratch&)>& swap,
                          const std::function<void(const Scratch&)>& swap_back) {
    for (int eighth = 1; eighth <= 8; ++eighth) {
        CAPTURE(eighth);
        const Stale stale;
        std::string headers = "#include <c.h>\n";
        for (int i = 0; i < 200; ++i)
            headers +=
                fmt::format("template <int I> struct S{} {{ static constexpr int v = I; }};\n", i);
        stale.scratch.write("a.cu", kernel(headers));
        stale.scratch.write("v1/c.h", define(1));
        stale.scratch.write("v2/c.h", define(2));
        fs::create_directory_symlink("v1", stale.scratch / "cur");
        CompileOptions options;
        options.include_folders = {stale.scratch / folder};
        CompileOptions other = options;
        other.definitions = {{"WARM"}};
        // Opens NVRTC, then measures how long a compilation takes.
        CacheOptions cache;
        cache.folder = stale.scratch / "cache";
        const CachedCompiler compiler({}, cache);
        REQUIRE(compiler.compile(stale.file("a.cu"), stale_arch, other));
        const auto start = std::chrono::steady_clock::now();
        other.definitions = {{"WARM", "2"}};
        REQUIRE(compiler.compile(stale.file("a.cu"), stale_arch, other));
        const double takes = seconds_since(start);

        std::thread swapper([&] {
            std::this_thread::sleep_for(std::chrono::duration<double>(takes * eighth / 9));
            swap(stale.scratch);
        });
        const auto during = compiler.compile(stale.file("a.cu"), stale_arch, options);
        swapper.join();
        // Between the two renames of a swap the folder doesn't exist, and the compilation may fail.
        if (during) CHECK(Stale::value_of(*during->image) != -1);
        CHECK(stale.value(stale.file("a.cu"), options) == 2);
        swap_back(stale.scratch);
        CHECK(stale.value(stale.file("a.cu"), options) == 1);
    }
}

}  // namespace

TEST_CASE("stale: a link that is redirected while NVRTC runs") {
    const auto point = [](const char* to) {
        return [to](const Scratch& scratch) {
            fs::create_directory_symlink(to, scratch / "new");
            fs::rename(scratch / "new", scratch / "cur");
        };
    };
    swap_while_compiling("cur", point("v2"), point("v1"));
}

TEST_CASE("stale: a folder that is replaced by a rename while NVRTC runs") {
    swap_while_compiling(
        "v1",
        [](const Scratch& scratch) {
            fs::rename(scratch / "v1", scratch / "old");
            fs::rename(scratch / "v2", scratch / "v1");
        },
        [](const Scratch& scratch) {
            fs::rename(scratch / "v1", scratch / "v2");
            fs::rename(scratch / "old", scratch / "v1");
        });
}

TEST_CASE("stale: a header that appears where a macro looked for it") {
    const std::string end = "\n#define V 70001\n#else\n#define V 70002\n#endif";
    const char* const questions[] = {
        "#define NAME \"opt.h\"\n#if __has_include(NAME)",
        "#define NAME <opt.h>\n#if __has_include(NAME)",
        "#define HAS __has_include\n#if HAS(<opt.h>)",
        "#define HAS(x) __has_include(x)\n#if HAS(<opt.h>)",
        "#define CAT(a, b) a##b\n#define HAS CAT(__has_, include)\n#if HAS(<opt.h>)",
        "#define CAT(a, b) a##b\n#define HAS(x) CAT(__has_, include)(x)\n#if HAS(<opt.h>)",
        "#if __has_include(HDR)",
    };
    for (const char* const question : questions) {
        CAPTURE(question);
        const Stale stale;
        fs::create_directory(stale.scratch / "inc");
        CompileOptions options;
        options.include_folders = {stale.scratch / "inc"};
        options.definitions = {{"HDR", "<opt.h>"}};
        stale.scratch.write("a.cu", kernel(question + end));
        const auto first = stale.ask(stale.file("a.cu"), options);
        if (!first) continue;  // NVRTC doesn't accept this one.
        CHECK(Stale::value_of(*first->image) == 2);
        stale.scratch.write("inc/opt.h", "\n");
        CHECK(stale.value(stale.file("a.cu"), options) == 1);
        fs::remove(stale.scratch / "inc/opt.h");
        CHECK(stale.value(stale.file("a.cu"), options) == 2);
    }
}

TEST_CASE("stale: a header named by a definition that appears earlier in the search path") {
    const Stale stale;
    stale.scratch.write("a.cu", kernel("#include HDR"));
    stale.scratch.write("late/c.h", define(1));
    fs::create_directory(stale.scratch / "early");
    CompileOptions options;
    options.include_folders = {stale.scratch / "early", stale.scratch / "late"};
    options.definitions = {{"HDR", "<c.h>"}};
    CHECK(stale.value(stale.file("a.cu"), options) == 1);
    stale.scratch.write("early/c.h", define(2));
    CHECK(stale.value(stale.file("a.cu"), options) == 2);
}

TEST_CASE("stale: code with the time of compilation isn't kept, even across a joined line or ##") {
    const char* const times[] = {
        "__TI\\\nME__[0]",
        "__DA\\\nTE__[0]",
        "CAT(__TI, ME__)[0]",
        "CAT(__DATE, __)[0]",
        "__TIME__[0]",
        // Only compares.
        "(CAT(__TI, ME__)[0] == '9')",
        "(CAT(__DA, TE__)[10] == 'x' ? 2 : 3)",
    };
    for (const char* const time : times) {
        CAPTURE(time);
        const Stale stale;
        const std::string text = kernel(fmt::format("#define CAT(a, b) a##b\n#define V {}", time));
        stale.scratch.write("a.cu", text);
        CHECK(stale.compile(stale.file("a.cu")).report.not_kept != "");
        stale.scratch.write("b.cu", kernel("#include \"b.h\""));
        stale.scratch.write("b.h", fmt::format("#define CAT(a, b) a##b\n#define V {}\n", time));
        CHECK(stale.compile(stale.file("b.cu")).report.not_kept != "");
    }
}

TEST_CASE("stale: __FILE__ is the file's own path, even across a joined line or ##") {
    for (const char* const name : {"__FI\\\nLE__", "CAT(__FI, LE__)", "__FILE__"}) {
        CAPTURE(name);
        const Stale stale;
        for (const char* folder : {"p1", "p2"}) {
            stale.scratch.write(fmt::format("{}/a.cu", folder), "#include \"a.h\"\n");
            stale.scratch.write(
                fmt::format("{}/a.h", folder),
                fmt::format("#define CAT(a, b) a##b\n__constant__ char name[] = {};\n"
                            "extern \"C\" __global__ void k(int* x) {{ *x = "
                            "name[*x]; }}\n",
                            name));
        }
        const auto first = stale.compile(stale.file("p1/a.cu"));
        const auto second = stale.compile(stale.file("p2/a.cu"));
        CHECK(first.image->cubin != second.image->cubin);
        CHECK(second.image->cubin ==
              unwrap(Compiler().compile(stale.file("p2/a.cu"), stale_arch)).cubin);
    }
}

// NVRTC 13.0 reads the variable but doesn't use it; another build may use it.
TEST_CASE("stale: NVRTC_APPEND_FLAGS that is set between two compilations") {
    const Stale stale;
    const auto source = Source::text(kernel("#ifndef V\n#define V 70001\n#endif"));
    CHECK(stale.value(source) == 1);
    CHECK(stale.compile(source).report.tier == "disk");
    {
        const Variable flags("NVRTC_APPEND_FLAGS", "-DV=70002");
        const auto answer = stale.compile(source);
        CHECK(answer.report.tier == "");
        CHECK(answer.image->ptx == unwrap(Compiler().compile(source, stale_arch)).ptx);
    }
    CHECK(stale.compile(source).report.tier == "disk");
}

TEST_CASE("stale: a file of ptxas options that is edited") {
    const Stale stale;
    // Enough live values for the register limit to change the code.
    std::string body = "extern \"C\" __global__ void k(float* x) {\n";
    for (int i = 0; i < 64; ++i)
        body += fmt::format("    float v{0} = x[{0}];\n", i);
    body += "    __syncthreads();\n";
    for (int i = 0; i < 64; ++i)
        body += fmt::format("    x[{}] = v{} * v{};\n", i, 63 - i, i);
    const auto source = Source::text(body + "}\n");
    CompileOptions options;
    options.extra_flags = {"--ptxas-options=--options-file=" +
                           (stale.scratch / "options").string()};
    stale.scratch.write("options", "--maxrregcount=32\n");
    const auto first = stale.ask(source, options);
    if (!first) return;  // NVRTC doesn't pass the option on: nothing can be stale.
    stale.scratch.write("options", "--maxrregcount=96\n");
    const auto second = stale.compile(source, options);
    const auto judged = unwrap(Compiler().compile(source, stale_arch, options));
    CHECK(second.image->cubin == judged.cubin);
}

TEST_CASE("stale: an extra flag that begins with a blank is refused") {
    for (const char* const flag :
         {" --pre-include=/p.h", "\t--pre-include=/p.h", "\n-I/p", " -DX", "\v-arch=sm_80"}) {
        CAPTURE(flag);
        CompileOptions options;
        options.extra_flags = {flag};
        const auto flags = compile_flags(options);
        REQUIRE_FALSE(flags);
        CHECK(flags.error().code == Errc::invalid_argument);
    }
}

TEST_CASE("stale: anything but a regular file is never opened, and is named where it is included") {
    for (const auto mode : {CacheMode::on, CacheMode::off}) {
        const Stale stale;
        REQUIRE(::mkfifo((stale.scratch / "fifo").c_str(), 0600) == 0);
        for (const std::string& odd :
             {(stale.scratch / "fifo").string(), std::string("/dev/zero")}) {
            CAPTURE(odd);
            const auto start = std::chrono::steady_clock::now();
            const auto quiet = Source::text(kernel(fmt::format(
                "// #include \"{0}\"\n#if 0\n#include \"{0}\"\n#endif\n{1}", odd, define(1))));
            const auto fine = stale.ask(quiet, {}, mode);
            REQUIRE(fine);
            CHECK(Stale::value_of(*fine->image) == 1);
            const auto live = Source::text(kernel(fmt::format("#include \"{}\"", odd)));
            const auto refused = stale.ask(live, {}, mode);
            REQUIRE_FALSE(refused);
            CHECK(refused.error().message.find("'" + odd + "' isn't a regular file") !=
                  std::string::npos);
            CHECK(seconds_since(start) < 20);
        }
    }
}

TEST_CASE("stale: a compilation right after a header's edit is kept for the next process") {
    const Stale stale;
    stale.scratch.write("a.cu", kernel("#include \"c.h\""));
    for (int i = 1; i <= 5; ++i) {
        stale.scratch.write("c.h", define(i));
        const auto first = stale.compile(stale.file("a.cu"));
        CHECK(first.report.not_kept == "");
        CHECK(Stale::value_of(*first.image) == i);
        const auto second = stale.compile(stale.file("a.cu"));
        CHECK(second.report.tier == "disk");
        CHECK(Stale::value_of(*second.image) == i);
    }
}

TEST_CASE("stale: a process that is ended while it compiles leaves nothing in TMPDIR") {
    for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
        CAPTURE(signal);
        const Stale stale;
        stale.scratch.write("c.h", define(1));
        stale.scratch.write("a.cu", kernel("#include \"c.h\""));
        fs::create_directory(stale.scratch / "tmp");
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::signal(signal, SIG_DFL);
            ::setenv("TMPDIR", (stale.scratch / "tmp").c_str(), 1);
            CacheOptions cache;
            cache.folder = stale.scratch / "cache";
            const CachedCompiler compiler({}, cache);
            for (int i = 0;; ++i) {
                CompileOptions options;
                options.definitions = {{"ROUND", std::to_string(i)}};
                if (!compiler.compile(stale.file("a.cu"), stale_arch, options)) ::_exit(9);
                if (i == 0) fs::create_directory(stale.scratch / "runs");
            }
        }
        while (!fs::exists(stale.scratch / "runs") && ::waitpid(child, nullptr, WNOHANG) == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::this_thread::sleep_for(std::chrono::milliseconds(23));
        ::kill(child, signal);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        CHECK(fs::is_empty(stale.scratch / "tmp"));
    }
}
