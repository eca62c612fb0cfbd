#include <lode/jit/target.hpp>

#include <doctest/doctest.h>

using lode::Arch;
using lode::choose_image;
using lode::CodeRoute;
using lode::ComputeCapability;
using lode::ImageProperties;
using lode::PtxVersion;
using lode::ToolProperties;

namespace {

ImageProperties cubin(const char* arch, int toolkit = 0) {
    return {
        .name = arch, .arch = *Arch::parse(arch), .has_cubin = true, .toolkit_version = toolkit};
}

ImageProperties ptx(const char* arch, PtxVersion version = {8, 0}) {
    return {.name = arch, .arch = *Arch::parse(arch), .has_ptx = true, .ptx_version = version};
}

/// Returns "sm_80", "PTX compute_90", "PTX compute_90 linked" or "refused".
std::string decide(ComputeCapability device, const std::vector<ImageProperties>& images,
                   const ToolProperties& tools = {}) {
    const auto choice = choose_image(device, images, tools);
    if (!choice) return "refused";
    const auto& arch = images[choice->index].arch;
    switch (choice->route) {
        case CodeRoute::machine_code:
            return arch.as_real().to_string();
        case CodeRoute::driver_jit:
            return "PTX " + arch.as_virtual().to_string();
        case CodeRoute::linked:
            return "PTX " + arch.as_virtual().to_string() + " linked";
    }
    return {};
}

}  // namespace

TEST_CASE("image choice: the guides' example {sm_75, sm_80, sm_90a, sm_90+PTX}") {
    auto with_ptx = cubin("sm_90");
    with_ptx.has_ptx = true;
    with_ptx.ptx_version = {8, 0};
    const std::vector<ImageProperties> images{cubin("sm_75"), cubin("sm_80"), cubin("sm_90a"),
                                              with_ptx};
    struct Row {
        ComputeCapability device;
        const char* chosen;
    };
    constexpr Row rows[] = {
        {{7, 0}, "refused"},         {{7, 5}, "sm_75"},           {{8, 0}, "sm_80"},
        {{8, 6}, "sm_80"},           {{8, 7}, "refused"},         {{8, 8}, "sm_80"},
        {{8, 9}, "sm_80"},           {{9, 0}, "sm_90a"},          {{10, 0}, "PTX compute_90"},
        {{10, 1}, "PTX compute_90"}, {{10, 3}, "PTX compute_90"}, {{11, 0}, "PTX compute_90"},
        {{12, 0}, "PTX compute_90"}, {{12, 1}, "PTX compute_90"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.device.to_string());
        CHECK(decide(row.device, images) == row.chosen);
        CHECK(decide(row.device, images, {.driver_version = 13000}) == row.chosen);
    }
}

TEST_CASE("image choice: the rungs come in order, whatever the order of the images") {
    std::vector<ImageProperties> images{ptx("compute_100"), ptx("compute_90"), cubin("sm_100"),
                                        cubin("sm_103"),    cubin("sm_100f"),  cubin("sm_103f"),
                                        cubin("sm_103a")};
    constexpr const char* order[] = {"sm_103a", "sm_103f",         "sm_100f",       "sm_103",
                                     "sm_100",  "PTX compute_100", "PTX compute_90"};
    for (const char* expected : order) {
        CHECK(decide({10, 3}, images) == expected);
        const auto choice = choose_image({10, 3}, images);
        REQUIRE(choice);
        images.erase(images.begin() + static_cast<std::ptrdiff_t>(choice->index));
    }
    CHECK(images.empty());
}

TEST_CASE("image choice: equal rungs go to the earlier image") {
    const std::vector<ImageProperties> images{cubin("sm_80"), cubin("sm_80")};
    CHECK(choose_image({8, 0}, images)->index == 0);
}

TEST_CASE("image choice: LODE_FORCE_PTX takes PTX even if machine code would do") {
    auto both = cubin("sm_90a");
    both.has_ptx = true;
    CHECK(decide({9, 0}, {both}) == "sm_90a");
    CHECK(decide({9, 0}, {both}, {.force_ptx = true}) == "PTX compute_90a");
    CHECK(decide({9, 0}, {cubin("sm_90")}, {.force_ptx = true}) == "refused");
}

TEST_CASE("image choice: the 0-byte cubin of a virtual target isn't machine code") {
    const ImageProperties empty{.name = "empty", .arch = *Arch::parse("compute_90")};
    const auto choice = choose_image({9, 0}, std::vector{empty});
    REQUIRE_FALSE(choice);
    CHECK(choice.error().message.find("neither machine code nor PTX") != std::string::npos);
}

TEST_CASE("image choice: a driver older than the PTX") {
    const std::vector<ImageProperties> images{ptx("compute_80", {8, 8})};
    CHECK(decide({9, 0}, images, {.driver_version = 12090}) == "PTX compute_80");
    CHECK(decide({9, 0}, images, {.driver_version = 12040}) == "refused");
    CHECK(decide({9, 0}, images, {.driver_version = 12040, .linker_version = 12090}) ==
          "PTX compute_80 linked");
    CHECK(decide({9, 0}, images, {.driver_version = 12040, .linker_version = 13000}) == "refused");

    const auto choice = choose_image({9, 0}, images, {.driver_version = 12040});
    const auto& message = choice.error().message;
    CAPTURE(message);
    for (const char* part : {"driver of CUDA 12.4", "capability 9.0", "CUDA 12.9",
                             "libnvJitLink.so.12", "PTX compute_80"})
        CHECK(message.find(part) != std::string::npos);
}

TEST_CASE("image choice: older PTX is taken when the driver refuses the newer") {
    const std::vector<ImageProperties> images{ptx("compute_90", {9, 0}), ptx("compute_80", {8, 0})};
    CHECK(decide({9, 0}, images, {.driver_version = 13000}) == "PTX compute_90");
    CHECK(decide({9, 0}, images, {.driver_version = 12080}) == "PTX compute_80");
}

TEST_CASE("image choice: machine code of a newer major toolkit is refused") {
    CHECK(decide({9, 0}, {cubin("sm_90", 13000)}, {.driver_version = 12090}) == "refused");
    CHECK(decide({9, 0}, {cubin("sm_90", 12090)}, {.driver_version = 12000}) == "sm_90");
    CHECK(decide({9, 0}, {cubin("sm_90", 12090)}, {.driver_version = 13000}) == "sm_90");
}

TEST_CASE("image choice: plain sm_120 on 12.1 comes after PTX") {
    CHECK(decide({12, 1}, {cubin("sm_120"), ptx("compute_90")}) == "PTX compute_90");
    CHECK(decide({12, 1}, {cubin("sm_120")}) == "sm_120");
    CHECK(decide({12, 1}, {cubin("sm_120"), cubin("sm_120f")}) == "sm_120f");
}

TEST_CASE("image choice: the properties are read from an image") {
    lode::Image image;
    image.name = "scale.cu";
    image.arch = *Arch::parse("sm_90a");
    image.cubin.resize(1);
    image.ptx = ".version 8.4\n.target sm_90a\n";
    image.compiler = "NVRTC 12.4.131";
    const auto properties = ImageProperties::of(image);
    CHECK(properties.name == "scale.cu");
    CHECK(properties.has_cubin);
    CHECK(properties.has_ptx);
    CHECK(properties.ptx_version == PtxVersion{8, 4});
    CHECK(properties.toolkit_version == 12040);
    image.compiler.clear();
    CHECK(ImageProperties::of(image).toolkit_version == 0);
}

TEST_CASE("image choice: no image at all is an argument error") {
    const auto choice = choose_image({9, 0}, {});
    REQUIRE_FALSE(choice);
    CHECK(choice.error().code == lode::Errc::invalid_argument);
}

TEST_CASE("image choice: the error about 1,500 images that don't run lists some of them") {
    const std::vector<ImageProperties> images(1500, cubin("sm_75"));
    const auto choice = choose_image({9, 0}, images, {});
    REQUIRE_FALSE(choice);
    CHECK(choice.error().message.ends_with("\n  1,468 more"));
    CHECK(choice.error().message.size() < 6000);
}
