/// \file
/// The results of a benchmark as JSON, for scripts/report: figures with the group, the series and
/// the place in it that they belong to, and how much they spread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lode::bench {

/// A JSON string. Control characters are left out.
inline std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (static_cast<unsigned char>(c) >= ' ') result += c;
    }
    return result + '"';
}

/// A JSON number; null for infinities and NaN.
inline std::string json_number(double value) {
    if (!std::isfinite(value)) return "null";
    char text[32];
    std::snprintf(text, sizeof text, "%.12g", value);
    return text;
}

/// One measured number.
struct Figure {
    std::string group;   ///< What is measured; its series are drawn in one plot.
    std::string series;  ///< The candidate: "lode", "raw".
    std::string unit;
    double value = 0;
    /// Where the middle half of the measurements lies, or the 95 % interval of the value if the
    /// group says so. Both are the value if there was one measurement.
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = std::numeric_limits<double>::quiet_NaN();
    /// Where it belongs on the horizontal axis, and that axis ("arguments"); no axis for figures
    /// with a name alone.
    double x = std::numeric_limits<double>::quiet_NaN();
    std::string x_name = {};
    bool more_is_better = false;
};

/// The value that a part (0 … 1) of the sorted measurements are below.
inline double quantile(std::vector<double> values, double part) {
    std::ranges::sort(values);
    const double at = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, values.size() - 1);
    return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

/// `figure` with the median and the quartiles of measurements.
inline Figure measured(Figure figure, const std::vector<double>& values) {
    figure.value = quantile(values, 0.5);
    figure.low = quantile(values, 0.25);
    figure.high = quantile(values, 0.75);
    return figure;
}

/// Collects figures. Takes `--json FILE` out of the program's arguments, and writes the file when
/// write() is called; without the option, nothing.
class Results {
public:
    /// `name`: the program's, without its prefix. Throws std::runtime_error if FILE is missing.
    Results(std::string name, int& count, char** arguments) : name_(std::move(name)) {
        for (int i = 0; i < count; ++i)
            command_ += (i == 0 ? "" : " ") + std::string(arguments[i]);
        int kept = 1;
        for (int i = 1; i < count; ++i) {
            if (std::strcmp(arguments[i], "--json") != 0) {
                arguments[kept++] = arguments[i];
                continue;
            }
            if (++i == count) throw std::runtime_error("--json needs the name of a file");
            file_ = arguments[i];
        }
        count = std::min(kept, count);
    }

    void add(Figure figure) { figures_.push_back(std::move(figure)); }

    /// A property of the whole run, such as the device.
    void set(std::string key, std::string value) {
        facts_.emplace_back(std::move(key), std::move(value));
    }

    /// Throws std::runtime_error if the file can't be written.
    void write() const {
        if (file_.empty()) return;
        std::ofstream out(file_);
        out << "{\"bench\": " << quoted(name_) << ",\n \"command\": " << quoted(command_);
        for (const auto& [key, value] : facts_)
            out << ",\n " << quoted(key) << ": " << quoted(value);
        out << ",\n \"figures\": [";
        for (std::size_t i = 0; i < figures_.size(); ++i)
            out << (i == 0 ? "\n  " : ",\n  ") << text_of(figures_[i]);
        out << "]}\n";
        out.close();
        if (out.fail()) throw std::runtime_error(file_ + " can't be written");
    }

private:
    static std::string text_of(const Figure& figure) {
        const auto bound = [&](double value) {
            return json_number(std::isnan(value) ? figure.value : value);
        };
        std::string text =
            "{\"group\": " + quoted(figure.group) + ", \"series\": " + quoted(figure.series) +
            ", \"unit\": " + quoted(figure.unit) + ", \"value\": " + json_number(figure.value) +
            ", \"low\": " + bound(figure.low) + ", \"high\": " + bound(figure.high);
        if (!figure.x_name.empty())
            text += ", \"x\": " + json_number(figure.x) + ", \"x_name\": " + quoted(figure.x_name);
        return text + ", \"better\": " + (figure.more_is_better ? "\"more\"" : "\"less\"") + "}";
    }

    std::string name_;
    std::string command_;
    std::string file_;
    std::vector<std::pair<std::string, std::string>> facts_;
    std::vector<Figure> figures_;
};

}  // namespace lode::bench
