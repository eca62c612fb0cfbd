#include "base/try.hpp"
#include "runtime/state/device_state.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/image_file.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/load_file.hpp>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE {

Result<Library> load_file(const Device& device, const std::filesystem::path& path,
                          const LoadOptions& options) {
    const auto& state = device.state();
    LODE_TRY_ASSIGN(std::vector<Image> images, images_of_file(path));
    // The software device runs only PTX. Without any, Device::load() says why it refuses the rest.
    const auto has_ptx = [](const Image& image) { return !image.ptx.empty(); };
    if (state->driver->is_emulator() && std::ranges::any_of(images, has_ptx))
        std::erase_if(images, std::not_fn(has_ptx));
    std::size_t index = 0;
    if (images.size() > 1) {
        LODE_TRY_ASSIGN(const bool force_ptx, environment_flag("LODE_FORCE_PTX"));
        std::vector<ImageProperties> properties;
        for (const Image& image : images)
            properties.push_back(ImageProperties::of(image));
        LODE_TRY_ASSIGN(
            const ImageChoice choice,
            choose_image(state->properties.cc, properties,
                         {.driver_version = state->driver->version, .force_ptx = force_ptx}));
        index = choice.index;
    }
    return device.load(std::move(images[index]), options);
}

}  // namespace LODE_NAMESPACE
