// Random textures and places in them, the same on every machine.
#pragma once

#include <lode/lode.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lode::test {

/// The bits of the four components at each place.
using Texels = std::vector<std::array<std::uint32_t, 4>>;

enum class TexelType : std::uint8_t { u8, s8, u16, s16, half, f32, u32, s32 };
enum class TextureShape : std::uint8_t {
    line,
    plane,
    volume,
    line_layers,
    plane_layers,
    cube,
    cube_layers
};
enum class TextureCall : std::uint8_t { fetch, level, slopes, gather };

/// Where a kernel reads; the layout is the kernel's too.
struct TexturePlace {
    float x = 0, y = 0, z = 0;
    std::int32_t layer = 0;
    float level = 0;
    std::array<float, 3> dx{};
    std::array<float, 3> dy{};
};

struct TextureCase {
    static constexpr std::size_t places_count = 128;

    explicit TextureCase(std::uint64_t number);
    /// What kind of case it is, for counts.
    [[nodiscard]] std::string category() const;
    [[nodiscard]] std::string to_string() const;

    std::uint64_t number;
    TexelType type = TexelType::f32;
    unsigned channels = 1;
    TextureShape shape = TextureShape::line;
    ArrayExtent extent;
    unsigned levels = 1;
    TextureCall call = TextureCall::fetch;
    unsigned component = 0;  ///< The component that a gather reads.
    TextureOptions options;
    std::vector<std::uint8_t> bytes;  ///< Bytes of all levels.
    std::vector<TexturePlace> places;
};

/// Reads cases on a device.
class TextureReader {
public:
    explicit TextureReader(Device device) : device_(std::move(device)) {}
    [[nodiscard]] Texels read(const TextureCase& one);

private:
    using ReadKernel =
        Kernel<void(unsigned long long, const TexturePlace*, std::array<std::uint32_t, 4>*)>;
    template <class T>
    [[nodiscard]] Texels read_as(const TextureCase& one);
    [[nodiscard]] Texels run(const TextureCase& one, const Texture& texture);

    Device device_;
    std::map<std::string, ReadKernel> kernels_;
};

}  // namespace lode::test
