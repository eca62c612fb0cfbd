#include "emulator/driver/report_file.hpp"

#include "emulator/driver/log.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace lode::emulator::driver {

namespace {

std::string json_string(std::string_view text) {
    std::string made = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') {
            made += '\\';
            made += letter;
        } else if (static_cast<unsigned char>(letter) < 0x20) {
            made += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
        } else {
            made += letter;
        }
    }
    return made + '"';
}

std::string json_of(const exec::FindingReport& report) {
    const auto place = [](const Dim3& d) { return fmt::format("[{},{},{}]", d.x, d.y, d.z); };
    std::string stack;
    for (const auto& each : report.stack) {
        if (!stack.empty()) stack += ',';
        stack += fmt::format("{{\"file\":{},\"line\":{}}}", json_string(each.file), each.line);
    }
    return fmt::format(
        "{{\"kind\":{},\"benign\":{},\"kernel\":{},\"thread\":{},\"block\":{},\"ptx_line\":{},"
        "\"stack\":[{}],\"text\":{}}}\n",
        json_string(report.kind), report.benign, json_string(report.kernel), place(report.thread),
        place(report.block), report.ptx_line, stack, json_string(report.text));
}

}  // namespace

void write_report(const std::string& file, const exec::FindingReport& report) {
    if (file.empty()) return;
    const std::string line = json_of(report);
    const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    ssize_t put = -1;
    if (opened >= 0) {
        put = ::write(opened, line.data(), line.size());
        ::close(opened);
    }
    if (put == static_cast<ssize_t>(line.size())) return;
    static std::atomic<bool> told{false};
    if (told.exchange(true)) return;
    log::write(log::Level::error,
               fmt::format("Findings can't be written to {}: {}.", file, std::strerror(errno)));
}

}  // namespace lode::emulator::driver
