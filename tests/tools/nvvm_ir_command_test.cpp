// The command with NVVM IR and LLVM IR.
#include "tests/ir/modules.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode::test;

TEST_CASE("lode compile: NVVM IR becomes a cubin and PTX, and is a hit the second time") {
    if (!has_nvvm()) return;
    const auto folder = make_scratch();
    const Environment here = {{"LODE_DRIVER", "/nonexistent/libcuda.so.1"},
                              {"LODE_CACHE_DIR", (folder.path() / "cache").string()}};
    for (const char* tier : {"", "disk"}) {
        const auto outcome =
            ::lode::test::lode({"compile", module_path("scale"), "--arch", "sm_90,compute_75",
                                "--ptx", "--out-dir", folder.path().string(), "--json"},
                               here);
        REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
        for (const auto& image : outcome.json()["images"])
            CHECK(image.dump().find(tier) != std::string::npos);
    }
    for (const char* file :
         {"scale.typed.sm_90.cubin", "scale.typed.sm_90.ptx", "scale.typed.compute_75.ptx"})
        CHECK(std::filesystem::exists(folder.path() / file));
}

TEST_CASE("lode compile: NVVM IR and CUDA C++ are compiled separately") {
    const auto outcome = ::lode::test::lode(
        {"compile", module_path("scale"), LODE_SOURCE_DIR "/tests/ir/clang.cu", "--arch", "sm_90"},
        no_driver);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.complains("clang.cu are in different languages"));
}

TEST_CASE("lode compile: a target that libNVVM lacks is refused with those that it has") {
    if (!has_nvvm()) return;
    const auto outcome =
        ::lode::test::lode({"compile", module_path("scale"), "--arch", "sm_50"}, no_driver);
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.complains("libNVVM"));
}

TEST_CASE("lode compile: standard input is IR if it begins as IR, and PTX if it begins as PTX") {
    if (!has_nvvm()) return;
    const auto folder = make_scratch();
    const std::string out = folder.path().string();
    const auto compile = [&](const std::string& input, std::string arch) {
        const auto outcome =
            ::lode::test::lode({"compile", "-", "--arch", std::move(arch), "--out-dir", out},
                               no_driver, {.in = input});
        CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
        return outcome;
    };
    CHECK(compile(module_path("scale"), "sm_90").says("stdin.ll, libNVVM "));
    CHECK(std::filesystem::exists(folder.path() / "stdin.sm_90.cubin"));
    CHECK(compile(module_path("scale"), "compute_75").says("stdin.ll, libNVVM "));
    CHECK(compile(out + "/stdin.compute_75.ptx", "sm_80").says("stdin.ptx, nvJitLink "));
    CHECK(std::filesystem::exists(folder.path() / "stdin.sm_80.cubin"));
}

TEST_CASE(
    "lode compile --llvm-ir: a file, and standard input, are recorded and warmed as LLVM IR") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    const auto folder = make_scratch();
    const std::string module = module_path("scale", dialect_of(*llvm));
    const std::string record = folder.path() / "record";
    const auto compile = [&](const std::string& input) {
        const auto outcome = ::lode::test::lode(
            {"compile", input, "--llvm-ir", "--arch", "sm_80", "--out-dir", folder.path().string()},
            {{"LODE_DRIVER", "/nonexistent/libcuda.so.1"}, {"LODE_RECORD", record}},
            {.in = input == "-" ? module : ""});
        CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
        return outcome;
    };
    CHECK(compile(module).says(", LLVM "));
    CHECK(compile("-").says("stdin.ll, LLVM "));
    const auto warmed = ::lode::test::lode(
        {"warm", record}, {{"LODE_DRIVER", "/nonexistent/libcuda.so.1"},
                           {"LODE_CACHE", "on"},
                           {"LODE_CACHE_DIR", (folder.path() / "warmed").string()}});
    CHECK_MESSAGE(warmed.exit_code == 0, warmed.err);
    CHECK(warmed.says("2 compilations: 0 in the cache, 2 compiled in "));
}

TEST_CASE(
    "lode info and doctor: the compilers of IR and PTX are shown, and missed where they are "
    "chosen") {
    if (!has_nvvm()) return;
    const auto json = ::lode::test::lode({"info", "--json"}, no_driver).json()["other_compilers"];
    CHECK(json["nvvm_ir"]["product"] == "libNVVM");
    CHECK(json["nvvm_ir"]["architectures"].size() > 3);
    CHECK(json["ptx"]["product"] == "nvJitLink");
    if (llvm_here()) CHECK(json["llvm_ir"]["product"] == "LLVM");
    const Environment nowhere = {{"LODE_NVVM", "/nonexistent/libnvvm.so.4"},
                                 {"LODE_DRIVER", "emulator"}};
    CHECK(::lode::test::lode({"info"}, nowhere).says("not found; --all lists the places searched"));
    const auto doctor = ::lode::test::lode({"doctor"}, nowhere);
    CHECK(doctor.says("may fail: LODE_NVVM"));
    CHECK(doctor.says("/nonexistent/libnvvm.so.4"));
}

TEST_CASE("lode warm: a recording of IR and PTX fills another cache") {
    if (!has_nvvm()) return;
    const auto folder = make_scratch();
    const std::string out = folder.path().string();
    const std::string in_memory = out + "/latin1.ll";
    const auto in_cache = [&](const char* name) {
        return Environment{{"LODE_DRIVER", "/nonexistent/libcuda.so.1"},
                           {"LODE_CACHE", "on"},
                           {"LODE_CACHE_DIR", out + "/" + name},
                           {"LODE_RECORD", out + "/record"}};
    };
    const auto compile = [&](const char* cache) {
        std::string all;
        for (const auto& file : {module_path("sine"), out + "/ptx.ptx", std::string("-")}) {
            const auto outcome =
                ::lode::test::lode({"compile", file, "--arch", "sm_90", "--out-dir", out},
                                   in_cache(cache), {.in = file == "-" ? in_memory : ""});
            CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
            all += outcome.out;
        }
        return all;
    };
    const auto ptx = ::lode::test::lode(
        {"compile", module_path("scale"), "--arch", "compute_75", "-o", out + "/ptx.ptx"},
        no_driver);
    REQUIRE_MESSAGE(ptx.exit_code == 0, ptx.err);
    // Like bitcode, no UTF-8.
    std::ofstream(in_memory) << "; gr\xfc\xdf\n" << text_of(module_path("scale"));
    compile("first");
    Environment elsewhere = in_cache("second");
    elsewhere.erase("LODE_RECORD");
    const auto warm = ::lode::test::lode({"warm", out + "/record"}, elsewhere);
    CHECK_MESSAGE(warm.exit_code == 0, warm.out << warm.err);
    const std::string again = compile("second");
    CHECK(again.find("compiled in") == std::string::npos);
}

TEST_CASE("lode run: NVVM IR runs on the software device") {
    if (!has_nvvm()) return;
    const auto outcome = ::lode::test::lode({"run", module_path("reverse"), "reverse", "--grid",
                                             "1", "--block", "64", "--", "i32[64]:iota"},
                                            {{"LODE_DRIVER", "emulator"}});
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("63"));
}

TEST_CASE("lode compile: --llvm-ir makes LLVM IR of a .ll file, and leaves CUDA C++ alone") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    const auto folder = make_scratch();
    const auto file = module_path("scale", dialect_of(*llvm));
    const auto outcome = ::lode::test::lode({"compile", file, "--llvm-ir", "--arch", "sm_80",
                                             "--ptx", "--out-dir", folder.path().string()},
                                            no_driver);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says(llvm->name()));
    const auto mixed = ::lode::test::lode(
        {"compile", file, LODE_SOURCE_DIR "/tests/ir/clang.cu", "--llvm-ir", "--arch", "sm_80"},
        no_driver);
    CHECK(mixed.exit_code == 2);
    CHECK(mixed.complains("clang.cu are in different languages"));
}

TEST_CASE("lode compile: an option that the file's language doesn't have is refused by its name") {
    const auto folder = make_scratch();
    const auto ptx = (folder.path() / "scale.ptx").string();
    std::ofstream(ptx) << ".version 7.0\n.target sm_70\n.address_size 64\n";
    const std::string cuda = LODE_SOURCE_DIR "/tests/ir/clang.cu";
    const std::vector<std::vector<std::string>> of_a_front_end = {
        {"--define", "N=4"},   {"--include", "."}, {"--std", "17"}, {"--tile", "none"},
        {"--tile", "enabled"}, {"--optix-ir"},     {"--name", "k"}, {"--flag", "--restrict"}};
    const auto refuses = [&](const std::string& file, const std::vector<std::string>& option,
                             const std::string& language) {
        const std::string named = option.front() == "--name"   ? "the name expression 'k'"
                                  : option.front() == "--flag" ? "the extra flag '--restrict'"
                                                               : option.front();
        std::vector<std::string> words = {"compile", file,        "--arch",
                                          "sm_80",   "--out-dir", folder.path().string()};
        words.insert(words.end(), option.begin(), option.end());
        const auto outcome = ::lode::test::lode(words, no_driver);
        CAPTURE(outcome.err);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.complains("is " + language + ", which "));
        CHECK(outcome.complains(named));
    };
    refuses(cuda, {"--llvm-ir"}, "CUDA C++");
    refuses(ptx, {"--llvm-ir"}, "PTX");
    std::vector<std::vector<std::string>> of_compilers = of_a_front_end;
    for (const char* option : {"--fast-math", "--relocatable", "--lto"})
        of_compilers.push_back({option});
    for (const char* preset : {"ieee", "fast", "host_comparable"})
        of_compilers.push_back({"--math", preset});
    for (const auto& option : of_compilers)
        refuses(ptx, option, "PTX");
    if (!has_nvvm()) return;
    for (const auto& option : of_a_front_end)
        refuses(module_path("scale"), option, "NVVM IR");
    refuses(module_path("scale"), {"--relocatable"}, "NVVM IR");
    const auto llvm = llvm_here();
    if (!llvm) return;
    for (auto option : of_a_front_end) {
        option.emplace_back("--llvm-ir");
        refuses(module_path("scale", dialect_of(*llvm)), option, "LLVM IR");
    }
    for (const char* option : {"--relocatable", "--lto"})
        refuses(module_path("scale", dialect_of(*llvm)), {option, "--llvm-ir"}, "LLVM IR");
    refuses(module_path("scale", dialect_of(*llvm)), {"--math", "host_comparable", "--llvm-ir"},
            "LLVM IR");
}

TEST_CASE("lode run: LLVM IR runs on the software device") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    const auto outcome =
        ::lode::test::lode({"run", module_path("reverse", dialect_of(*llvm)), "reverse",
                            "--llvm-ir", "--grid", "1", "--block", "64", "--", "i32[64]:iota"},
                           {{"LODE_DRIVER", "emulator"}});
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("63"));
}
