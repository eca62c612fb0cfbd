#include "jit/headers/manifest.hpp"

#include <functional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;

namespace {

HeaderSet example_set(const std::string& content) {
    using Root = HeaderPath::Root;
    HeaderSet set;
    HeaderRecord record;
    record.path = {Root::include, 1, "util/a.h"};
    record.stamp = {4, 5, 10, 20, 30};
    record.settled = true;
    record.content = lode::sha256(content);
    set.headers.push_back(record);
    record.path = {Root::absolute, 0, "/opt/b.h"};
    record.stamp = {4, 6, 1, 2, 3};
    record.settled = false;
    record.content = lode::sha256("b");
    set.headers.push_back(record);
    set.probes = {{{Root::source, 0, "c.h"}, HeaderProbe::Kind::absent},
                  {{Root::working, 0, "d.h"}, HeaderProbe::Kind::file, {4, 7, 0, 0, 0}},
                  {{Root::include, 0, "e"}, HeaderProbe::Kind::folder}};
    set.variables = {VariableRecord::of("A", nullptr), VariableRecord::of("B", "text")};
    set.bound_to = "source k.cu";
    return set;
}

Manifest example_manifest() {
    Manifest manifest{KeyWriter().field("a", "b").finish().text, {}};
    manifest.add(example_set("one"));
    manifest.add(example_set("two"));
    return manifest;
}

}  // namespace

TEST_CASE("manifest: bytes round-trip with every field") {
    const Manifest manifest = example_manifest();
    const Key key{manifest.key_text, lode::sha256(manifest.key_text)};
    const auto again = parse_manifest_for(format_manifest(manifest), key);
    REQUIRE(again);
    CHECK(*again == manifest);
    CHECK_FALSE(parse_manifest_for(format_manifest(manifest), KeyWriter().finish()));
}

TEST_CASE("manifest: every flipped bit and every truncation is detected") {
    Bytes bytes = format_manifest(example_manifest());
    std::size_t undetected = 0;
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        undetected += parse_manifest(bytes) ? 1 : 0;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    for (std::size_t size = 0; size < bytes.size(); ++size)
        undetected += parse_manifest(std::span(bytes).first(size)) ? 1 : 0;
    CHECK(undetected == 0);
}

TEST_CASE(
    "manifest: the newest set comes first, the same state is kept once, old sets are dropped") {
    Manifest manifest = example_manifest();
    CHECK(manifest.sets.size() == 2);
    CHECK(manifest.sets[0].set == example_set("two"));
    manifest.add(example_set("one"));
    CHECK(manifest.sets.size() == 2);
    CHECK(manifest.sets[0].set == example_set("one"));
    for (std::size_t i = 0; i < 2 * Manifest::max_sets; ++i)
        manifest.add(example_set(std::to_string(i)));
    CHECK(manifest.sets.size() == Manifest::max_sets);
}

TEST_CASE("manifest: the key list holds contents and answers, not stamps or folders") {
    HeaderSet set = example_set("one");
    const std::string list = set.key_list();
    CHECK(list.find("include 1 util/a.h " + lode::sha256("one").to_hex()) == 0);
    set.headers[0].stamp = {};
    set.headers[0].settled = false;
    set.probes[1].file = {};
    set.probes.erase(set.probes.begin());  // An absent file is implied by what was read instead.
    CHECK(set.key_list() == list);
    for (const auto& change : std::vector<std::function<void(HeaderSet&)>>{
             [](HeaderSet& other) { other.headers[0].content = lode::sha256("two"); },
             [](HeaderSet& other) { other.headers.pop_back(); },
             [](HeaderSet& other) { other.probes.pop_back(); },
             [](HeaderSet& other) { other.variables[0].value = "set"; },
             [](HeaderSet& other) { other.bound_to = "source j.cu"; }}) {
        HeaderSet other = set;
        change(other);
        CHECK(other.key_list() != list);
    }
}

TEST_CASE("manifest: the digest of each key list is kept beside its set") {
    Manifest manifest = example_manifest();
    CHECK(manifest.sets[0].list == lode::sha256(example_set("two").key_list()));
    CHECK(check_lists(manifest));
    manifest.sets[1].set.bound_to = "elsewhere";
    const auto other = check_lists(manifest);
    REQUIRE_FALSE(other);
    CHECK(other.error().code == lode::Errc::invalid_image);
}

TEST_CASE("manifest: a path resolves against the search folders") {
    const SearchFolders folders{"/src", {"/i0", "/i1"}, {"/cuda/include"}, "/here", "k.cu", {}};
    using Root = HeaderPath::Root;
    CHECK(HeaderPath{Root::source, 0, "a.h"}.resolve(folders) == "/src/a.h");
    CHECK(HeaderPath{Root::include, 1, "b/a.h"}.resolve(folders) == "/i1/b/a.h");
    CHECK(HeaderPath{Root::include, 2, "a.h"}.resolve(folders) == "");
    CHECK(HeaderPath{Root::toolkit, 0, ""}.resolve(folders) == "/cuda/include");
    CHECK(HeaderPath{Root::working, 0, "a.h"}.resolve(folders) == "/here/a.h");
    CHECK(HeaderPath{Root::absolute, 0, "/x.h"}.resolve(folders) == "/x.h");
}
