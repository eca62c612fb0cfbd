#include "jit/ptxas_report.hpp"

#include "jit/text.hpp"

#include <algorithm>
#include <utility>

namespace LODE_NAMESPACE {
namespace {

/// The part between the first two apostrophes.
std::string_view quoted(std::string_view text) {
    const auto open = std::min(text.find('\''), text.size());
    text.remove_prefix(std::min(open + 1, text.size()));
    return text.substr(0, text.find('\''));
}

/// Calls visit(number, rest) for each item of "10 registers, 256 bytes smem".
template <class Visit>
void for_each_item(std::string_view items, Visit visit) {
    while (!items.empty()) {
        const auto comma = std::min(items.find(','), items.size());
        auto item = trimmed(items.substr(0, comma));
        items.remove_prefix(std::min(comma + 1, items.size()));
        take_prefix(item, "used ");
        if (const auto number = take_number<std::size_t>(item)) visit(*number, trimmed(item));
    }
}

/// Parses the report line by line.
class ReportReader {
public:
    /// Whether `line` belongs to the report; stores its contents.
    bool take(std::string_view line) {
        if (read_frame(line)) return true;
        if (!take_prefix(line, "ptxas info")) return false;
        line = trimmed(line);
        if (!take_prefix(line, ":")) return false;
        line = trimmed(line);
        if (take_prefix(line, "Compiling entry function ")) {
            const auto kernel = quoted(line);
            if (kernel.empty()) return false;
            report_.emplace_back().kernel = kernel;
            return true;
        }
        if (take_prefix(line, "Function properties for ")) {
            // Device functions that aren't inlined are listed too; only kernels are reported.
            in_kernel_ = !report_.empty() && report_.back().kernel == trimmed(line);
            return true;
        }
        if (take_prefix(line, "Used ")) {
            read_usage(line);
            return true;
        }
        return line.starts_with("Compile time = ") || is_module_line(line) ||
               line.starts_with("Overriding maximum register limit ");
    }

    std::vector<KernelResources> finish() && { return std::move(report_); }

private:
    /// "0 bytes gmem, 16 bytes cmem[3]": for the whole module, not a kernel.
    static bool is_module_line(std::string_view line) {
        return take_number<std::size_t>(line) && line.starts_with(" bytes gmem");
    }

    /// "ptxas         .     0 bytes stack frame, …"; older versions have no prefix.
    bool read_frame(std::string_view line) {
        constexpr std::string_view marker = " bytes stack frame, ";
        if (line.find(marker) == std::string_view::npos) return false;
        if (take_prefix(line, "ptxas")) {
            line = trimmed(line);
            if (!take_prefix(line, ".")) return false;
        }
        if (!in_kernel_) return true;
        for_each_item(trimmed(line), [&](std::size_t number, std::string_view what) {
            auto& kernel = report_.back();
            if (what == "bytes stack frame") kernel.stack_bytes = number;
            if (what == "bytes spill stores") kernel.spill_store_bytes = number;
            if (what == "bytes spill loads") kernel.spill_load_bytes = number;
        });
        return true;
    }

    void read_usage(std::string_view line) {
        if (report_.empty()) return;
        for_each_item(line, [&](std::size_t number, std::string_view what) {
            auto& kernel = report_.back();
            if (what == "registers" && std::in_range<int>(number))
                kernel.registers = static_cast<int>(number);
            if (what == "barriers" && std::in_range<int>(number))
                kernel.barriers = static_cast<int>(number);
            if (what == "bytes smem") kernel.shared_bytes = number;
            if (what.starts_with("bytes cmem[")) kernel.constant_bytes += number;
        });
    }

    std::vector<KernelResources> report_;
    bool in_kernel_ = false;
};

}  // namespace

SplitLog split_ptxas_report(std::string_view log) {
    SplitLog split;
    ReportReader reader;
    while (!log.empty()) {
        const char* const start = log.data();
        const auto line = take_line(log);
        if (reader.take(line)) continue;
        split.messages.append(start, log.data());
    }
    // NVRTC puts empty lines around the report; nothing else in a log begins or ends with one.
    const auto first = std::min(split.messages.find_first_not_of('\n'), split.messages.size());
    split.messages.erase(0, first);
    while (split.messages.ends_with("\n\n"))
        split.messages.pop_back();
    split.resources = std::move(reader).finish();
    return split;
}

}  // namespace LODE_NAMESPACE
