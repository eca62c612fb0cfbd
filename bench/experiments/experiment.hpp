/// \file
/// Shared by the experiments: the device, sizes for it, times, checks, and the table of figures
/// beside what is expected of them.
#pragma once

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace experiment {

using lode::unwrap;

/// Ends the experiment as failed unless `holds`.
inline void check(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error("failed: " + what);
}

/// A measured number. NaN: it wasn't measured.
struct Figure {
    double value = std::numeric_limits<double>::quiet_NaN();
    double spread = 0;  ///< Longest minus shortest time, relative to the median.

    friend Figure operator/(Figure a, Figure b) { return {a.value / b.value, a.spread + b.spread}; }
    friend Figure operator*(Figure a, double factor) { return {a.value * factor, a.spread}; }
};

/// Which values are expected, and where that comes from.
struct Expectation {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    std::string note = {};
};
/// Nothing: the figure is only reported.
inline Expectation reported(std::string note = {}) {
    return {.note = std::move(note)};
}
inline Expectation at_least(double low, std::string note = {}) {
    return {.low = low, .note = std::move(note)};
}
inline Expectation at_most(double high, std::string note = {}) {
    return {.high = high, .note = std::move(note)};
}
/// `value` within `tolerance`, relative to it.
inline Expectation about(double value, double tolerance, std::string note = {}) {
    return {value * (1 - tolerance), value * (1 + tolerance), std::move(note)};
}

/// The macro NAME with a number as its value.
inline lode::Definition define(std::string name, long long value) {
    return {std::move(name), std::to_string(value)};
}

/// One experiment on one device.
class Bench {
public:
    const lode::Runtime runtime;
    const lode::Device device;
    const lode::Stream stream;
    /// False on the software device, whose times say nothing about a GPU.
    const bool timed;

    Bench();

    /// The size for a GPU, or the one for the software device.
    template <class T>
    [[nodiscard]] T size(T gpu, T software) const {
        return timed ? gpu : software;
    }

    /// Compiles `text` with these definitions.
    template <class Signature>
    [[nodiscard]] lode::Kernel<Signature> load(const char* text, const char* name,
                                               std::vector<lode::Definition> definitions = {},
                                               lode::KernelOptions options = {}) const {
        options.compile.definitions = std::move(definitions);
        const auto source = lode::Source::text(text, std::string(name) + ".cu");
        return unwrap(device.load<Signature>(source, name, options));
    }

    /// Device memory whose element i is value(i).
    template <class T, class Value>
    [[nodiscard]] lode::DeviceBuffer<T> fill(std::size_t count, const Value& value) const {
        std::vector<T> values(count);
        for (std::size_t i = 0; i < count; ++i)
            values[i] = static_cast<T>(value(i));
        return unwrap(device.upload(values));
    }
    /// Ends the experiment unless element i of `memory` is value(i). Only both ends of a large
    /// memory are compared.
    template <class T, class Value>
    void expect(lode::DeviceSpan<T> memory, const char* what, const Value& value) const {
        constexpr std::size_t most = std::size_t{1} << 18;
        const auto compare = [&](std::size_t first, std::size_t count) {
            const auto found = unwrap(unwrap(memory.subspan(first, count)).to_vector());
            for (std::size_t i = 0; i < count; ++i)
                check(found[i] == static_cast<T>(value(first + i)), what);
        };
        const std::size_t part = std::min(memory.size(), most);
        compare(0, part);
        compare(memory.size() - part, part);
    }
    template <class T, class Value>
    void expect(lode::DeviceBuffer<T>& memory, const char* what, const Value& value) const {
        expect(memory.span(), what, value);
    }

    /// The median time in milliseconds of what `enqueue` puts on the stream, by the device's clock.
    /// On the software device it runs once, and the figure is NaN.
    [[nodiscard]] Figure ms(const std::function<lode::Status()>& enqueue, int runs = 1) const;
    /// The same by the host's clock, until the device has finished.
    [[nodiscard]] Figure host_ms(const std::function<void()>& work) const;
    /// Bytes in a time, in GB/s (10⁹ bytes).
    [[nodiscard]] static Figure gb_per_s(double bytes, Figure ms) {
        return {bytes / 1e6 / ms.value, ms.spread};
    }
    /// Memory clock × bus width / 8 × 2, in GB/s (Best Practices Guide 8.2.1).
    [[nodiscard]] double theoretical_gb_per_s() const {
        return device.theoretical_bandwidth() / 1e9;
    }

    /// Adds a row to the table.
    void row(const std::string& what, Figure measured, const char* unit,
             const Expectation& expected);
    /// A figure that isn't a time, such as a number of registers.
    void row(const std::string& what, double measured, const char* unit,
             const Expectation& expected) {
        row(what, Figure{measured}, unit, expected);
    }
    /// A line of text in the table.
    void remark(const std::string& text);

    /// Writes the rows as JSON.
    void write_json(const std::string& file, const std::string& name, const char* claim,
                    const std::string& command) const;
    /// How many figures miss what is expected of them.
    [[nodiscard]] int misses() const;

private:
    struct Row {
        std::string what;
        std::string unit;
        Figure measured;
        Expectation expected;
        std::string verdict;
    };
    std::vector<Row> rows_;
};

/// Runs an experiment: prints its table and, after `--json FILE`, writes it. Exit code: 0 if all
/// results are right, whatever the figures; 1 if one is wrong; 77 without a device or with too few.
int run(int argc, char** argv, const char* claim, void (*body)(Bench&));

}  // namespace experiment
