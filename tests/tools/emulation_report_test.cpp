#include "tools/lode/emulation_report.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using lode::tool::EmulationReport;

std::string event_line(const std::string& kind, int pid, const std::string& text) {
    return R"({"kind": ")" + kind + R"(", "pid": )" + std::to_string(pid) +
           R"(, "program": "p", "kernel": "k", "text": ")" + text + "\"}\n";
}

}  // namespace

TEST_CASE("emulation report: equal reports of a process are one, with a count") {
    const auto report =
        EmulationReport::read(event_line("process", 1, "sm_90") +
                              event_line("process", 2, "sm_90") + event_line("finding", 1, "a") +
                              event_line("finding", 1, "a") + event_line("finding", 2, "a") +
                              event_line("fault", 1, "b\\n  c") + event_line("refusal", 1, "r"));
    CHECK(report.has_failures());
    REQUIRE(report.findings.size() == 3);
    CHECK(report.findings[0].count == 2);
    CHECK(report.findings[2].kind == "fault");
    CHECK(report.text() ==
          "lode: The software device has refused 1 thing:\n  r\n    process: p (1)\n"
          "lode: 3 findings in 2 processes:\n  a\n    process: p (1)\n    count: 2 times\n"
          "  a\n    process: p (2)\n  b\n    c\n    process: p (1)\n");
    const auto json = report.json();
    CHECK(json["processes"].size() == 2);
    CHECK(json["findings"][0]["count"] == 2);
    CHECK(json["findings"][0]["kernel"] == "k");
    CHECK(json["refusals"][0]["text"] == "r");
}

TEST_CASE("emulation report: findings of one headline and place are one, whatever their facts") {
    const auto line = [](const std::string& facts, int count, int source_line) {
        return R"({"kind": "finding", "pid": 1, "program": "p", "kernel": "k", "text": "h\n  )" +
               facts + R"(", "check": "race", "count": )" + std::to_string(count) +
               R"(, "ptx_line": 9, "stack": [{"file": "a.cu", "line": )" +
               std::to_string(source_line) + "}]}\n";
    };
    const auto report =
        EmulationReport::read(event_line("process", 1, "sm_90") + line("thread: 1", 1, 3) +
                              line("thread: 2", 7, 3) + line("thread: 3", 1, 4));
    REQUIRE(report.findings.size() == 2);
    CHECK(report.findings[0].count == 8);
    CHECK(report.findings[0].headline() == "h");
    CHECK(report.findings[0].facts() == std::vector<std::string>{"thread: 1"});
    CHECK(report.text().find("lines") == std::string::npos);
}

TEST_CASE("emulation report: findings without source lines are told once how to get them") {
    const std::string line =
        R"({"kind": "fault", "pid": 1, "program": "p", "kernel": "k", "text": "PTX line 4: k ends",)"
        R"( "check": "fault", "ptx_line": 4, "stack": []})"
        "\n";
    const auto report = EmulationReport::read(event_line("process", 1, "sm_90") + line +
                                              event_line("fault", 1, "other"));
    const std::string text = report.text();
    const std::string hint =
        "  For source lines, compile with --line-info (lode) or -lineinfo (nvcc, NVRTC).\n";
    CHECK(text.ends_with(hint));
    CHECK(text.find(hint) == text.rfind(hint));
}

TEST_CASE("emulation report: launches by kernels are counted over all processes") {
    const auto report =
        EmulationReport::read(event_line("process", 1, "sm_90") + event_line("children", 1, "40") +
                              event_line("process", 2, "sm_90") + event_line("children", 2, "2"));
    CHECK(report.text() ==
          "lode: Kernels have launched 42 kernels.\nlode: No findings in 2 processes.\n");
    CHECK(report.json()["child_launches"] == 42);
}

TEST_CASE("emulation report: a damaged line counts as a finding") {
    for (const std::string line :
         {"rubbish", "{\"kind\": \"process\"}", "[1]", "{\"kind\": \"finding\", \"pid\": \"x\"}"}) {
        CAPTURE(line);
        const auto report = EmulationReport::read(line);
        REQUIRE(report.findings.size() == 1);
        CHECK(report.findings[0].text == line);
        CHECK(report.text().find(line) != std::string::npos);
    }
    CHECK_FALSE(EmulationReport::read("").has_failures());
}

TEST_CASE("emulation report: what the device can't run is a failure, and not also a refusal") {
    const auto report =
        EmulationReport::read(event_line("refusal", 1, "why") + event_line("unusable", 1, "why") +
                              event_line("process", 1, "sm_90"));
    CHECK(report.has_failures());
    CHECK(report.findings.empty());
    CHECK(report.refusals.empty());
    CHECK(report.text() ==
          "lode: The software device can't run 1 thing:\n  why\n    process: p (1)\n");
    CHECK(report.json()["unusable"][0]["text"] == "why");
}

TEST_CASE("emulation report: a long list is cut in the text only") {
    std::string journal = event_line("process", 1, "sm_90");
    for (int i = 0; i < 60; ++i)
        journal += event_line("finding", 1, "f" + std::to_string(i));
    const auto report = EmulationReport::read(journal);
    CHECK(report.text().find("  and 10 more; --json=FILE lists all.\n") != std::string::npos);
    CHECK(report.json()["findings"].size() == 60);
}
