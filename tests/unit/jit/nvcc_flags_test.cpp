#include "jit/nvcc_flags.hpp"

#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;

namespace {

using Flags = std::vector<std::string>;
using Use = NvccFlag::Use;
using Value = NvccFlag::Value;

/// A value that the flag takes.
std::string sample_of(const NvccFlag& row) {
    static const std::map<std::string_view, std::string> samples = {
        {"pre-include", "cstdint"},
        {"define-macro", "N=4"},
        {"undefine-macro", "N"},
        {"include-path", "."},
        {"system-include", "."},
        {"optimization-info", "inline"},
        {"Ofast-compile", "max"},
        {"dopt", "on"},
        {"std", "c++14"},
        {"ptxas-options", "-O2,-v"},
        {"time", "/dev/null"},
        {"Werror", "reorder,all-warnings"},
        {"Xcudafe", "--diag_suppress=deprecated_entity"}};
    const auto known = samples.find(row.name);
    if (known != samples.end()) return known->second;
    for (const std::string_view truth :
         {"ftz", "prec-", "fmad", "relocatable-device-code", "brief-", "builtin-", "-protector"}) {
        if (row.name.find(truth) != std::string_view::npos) return "false";
    }
    return "100";
}

/// The row in every spelling, with a value if it takes one.
std::vector<Flags> spellings(const NvccFlag& row) {
    std::vector<Flags> forms;
    const auto add = [&](const std::string& flag, const std::string& value) {
        forms.push_back({flag + "=" + value});
        forms.push_back({flag, value});
    };
    for (const auto& name : {std::string(row.name), std::string(row.other)}) {
        if (name.empty()) continue;
        for (const std::string dashes : {"-", "--"}) {
            const auto equals = name.find('=');
            if (equals != std::string::npos) {
                add(dashes + name.substr(0, equals), name.substr(equals + 1));
            } else if (row.value == Value::none) {
                forms.push_back({dashes + name});
            } else {
                add(dashes + name, sample_of(row));
            }
        }
    }
    if (row.value == Value::joined)
        forms.push_back({"-" + std::string(row.other) + sample_of(row)});
    return forms;
}

bool is_accepted(const NvccFlag& row) {
    return row.use == Use::option || row.use == Use::passed;
}

}  // namespace

TEST_CASE("nvcc flags: every spelling of every flag is what the table says") {
    for (const auto& row : nvcc_flags()) {
        for (const auto& form : spellings(row)) {
            CAPTURE(form.front());
            const auto options = CompileOptions::parse(form);
            if (row.use == Use::refused) {
                REQUIRE_FALSE(options);
                CHECK(options.error().code == Errc::invalid_argument);
                CHECK(options.error().message.starts_with("Option '" + form.front() + "' can't"));
                CHECK_CONTAINS(options.error().message, row.text);
                continue;
            }
            REQUIRE_MESSAGE(options, options.error().message);
            if (row.use == Use::ignored) CHECK(*options == CompileOptions{});
            if (row.use == Use::passed) CHECK_FALSE(options->extra_flags.empty());
            if (row.use == Use::option) CHECK(options->extra_flags.empty());
            CHECK(CompileOptions::parse(require(compile_flags(*options))) == *options);
        }
    }
}

TEST_CASE("nvcc flags: extra flags are the same, but options of lode are refused by name") {
    for (const auto& row : nvcc_flags()) {
        for (const auto& form : spellings(row)) {
            CAPTURE(form.front());
            CompileOptions options;
            options.extra_flags = form;
            const auto flags = compile_flags(options);
            if (row.use == Use::option || row.use == Use::refused) {
                REQUIRE_FALSE(flags);
                CHECK(flags.error().message.starts_with("Extra flag '" + form.front() + "' isn't"));
                CHECK_CONTAINS(flags.error().message, row.text);
                continue;
            }
            REQUIRE_MESSAGE(flags, flags.error().message);
            const auto parsed = require(CompileOptions::parse(form));
            CHECK(*flags == require(compile_flags(parsed)));
        }
    }
}

TEST_CASE("nvcc flags: NVRTC takes every flag that is passed on or an option") {
    const Compiler compiler;
    const auto info = require(compiler.info());
    const auto newest = Arch(std::ranges::max(info.supported)).as_virtual();
    const auto source = Source::text(
        "extern \"C\" __global__ void __launch_bounds__(64) k(int* x) { *x = 1; }", "k.cu");
    for (const auto& row : nvcc_flags()) {
        if (!is_accepted(row)) continue;
        const auto form = spellings(row).front();
        CAPTURE(form.front());
        const auto options = require(CompileOptions::parse(form));
        const auto image = compiler.compile(source, newest, options);
        if (image) continue;
        const bool is_newer = row.since > 100 * info.version_major + info.version_minor;
        const bool has_no_tiles =
            options.tile != Tile::none && image.error().code == Errc::compiler_too_old;
        CHECK_MESSAGE((is_newer || has_no_tiles), image.error().describe());
        if (contains(image.error().message, "unrecognized option"))
            CHECK_CONTAINS(image.error().message, "and newer have it.");
    }
}

TEST_CASE("nvcc flags: the table has every flag of nvcc --help") {
    std::string text;
    for (const auto& folder :
         {environment("CUDA_HOME").value_or(""), std::string("/usr/local/cuda")}) {
        const auto nvcc = folder + "/bin/nvcc";
        if (folder.empty() || !std::filesystem::exists(nvcc) || !text.empty()) continue;
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
            ::popen((nvcc + " --help").c_str(), "r"), &::pclose);
        REQUIRE(pipe != nullptr);
        std::array<char, 4096> part{};
        while (const auto size = std::fread(part.data(), 1, part.size(), pipe.get()))
            text.append(part.data(), size);
    }
    if (text.empty()) {
        MESSAGE("skipped: there is no nvcc");
        return;
    }
    std::size_t count = 0;
    const std::regex form("\n(--[^ \n]+)[^\n]*[ (](-{1,2}[A-Za-z0-9_-]+)\\)? *(?=\n)");
    for (std::sregex_iterator found(text.begin(), text.end(), form), end; found != end; ++found) {
        for (const auto& flag : {(*found)[1].str(), (*found)[2].str()}) {
            CAPTURE(flag);
            CHECK(read_flag(std::array{flag}).row != nullptr);
            ++count;
        }
    }
    CHECK(count > 200);
}

TEST_CASE("nvcc flags: what people pass") {
    const auto parsed = [](const Flags& flags) { return require(CompileOptions::parse(flags)); };
    CHECK(parsed({"-O3", "-g", "-Wno-deprecated-gpu-targets", "-m64", "-x", "cu", "-t", "4", "-O",
                  "2", "--machine=64", "-res-usage"}) == CompileOptions{});
    CHECK(parsed({"-G", "-g"}) == CompileOptions{.debug = true});
    CHECK(parsed({"-D", "X=1", "--define-macro=SQ(x)=x*x"}).definitions ==
          std::vector<Definition>{{"X", "1"}, {"SQ(x)", "x*x"}});
    CHECK(parsed({"-isystem", "sys", "-Iown"}).include_folders ==
          std::vector<std::filesystem::path>{"own", "sys"});
    CHECK_FALSE(parsed({"-rdc=true", "-dw"}).relocatable);
    const auto passed = [&](const Flags& flags) { return parsed(flags).extra_flags; };
    CHECK(passed({"-Xptxas", "-O2,-v", "--ptxas-options=-dlcm=cg"}) ==
          Flags{"--ptxas-options=-O2", "--ptxas-options=-v", "--ptxas-options=-dlcm=cg"});
    CHECK(passed({"-Xptxas=-a\\,b"}) == Flags{"--ptxas-options=-a,b"});
    CHECK(passed({"-diag-suppress", "177,550", "-w"}) ==
          Flags{"--diag-suppress=177,550", "--disable-warnings"});
    CHECK(passed({"-UX", "-U", "Y", "--undefine-macro=Z"}) ==
          Flags{"--undefine-macro=X", "--undefine-macro=Y", "--undefine-macro=Z"});
    CHECK(passed({"-UX", "-UY", "-DX(a)=a"}) == Flags{"--undefine-macro=Y"});
    CHECK(passed({"-Werror", "reorder,cross-execution-space-call"}) ==
          Flags{"-Xcudafe=--diag_error=out_of_order_ctor_init"});
    CHECK(passed({"--extended-lambda", "--expt-relaxed-constexpr"}) ==
          Flags{"-Xcudafe=--extended-lambda", "--device-as-default-execution-space"});
    // An unknown flag, so NVRTC judges.
    CHECK(passed({"--new-flag", "value", "--other=1"}) ==
          Flags{"--new-flag", "value", "--other=1"});
}

TEST_CASE("nvcc flags: a flag that is given twice reaches NVRTC once") {
    CompileOptions options;
    options.extra_flags = {"-w",        "--disable-warnings", "--restrict",
                           "-restrict", "-Xptxas=-v",         "-Xptxas=-v"};
    CHECK(require(compile_flags(options)) == Flags{"--std=c++17", "--disable-warnings",
                                                   "--restrict", "--ptxas-options=-v",
                                                   "--ptxas-options=-v"});
}

TEST_CASE("nvcc flags: a wrong value and a misspelt flag are named with what is right") {
    const auto message = [](const Flags& flags) {
        return require_error(CompileOptions::parse(flags)).message;
    };
    CHECK(message({"-Werror=nothing"}) ==
          "Option '-Werror=nothing' has 'nothing', but its values are all-warnings, "
          "cross-execution-space-call, default-stream-launch, deprecated-declarations, "
          "ext-lambda-captures-this, missing-launch-bounds, reorder.");
    CHECK(message({"-lineinfo=1"}) == "Option '-lineinfo=1' takes no value.");
    CHECK(message({"-Xptxas"}) == "Option '-Xptxas' needs a value after it.");
    CHECK_CONTAINS(message({"-linefo"}), "Did you mean '-lineinfo'?");
    CHECK_CONTAINS(message({"-Xcompiler", "-fPIC"}), "nvcc's host compiler");
    CHECK_CONTAINS(message({"-gencode", "arch=compute_80,code=sm_80"}), "arch argument");
    CHECK(unknown_flag_hint("unrecognized option --fmadd=true found") == " Did you mean '--fmad'?");
    CHECK(unknown_flag_hint("unrecognized option --extended-lamda found") ==
          " Did you mean '--extended-lambda'?");
    CHECK(unknown_flag_hint("unrecognized option --jump-table-density=1 found") ==
          " NVRTC 12.3 and newer have it.");
    CHECK(unknown_flag_hint("unrecognized option --entirely-different found").empty());
    CHECK(unknown_flag_hint("--fmad expects true or false").empty());
    CHECK(message({"--unknown=1", std::string(9000, 'y')}).size() < 400);
}

TEST_CASE("nvcc flags: lambdas and constexpr functions compile as with nvcc") {
    const auto source = Source::text(
        "constexpr int twice(int x) { return 2 * x; }\n"
        "template <class F> __device__ int call(F f) { return f(3); }\n"
        "extern \"C\" __global__ void k(int* x) {\n"
        "    *x = twice(call([] __device__(int y) { return y; }));\n"
        "}\n",
        "k.cu");
    CHECK_FALSE(Compiler().compile(source, sm(90)));
    const auto options =
        require(CompileOptions::parse({"--extended-lambda", "--expt-relaxed-constexpr"}));
    require(Compiler().compile(source, sm(90), options));
}

TEST_CASE("nvcc flags: functions are kept, and warnings are errors, as with nvcc") {
    const auto source = Source::text(
        "__device__ int kept(int x) { return x; }\n"
        "struct Pair { int a, b; __device__ Pair() : b(1), a(2) {} };\n"
        "extern \"C\" __global__ void k(int* x) { *x = Pair().a; }\n",
        "k.cu");
    const auto ptx = Arch::parse("compute_90").value();
    const auto compile = [&](const std::string& flag) {
        return Compiler().compile(source, ptx, require(CompileOptions::parse({flag})));
    };
    CHECK(contains(require(compile("-keep-device-functions")).ptx, "_Z4kepti"));
    const std::string order = "will be done before that of member";
    CHECK_FALSE(contains(require(compile("-O3")).log, order));
    CHECK(contains(require(compile("-Wreorder")).log, order));
    CHECK(contains(require_error(compile("-Werror=reorder")).message, "k.cu:2"));
    CHECK(contains(require(compile("-Wmissing-launch-bounds")).log, "__launch_bounds__"));
}

TEST_CASE("nvcc flags: NVRTC gives every form of macro its meaning") {
    struct Row {
        Definition definition;
        std::string code;
    };
    const Row rows[] = {
        {{"N", "2,3"}, "constexpr int n[] = {N}; static_assert(n[1] == 3);"},
        {{"SQ(x)", "((x)*(x))"}, "static_assert(SQ(2 + 3) == 25);"},
        {{"EQ(a,b)", "a==b"}, "static_assert(EQ(2, 2));"},
        {{"F()", "7"}, "static_assert(F() == 7);"},
        {{"F( \t)", "7"}, "static_assert(F() == 7);"},
        {{"F(x)"}, "static_assert(F(9) == 1);"},
        {{"F(x)", ""}, "static_assert(5 F(9) == 5);"},
        {{"F( a ,\tb_2 )", "a-b_2"}, "static_assert(F(5, 3) == 2);"},
        {{"F(...)", "__VA_ARGS__"}, "constexpr int n[] = {F(1, 2)}; static_assert(n[1] == 2);"},
        {{"F(a, ...)", "a + sizeof((__VA_ARGS__))"}, "static_assert(F(1, 'c') == 2);"},
        {{"F(rest ...)", "rest"}, "constexpr int n[] = {F(1, 2)}; static_assert(n[1] == 2);"},
        {{"F(a,rest...)", "a, rest"},
         "constexpr int n[] = {F(1, 2, 3)}; static_assert(n[2] == 3);"},
        {{"TEXT(x)", "#x"}, "static_assert(sizeof TEXT(a b) == 4);"}};
    for (const auto& [definition, code] : rows) {
        CAPTURE(definition.name);
        CompileOptions options;
        options.definitions = {definition};
        const auto image = Compiler().compile(Source::text(code + "\n__global__ void k() {}\n"),
                                              Arch::parse("compute_90").value(), options);
        CHECK_MESSAGE(image, image.error().describe());
    }
}
