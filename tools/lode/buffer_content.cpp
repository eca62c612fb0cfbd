#include "tools/lode/buffer_content.hpp"

#include "base/file.hpp"
#include "base/try.hpp"

#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): element i depends only on the seed and i.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

template <class T>
T random_number(std::uint64_t seed, std::uint64_t index) {
    const std::uint64_t bits = random_bits(seed, index);
    if constexpr (std::is_floating_point_v<T>) {
        // Uses as many high bits as the significand holds, so the result is exact and less than 1.
        constexpr int digits = std::numeric_limits<T>::digits;
        return static_cast<T>(bits >> (64 - digits)) / static_cast<T>(std::uint64_t{1} << digits);
    } else {
        return static_cast<T>(bits);
    }
}

/// Computes every element from its index.
template <class T, class Generate>
std::vector<std::byte> generate(std::size_t count, Generate element) {
    std::vector<std::byte> bytes(count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
        const T value = element(i);
        std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
    return bytes;
}

tl::unexpected<Error> wrong_size(const BufferArgument& buffer, const FileFill& fill,
                                 std::uintmax_t size) {
    return fail(Errc::invalid_argument,
                fmt::format("The file {} has {} bytes, but {}[{}] holds {}.", fill.path.string(),
                            size, to_string(buffer.type), buffer.count, buffer.size_bytes()));
}

template <class T>
struct Maker {
    const BufferArgument& buffer;

    using Content = Result<std::vector<std::byte>>;

    Content operator()(const ZerosFill&) const {
        return std::vector<std::byte>(buffer.size_bytes());
    }
    Content operator()(const OnesFill&) const {
        return generate<T>(buffer.count, [](std::size_t) { return T{1}; });
    }
    Content operator()(const IotaFill&) const {
        return generate<T>(buffer.count, [](std::size_t i) { return static_cast<T>(i); });
    }
    Content operator()(const RandomFill& fill) const {
        return generate<T>(buffer.count,
                           [&](std::size_t i) { return random_number<T>(fill.seed, i); });
    }
    Content operator()(const ValueFill& fill) const {
        T value{};
        std::memcpy(&value, fill.bytes.data(), sizeof value);
        return generate<T>(buffer.count, [&](std::size_t) { return value; });
    }
    Content operator()(const FileFill& fill) const {
        LODE_TRY(check_content(buffer));
        LODE_TRY_ASSIGN(auto bytes, read_bytes(fill.path, buffer.size_bytes()));
        if (bytes.size() != buffer.size_bytes()) return wrong_size(buffer, fill, bytes.size());
        return bytes;
    }
};

}  // namespace

Status check_content(const BufferArgument& buffer) {
    const auto* const fill = std::get_if<FileFill>(&buffer.fill);
    if (fill == nullptr) return {};
    std::error_code problem;
    if (!std::filesystem::exists(fill->path, problem)) {
        return fail(Errc::not_found, fmt::format("File '{}' doesn't exist.", fill->path.string()));
    }
    // The file may be larger than memory. What isn't a regular file is refused when it is read.
    const auto size = std::filesystem::file_size(fill->path, problem);
    if (!problem && size != buffer.size_bytes()) return wrong_size(buffer, *fill, size);
    return {};
}

Result<std::vector<std::byte>> make_content(const BufferArgument& buffer) {
    try {
        return with_type(buffer.type, [&]<class T>(std::type_identity<T>) {
            return std::visit(Maker<T>{buffer}, buffer.fill);
        });
    } catch (const std::bad_alloc&) {
        return fail(Errc::out_of_memory,
                    fmt::format("{}[{}] has {} bytes, more than the host's memory can hold.",
                                to_string(buffer.type), buffer.count, buffer.size_bytes()));
    }
}

Summary summarise(ElementType type, std::span<const std::byte> bytes, std::size_t head_count) {
    return with_type(type, [&]<class T>(std::type_identity<T>) {
        // Integers are summed as unsigned: wrapping is defined there, and the bits are the same.
        using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
        Summary summary;
        Sum sum = 0;
        for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
            const std::byte* const element = bytes.data() + i * sizeof(T);
            if (i < head_count) summary.head.push_back(number_at(type, element));
            T value{};
            std::memcpy(&value, element, sizeof value);
            sum += static_cast<Sum>(value);
        }
        if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            summary.sum = static_cast<std::int64_t>(sum);
        } else {
            summary.sum = sum;
        }
        return summary;
    });
}

}  // namespace lode::tool
