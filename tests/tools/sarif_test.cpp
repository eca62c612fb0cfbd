// SARIF 2.1.0: what the standard's schema requires of the members that lode writes.
#include "tools/lode/sarif.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

namespace {

using lode::tool::EmulationReport;
using lode::tool::Json;
using lode::tool::sarif_of;

const std::string race_line =
    R"({"kind": "finding", "pid": 7, "program": "p", "kernel": "k", "text": "a race\n  thread: 1\n  cure: wait", )"
    R"("check": "race", "thread": [1, 0, 0], "block": [0, 2, 0], "ptx_line": 40, )"
    R"("stack": [{"file": "/src/a b.cu", "line": 12}, {"file": "/src/main.cu", "line": 3}], )"
    R"("earlier": [{"file": "/other/c.cuh", "line": 5}, {"file": "/src/main.cu", "line": 4}]})"
    "\n";

/// sarifLog, run, result, location and their parts: required members, types and ranges.
void check_location(const Json& location) {
    const Json& physical = location.at("physicalLocation");  // GitHub insists on it.
    const Json& artifact = physical.at("artifactLocation");
    REQUIRE(artifact.at("uri").is_string());
    const std::string uri = artifact["uri"];
    CHECK(uri.find(' ') == std::string::npos);
    if (artifact.contains("uriBaseId")) CHECK(uri.front() != '/');
    if (physical.contains("region")) CHECK(physical["region"].at("startLine").get<int>() >= 1);
}

void check_structure(const Json& sarif) {
    CHECK(sarif.at("version") == "2.1.0");
    CHECK(sarif.at("$schema").get<std::string>().ends_with("sarif-schema-2.1.0.json"));
    REQUIRE(sarif.at("runs").is_array());
    for (const Json& run : sarif["runs"]) {
        const Json& driver = run.at("tool").at("driver");
        CHECK(!driver.at("name").get<std::string>().empty());
        std::set<std::string> ids;
        for (const Json& rule : driver.at("rules")) {
            CHECK(ids.insert(rule.at("id").get<std::string>()).second);
            const std::string brief = rule.at("shortDescription").at("text");
            const std::string full = rule.at("fullDescription").at("text");
            CHECK(full.starts_with(brief + " "));
            CHECK(rule.at("help").at("text").get<std::string>().ends_with("."));
        }
        const std::string base = run.at("originalUriBaseIds").at("SRCROOT").at("uri");
        CHECK(base.starts_with("file:///"));
        CHECK(base.ends_with("/"));
        const std::string unit = run.at("columnKind");
        CHECK((unit == "unicodeCodePoints" || unit == "utf16CodeUnits"));
        REQUIRE(run.at("results").is_array());
        for (const Json& result : run["results"]) {
            const auto index = result.at("ruleIndex").get<std::size_t>();
            REQUIRE(index < driver["rules"].size());
            CHECK(driver["rules"][index]["id"] == result.at("ruleId"));
            const std::string level = result.at("level");
            CHECK((level == "error" || level == "note"));
            CHECK(!result.at("message").at("text").get<std::string>().empty());
            REQUIRE(result.at("locations").size() == 1);
            for (const Json& location : result["locations"])
                check_location(location);
            CHECK(result.at("occurrenceCount").get<int>() >= 1);
            if (!result.contains("relatedLocations")) continue;
            std::set<int> numbers;
            for (const Json& location : result["relatedLocations"]) {
                CHECK(numbers.insert(location.at("id").get<int>()).second);
                CHECK(location.at("message").at("text").is_string());
                check_location(location);
            }
        }
    }
}

}  // namespace

TEST_CASE("sarif: a race has its line, the earlier access and the calls") {
    const Json sarif = sarif_of(EmulationReport::read(race_line), "1.2.3", "/src");
    check_structure(sarif);
    CHECK(sarif["runs"][0]["tool"]["driver"]["version"] == "1.2.3");
    REQUIRE(sarif["runs"][0]["results"].size() == 1);
    const Json& result = sarif["runs"][0]["results"][0];
    CHECK(result["ruleId"] == "race");
    CHECK(result["level"] == "error");
    CHECK(result["message"]["text"] == "a race");
    REQUIRE(result["locations"].size() == 1);
    const Json& at = result["locations"][0];
    CHECK(at["physicalLocation"]["artifactLocation"] ==
          Json{{"uri", "a%20b.cu"}, {"uriBaseId", "SRCROOT"}});
    CHECK(at["physicalLocation"]["region"]["startLine"] == 12);
    CHECK(at["logicalLocations"][0]["name"] == "k");
    const Json& related = result["relatedLocations"];
    REQUIRE(related.size() == 3);
    CHECK(related[0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///other/c.cuh");
    CHECK(related[0]["message"]["text"] == "The earlier access.");
    CHECK(related[1]["physicalLocation"]["region"]["startLine"] == 4);
    CHECK(related[2]["physicalLocation"]["region"]["startLine"] == 3);
    CHECK(result["properties"]["details"] == Json{"thread: 1", "cure: wait"});
    CHECK(result["properties"]["thread"] == Json{1, 0, 0});
    CHECK(result["properties"]["ptxLine"] == 40);
}

TEST_CASE("sarif: faults, benign races and damaged lines are results, processes aren't") {
    const Json sarif = sarif_of(
        EmulationReport::read(
            "{\"kind\": \"process\", \"pid\": 1, \"program\": \"p\", \"kernel\": \"\", \"text\": "
            "\"sm_90\"}\n{\"kind\": \"fault\", \"pid\": 1, \"program\": \"p\", \"kernel\": \"k\", "
            "\"text\": \"f\", \"check\": \"fault\", \"thread\": [0, 0, 0], \"block\": [0, 0, 0], "
            "\"ptx_line\": 3, \"stack\": []}\n{\"kind\": \"benign\", \"pid\": 1, \"program\": "
            "\"p\", \"kernel\": \"k\", \"text\": \"b\", \"check\": \"benign-race\"}\nrubbish\n"),
        "1", "/src");
    check_structure(sarif);
    const Json& results = sarif["runs"][0]["results"];
    REQUIRE(results.size() == 3);
    CHECK(results[0]["ruleId"] == "fault");
    const Json& without_lines = results[0]["locations"][0]["physicalLocation"];
    CHECK(without_lines["artifactLocation"]["uri"] == "k.ptx");
    CHECK(without_lines["region"]["startLine"] == 3);
    CHECK(results[1]["ruleId"] == "finding");
    CHECK(results[1]["message"]["text"] == "rubbish");
    CHECK(results[2]["ruleId"] == "benign-race");
    CHECK(results[2]["level"] == "note");
}

TEST_CASE("sarif: without findings the list is empty") {
    const Json sarif = sarif_of({}, "1", "/src");
    check_structure(sarif);
    CHECK(sarif["runs"][0]["results"].empty());
}
