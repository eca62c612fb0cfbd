// Images: what textures and surfaces read and write, and the table of their handles.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace lode::emulator {

/// The format of one component of a texel.
enum class Component : std::uint8_t { uint8, uint16, uint32, int8, int16, int32, half, single };

[[nodiscard]] std::uint32_t bytes_of(Component component) noexcept;

enum class ImageShape : std::uint8_t {
    line,
    plane,
    volume,
    line_layers,
    plane_layers,
    cube,         ///< Six square layers.
    cube_layers,  ///< Six layers for each cube.
    buffer,       ///< Linear memory, which is read by whole coordinates only.
};

/// One level of an image: rows of texels in slices, which are the layers of a layered image.
struct ImageLevel {
    std::uint64_t address = 0;
    std::uint64_t pitch = 0;  ///< Bytes from row to row.
    std::uint64_t slice = 0;  ///< Bytes from slice to slice.
    std::uint32_t width = 1;  ///< Sizes are in texels, and at least 1.
    std::uint32_t height = 1;
    std::uint32_t depth = 1;
};

struct Sampler {
    enum class Edge : std::uint8_t { wrap, clamp, mirror, border };
    std::array<Edge, 3> edges{Edge::clamp, Edge::clamp, Edge::clamp};
    bool linear = false;         ///< Between texels.
    bool linear_levels = false;  ///< Between levels.
    bool normalised = false;     ///< Coordinates from 0 to 1.
    bool integers = false;       ///< Integer texels stay integers.
    bool srgb = false;
    float bias = 0;
    float least_level = 0;
    float most_level = 0;
    std::array<float, 4> border{};
};

/// The object of a handle.
struct Image {
    ImageShape shape = ImageShape::plane;
    Component component = Component::single;
    std::uint32_t channels = 1;
    bool is_surface = false;
    std::vector<ImageLevel> levels;  ///< At least one; a surface has exactly one.
    Sampler sampler;                 ///< The sampler of a texture.

    [[nodiscard]] std::uint32_t texel_bytes() const noexcept {
        return bytes_of(component) * channels;
    }
};

/// The images of the process by handle: a handle is never used for a second object, so all machines
/// share one table. Thread-safe.
class Images {
public:
    static Images& all();

    void add(std::uint64_t handle, std::shared_ptr<const Image> image);
    void remove(std::uint64_t handle) noexcept;
    /// nullptr if there is no such image.
    [[nodiscard]] std::shared_ptr<const Image> find(std::uint64_t handle) const;

private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<std::uint64_t, std::shared_ptr<const Image>> images_;
};

}  // namespace lode::emulator
