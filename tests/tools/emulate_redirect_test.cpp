// `lode emulate`: programs get the stand-ins by whatever way they search for the originals, and
// lode itself goes on to use these.
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;
namespace fs = std::filesystem;

constexpr const char* device = "lode emulator (CPU) sm_90\n";

struct RedirectBench {
    /// Runs a line of the shell under `lode emulate`.
    [[nodiscard]] Outcome inside(const std::string& script) const {
        return lode::test::lode({"emulate", "--devices", "sm_90", "--", "sh", "-c", script},
                                {{"TMPDIR", temporary.string()},
                                 {"LODE_DRIVER", ""},
                                 {"LODE_EMULATOR_CHECK", ""},
                                 {"LODE_CACHE_DIR", (folder.path() / "inside").string()}});
    }
    /// Runs it without, and gives its output.
    [[nodiscard]] std::string outside(const std::string& script) const {
        const auto file = (folder.path() / "out").string();
        const auto line = "( export LODE_DRIVER=/nonexistent/libcuda.so LODE_CACHE_DIR=" +
                          (folder.path() / "outside").string() + "; " + script + " ) >" + file;
        (void)std::system(line.c_str());
        return lode::read_text(file).value();
    }
    [[nodiscard]] std::string path(const char* name) const {
        return (folder.path() / name).string();
    }

    lode::ScratchFolder folder = make_scratch();
    fs::path temporary = [this] {
        const auto made = folder.path() / "tmp";
        fs::create_directory(made);
        return made;
    }();
};

/// NVIDIA's NVRTC, as lode finds it.
fs::path nvrtc() {
    static const fs::path found =
        lode::test::lode({"info", "--json"}, no_driver).json()["compiler"]["library"];
    return found;
}

/// A line of the shell that runs the client of NVRTC.
std::string compile(const std::string& library, const std::string& options) {
    return std::string(LODE_EMULATE_NVRTC_CLIENT) + " " + library + " " + options;
}

}  // namespace

TEST_CASE("emulate: a driver that is opened by a path, linked, or searched for elsewhere") {
    const RedirectBench bench;
    for (const char* name : {"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                             "/nonexistent/libcuda.so.580.1", "./libcuda.so"}) {
        CHECK(bench.inside(std::string(LODE_EMULATE_CLIENT " ") + name).out == device);
    }
    CHECK(bench.inside("unset LD_LIBRARY_PATH; " LODE_EMULATE_CLIENT).out == device);
    CHECK(bench.inside("LD_LIBRARY_PATH=/nonexistent " LODE_EMULATE_CLIENT).out == device);
    // The runtime API's stand-in depends on the device's library.
    CHECK(bench.inside("unset LD_LIBRARY_PATH; " LODE_EMULATE_CLIENT " /x/libcudart.so.13").out ==
          device);
    // Where the loader doesn't ask, the folder comes first.
    CHECK(bench.inside("unset LD_AUDIT; " LODE_EMULATE_CLIENT).out == device);
    CHECK(bench.outside(LODE_EMULATE_LINKED_CLIENT) == "cuInit gives 999\n");
    const auto linked = bench.inside(LODE_EMULATE_LINKED_CLIENT);
    CHECK_MESSAGE(linked.out == "cuInit gives 0\n", linked.err);
}

TEST_CASE("emulate: the loader's other settings stay") {
    const RedirectBench bench;
    const std::string script = "echo $GLIBC_TUNABLES; echo ${LD_AUDIT#*liblode_redirect.so}";
    const auto with = [&](const std::string& variable, const std::string& value) {
        return lode::test::lode({"emulate", "--", "sh", "-c", script},
                                {{"TMPDIR", bench.temporary.string()}, {variable, value}})
            .out;
    };
    CHECK(with("GLIBC_TUNABLES", "glibc.malloc.check=1") ==
          "glibc.malloc.check=1:glibc.rtld.optional_static_tls=8192\n\n");
    CHECK(with("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=1000000") ==
          "glibc.rtld.optional_static_tls=1000000\n\n");
}

TEST_CASE("emulate: NVRTC gives PTX as the cubin, and all else is the original's") {
    const RedirectBench bench;
    for (const char* options :
         {"-arch=sm_90", "-arch=sm_90 -maxrregcount=8", "-arch=sm_90 -rdc=true", "-arch=sm_90 -G",
          "-arch=compute_90", "", "-arch=sm_90 -dlto", "-arch=sm_90 -DBROKEN", "-arch=sm_1"}) {
        CAPTURE(options);
        const auto line = compile(nvrtc(), options);
        std::string expected = bench.outside(line);
        const auto outcome = bench.inside(line);
        const std::string machine_code = "machine code\n";
        const std::string no_driver = "no driver\n";
        if (const auto at = expected.find(machine_code); at != expected.npos) {
            expected.replace(at, machine_code.size(), "PTX\n");
            const auto end = expected.find(no_driver);
            REQUIRE(end != expected.npos);
            expected.replace(end, no_driver.size(), "loads: 0\nlast value: 217\n");
        } else {
            CHECK(expected.find("cubin: 0 0 none\n") != expected.npos);
        }
        CHECK_MESSAGE(outcome.out == expected, outcome.err);
    }
}

TEST_CASE("emulate: NVRTC is found by names, links and paths, and only where there is one") {
    const RedirectBench bench;
    const auto expected = bench.inside(compile(nvrtc(), "-arch=sm_90")).out;
    REQUIRE(expected.find("last value: 217\n") != expected.npos);
    const auto name = nvrtc().filename().string();
    const auto link = [&](const std::string& target, const std::string& file) {
        fs::create_symlink(target, bench.folder.path() / file);
    };
    link(nvrtc(), name.substr(0, name.find(".so") + 6) + ".99.1");
    link(nvrtc(), "libnvrtc.so");
    for (const auto& entry : fs::directory_iterator(nvrtc().parent_path()))
        if (entry.path().filename().string().starts_with("libnvrtc-builtins"))
            link(entry.path(), entry.path().filename());
    for (const auto& entry : fs::directory_iterator(bench.folder.path())) {
        if (!entry.path().filename().string().starts_with("libnvrtc.so")) continue;
        CAPTURE(entry.path().string());
        CHECK(bench.inside(compile(entry.path(), "-arch=sm_90")).out == expected);
        const auto searched = "LD_LIBRARY_PATH=" + bench.folder.path().string() + " " +
                              compile(entry.path().filename(), "-arch=sm_90");
        CHECK(bench.inside(searched).out == expected);
    }
    const auto folder = "LD_LIBRARY_PATH=" + nvrtc().parent_path().string() + " ";
    CHECK(bench.inside(folder + compile(name, "-arch=sm_90")).out == expected);
    const auto missing = bench.inside(compile("/nonexistent/" + name, "-arch=sm_90"));
    CHECK(missing.exit_code == 3);
    CHECK(missing.says("/nonexistent/" + name + ": cannot open shared object file"));
}

TEST_CASE("emulate: lode compiles and links with NVIDIA's libraries, as outside") {
    const RedirectBench bench;
    const auto source = put(bench.folder.path() / "k.cu",
                            "extern \"C\" __global__ void k(float* x) { *x = __expf(*x); }");
    const auto ptx = put(bench.folder.path() / "empty.ptx",
                         ".version 8.0\n.target sm_80\n.address_size 64\n"
                         ".visible .entry k() { ret; }\n");
    // The library by its path, then by its name: each way would lead to the stand-in.
    const auto folder = nvrtc().parent_path().string();
    for (const std::string& way : {"LODE_NVRTC=" + nvrtc().string(),
                                   "LODE_NVRTC=" + nvrtc().filename().string() +
                                       " LD_LIBRARY_PATH=" + folder + ":$LD_LIBRARY_PATH"}) {
        CAPTURE(way);
        const auto lines = [&](const std::string& to) {
            return "export " + way + "; " LODE_COMMAND " compile " + source.string() +
                   " --arch sm_90 --out-dir " + to + " >/dev/null && " LODE_COMMAND " link " +
                   ptx.string() + " --arch sm_90 -o " + to +
                   "/linked >/dev/null && " LODE_COMMAND
                   " info --json | grep '\"library\": .*nvrtc'";
        };
        const auto expected = bench.outside(lines(bench.path("outside")));
        const auto outcome = bench.inside(lines(bench.path("inside")));
        CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
        CHECK(outcome.out == expected);
        for (const char* file : {"k.sm_90.cubin", "linked"}) {
            const auto image = lode::read_text(bench.folder.path() / "outside" / file).value();
            CHECK(image.starts_with("\177ELF"));
            CHECK(lode::read_text(bench.folder.path() / "inside" / file).value() == image);
        }
        fs::remove_all(bench.path("outside"));
        fs::remove_all(bench.path("inside"));
    }
}
