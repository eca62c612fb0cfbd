// The corpus: small CUDA programs with host references, to run on any device.
//
// A case uploads its inputs, launches, downloads and compares. It uses a device only through the
// interface below, so the emulator and a GPU run the same cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lode::corpus {

struct Shape {
    unsigned x = 1, y = 1, z = 1;
};

/// The kernel parameters of one launch, laid out by the ABI's rules.
class Arguments {
public:
    /// Not inlined, as GCC 12 then warns of writes past the end in some sequences of types.
    template <class T>
    [[gnu::noinline]] Arguments& add(const T& value) {
        const std::size_t at = (bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
        bytes_.resize(at + sizeof(T));
        std::memcpy(bytes_.data() + at, &value, sizeof(T));
        return *this;
    }
    template <class... T>
    static Arguments of(const T&... values) {
        Arguments made;
        (made.add(values), ...);
        return made;
    }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

/// A device with a case's source loaded. Functions throw std::runtime_error on failure, which ends
/// the case.
class Device {
public:
    virtual ~Device() = default;
    /// Allocates memory that lives as long as the device object.
    virtual std::uint64_t allocate(std::size_t bytes) = 0;
    virtual void upload(std::uint64_t to, std::span<const std::byte> bytes) = 0;
    virtual void download(std::span<std::byte> bytes, std::uint64_t from) = 0;
    virtual std::uint64_t global(std::string_view name) = 0;
    virtual void launch(std::string_view kernel, Shape grid, Shape block,
                        const Arguments& arguments, unsigned shared = 0,
                        bool cooperative = false) = 0;

    template <class T>
    std::uint64_t put(const std::vector<T>& values) {
        const std::uint64_t at = allocate(values.size() * sizeof(T));
        upload(at, std::as_bytes(std::span(values)));
        return at;
    }
    template <class T>
    std::uint64_t zeros(std::size_t count) {
        return put(std::vector<T>(count));
    }
    template <class T>
    std::vector<T> get(std::uint64_t from, std::size_t count) {
        std::vector<T> values(count);
        download(std::as_writable_bytes(std::span(values)), from);
        return values;
    }
};

/// The values that one comparison received, for comparing devices with each other.
struct Recorded {
    std::string what;
    std::size_t count = 0;
    std::size_t real_size = 0;  ///< Size of a floating-point value in bytes; 0 for other types.
    std::vector<std::byte> bytes;
};

/// Collects differences and counts comparisons, so that a case that compares nothing fails.
class Check {
public:
    template <class T>
    void equal(std::string_view what, const std::vector<T>& got, const std::vector<T>& want) {
        compare(what, got, want,
                [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; });
    }
    /// Accepts a difference within `relative` of the reference or within `absolute`; two NaNs are
    /// equal.
    template <class T>
    void close(std::string_view what, const std::vector<T>& got, const std::vector<T>& want,
               double relative, double absolute = 0) {
        compare(what, got, want, [=](const T& a, const T& b) {
            return near(static_cast<double>(a), static_cast<double>(b), relative, absolute);
        });
    }
    [[nodiscard]] const std::vector<std::string>& differences() const noexcept {
        return differences_;
    }
    [[nodiscard]] std::size_t compared() const noexcept { return compared_; }
    [[nodiscard]] const std::vector<Recorded>& recorded() const noexcept { return recorded_; }

private:
    static bool near(double a, double b, double relative, double absolute);
    void differs(std::string_view what, std::size_t index, double got, double want);

    template <class T, class Same>
    void compare(std::string_view what, const std::vector<T>& got, const std::vector<T>& want,
                 Same same) {
        const auto bytes = std::as_bytes(std::span(got));
        recorded_.push_back({std::string(what), got.size(),
                             std::is_floating_point_v<T> ? sizeof(T) : 0,
                             std::vector<std::byte>(bytes.begin(), bytes.end())});
        if (got.size() != want.size()) {
            return differs(what, 0, static_cast<double>(got.size()),
                           static_cast<double>(want.size()));
        }
        for (std::size_t k = 0; k < got.size(); ++k) {
            ++compared_;
            if (same(got[k], want[k])) continue;
            return differs(what, k, static_cast<double>(got[k]), static_cast<double>(want[k]));
        }
    }

    std::size_t compared_ = 0;
    std::vector<std::string> differences_;
    std::vector<Recorded> recorded_;
};

struct Case {
    std::string_view name;    ///< Name of the main kernel.
    std::string_view source;  ///< File name in tests/corpus/kernels.
    std::function<void(Device&, Check&)> run;
};

/// Every case, in a fixed order.
const std::vector<Case>& all_cases();

// Defined in cases_*.cpp.
void add_map_cases(std::vector<Case>& cases);
void add_block_cases(std::vector<Case>& cases);
void add_grid_cases(std::vector<Case>& cases);
void add_maths_cases(std::vector<Case>& cases);
void add_library_cases(std::vector<Case>& cases);

/// Generates reproducible inputs.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 2654435761u + 88172645463325252u) {}
    std::uint64_t bits() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    int integer(int low, int high) {
        return low + static_cast<int>(bits() % static_cast<std::uint64_t>(high - low + 1));
    }
    double real(double low, double high) {
        return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53;
    }
    template <class T, class Make>
    static std::vector<T> fill(std::size_t count, Make make) {
        std::vector<T> values(count);
        for (T& value : values)
            value = static_cast<T>(make());
        return values;
    }

private:
    std::uint64_t state_;
};

inline std::vector<int> integers(std::size_t count, std::uint64_t seed, int low, int high) {
    Random random(seed);
    return Random::fill<int>(count, [&] { return random.integer(low, high); });
}

inline std::vector<float> floats(std::size_t count, std::uint64_t seed, double low = -1,
                                 double high = 1) {
    Random random(seed);
    return Random::fill<float>(count, [&] { return random.real(low, high); });
}

}  // namespace lode::corpus
