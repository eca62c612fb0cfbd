#include "tools/lode/warm_manifest.hpp"

#include "jit/cache/recorded_line.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using lode::Arch;
using lode::CompileOptions;
using lode::Errc;
using lode::Source;
using lode::test::require;
using lode::test::require_error;
using lode::tool::ManifestRequest;
using lode::tool::read_manifest;

std::vector<ManifestRequest> read_text_as_manifest(const std::string& text) {
    const auto scratch = lode::test::make_scratch();
    return require(read_manifest(lode::test::put(scratch.path() / "app.json", text)));
}

/// The message of a manifest that can't be read, without the file's folder.
std::string refusal(const std::string& text) {
    const auto scratch = lode::test::make_scratch();
    const auto file = lode::test::put(scratch.path() / "app.json", text);
    const auto error = require_error(read_manifest(file));
    CHECK(error.code == Errc::invalid_argument);
    std::string message = error.message;
    const auto folder = scratch.path().string() + "/";
    for (auto at = message.find(folder); at != std::string::npos; at = message.find(folder))
        message.erase(at, folder.size());
    return message;
}

std::string refusal_of_request(const std::string& request) {
    return refusal(R"({"manifest": 1, "requests": [{"file": "a.cu"}, )" + request + "]}");
}

/// One set of options for each member, each different from the default in that member.
std::vector<CompileOptions> options_for_every_member() {
    std::vector<CompileOptions> all(21);
    auto* next = all.data();
    // This doesn't compile when a member is added: add a set for it.
    [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = *next;
    [[maybe_unused]] const auto& [preset, ftz, prec_div, prec_sqrt, fmad] = next->math;
    (next++)->definitions = {{"A"}, {"B", ""}, {"C", "x=\"y\" \\"}, {"F(x, ...)", "x==1"}};
    (next++)->include_folders = {"/a b", "c"};
    (next++)->headers = {{"z.h", "text\n"}, {"a/b.h", "\t\x01"}};
    (next++)->pre_includes = {"z.h"};
    (next++)->standard = lode::Standard::cxx20;
    (next++)->math.preset = lode::Math::Preset::fast;
    (next++)->math.ftz = true;
    (next++)->math.prec_div = false;
    (next++)->math.prec_sqrt = false;
    (next++)->math.fmad = true;
    (next++)->max_registers = 64;
    (next++)->line_info = true;
    (next++)->debug = true;
    (next++)->source_files = false;
    (next++)->relocatable = true;
    (next++)->lto = true;
    (next++)->minimal = true;
    (next++)->tile = lode::Tile::only;
    (next++)->optix_ir = true;
    (next++)->toolkit_headers = false;
    (next++)->extra_flags = {"--restrict", "--unknown=\"1\""};
    CHECK(next == all.data() + all.size());
    return all;
}

}  // namespace

TEST_CASE("warm manifest: an embedded file is code in memory, with its headers") {
    const auto scratch = lode::test::make_scratch();
    std::filesystem::create_directory(scratch.path() / "kernels");
    lode::test::put(scratch.path() / "kernels" / "k.cu", "#include \"k.cuh\"\n");
    lode::test::put(scratch.path() / "kernels" / "k.cuh", "// k\n");
    const auto file = lode::test::put(
        scratch.path() / "app.json",
        R"({"manifest": 1, "requests": [{"file": "kernels/k.cu", "embedded": ["kernels/k.cuh"],
            "flags": ["-DA"]}]})");
    const auto requests = require(read_manifest(file));
    REQUIRE(requests.size() == 1);
    CHECK(requests[0].source == Source::text("#include \"k.cuh\"\n", "k.cu"));
    CHECK(requests[0].options.headers == std::vector<lode::Header>{{"k.cuh", "// k\n"}});
    CHECK(requests[0].options.definitions.size() == 1);

    std::filesystem::remove(scratch.path() / "kernels" / "k.cuh");
    CHECK(require_error(read_manifest(file)).code == Errc::not_found);
    CHECK(refusal(R"({"manifest": 1, "requests": [{"text": "", "embedded": []}]})") ==
          "app.json: /requests/0 has both 'text' and 'embedded'; only one of them is possible.");
}

TEST_CASE("warm manifest: what is recorded is read back, whichever option it has") {
    const std::vector<std::string> names = {"scale<float>", "&table"};
    const auto source = Source::text("// \u00fc \"quoted\" \\ \x1b\n", "dir/k.cu");
    std::string recording;
    std::set<std::string> different;
    auto all = options_for_every_member();
    all.emplace_back();
    for (const auto standard : {lode::Standard::cxx11, lode::Standard::cxx14})
        all.emplace_back().standard = standard;
    all.emplace_back().tile = lode::Tile::enabled;
    all.emplace_back().math.preset = lode::Math::Preset::host_comparable;
    for (const auto& options : all) {
        const auto line = require(
            lode::cache::recorded_line({source, *Arch::parse("sm_90a"), options, names}, "/work"));
        CHECK(different.insert(line).second);
        recording += lode::cache::with_measurement(line, "NVRTC 13.0.88", 12.5);
    }
    const auto requests = read_text_as_manifest(recording);
    REQUIRE(requests.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        CAPTURE(i);
        CHECK(requests[i].options == all[i]);
        CHECK(requests[i].source->name() == source.name());
        CHECK(requests[i].source->read().value() == source.read().value());
        CHECK_FALSE(requests[i].source->is_file());
        CHECK(requests[i].names == names);
        REQUIRE(requests[i].archs.size() == 1);
        CHECK(requests[i].archs[0] == *Arch::parse("sm_90a"));
        CHECK(requests[i].compiler == "NVRTC 13.0.88");
        CHECK(requests[i].compile_ms == 12.5);
        CHECK(requests[i].where.ends_with(", line " + std::to_string(i + 1)));
    }
    CHECK(requests[1].folder == "/work");
}

TEST_CASE("warm manifest: a manifest by hand has sources, families, architectures and flags") {
    const auto requests = read_text_as_manifest(R"({
        "manifest": 1,
        "folder": "/app",
        "requests": [
            {"file": "kernels/a.cu", "arch": ["sm_90", "native", "compute_80"],
             "flags": ["-I", "include", "-DN=4", "-lineinfo"], "kernels": ["f", "g<int>"]},
            {"text": "code", "folder": "sub", "options": {"math": "fast"}, "suffix": "a"},
            {"file": "/b.cu", "folder": "/other", "arch": "sm_120",
             "options": {"math": {"ftz": true}}},
            {"family": "reduce", "rows": ["redux"], "arch": "sm_90"}
        ]})");
    REQUIRE(requests.size() == 4);
    CHECK(requests[0].source->name() == "kernels/a.cu");
    CHECK(requests[0].source->is_file());
    CHECK(requests[0].folder == "/app/");
    REQUIRE(requests[0].archs.size() == 3);
    CHECK(requests[0].archs[0] == *Arch::parse("sm_90"));
    CHECK_FALSE(requests[0].archs[1]);
    CHECK(requests[0].archs[2] == *Arch::parse("compute_80"));
    CHECK(requests[0].options ==
          require(CompileOptions::parse({"-Iinclude", "-DN=4", "-lineinfo"})));
    CHECK(requests[0].kernels == std::vector<std::string>{"f", "g<int>"});
    CHECK(requests[0].where.ends_with("app.json: /requests/0"));
    CHECK(requests[1].source->name() == "source.cu");
    CHECK(requests[1].folder == "/app/sub");
    CHECK(requests[1].suffix == lode::SuffixPolicy::specific);
    CHECK(requests[1].options.math.preset == lode::Math::Preset::fast);
    REQUIRE(requests[1].archs.size() == 1);
    CHECK_FALSE(requests[1].archs[0]);
    CHECK(requests[2].folder == "/other");
    CHECK(requests[2].options.math.ftz == true);
    CHECK_FALSE(requests[3].source);
    CHECK(requests[3].family == "reduce");
    CHECK(requests[3].rows == std::vector<std::string>{"redux"});
}

TEST_CASE("warm manifest: relative paths begin at the manifest's folder") {
    const auto scratch = lode::test::make_scratch();
    const auto file = lode::test::put(scratch.path() / "app.json",
                                      R"({"manifest":1,"requests":[{"file":"a.cu"}]})");
    CHECK(require(read_manifest(file))[0].folder / "" == scratch.path() / "");
    CHECK(require_error(read_manifest(scratch.path() / "absent")).code == Errc::not_found);
}

TEST_CASE("warm manifest: an error names the file, the place and the value") {
    CHECK(refusal("{\n \"manifest\": 1,\n x}") ==
          "app.json isn't valid JSON from line 3, column 2 on.");
    CHECK(refusal("").find("isn't valid JSON from line 1, column 1") != std::string::npos);
    CHECK(refusal("[]") == "app.json is []; it must be an object.");
    CHECK(refusal("{}") ==
          "app.json has no 'manifest': a manifest is {\"manifest\": 1, \"requests\": […]}.");
    CHECK(refusal(R"({"requests": []})").starts_with("app.json has no 'manifest'"));
    CHECK(refusal("{\n\"manifest\": 1}").starts_with("app.json has no 'requests'"));
    CHECK(refusal(R"({"manifest": 2, "requests": []})") ==
          "app.json: /manifest is 2; this lode reads version 1.");
    CHECK(refusal(R"({"manifest": 1, "requests": {}})") ==
          "app.json: /requests is {}; it must be a list.");
    CHECK(refusal(R"({"manifest": 1, "requests": [], "request": 1})") ==
          "app.json: /request isn't a key that lode knows; it must be one of manifest, folder, "
          "requests.");
    CHECK(refusal_of_request(R"({"file": "a.cu", "arch": "sm_9x"})") ==
          "app.json: /requests/1/arch is \"sm_9x\"; it must be native, or an architecture such as "
          "sm_90a.");
    CHECK(refusal_of_request(R"({"file": "a.cu", "arch": ["sm_90", 90]})") ==
          "app.json: /requests/1/arch/1 is 90; it must be a text.");
    CHECK(refusal_of_request(R"({"file": "a.cu", "arch": []})") ==
          "app.json: /requests/1/arch is []; it must name at least one architecture.");
    CHECK(refusal_of_request("5") == "app.json: /requests/1 is 5; it must be an object.");
    CHECK(refusal_of_request("{}") ==
          "app.json: /requests/1 says nothing to compile: it needs 'file', 'text', "
          "'base64' or 'family'.");
    CHECK(refusal_of_request(R"({"base64": "QkPA3g="})") ==
          "app.json: /requests/1/base64 is \"QkPA3g=\"; it must be base64.");
    CHECK(refusal_of_request(R"({"file": "a.cu", "text": ""})") ==
          "app.json: /requests/1 has both 'file' and 'text'; only one of them is possible.");
    CHECK(refusal_of_request(R"({"file": "a.cu", "options": {}, "flags": []})")
              .find("both 'options' and 'flags'") != std::string::npos);
    CHECK(refusal_of_request(R"({"file": "a.ptx", "arch": "compute_90"})") ==
          "app.json: /requests/1 is for a virtual architecture: 'a.ptx' is PTX, of which only "
          "machine code can be made.");
    CHECK(refusal_of_request(R"({"text": "", "language": "fortran"})").find("language") !=
          std::string::npos);
    CHECK(refusal_of_request(R"({"file": "a.cu", "achr": "sm_90"})")
              .starts_with("app.json: /requests/1/achr isn't a key that lode knows; it must be one "
                           "of manifest, file, "));
    CHECK(refusal_of_request(R"({"file": "a.cu", "suffix": "b"})") ==
          "app.json: /requests/1/suffix is \"b\"; it must be a, f or none.");
    CHECK(refusal_of_request(R"({"file": "a.cu", "names": ["k", null]})") ==
          "app.json: /requests/1/names/1 is null; it must be a text.");
    CHECK(refusal_of_request(R"({"file": "a.cu", "compile_ms": "5"})") ==
          "app.json: /requests/1/compile_ms is \"5\"; it must be a number.");
    CHECK(
        refusal_of_request(R"({"file": "a.cu", "flags": ["-arch=sm_90"]})")
            .starts_with("app.json: /requests/1/flags: Option '-arch=sm_90' can't be given here"));
}

TEST_CASE("warm manifest: an error in the options names the option") {
    const auto refusal_of_options = [](const std::string& options) {
        return refusal_of_request(R"({"file": "a.cu", "options": )" + options + "}");
    };
    CHECK(refusal_of_options(R"({"line-info": true})")
              .starts_with("app.json: /requests/1/options/line-info isn't a key that lode knows"));
    CHECK(refusal_of_options(R"({"line_info": 1})") ==
          "app.json: /requests/1/options/line_info is 1; it must be true or false.");
    CHECK(refusal_of_options(R"({"max_registers": 1.5})") ==
          "app.json: /requests/1/options/max_registers is 1.5; it must be a whole number.");
    CHECK(refusal_of_options(R"({"max_registers": 99999999999})").find("a whole number") !=
          std::string::npos);
    CHECK(refusal_of_options(R"({"max_registers": 256})") ==
          "app.json: /requests/1/options: The maximum number of registers per thread (256) is "
          "outside [0, 255].");
    CHECK(refusal_of_options(R"({"standard": "c++98"})") ==
          "app.json: /requests/1/options/standard is \"c++98\"; it must be c++11, c++14, c++17 or "
          "c++20.");
    CHECK(refusal_of_options(R"({"math": "slow"})") ==
          "app.json: /requests/1/options/math is \"slow\"; it must be ieee, fast or "
          "host_comparable.");
    CHECK(refusal_of_options(R"({"math": {"ftx": true}})")
              .starts_with("app.json: /requests/1/options/math/ftx isn't a key"));
    CHECK(refusal_of_options(R"({"headers": [{"name": "a.h"}]})") ==
          "app.json: /requests/1/options/headers/0 is {\"name\":\"a.h\"}; it must have 'name' and "
          "'text'.");
}

TEST_CASE("warm manifest: an error in a recording names the line") {
    const std::string good = "{\"manifest\":1,\"file\":\"/a.cu\"}\n";
    CHECK(read_text_as_manifest(good + "\n" + good).size() == 2);
    CHECK(refusal(good + "{\"manifest\":1,\"file\"") ==
          "app.json, line 2 isn't valid JSON from line 1, column 21 on.");
    CHECK(refusal(good + "{\"file\":\"/a.cu\"}") ==
          "app.json, line 2 has no 'manifest', the version of the format.");
    CHECK(refusal(good + "{\"manifest\":1,\"file\":5}") ==
          "app.json, line 2: /file is 5; it must be a text.");
    CHECK(refusal("{\"manifest\":7,\"file\":\"a\"}") ==
          "app.json, line 1: /manifest is 7; this lode reads version 1.");
}
