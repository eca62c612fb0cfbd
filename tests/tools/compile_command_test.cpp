#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>

namespace {

using namespace lode::test;

std::string first_bytes(const std::filesystem::path& path, std::size_t count) {
    return lode::read_text(path).value().substr(0, count);
}

/// A folder with one source file, and the command run on it.
class Project {
public:
    explicit Project(std::string_view source, const std::string& name = "kernel.cu")
        : file_(put(folder_.path() / name, source)) {}

    [[nodiscard]] Outcome compile(std::vector<std::string> options,
                                  Environment environment = no_driver) const {
        options.insert(options.begin(), {"compile", file_.string(), "--out-dir", out().string()});
        return ::lode::test::lode(options, environment);
    }
    [[nodiscard]] std::filesystem::path out() const { return folder_.path() / "out"; }
    [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
    [[nodiscard]] std::string file() const { return file_.string(); }

private:
    lode::ScratchFolder folder_ = make_scratch();
    std::filesystem::path file_;
};

}  // namespace

TEST_CASE("lode compile: writes a cubin for every architecture asked for") {
    const Project project(saxpy_source, "saxpy.cu");
    const auto outcome = project.compile({"--arch", "sm_80,sm_90a"});
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.err.empty());
    CHECK(outcome.says("saxpy.sm_80.cubin"));
    CHECK(first_bytes(project.out() / "saxpy.sm_80.cubin", 4) ==
          "\x7f"
          "ELF");
    CHECK(first_bytes(project.out() / "saxpy.sm_90a.cubin", 4) ==
          "\x7f"
          "ELF");
    CHECK(count_entries(project.out()) == 2);
}

TEST_CASE("lode compile: --output names the only result") {
    const Project project(saxpy_source, "saxpy.cu");
    const auto compile = [&](std::vector<std::string> options, const std::filesystem::path& out) {
        options.insert(options.begin(), {"compile", project.file(), "-o", out.string()});
        return ::lode::test::lode(options, no_driver);
    };
    const auto refuses = [&](std::vector<std::string> options, const std::filesystem::path& out,
                             std::string_view sentence) {
        const auto outcome = compile(std::move(options), out);
        CHECK(outcome.exit_code == 2);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
    };
    const auto cubin = project.folder() / "new" / "folder" / "k.cubin";
    const auto made = compile({"--arch", "sm_90", "--json"}, cubin);
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    CHECK(made.json()["images"][0]["files"][0]["path"] == cubin.string());
    CHECK(first_bytes(cubin, 4) ==
          "\x7f"
          "ELF");
    const auto ptx = project.folder() / "k.ptx";
    REQUIRE(compile({"--arch", "compute_90"}, ptx).exit_code == 0);
    CHECK(first_bytes(ptx, 2) == "//");
    CHECK(count_entries(project.folder()) == 3);

    refuses({"--arch", "sm_80,sm_90"}, ptx,
            "--output names one file, but the results are saxpy.sm_80.cubin, saxpy.sm_90.cubin. "
            "Name their folder with --out-dir.");
    refuses({"--arch", "sm_90", "--ptx"}, ptx, "saxpy.sm_90.cubin, saxpy.sm_90.ptx.");
    refuses({"--arch", "all"}, cubin, "saxpy.ARCH.cubin for every architecture");
    refuses({"--arch", "sm_90"}, ptx,
            "but the result is saxpy.sm_90.cubin. --arch compute_90 gives PTX alone.");
    refuses({"--arch", "compute_90"}, cubin, "but the result is saxpy.compute_90.ptx.");
    refuses({"--arch", "sm_90"}, project.folder(), "a folder; it must name a file. --out-dir ");
    refuses({"--arch", "sm_90"}, project.file(), "which is an input too");
    refuses({"--arch", "sm_90", "--out-dir", "x"}, ptx, "can't be combined with");
    refuses({"--arch", "sm_90"}, "", "--output is empty");
    refuses({"--arch", "sm_90"}, "-", "but the command's own text goes there");
    CHECK(first_bytes(ptx, 2) == "//");
    CHECK(lode::read_text(project.file()).value() == saxpy_source);
}

TEST_CASE("lode compile: --output and --json follow links, and write devices and pipes in place") {
    const Project project(saxpy_source, "saxpy.cu");
    const auto link = project.folder() / "link";
    const auto target = project.folder() / "target";
    std::filesystem::create_symlink(target, link);
    const auto compile = [&](const std::filesystem::path& out) {
        return ::lode::test::lode(
            {"compile", project.file(), "--arch", "sm_90", "-o", out.string()}, no_driver);
    };
    put(target, "old");
    CHECK(compile(link).exit_code == 0);
    CHECK(std::filesystem::is_symlink(link));
    CHECK(first_bytes(target, 4) ==
          "\x7f"
          "ELF");
    const auto report = project.folder() / "report";
    std::filesystem::create_symlink(project.folder() / "new" / "json", report);
    const auto json = ::lode::test::lode({"compile", project.file(), "--arch", "sm_90", "-o",
                                          "/dev/null", "--json=" + report.string()},
                                         no_driver);
    CHECK_MESSAGE(json.exit_code == 0, json.err);
    CHECK(std::filesystem::is_symlink(report));
    CHECK(lode::read_text(report).value().starts_with("{"));
    const auto pipe = project.folder() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::string start(4, '\0');
    std::thread reader([&] { std::ifstream(pipe).read(start.data(), 4); });
    CHECK(compile(pipe).exit_code == 0);
    reader.join();
    CHECK(start.substr(1) == "ELF");
    CHECK(compile("/dev/null").exit_code == 0);
    CHECK(std::filesystem::is_character_file("/dev/null"));
    const auto full = compile("/dev/full");
    CHECK(full.exit_code == 1);
    CHECK_MESSAGE(full.complains("No space left on device ('/dev/full')"), full.err);
}

TEST_CASE("lode compile: writes PTX on request, and alone for a virtual target") {
    const Project project(saxpy_source, "saxpy.cu");
    CHECK(project.compile({"--arch", "sm_90", "--arch", "compute_80", "--ptx"}).exit_code == 0);
    CHECK(count_entries(project.out()) == 3);
    const auto real = lode::read_text(project.out() / "saxpy.sm_90.ptx").value();
    CHECK(real.find(".target sm_90") != std::string::npos);
    CHECK(real.find(".entry saxpy") != std::string::npos);
    const auto ptx = lode::read_text(project.out() / "saxpy.compute_80.ptx").value();
    CHECK(ptx.find(".target sm_80") != std::string::npos);
}

TEST_CASE("lode compile: several architectures at once give the same files") {
    const Project project(saxpy_source, "saxpy.cu");
    const std::string archs = "sm_80,sm_86,sm_90a,sm_100,compute_75";
    const Environment uncached = {{"LODE_CACHE", "off"}, {"LODE_DRIVER", "/nonexistent"}};
    CHECK(project.compile({"--arch", archs, "--ptx"}, uncached).exit_code == 0);
    const auto one = project.folder() / "one";
    std::filesystem::rename(project.out(), one);
    const auto outcome =
        project.compile({"--arch", archs, "--ptx", "--jobs", "3", "--json"}, uncached);
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    std::string order;
    const auto json = outcome.json();
    for (const auto& image : json["images"]) {
        order += image["arch"].get<std::string>() + ',';
        CHECK(image["code"]["from"] == "compiler");
    }
    CHECK(order == archs + ',');
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(one)) {
        ++files;
        CAPTURE(entry.path().filename().string());
        const auto other = lode::read_text(project.out() / entry.path().filename());
        REQUIRE(other.has_value());
        CHECK(lode::read_text(entry.path()).value() == *other);
    }
    CHECK(files == 9);
    CHECK(count_entries(project.out()) == files);
}

TEST_CASE("lode compile: an error of one architecture among several is reported once") {
    const Project project("#if __CUDA_ARCH__ == 900\n#error no\n#endif\n", "no.cu");
    const auto outcome = project.compile({"--arch", "sm_80,sm_90,sm_100", "-j", "2"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("no.cu(2)"));
    CHECK_FALSE(std::filesystem::exists(project.out()));
    CHECK(project.compile({"--arch", "sm_80", "--jobs", "0"})
              .complains("--jobs is '0'; it must be a whole number from 1 to 1024."));
}

TEST_CASE("lode compile: all means what the compiler reports") {
    const Project project(saxpy_source);
    const auto info = ::lode::test::lode({"info", "--json"}, no_driver).json();
    const auto outcome = project.compile({"--arch", "all", "--json"});
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.json()["images"].size() == info["compiler"]["architectures"].size());
    CHECK(count_entries(project.out()) == info["compiler"]["architectures"].size());
}

TEST_CASE("lode compile: the report shows resources and parameters") {
    const Project project(templates_source);
    const auto outcome =
        project.compile({"--arch", "sm_90", "--name", "math::scale<double>", "--report"});
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("registers"));
    CHECK(outcome.says("void math::scale<double>(double*, double) [pointer/int64, f64]"));
    CHECK(outcome.says("math::reverse(int*) [pointer/int64]"));
    CHECK(outcome.says("256 B"));  // reverse's static shared memory.
}

TEST_CASE("lode compile: JSON has the documented keys") {
    const Project project(templates_source);
    const auto outcome = project.compile(
        {"--arch", "sm_90", "--name", "math::scale<float>", "--name", "math::reverse", "--json"});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    const auto json = outcome.json();
    CHECK(json["lode"] == 1);
    CHECK(json["command"] == "compile");
    CHECK(json["ok"] == true);
    CHECK(json["source"] == project.file());
    CHECK(json["compiler"].get<std::string>().starts_with("NVRTC "));
    REQUIRE(json["images"].size() == 1);
    const auto& image = json["images"][0];
    CHECK(image["arch"] == "sm_90");
    CHECK(image["files"][0]["kind"] == "cubin");
    CHECK(image["files"][0]["bytes"] == std::filesystem::file_size(image["files"][0]["path"]));
    CHECK(image["diagnostics"].is_array());
    CHECK(image["log"].is_string());
    const std::string scale = image["lowered_names"]["math::scale<float>"];
    REQUIRE(image["kernels"].size() == 2);
    for (const auto& kernel : image["kernels"]) {
        CHECK(kernel["registers"] > 0);
        for (const auto* key : {"name", "shared_bytes", "constant_bytes", "stack_bytes",
                                "spill_store_bytes", "spill_load_bytes", "barriers"}) {
            CHECK_MESSAGE(kernel.contains(key), key);
        }
        if (kernel["symbol"] != scale) continue;
        REQUIRE(kernel["parameters"].size() == 2);
        CHECK(kernel["parameters"][1]["kind"] == "floating_point");
        CHECK(kernel["parameters"][1]["offset"] == 8);
        CHECK(kernel["parameters"][1]["size"] == 4);
        CHECK(kernel["parameters"][1]["align"] == 4);
    }
}

TEST_CASE("lode compile: definitions, include folders and flags reach the compiler") {
    const Project project(with_header_source);
    std::filesystem::create_directory(project.folder() / "headers");
    put(project.folder() / "headers/value.hpp", "#define VALUE 21\n");
    const std::string folder = (project.folder() / "headers").string();
    const auto outcome =
        project.compile({"--arch", "compute_80", "-DTIMES(x)=((x)*2)", "-DFACTOR=TIMES(1)",
                         "-I" + folder, "--std", "20", "--line-info", "--max-registers", "64"});
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    const auto ptx = lode::read_text(project.out() / "kernel.compute_80.ptx").value();
    CHECK(ptx.find(", 42;") != std::string::npos);
    CHECK(ptx.find(".loc") != std::string::npos);
}

TEST_CASE("lode compile: fast maths changes the code") {
    const Project project(R"(extern "C" __global__ void k(float* x) { *x = sinf(*x); })",
                          "sine.cu");
    CHECK(project.compile({"--arch", "compute_80", "--fast-math"}).exit_code == 0);
    const auto fast = lode::read_text(project.out() / "sine.compute_80.ptx").value();
    CHECK(project.compile({"--arch", "compute_80", "--math", "ieee"}).exit_code == 0);
    const auto ieee = lode::read_text(project.out() / "sine.compute_80.ptx").value();
    CHECK(fast.find("sin.approx.ftz.f32") != std::string::npos);
    CHECK(ieee.find("sin.approx") == std::string::npos);
}

TEST_CASE("lode compile: warnings go to stderr and into the JSON") {
    const Project project(R"(extern "C" __global__ void k() { int unused = 1; })");
    const auto outcome = project.compile({"--arch", "sm_80,sm_90", "--json"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.complains("never referenced"));
    CHECK(outcome.err.find("never referenced") == outcome.err.rfind("never referenced"));
    const auto diagnostic = outcome.json()["images"][0]["diagnostics"][0];
    CHECK(diagnostic["severity"] == "warning");
    CHECK(diagnostic["line"] == 1);
    CHECK(diagnostic["text"].get<std::string>().find("unused") != std::string::npos);
}

TEST_CASE("lode compile: a syntax error names file and line, fails, and leaves no file") {
    const Project project(broken_source, "broken.cu");
    const auto outcome = project.compile({"--arch", "sm_80,sm_90", "--json"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err.starts_with("lode: "));
    CHECK(outcome.complains("broken.cu:3"));
    CHECK(outcome.complains("missing_name"));
    const auto json = outcome.json();
    CHECK(json["ok"] == false);
    CHECK(json["error"]["code"] == "compile_failed");
    CHECK(json["error"]["log"].get<std::string>().find("missing_name") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(project.out()));
}

TEST_CASE("lode compile: a missing file is named") {
    const auto outcome =
        ::lode::test::lode({"compile", "/nonexistent/a.cu", "--arch", "sm_90"}, no_driver);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("/nonexistent/a.cu"));
    CHECK(outcome.out.empty());
}

TEST_CASE("lode compile: the error for an unknown kernel lists the kernels") {
    const Project project(templates_source);
    const auto outcome = project.compile({"--arch", "sm_90", "--name", "math::revers"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("math::revers"));
    CHECK(outcome.complains("reverse"));
}

TEST_CASE("lode compile: an unreadable include folder is named") {
    const Project project(saxpy_source);
    const auto outcome = project.compile({"--arch", "sm_90", "-I", "/nonexistent/headers"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("/nonexistent/headers"));
}

TEST_CASE("lode compile: an architecture that the compiler lacks fails with its name") {
    const Project project(saxpy_source);
    const auto outcome = project.compile({"--arch", "sm_20"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("sm_20"));
}

TEST_CASE("lode compile: an output folder that can't be made is named") {
    const Project project(saxpy_source);
    const std::vector<std::string> compile = {"compile", project.file(), "--arch", "sm_90"};
    for (const std::string option : {"--out-dir", "--output"}) {
        auto words = compile;
        words.insert(words.end(), {option, project.file() + "/out"});
        const auto outcome = ::lode::test::lode(words, no_driver);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.complains(option + " is '" + project.file() + "/out', but '" +
                                project.file() + "' isn't a folder."));
    }
}

TEST_CASE("lode compile: without NVRTC it says where it looked") {
    const Project project(saxpy_source);
    Environment environment = no_driver;
    environment["LODE_NVRTC"] = "/nonexistent/nvrtc";
    const auto outcome = project.compile({"--arch", "sm_90", "--json"}, environment);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("/nonexistent/nvrtc"));
    CHECK(outcome.json()["error"]["code"] == "compiler_missing");
    CHECK_FALSE(outcome.complains("nothing could be looked up"));

    environment["LODE_CACHE"] = "on";
    environment["LODE_CACHE_DIR"] = (project.folder() / "cache").string();
    environment["LODE_CACHE_PACKS"] = "/nonexistent/app.pack";
    const auto packed = project.compile({"--arch", "sm_90", "--json"}, environment);
    CHECK(packed.json()["error"]["code"] == "compiler_missing");
    CHECK_MESSAGE(packed.complains("the pack /nonexistent/app.pack (it doesn't exist). Install the "
                                   "compiler that filled the packs, or ship images, which need "
                                   "none. No usable NVRTC"),
                  packed.err);
}

TEST_CASE("lode compile: bad usage exits with 2 and says what is wrong") {
    const Project project(saxpy_source);
    const auto is_bad_usage = [](const Outcome& outcome, std::string_view sentence) {
        CHECK_MESSAGE(outcome.exit_code == 2, outcome.err);
        CHECK(outcome.err.starts_with("lode: "));
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
        CHECK(outcome.out.empty());
    };
    is_bad_usage(project.compile({}), "Pass --arch sm_90");
    is_bad_usage(project.compile({"--arch", "volta"}), "volta");
    is_bad_usage(project.compile({"--arch", "sm_90", "--speed"}), "--speed");
    is_bad_usage(project.compile({"--arch", "sm_90", "--std", "98"}), "'98'");
    is_bad_usage(project.compile({"--arch", "sm_90", "--math", "quick"}), "'quick'");
    is_bad_usage(project.compile({"--arch", "sm_90", "--max-registers", "300"}), "300");
    is_bad_usage(project.compile({"--arch", "sm_90", "--max-registers", "x"}), "max-registers");
    is_bad_usage(project.compile({"--arch", "sm_90", "-D", "1N=2"}), "1N");
    is_bad_usage(project.compile({"--arch", "sm_90", "--flag=-arch=sm_80"}), "-arch");
    is_bad_usage(::lode::test::lode({"compile"}, no_driver), "FILE");
    const auto ptx = put(project.folder() / "a.ptx", "").string();
    is_bad_usage(::lode::test::lode({"compile", ptx, "--arch", "compute_90"}), "a.ptx is PTX");
    is_bad_usage(::lode::test::lode({}), "A command is needed");
    is_bad_usage(::lode::test::lode({"kompile"}), "There is no command 'kompile'");
}

TEST_CASE("lode compile: bad usage is JSON too when JSON is asked for") {
    const auto json = ::lode::test::lode({"compile", "--json", "--speed"}).json();
    CHECK(json["lode"] == 1);
    CHECK(json["command"] == "compile");
    CHECK(json["ok"] == false);
    CHECK(json["error"]["code"] == "bad_usage");
}

TEST_CASE("lode compile: tile kernels are written as Tile IR, or the compiler is too old") {
    const Project project("extern \"C\" __tile_global__ void tiles(float* x) {}\n", "tile.cu");
    const auto outcome = project.compile({"--arch", "sm_90", "--tile", "only"});
    if (outcome.exit_code != 0) {
        CHECK(outcome.complains("--tile needs NVRTC 13.3 or newer"));
        return;
    }
    CHECK(count_entries(project.out()) == 1);
    const auto file = project.out() / "tile.sm_90.tileir";
    CHECK(first_bytes(file, 7) == "\x7fTileIR");
    CHECK(outcome.says("tile.sm_90.tileir"));
    CHECK(project.compile({"--arch", "sm_90", "--tile", "enabled", "--ptx"}).exit_code == 0);
    CHECK(count_entries(project.out()) == 3);
}
