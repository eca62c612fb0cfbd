// The load side of the arch ladder: chooses an image, and one of its forms.
#include "jit/target_rules.hpp"

#include <lode/jit/target.hpp>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// Best first.
enum class Rung : std::uint8_t { exact, family, own, lower, driver_jit, linked, doubtful };

std::string_view reason_for(Rung rung) noexcept {
    switch (rung) {
        case Rung::exact:
            return "it is built for this very device, with every feature";
        case Rung::family:
            return "it is built for the device's family";
        case Rung::own:
            return "it is the device's own architecture";
        case Rung::lower:
            return "it is the newest machine code that runs on the device";
        case Rung::driver_jit:
            return "it is the newest PTX not above the device";
        case Rung::linked:
            return "nvJitLink makes machine code of the PTX that the driver refuses";
        case Rung::doubtful:
            return "nothing better is left; it may fail to load";
    }
    return "";
}

/// One form of one image that the device accepts.
struct Eligible {
    std::size_t step;  ///< Its index in the steps of the decision.
    std::size_t index;
    Rung rung;
    CodeRoute route;
    Arch arch;

    /// Ascending order is best first.
    [[nodiscard]] auto key() const {
        const int suffix = arch.suffix() == ArchSuffix::specific ? 0
                           : arch.suffix() == ArchSuffix::family ? 1
                                                                 : 2;
        return std::tuple(rung, suffix, -arch.cc().number(), index);
    }
};

class Choosing {
public:
    Choosing(ComputeCapability device, ToolProperties tools)
        : device_(device), tools_(std::move(tools)) {}

    void offer(std::size_t index, const ImageProperties& image) {
        if (!image.has_cubin && !image.has_ptx) {
            refuse(image.name, "it holds neither machine code nor PTX");
            return;
        }
        if (image.has_cubin) offer_cubin(index, image);
        if (image.has_ptx) offer_ptx(index, image);
    }

    Result<ImageChoice> finish() {
        if (eligible_.empty()) return failure();
        const auto best = std::ranges::min_element(eligible_, {}, &Eligible::key);
        for (const auto& other : eligible_) {
            auto& step = steps_[other.step];
            step.taken = &other == &*best;
            step.reason = step.taken ? std::string(reason_for(best->rung))
                                     : fmt::format("it would work, but {} is the better match",
                                                   steps_[best->step].rung);
        }
        return ImageChoice{best->index, best->route, std::move(steps_)};
    }

private:
    void refuse(std::string rung, std::string reason) {
        steps_.push_back({std::move(rung), false, std::move(reason)});
    }
    void accept(std::size_t index, std::string name, Rung rung, CodeRoute route, Arch arch) {
        eligible_.push_back({steps_.size(), index, rung, route, arch});
        steps_.push_back({std::move(name), false, {}});
    }

    void offer_cubin(std::size_t index, const ImageProperties& image) {
        const Arch arch = image.arch.as_real();
        const std::string name = fmt::format("{} ({})", arch.to_string(), image.name);
        if (auto why = target_rules::refuses_device(arch, device_)) {
            refuse(name, *std::move(why));
        } else if (tools_.force_ptx) {
            refuse(name, "LODE_FORCE_PTX asks for PTX");
        } else if (auto driver = target_rules::refuses_cubin(image.toolkit_version, tools_)) {
            refuse(name, *std::move(driver));
        } else {
            accept(index, name, rung_of(arch), CodeRoute::machine_code, arch);
        }
    }

    [[nodiscard]] Rung rung_of(const Arch& arch) const {
        if (arch.suffix() == ArchSuffix::specific) return Rung::exact;
        if (arch.suffix() == ArchSuffix::family) return Rung::family;
        if (arch.cc() == device_) return Rung::own;
        return target_rules::is_doubtful(arch, device_) ? Rung::doubtful : Rung::lower;
    }

    void offer_ptx(std::size_t index, const ImageProperties& image) {
        const Arch arch = image.arch.as_virtual();
        const std::string name = fmt::format("PTX {} ({})", arch.to_string(), image.name);
        if (auto why = target_rules::refuses_device(arch, device_)) {
            refuse(name, *std::move(why));
            return;
        }
        const int needs = cuda_version_of_ptx(image.ptx_version);
        const auto why = target_rules::refuses_ptx(needs, tools_);
        if (!why) {
            accept(index, name, Rung::driver_jit, CodeRoute::driver_jit, arch);
            return;
        }
        refuse(name, *why);
        ptx_refused_ = true;
        newest_need_ = std::max(newest_need_, needs);
        const std::string linked = name + " through nvJitLink";
        if (auto linker = target_rules::refuses_link(needs, device_, tools_)) {
            refuse(linked, *std::move(linker));
        } else {
            accept(index, linked, Rung::linked, CodeRoute::linked, arch);
        }
    }

    tl::unexpected<Error> failure() {
        const std::string cure = ptx_refused_ && tools_.driver_version != 0
                                     ? target_rules::cure_for_ptx(newest_need_, tools_)
                                     : fmt::format(
                                           "Add code for sm_{}, or PTX not above "
                                           "compute_{}.",
                                           device_.number(), device_.number());
        return fail(
            Errc::unsupported_arch,
            fmt::format("None of the code offered runs on a device of compute capability {} "
                        "with {}. {}\n{}",
                        device_.to_string(), target_rules::driver_text(tools_), cure,
                        describe(steps_)));
    }

    ComputeCapability device_;
    ToolProperties tools_;
    std::vector<TargetStep> steps_;
    std::vector<Eligible> eligible_;
    bool ptx_refused_ = false;  ///< By the driver.
    int newest_need_ = 0;       ///< The CUDA release of the newest refused PTX.
};

/// The version in "NVRTC 13.0.88" as 13000; 0 if the text has none.
int toolkit_version_of(std::string_view compiler) {
    const auto digits = compiler.find_first_of("0123456789");
    if (digits == std::string_view::npos) return 0;
    const char* const end = compiler.data() + compiler.size();
    int version_major = 0;
    int version_minor = 0;
    const auto [dot, problem] = std::from_chars(compiler.data() + digits, end, version_major);
    if (problem != std::errc{} || dot == end || *dot != '.') return 0;
    if (std::from_chars(dot + 1, end, version_minor).ec != std::errc{}) return 0;
    return version_major * 1000 + version_minor * 10;
}

}  // namespace

ImageProperties ImageProperties::of(const Image& image) {
    return {.name = image.name,
            .arch = image.arch,
            .has_cubin = !image.cubin.empty(),
            .has_ptx = !image.ptx.empty(),
            .ptx_version = ptx_version_of(image.ptx).value_or(PtxVersion{}),
            .toolkit_version = toolkit_version_of(image.compiler)};
}

std::string ImageChoice::describe() const {
    return lode::describe(steps);
}

Result<ImageChoice> choose_image(ComputeCapability device, std::span<const ImageProperties> images,
                                 const ToolProperties& tools) {
    if (images.empty()) return fail(Errc::invalid_argument, "There is no image to choose from.");
    Choosing choosing(device, tools);
    for (std::size_t i = 0; i < images.size(); ++i)
        choosing.offer(i, images[i]);
    return choosing.finish();
}

}  // namespace LODE_NAMESPACE
