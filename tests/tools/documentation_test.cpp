// Checks docs/command.md against the command: its JSON examples have the keys that the command
// prints.
#include "base/file.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/scripted.hpp"

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;
using Json = nlohmann::json;

/// The example in docs/command.md of a command that succeeds (or, if not `ok`, fails).
Json documented(const std::string& command, bool ok) {
    const auto page = lode::read_text(LODE_SOURCE_DIR "/docs/command.md").value();
    const std::string open = "```json\n";
    for (auto at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
        at += open.size();
        const auto example = Json::parse(page.substr(at, page.find("```", at) - at));
        if (example["command"] == command && example["ok"] == ok) return example;
    }
    FAIL("docs/command.md has no example of " << command);
    return {};
}

/// Collects every path of keys, e.g. "images/kernels/registers". Names under `open_ended` are data.
void collect(const Json& json, const std::string& path, std::set<std::string>& keys) {
    const std::string open_ended = "/images/lowered_names";
    if (json.is_array()) {
        for (const auto& element : json)
            collect(element, path, keys);
    }
    if (!json.is_object() || path == open_ended) return;
    for (const auto& [key, value] : json.items()) {
        keys.insert(path + "/" + key);
        collect(value, path + "/" + key, keys);
    }
}

std::set<std::string> keys_of(const Json& json) {
    std::set<std::string> keys;
    collect(json, "", keys);
    return keys;
}

Json answer(std::string_view source, std::vector<std::string> arguments) {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "kernel.cu", source).string();
    arguments.insert(arguments.begin() + 1, file);
    arguments.insert(arguments.begin() + 2, "--json");
    if (arguments[0] == "compile") {
        arguments.emplace_back("--out-dir");
        arguments.push_back(scratch.path().string());
    }
    return lode::test::lode(arguments, scripted).json();
}

}  // namespace

TEST_CASE("documentation: the example of lode info has the keys that it prints") {
    CHECK(keys_of(documented("info", true)) ==
          keys_of(lode::test::lode({"info", "--json"}, scripted).json()));
}

TEST_CASE("documentation: the example of lode compile has the keys that it prints") {
    CHECK(keys_of(documented("compile", true)) ==
          keys_of(answer("__global__ void k(int* x) { int unused; }",
                         {"compile", "--arch", "sm_90", "--name", "k"})));
}

TEST_CASE("documentation: the example of lode link has the keys that it prints") {
    const auto scratch = make_scratch();
    const auto ptx = put(scratch.path() / "k.ptx",
                         ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {}\n");
    const auto printed =
        lode::test::lode({"link", ptx.string(), "-o", (scratch.path() / "k.cubin").string(),
                          "--arch", "sm_90", "--json"},
                         no_driver);
    auto keys = keys_of(printed.json());
    // The example has no kernels; they have the keys of `compile`.
    std::erase_if(keys, [](const auto& key) { return key.starts_with("/kernels/"); });
    CHECK(keys_of(documented("link", true)) == keys);
}

TEST_CASE("documentation: the example of lode run has the keys that it prints") {
    CHECK(keys_of(documented("run", true)) ==
          keys_of(answer(saxpy_source, {"run", "saxpy", "--arch", "compute_90", "--cover", "4",
                                        "--", "2f", "f32[4]", "f32[4]", "4"})));
}

TEST_CASE("documentation: the example of lode variants has the keys that it prints") {
    CHECK(keys_of(documented("variants", true)) ==
          keys_of(
              lode::test::lode({"variants", "reduce", "--cc", "8.0", "--json"}, scripted).json()));
}

TEST_CASE("documentation: the example of lode warm has the keys that it prints") {
    const auto scratch = make_scratch();
    const auto manifest =
        put(scratch.path() / "app.json",
            R"({"manifest": 1, "requests": [{"text": "", "arch": "sm_90", "names": []}]})");
    const auto printed = lode::test::lode(
        {"warm", manifest.string(), "--json", "--pack", (scratch.path() / "app.pack").string()},
        {{"LODE_CACHE", "on"}, {"LODE_CACHE_DIR", (scratch.path() / "cache").string()}});
    CHECK(keys_of(documented("warm", true)) == keys_of(printed.json()));
}

TEST_CASE("documentation: the example of lode doctor has the keys that it prints") {
    auto environment = scripted;
    environment["LODE_CACHE"] = "off";
    CHECK(keys_of(documented("doctor", true)) ==
          keys_of(lode::test::lode({"doctor", "--json"}, environment).json()));
}

#ifdef LODE_EMULATE_CLIENT
TEST_CASE("documentation: the example of lode emulate has the keys that it writes") {
    const auto scratch = make_scratch();
    const auto file = (scratch.path() / "report.json").string();
    CHECK(lode::test::lode({"emulate", "--json=" + file, "--", LODE_EMULATE_CLIENT}).exit_code ==
          0);
    CHECK(keys_of(documented("emulate", true)) ==
          keys_of(Json::parse(lode::read_text(file).value())));
}
#endif

TEST_CASE("documentation: the example of a failure has the keys that it prints") {
    CHECK(keys_of(documented("compile", false)) ==
          keys_of(answer(broken_source, {"compile", "--arch", "sm_90"})));
}
