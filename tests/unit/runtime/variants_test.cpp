#include <lode/runtime/variants.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <doctest/doctest.h>

using lode::Arch;
using lode::check_family;
using lode::Errc;
using lode::forced_row;
using lode::KernelFamily;
using lode::LaunchShape;
using lode::Problem;
using lode::select;
using lode::VariantDeviceProperties;
using lode::VariantRow;

namespace {

constexpr lode::EmbeddedFile files[] = {{"sum.cu", "code"}};

VariantRow make_row(const char* name, const char* arch) {
    VariantRow row;
    row.name = name;
    row.source = "sum.cu";
    row.kernel = "sum";
    row.needs.arch = *Arch::parse(arch);
    row.shape = [](const Problem& problem, const VariantDeviceProperties&) {
        return lode::cover(problem.x);
    };
    return row;
}

/// Six rows with different requirements.
KernelFamily make_family() {
    KernelFamily family{"sum", {}, files};
    family.rows = {make_row("blackwell", "sm_100a"), make_row("wgmma", "sm_90a"),
                   make_row("cluster", "sm_90"),     make_row("stages", "sm_80"),
                   make_row("aligned", "sm_75"),     make_row("portable", "sm_75")};
    family.rows[0].caveat = "it has only been compiled";
    family.rows[1].needs.tensor_maps = true;
    family.rows[2].needs.cluster_launch = true;
    family.rows[3].needs.shared_bytes_per_block = 100000;
    family.rows[4].refuses = [](const Problem& problem) -> std::optional<std::string> {
        if (problem.x % 4 == 0) return std::nullopt;
        return "the size isn't a multiple of 4";
    };
    return family;
}

VariantDeviceProperties properties_of(int number) {
    VariantDeviceProperties properties;
    properties.cc = lode::ComputeCapability::from_number(number);
    properties.shared_bytes_per_block = number == 75 ? 65536 : 101376;
    properties.max_threads_per_block = 1024;
    properties.cluster_launch = number >= 90;
    properties.tensor_maps = number >= 90;
    return properties;
}

}  // namespace

TEST_CASE("embedded files: one is a source with its code and name") {
    const lode::Source cuda = files[0].source();
    CHECK(cuda == lode::Source::text("code", "sum.cu"));
    CHECK(cuda.language() == lode::Source::Language::cuda);
    CHECK(lode::EmbeddedFile{"sum.ptx", "ptx"}.source() == lode::Source::ptx("ptx", "sum.ptx"));
}

TEST_CASE("variants: each device gets its best row") {
    const auto family = make_family();
    REQUIRE(check_family(family));
    struct Row {
        int device;
        const char* chosen;
    };
    constexpr Row rows[] = {{75, "aligned"}, {80, "stages"},   {86, "stages"},   {89, "stages"},
                            {90, "wgmma"},   {100, "cluster"}, {103, "cluster"}, {120, "cluster"}};
    for (const auto& row : rows) {
        CAPTURE(row.device);
        const auto choice = select(family, properties_of(row.device));
        REQUIRE(choice);
        CHECK(family.rows[choice->row].name == row.chosen);
        CHECK(choice->steps.back().taken);
        CHECK(choice->steps.size() == choice->row + 1);
    }
}

TEST_CASE("variants: every unmet need gives its own reason") {
    const auto family = make_family();
    auto properties = properties_of(90);
    properties.tensor_maps = false;
    properties.cluster_launch = false;
    properties.shared_bytes_per_block = 1000;
    const auto choice = select(family, properties, {.problem = Problem{5}});
    REQUIRE(choice);
    CHECK(family.rows[choice->row].name == "portable");
    const auto text = choice->describe();
    CAPTURE(text);
    for (const char* part : {"exactly 10.0", "tensor maps", "cluster launches",
                             "100000 bytes of shared memory per block, but the device has 1000",
                             "multiple of 4", "takes portable"}) {
        CAPTURE(part);
        CHECK(text.find(part) != std::string::npos);
    }
}

TEST_CASE("variants: threads and cooperative launches are needs too") {
    auto row = make_row("big", "sm_75");
    row.needs.threads_per_block = 2048;
    CHECK(lode::refusal_of(row, properties_of(90))->find("2048 threads") != std::string::npos);
    row.needs.threads_per_block = 0;
    row.needs.cooperative_launch = true;
    CHECK(lode::refusal_of(row, properties_of(90))->find("cooperative launches") !=
          std::string::npos);
}

TEST_CASE("variants: a forced row is taken even with a caveat, or refused with the reason") {
    const auto family = make_family();
    const auto forced = select(family, properties_of(90), {.forced = "portable"});
    REQUIRE(forced);
    CHECK(family.rows[forced->row].name == "portable");
    CHECK(family.rows[select(family, properties_of(100), {.forced = "blackwell"})->row].name ==
          "blackwell");

    const auto impossible = select(family, properties_of(80), {.forced = "wgmma"});
    REQUIRE_FALSE(impossible);
    CHECK(impossible.error().code == Errc::not_supported);
    CHECK(impossible.error().message.find("exactly 9.0") != std::string::npos);

    const auto unknown = select(family, properties_of(80), {.forced = "wgma"});
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code == Errc::not_found);
    CHECK(unknown.error().message.find("blackwell, wgmma, cluster, stages, aligned, portable") !=
          std::string::npos);
}

TEST_CASE("variants: a tuned row comes first where it can run") {
    const auto family = make_family();
    const auto tuned = select(family, properties_of(90), {.preferred = "stages"});
    REQUIRE(tuned);
    CHECK(family.rows[tuned->row].name == "stages");
    const auto elsewhere = select(family, properties_of(80), {.preferred = "wgmma"});
    REQUIRE(elsewhere);
    CHECK(family.rows[elsewhere->row].name == "stages");
    CHECK(family.rows[select(family, properties_of(80), {.preferred = "gone"})->row].name ==
          "stages");
}

TEST_CASE("variants: no row at all gives every reason") {
    const auto choice = select(make_family(), properties_of(70));
    REQUIRE_FALSE(choice);
    CHECK(choice.error().code == Errc::unsupported_arch);
    CHECK(choice.error().message.find("7.5 or newer, but the device is 7.0") != std::string::npos);
}

TEST_CASE("variants: eligible rows leave out caveats and refusals") {
    const auto family = make_family();
    CHECK(lode::eligible_rows(family, properties_of(100)) == std::vector<std::size_t>{2, 3, 4, 5});
    CHECK(lode::eligible_rows(family, properties_of(75), Problem{5}) ==
          std::vector<std::size_t>{5});
}

TEST_CASE("variants: neighbours with an estimate come in its order if the problem is known") {
    auto family = make_family();
    const auto cost = [](double start, double each) {
        return [=](const Problem& problem, const VariantDeviceProperties&) {
            return start + each * static_cast<double>(problem.x);
        };
    };
    // On 9.0, wgmma, cluster and stages are neighbours; aligned and portable stay after them.
    family.rows[1].estimate = cost(1000, 1);
    family.rows[2].estimate = cost(100, 2);
    family.rows[3].estimate = cost(10, 4);
    const auto properties = properties_of(90);
    const auto chosen = [&](std::optional<Problem> problem) {
        const auto choice = select(family, properties, {.problem = problem});
        REQUIRE(choice);
        return family.rows[choice->row].name;
    };
    CHECK(chosen(std::nullopt) == "wgmma");
    CHECK(chosen(Problem{10'000}) == "wgmma");
    CHECK(chosen(Problem{100}) == "cluster");
    CHECK(chosen(Problem{1}) == "stages");
    using Rows = std::vector<std::size_t>;
    CHECK(lode::eligible_rows(family, properties) == Rows{1, 2, 3, 4, 5});
    CHECK(lode::eligible_rows(family, properties, Problem{4}) == Rows{3, 2, 1, 4, 5});
    // A row between them ends the neighbourhood.
    family.rows[2].estimate = nullptr;
    CHECK(lode::eligible_rows(family, properties, Problem{4}) == Rows{1, 2, 3, 4, 5});
}

TEST_CASE("variants: the text of LODE_FORCE_VARIANT") {
    CHECK(*forced_row("sum:cluster", "sum") == "cluster");
    CHECK(*forced_row("gemm:wmma,sum:cluster", "sum") == "cluster");
    CHECK(forced_row("gemm:wmma", "sum")->empty());
    CHECK(forced_row("", "sum")->empty());
    for (const char* text : {"cluster", "sum:", ":cluster", "gemm:wmma,,sum:x"}) {
        CAPTURE(text);
        const auto row = forced_row(text, "sum");
        REQUIRE_FALSE(row);
        CHECK(row.error().code == Errc::invalid_argument);
    }
}

TEST_CASE("variants: a broken table is refused with the row's name") {
    const auto expect = [](auto breaking, const char* part) {
        auto family = make_family();
        breaking(family);
        const auto checked = check_family(family);
        REQUIRE_FALSE(checked);
        CAPTURE(checked.error().message);
        CHECK(checked.error().message.find(part) != std::string::npos);
    };
    expect([](auto& f) { f.rows[1].name = "cluster"; }, "the name of an earlier row");
    expect([](auto& f) { f.rows[1].name = "a:b"; }, "no usable name");
    expect([](auto& f) { f.rows[1].shape = nullptr; }, "no launch shape");
    expect([](auto& f) { f.rows[1].source = "gone.cu"; }, "gone.cu");
    expect([](auto& f) { f.rows.pop_back(); }, "isn't portable");
    expect([](auto& f) { f.rows.clear(); }, "at least one row");
}

TEST_CASE("variants: the suffix follows from the need") {
    CHECK(make_row("a", "sm_90a").suffix() == lode::SuffixPolicy::specific);
    CHECK(make_row("f", "sm_100f").suffix() == lode::SuffixPolicy::family);
    CHECK(make_row("n", "sm_80").suffix() == lode::SuffixPolicy::none);
}

TEST_CASE("variants: a row that fails to load is followed by the next that can run") {
    const auto family = make_family();
    std::vector<std::string> tried;
    std::vector<std::string> failed;
    const auto load = [&](const VariantRow& row) -> lode::Status {
        tried.push_back(row.name);
        if (row.name == "portable") return {};
        return lode::fail(Errc::compile_failed, "first line of " + row.name + "\nsecond line");
    };
    const auto on_failure = [&](const VariantRow& row, const lode::Error&) {
        failed.push_back(row.name);
    };
    const auto choice = lode::first_that_loads(family, properties_of(90), {.problem = Problem{5}},
                                               true, load, on_failure);
    REQUIRE(choice);
    CHECK(tried == std::vector<std::string>{"wgmma", "cluster", "stages", "portable"});
    CHECK(failed == std::vector<std::string>{"wgmma", "cluster", "stages"});
    CHECK(choice->describe().find("refuses cluster: it fails to load: first line of cluster\n") !=
          std::string::npos);
    CHECK(choice->steps.back().taken);
}

TEST_CASE("variants: strict mode and a forced row give the error of the row") {
    const auto family = make_family();
    int failures = 0;
    const auto load = [](const VariantRow& row) -> lode::Status {
        return lode::fail(Errc::compile_failed, row.name + " is broken");
    };
    const auto count = [&](const VariantRow&, const lode::Error&) { ++failures; };
    const auto strict = lode::first_that_loads(family, properties_of(90), {}, false, load, count);
    REQUIRE_FALSE(strict);
    CHECK(strict.error().message.find("wgmma is broken") == 0);
    CHECK(strict.error().message.find("family 'sum'") != std::string::npos);
    const auto forced =
        lode::first_that_loads(family, properties_of(90), {.forced = "stages"}, true, load, count);
    REQUIRE_FALSE(forced);
    CHECK(forced.error().message.find("stages is broken") == 0);
    CHECK(failures == 0);

    const auto none = lode::first_that_loads(family, properties_of(90), {}, true, load, count);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == Errc::compile_failed);
    CHECK(none.error().message.find("refuses portable: it fails to load") != std::string::npos);
    CHECK(failures == 5);
}

TEST_CASE("variants: a failed tuned row is followed by the best of the others") {
    const auto family = make_family();
    const auto load = [](const VariantRow& row) -> lode::Status {
        if (row.name != "aligned") return {};
        return lode::fail(Errc::compile_failed, "broken");
    };
    const auto choice = lode::first_that_loads(family, properties_of(90), {.preferred = "aligned"},
                                               true, load, [](const auto&, const auto&) {});
    REQUIRE(choice);
    CHECK(family.rows[choice->row].name == "wgmma");
}

TEST_CASE("variants: assumed properties follow the capability") {
    struct Row {
        int number;
        std::size_t shared_kib;
        bool clusters;
    };
    constexpr Row rows[] = {{75, 64, false}, {80, 163, false}, {86, 99, false},  {87, 163, false},
                            {89, 99, false}, {90, 227, true},  {100, 227, true}, {121, 99, true}};
    for (const auto& row : rows) {
        CAPTURE(row.number);
        const auto properties =
            lode::assumed_device_properties(lode::ComputeCapability::from_number(row.number));
        CHECK(properties.shared_bytes_per_block == row.shared_kib * 1024);
        CHECK(properties.cluster_launch == row.clusters);
        CHECK(properties.tensor_maps == row.clusters);
    }
}
