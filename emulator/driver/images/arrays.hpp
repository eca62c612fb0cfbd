// CUDA arrays, and the texture and surface objects that kernels use.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/memory/images.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace lode::emulator::driver {

class Context;

/// Rows of texels without gaps, in slices. A layer of a layered array, or a face of a cube, is a
/// slice.
class Array : public Handled {
public:
    Array(std::shared_ptr<Context> context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
          ImageShape shape, Component component, ImageLevel level, bool is_level);
    ~Array();

    [[nodiscard]] Context& context() const noexcept { return *context_; }
    [[nodiscard]] const CUDA_ARRAY3D_DESCRIPTOR& descriptor() const noexcept { return descriptor_; }
    [[nodiscard]] ImageShape shape() const noexcept { return shape_; }
    [[nodiscard]] Component component() const noexcept { return component_; }
    [[nodiscard]] const ImageLevel& level() const noexcept { return level_; }
    [[nodiscard]] std::size_t texel_bytes() const noexcept {
        return std::size_t{bytes_of(component_)} * descriptor_.NumChannels;
    }
    [[nodiscard]] std::size_t row_bytes() const noexcept { return level_.width * texel_bytes(); }
    /// Whether it belongs to a mipmapped array, which destroys it.
    [[nodiscard]] bool is_level() const noexcept { return is_level_; }

private:
    std::shared_ptr<Context> context_;
    CUDA_ARRAY3D_DESCRIPTOR descriptor_;
    ImageShape shape_;
    Component component_;
    ImageLevel level_;
    bool is_level_;
};

class MipmappedArray : public Handled {
public:
    explicit MipmappedArray(std::vector<std::shared_ptr<Array>> its_levels)
        : levels(std::move(its_levels)) {}
    [[nodiscard]] Context& context() const noexcept { return levels.front()->context(); }

    const std::vector<std::shared_ptr<Array>> levels;
};

/// A texture or surface object, and the descriptors that created it.
class ImageObject : public Handled {
public:
    ImageObject(std::shared_ptr<Context> context, Image image, const CUDA_RESOURCE_DESC& resource,
                const CUDA_TEXTURE_DESC& texture,
                const std::optional<CUDA_RESOURCE_VIEW_DESC>& view);
    ~ImageObject();
    [[nodiscard]] Context& context() const noexcept { return *context_; }

    const CUDA_RESOURCE_DESC resource;
    const CUDA_TEXTURE_DESC texture;
    const std::optional<CUDA_RESOURCE_VIEW_DESC> view;
    const bool is_surface;

private:
    std::shared_ptr<Context> context_;
};

/// The component of a format; nothing for formats that CUDA programs can't sample as texels.
[[nodiscard]] std::optional<Component> component_of(CUarray_format format) noexcept;

/// Finds an array and the address of a box in it; INVALID_VALUE if the box isn't inside.
struct ArrayBox {
    CUarray array = nullptr;
    std::size_t x = 0, y = 0, z = 0;               ///< x in bytes.
    std::size_t width = 0, height = 1, depth = 1;  ///< Width in bytes.
};
CUresult locate(const ArrayBox& box, ImageLevel& level, std::byte*& at);

/// Destroys what the programs left in a context; calls leak(what) for each object that has no
/// memory of its own.
void end_images(const Context& context, void (*leak)(const Context& context, const char* what));

}  // namespace lode::emulator::driver
