// Errors before and during a compilation, and side effects that the host must not see.
#include "base/file.hpp"
#include "jit/compile.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <array>
#include <clocale>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

using lode::CompileOptions;
using lode::Compiler;
using lode::Errc;
using lode::Source;
using lode::test::contains;
using lode::test::sm;

namespace {

const Source empty_kernel = Source::text("__global__ void k() {}\n", "k.cu");

}  // namespace

TEST_CASE("compile errors: a missing file is named") {
    const auto image = Compiler().compile(Source::file("/nonexistent/saxpy.cu"), sm(90));
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::not_found);
    CHECK(contains(image.error().message, "'/nonexistent/saxpy.cu'"));
}

TEST_CASE("compile errors: a folder as source is named") {
    const auto scratch = lode::ScratchFolder::create();
    REQUIRE(scratch);
    const auto image = Compiler().compile(Source::file(scratch->path()), sm(90));
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::file_failed);
    CHECK(contains(image.error().message, scratch->path().string()));
}

TEST_CASE("compile errors: a missing, unreadable or wrong include folder is named") {
    const auto scratch = lode::ScratchFolder::create();
    REQUIRE(scratch);
    const auto compile_with = [&](const std::filesystem::path& folder) {
        CompileOptions options;
        options.include_folders = {folder};
        return Compiler().compile(empty_kernel, sm(90), options);
    };
    CHECK(compile_with(scratch->path()));

    const auto missing = compile_with(scratch->path() / "absent");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::not_found);
    CHECK(contains(missing.error().message, "absent' doesn't exist"));

    REQUIRE(lode::write_atomic(scratch->path() / "file", std::string_view("x")));
    const auto file = compile_with(scratch->path() / "file");
    REQUIRE_FALSE(file);
    CHECK(file.error().code == Errc::invalid_argument);
    CHECK(contains(file.error().message, "file' isn't a folder"));

    const auto locked = scratch->path() / "locked";
    std::filesystem::create_directory(locked);
    std::filesystem::permissions(locked, std::filesystem::perms::none);
    if (::access(locked.c_str(), R_OK) == 0) {
        MESSAGE("skips the unreadable folder: this user reads every folder");
        return;
    }
    const auto unreadable = compile_with(locked);
    REQUIRE_FALSE(unreadable);
    CHECK(unreadable.error().code == Errc::file_failed);
    CHECK(contains(unreadable.error().message, "locked' isn't readable"));
}

TEST_CASE("compile errors: a flag that NVRTC refuses is named") {
    CompileOptions options;
    options.extra_flags = {"--bogus"};
    const auto image = Compiler().compile(empty_kernel, sm(90), options);
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::invalid_argument);
    CHECK(image.error().message.ends_with("unrecognized option --bogus found."));
    CHECK(image.error().native.name == "NVRTC_ERROR_INVALID_OPTION");
    options.extra_flags = {"--extra-device-vectorisation"};
    const auto misspelt = Compiler().compile(empty_kernel, sm(90), options);
    REQUIRE_FALSE(misspelt);
    CHECK_MESSAGE(misspelt.error().message.ends_with(
                      "-vectorisation found. Did you mean '--extra-device-vectorization'?"),
                  misspelt.error().message);
}

TEST_CASE("compile errors: invalid options are refused before the compiler sees them") {
    CompileOptions options;
    options.max_registers = 1000;
    const auto image = Compiler().compile(empty_kernel, sm(90), options);
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::invalid_argument);
    CHECK(contains(image.error().message, "(1000) is outside [0, 255]"));
}

TEST_CASE("compile errors: a source with a NUL is refused, not compiled in part") {
    const auto image = Compiler().compile(
        Source::text(std::string("__global__ void k() {}\n\0garbage", 31), "n.cu"), sm(90));
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::invalid_argument);
    CHECK(image.error().message == "'n.cu' isn't source text: byte 23 of 31 is NUL.");
}

TEST_CASE("compile errors: a cubin and a fat binary are told from source text") {
    const auto image = Compiler().compile(Source::text("\177ELF\2\1\1", "k.cubin"), sm(90));
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::invalid_argument);
    CHECK(image.error().message ==
          "'k.cubin' is a cubin or object file, compiled already. Pass the CUDA C++ that it was "
          "made from, or PTX (lode compile --ptx).");
    std::string fat("\x50\xed\x55\xba\1\0\x10\0", 8);  // The beginning of its header.
    fat.resize(16);
    const auto other = Compiler().compile(Source::text(fat, "k.fatbin"), sm(90));
    REQUIRE_FALSE(other);
    CHECK(contains(other.error().message, "'k.fatbin' is a fat binary, compiled already."));
}

TEST_CASE("compile errors: NVRTC without a toolkit compiles, and a missing header names the cure") {
    const auto found = Compiler().info();
    REQUIRE_MESSAGE(found, found.error().describe());
    const auto scratch = lode::ScratchFolder::create();
    REQUIRE(scratch);
    const auto folder = scratch->path() / "lone/lib";
    std::filesystem::create_directories(folder);
    for (const auto& entry : std::filesystem::directory_iterator(found->path.parent_path())) {
        const auto name = entry.path().filename().string();
        if (name.starts_with("libnvrtc") && !contains(name, ".alt.")) {
            std::filesystem::copy_file(entry.path(), folder / name);
        }
    }
    lode::NvrtcSearchEnvironment here;
    here.chosen = folder;
    here.chosen_by = "the test";
    here.root = scratch->path();
    const auto lone = lode::NvrtcLibrary::open(here);
    REQUIRE_MESSAGE(lone, lone.error().describe());
    CHECK((*lone)->include_folders().empty());

    const auto plain = lode::compile_with(
        **lone,
        {Source::text("#include <cstdint>\n__global__ void k(std::uint8_t* p) { *p = 1; }\n"),
         sm(90)});
    CHECK_MESSAGE(plain, plain.error().describe());

    const auto image =
        lode::compile_with(**lone, {Source::text("#include <cuda_fp16.h>\n", "h.cu"), sm(90)});
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::compile_failed);
    CHECK(contains(image.error().message, "h.cu:1:"));
    CHECK(contains(image.error().message, "open source file \"cuda_fp16.h\""));
    CHECK(contains(image.error().message,
                   "lode finds no toolkit headers for the NVRTC in '" + folder.string() + "'"));
}

TEST_CASE("compile errors: host code and too much static shared memory have a cure") {
    const auto message = [](const char* text) {
        return Compiler().compile(Source::text(text), sm(90)).error().message;
    };
    CHECK(message("int main() { return 0; }").ends_with("or into #ifndef __CUDACC_RTC__."));
    CHECK(message("extern \"C\" __global__ void k(float* to) { __shared__ float s[20000]; "
                  "s[threadIdx.x] = *to; __syncthreads(); *to = s[threadIdx.x ^ 1]; }")
              .ends_with("dynamic, an extern __shared__ array, may be more."));
}

TEST_CASE("compile errors: a header's error is named with the header's name") {
    CompileOptions options;
    options.headers = {{"part/a.h", "__device__ int f() {\n  return nothing;\n}\n"}};
    const auto image = Compiler().compile(Source::text("#include \"part/a.h\"\n"), sm(90), options);
    REQUIRE_FALSE(image);
    CHECK(contains(image.error().message, "part/a.h:2:10: error: identifier \"nothing\""));
}

TEST_CASE("source: quoted includes are searched beside a file, and nowhere for code in memory") {
    const auto scratch = lode::ScratchFolder::create();
    REQUIRE(scratch);
    std::filesystem::create_directory(scratch->path() / "sub");
    REQUIRE(
        lode::write_atomic(scratch->path() / "sub/a.h", std::string_view("#include \"b.h\"\n")));
    REQUIRE(lode::write_atomic(scratch->path() / "sub/b.h", std::string_view("#define B 7\n")));
    const std::string code = "#include \"sub/a.h\"\n__global__ void k(int* p) { *p = B; }\n";
    REQUIRE(lode::write_atomic(scratch->path() / "k.cu", code));

    const auto from_file = Compiler().compile(Source::file(scratch->path() / "k.cu"), sm(90));
    CHECK_MESSAGE(from_file, from_file.error().describe());

    // The working directory has the header; code in memory must not find it.
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(scratch->path());
    const auto relative = Compiler().compile(Source::file("k.cu"), sm(90));
    const auto from_memory = Compiler().compile(Source::text(code, "memory.cu"), sm(90));
    std::filesystem::current_path(before);
    CHECK_MESSAGE(relative, relative.error().describe());
    REQUIRE_FALSE(from_memory);
    CHECK(contains(from_memory.error().message, "memory.cu:1:"));
    CHECK(contains(from_memory.error().message, "cannot open source file \"sub/a.h\""));
}

TEST_CASE("source: __FILE__ and __LINE__ are the source's own, whatever its name") {
    for (const std::string name : {"plain.cu", "with space.cu", "quo\"te\\.cu", "dir/x.cu"}) {
        CAPTURE(name);
        const auto image = Compiler().compile(
            Source::text("extern \"C\" __device__ const char file[] = __FILE__;\n"
                         "static_assert(__LINE__ == 2);\n#error stop\n",
                         name),
            sm(90));
        REQUIRE_FALSE(image);
        CHECK(contains(image.error().message, name + ":3:2: error: #error directive: stop"));
        CHECK(contains(image.error().message, "1 error,"));
    }
}

TEST_CASE("source: a byte order mark is skipped") {
    const auto image = Compiler().compile(
        Source::text("\xEF\xBB\xBF__global__ void k() { x; }\n", "bom.cu"), sm(90));
    REQUIRE_FALSE(image);
    CHECK(contains(image.error().message, "1 error, bom.cu:1:23: error: identifier \"x\""));
}

TEST_CASE("source: UTF-16 is named, and so is a header's byte order mark") {
    const std::string little("e\0x\0t\0e\0r\0n\0", 12);
    for (const auto& code : {little, "\xFF\xFE" + little, "\xFE\xFF" + little}) {
        const auto image = Compiler().compile(Source::text(code, "wide.cu"), sm(90));
        REQUIRE_FALSE(image);
        CHECK(image.error().code == Errc::invalid_argument);
        CHECK(image.error().message ==
              "'wide.cu' is UTF-16 text, which lode doesn't read: save it as UTF-8.");
    }
    CompileOptions options;
    options.headers = {{"bom.h", "\xEF\xBB\xBF#define X 1\n"}};
    const auto image = Compiler().compile(
        Source::text("#include \"bom.h\"\n__global__ void k() {}\n", "k.cu"), sm(90), options);
    REQUIRE_FALSE(image);
    CHECK_MESSAGE(contains(image.error().message, "NVRTC takes no byte order mark in a header"),
                  image.error().message);
}

TEST_CASE("source: language, folder and name of each kind") {
    const auto file = Source::file("kernels/a.cu");
    CHECK(file.language() == Source::Language::cuda);
    CHECK(file.name() == "kernels/a.cu");
    CHECK(file.folder() == "kernels");
    CHECK(Source::file("a.cu").folder() == ".");
    CHECK(Source::file("a.ptx").language() == Source::Language::ptx);
    CHECK(Source::text("x").folder().empty());
    CHECK(*Source::text("x").read() == "x");
    CHECK(Source::text("x").name() == "source.cu");
    CHECK(Source::ptx("x").language() == Source::Language::ptx);
}

TEST_CASE("host: compiling leaves the stack limit and the locale unchanged") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_STACK, &before) == 0);
    const std::string global_before = std::setlocale(LC_ALL, nullptr);
    const locale_t own = ::newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
    REQUIRE(own != nullptr);
    const locale_t previous = ::uselocale(own);

    CHECK(Compiler().compile(empty_kernel, sm(90)));
    CHECK_FALSE(Compiler().compile(Source::text("x"), sm(90)));

    CHECK(::uselocale(nullptr) == own);
    ::uselocale(previous);
    ::freelocale(own);
    CHECK(std::setlocale(LC_ALL, nullptr) == global_before);
    rlimit after{};
    REQUIRE(::getrlimit(RLIMIT_STACK, &after) == 0);
    CHECK(after.rlim_cur == before.rlim_cur);
    CHECK(after.rlim_max == before.rlim_max);
}

TEST_CASE("host: eight threads compile side by side, right and wrong sources mixed") {
    const Compiler compiler;  // Opens NVRTC in whichever thread compiles first.
    constexpr int count = 8;
    std::array<lode::Result<lode::Image>, count> images;
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            const auto n = std::to_string(i);
            const auto code =
                fmt::format("extern \"C\" __global__ void k{0}(int* p) {{ {1}{0}; }}\n", n,
                            i % 4 == 3 ? "wrong_" : "*p = ");
            images[static_cast<std::size_t>(i)] =
                compiler.compile(Source::text(code, "k" + n + ".cu"), sm(i % 2 == 0 ? 80 : 90));
        });
    }
    for (auto& thread : threads)
        thread.join();
    for (int i = 0; i < count; ++i) {
        CAPTURE(i);
        const auto& image = images[static_cast<std::size_t>(i)];
        const auto n = std::to_string(i);
        if (i % 4 == 3) {
            REQUIRE_FALSE(image);
            CHECK(contains(image.error().message, "wrong_" + n));
        } else {
            REQUIRE_MESSAGE(image, image.error().describe());
            CHECK(image->arch == sm(i % 2 == 0 ? 80 : 90));
            CHECK(image->resources_of("k" + n) != nullptr);
        }
    }
}
