// Untrusted source: what a worker in a jail compiles, and what it can't reach.
#include "jit/worker/jail.hpp"

#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/cache.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* secret = "SECRET_4711";

/// A readable folder, a secret beside it, and compilers in a jail.
class Prison {
public:
    Prison() {
        fs::create_directories(open());
        put(open() / "allowed.h",
            "#include <cuda_fp16.h>\n#include <cstdint>\n#define ALLOWED 1234\n");
        put(folder_.path() / "secret.h", std::string("int ") + secret + " = ;\n");
    }
    [[nodiscard]] fs::path open() const { return folder_.path() / "open"; }
    [[nodiscard]] fs::path secret_file() const { return folder_.path() / "secret.h"; }

    [[nodiscard]] CachedCompiler compiler(Jail jail, bool in_jail = true) const {
        jail.readable_folders.push_back(open());
        CacheOptions options;
        options.folder = folder_.path() / "cache";
        options.workers.program = LODE_WORKER_PROGRAM;
        if (in_jail) {
            options.workers.limits.time = std::chrono::seconds(60);
            options.workers.jail = jail;
        }
        return CachedCompiler({}, options);
    }
    /// Compiles code in a jail.
    [[nodiscard]] Result<CachedImage> compile(const std::string& code, CompileOptions options = {},
                                              const Jail& jail = {}) const {
        options.include_folders.push_back(open());
        return compiler(jail).compile(Source::text(code, "untrusted.cu"), sm(80), options);
    }

private:
    ScratchFolder folder_ = make_scratch();
};

bool has_jails() {
    const auto outcome = Prison().compile("__global__ void k() {}");
    return outcome || outcome.error().code != Errc::not_supported;
}

#define NEEDS_JAIL()                                            \
    if (!has_jails()) {                                         \
        MESSAGE("skipped: the system can't confine a process"); \
        return;                                                 \
    }

/// Checks an error that mentions the file but nothing of its content.
void check_hidden(const Error& error) {
    CAPTURE(error.describe());
    CHECK(error.code == Errc::compile_failed);
    CHECK_CONTAINS(error.message, "in no folder that untrusted source may read");
    CHECK(error.describe().find(secret) == std::string::npos);
    CHECK(error.log.find(secret) == std::string::npos);
    CHECK(error.log.find("root:") == std::string::npos);
}

}  // namespace

TEST_CASE("jail: what may be read compiles as everywhere else") {
    NEEDS_JAIL();
    const Prison prison;
    const std::string code =
        "#include <allowed.h>\n#include <cub/block/block_reduce.cuh>\n"
        "__global__ void k(int* x) { *x = ALLOWED; }\n";
    const auto jailed = require(prison.compile(code));
    CompileOptions options;
    options.include_folders = {prison.open()};
    const auto free = require(
        prison.compiler({}, false).compile(Source::text(code, "untrusted.cu"), sm(80), options));
    CHECK(*jailed.image == *free.image);
    CHECK(free.report.tier.empty());  // A key of its own.
    // Also for asynchronous requests: what was compiled outside isn't taken.
    const auto other = Source::text(code + "__device__ int outside;", "untrusted.cu");
    (void)require(prison.compiler({}, false).compile(other, sm(80), options));
    const auto sandbox = prison.compiler({});
    CHECK(require(sandbox.compile_async({other, sm(80), options, {}, {}}).get()).report.tier == "");
    CHECK_FALSE(require(sandbox.dependencies({other, sm(80), options, {}, {}})).empty());
    CHECK(jailed.report.not_kept.empty());
    CHECK(require(prison.compile(code)).report.tier == "disk");
    CHECK_FALSE(fs::exists(prison.open().parent_path() / "cache/v6/pch"));
}

TEST_CASE("jail: line information names files that the host has written") {
    NEEDS_JAIL();
    const Prison prison;
    CompileOptions options;
    options.headers = {{"memory.h", "#include <allowed.h>\n"}};
    options.line_info = true;
    const std::string code = "#include \"memory.h\"\n__global__ void k(int* x) { *x = ALLOWED; }\n";
    const auto jailed = require(prison.compile(code, options));
    const auto& ptx = jailed.image->ptx;
    const auto end = ptx.find("untrusted.cu\"");
    REQUIRE(end != std::string::npos);
    const auto start = ptx.rfind('"', end) + 1;
    const auto file = ptx.substr(start, ptx.find('"', end) - start);
    CHECK(require(read_text(file)) == code);
    options.include_folders.push_back(prison.open());
    const auto free = require(
        prison.compiler({}, false).compile(Source::text(code, "untrusted.cu"), sm(80), options));
    CHECK(*jailed.image == *free.image);
}

TEST_CASE("jail: files elsewhere don't exist for the source") {
    NEEDS_JAIL();
    const Prison prison;
    const auto hidden = [&](const std::string& name) {
        CAPTURE(name);
        check_hidden(require_error(prison.compile("#include " + name + "\n")));
    };
    hidden("\"/etc/passwd\"");
    hidden("</etc/passwd>");
    hidden("\"" + prison.secret_file().native() + "\"");
    hidden("\"" + (prison.open() / "../secret.h").native() + "\"");
    hidden("\"../secret.h\"");
    hidden("<../secret.h>");
    hidden("\"/proc/self/environ\"");
    hidden("\"/proc/self/root/etc/passwd\"");

    fs::create_symlink(prison.secret_file(), prison.open() / "link.h");
    hidden("<link.h>");
    fs::create_directory_symlink("/etc", prison.open() / "etc");
    hidden("<etc/passwd>");

    // Not even whether they exist.
    const auto asks =
        require(prison.compile("#if __has_include(\"/etc/passwd\") || "
                               "__has_include(<link.h>)\n#error found\n#endif\n"));
    CHECK(asks.image != nullptr);
}

TEST_CASE("jail: options don't lead out of it") {
    NEEDS_JAIL();
    const Prison prison;
    const auto refused = [&](CompileOptions options) {
        return require_error(prison.compile("#include <passwd>\n", std::move(options)));
    };
    CompileOptions folder;
    folder.include_folders = {"/etc"};
    auto error = refused(folder);
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "'/etc' is in no folder");
    for (const char* flag : {"-I/etc", "--include-path=/etc", "--options-file=/etc/passwd",
                             "-optf=/etc/passwd", "--use-pch=/etc/passwd", "--create-pch=/tmp/x",
                             "--time=/tmp/x", "--pre-include=/etc/passwd"}) {
        CAPTURE(flag);
        CompileOptions options;
        options.extra_flags = {flag};
        CHECK(refused(options).code == Errc::invalid_argument);
    }
    CompileOptions before;
    before.pre_includes = {"/etc/passwd"};
    check_hidden(refused(before));
}

TEST_CASE("jail: the bytes that a compilation reads are limited") {
    NEEDS_JAIL();
    const Prison prison;
    Jail jail;
    jail.max_read_bytes = 1 << 20;
    put(prison.open() / "large.h", std::string(2 << 20, ' '));
    const auto error = require_error(prison.compile("#include <large.h>\n", {}, jail));
    CHECK(error.code == Errc::compile_failed);
    CHECK_CONTAINS(error.message, "reads more than 1048576 bytes");
    CHECK(prison.compile("#include <large.h>\n"));
}

TEST_CASE("jail: a folder that doesn't exist is an error, and nothing is compiled") {
    NEEDS_JAIL();
    const Prison prison;
    Jail jail;
    jail.readable_folders = {"/does/not/exist"};
    const auto error = require_error(prison.compile("__global__ void k() {}", {}, jail));
    CHECK(error.code == Errc::not_found);
    CHECK_CONTAINS(error.message, "'/does/not/exist'");
}

TEST_CASE("jail: the worker gets only the compiler's variables") {
    ::setenv("LODE_TEST_TOKEN", secret, 1);
    const auto variables = worker::worker_environment(true);
    CHECK(std::ranges::none_of(variables,
                               [](const auto& text) { return text.find(secret) != text.npos; }));
    const auto all = worker::worker_environment(false);
    CHECK(
        std::ranges::any_of(all, [](const auto& text) { return text.find(secret) != text.npos; }));
    ::unsetenv("LODE_TEST_TOKEN");
}

TEST_CASE("jail: a setup comes out as it went in, and nothing else is one") {
    worker::JailSetup setup{
        Source::Language::nvvm_ir, NvrtcSearchEnvironment::of_process({}), {"/a", "b c"}, 64, 99};
    const auto text = worker::to_argument(setup);
    const auto parsed = require(worker::setup_of_argument(text));
    CHECK(parsed.language == setup.language);
    CHECK(parsed.nvrtc == setup.nvrtc);
    CHECK(parsed.folders == setup.folders);
    CHECK(parsed.open_files == setup.open_files);
    CHECK(parsed.read_bytes == setup.read_bytes);
    for (std::size_t size = 0; size < text.size(); ++size)
        CHECK_FALSE(worker::setup_of_argument(text.substr(0, size)).has_value());
    CHECK_FALSE(worker::setup_of_argument(text + "00").has_value());
    CHECK_FALSE(worker::setup_of_argument("zz").has_value());
}
