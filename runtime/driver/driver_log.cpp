#include "runtime/driver/driver_log.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

/// The lines about one failed call.
struct SaidLines {
    std::uintptr_t listener = 0;
    std::string lines = {};  ///< Quoted.
    std::string call = {};   ///< Known once the call has ended.
    bool is_over = false;
};

// The driver calls back on the thread that made the failing call.
thread_local std::vector<SaidLines> said_lines;

/// "[22:21:32.099][25642][CUDA][E] buffer cannot be NULL" without what is in brackets.
std::string_view without_brackets(std::string_view line) {
    while (line.starts_with('[')) {
        const auto end = line.find(']');
        if (end == std::string_view::npos) break;
        line.remove_prefix(end + 1);
    }
    constexpr std::string_view blank(" \t\r\n\0", 5);
    const auto begin = std::min(line.find_first_not_of(blank), line.size());
    return line.substr(begin, line.find_last_not_of(blank) + 1 - begin);
}

/// The driver's last line about a call: "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cu…".
std::optional<std::string_view> call_that_returned(std::string_view line) {
    constexpr std::string_view from = ") from ";
    const auto at = line.rfind(from);
    if (!line.starts_with("Returning ") || at == std::string_view::npos) return std::nullopt;
    return line.substr(at + from.size());
}

SaidLines& lines_for(std::uintptr_t listener) {
    constexpr std::size_t most_drivers = 4;
    const auto known = std::ranges::find(said_lines, listener, &SaidLines::listener);
    if (known != said_lines.end()) return *known;
    if (said_lines.size() == most_drivers) said_lines.erase(said_lines.begin());
    return said_lines.emplace_back(SaidLines{listener});
}

void remember_line(std::uintptr_t listener, std::string_view text) {
    constexpr std::size_t room = 1024;
    SaidLines& said = lines_for(listener);
    if (said.is_over) said = SaidLines{listener};
    const std::string_view line = without_brackets(text);
    if (const auto call = call_that_returned(line)) {
        said.call = *call;
        said.is_over = true;
        return;
    }
    const std::string_view separator = said.lines.empty() ? "" : "; ";
    constexpr std::size_t quotes = 2;
    if (line.empty() || said.lines.size() + separator.size() + line.size() + quotes > room) return;
    said.lines += fmt::format("{}\"{}\"", separator, line);
}

void hear_line(void* data, CUlogLevel level, char* message, std::size_t length) {
    if (level != CU_LOG_LEVEL_ERROR || message == nullptr) return;
    try {
        // The number of a listener, not its address: it may be gone by now.
        remember_line(reinterpret_cast<std::uintptr_t>(data), {message, length});
    } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; the error has no such line.
    }
}

/// Whether the driver's name of an entry point, perhaps with a version such as _v2, means lode's.
bool is_call(std::string_view said, std::string_view call) {
    return said.starts_with(call) && (said.size() == call.size() || said[call.size()] == '_');
}

}  // namespace

CUresult DriverLog::listen(const DriverTable& table) {
    if (!table.cuLogsRegisterCallback || !table.cuLogsUnregisterCallback) return CUDA_SUCCESS;
    static std::atomic<std::uintptr_t> last_id{0};
    const std::uintptr_t id = ++last_id;
    const CUresult result =
        table.cuLogsRegisterCallback(hear_line, reinterpret_cast<void*>(id), &handle_);
    if (result != CUDA_SUCCESS) return result;
    table_ = &table;
    id_ = id;
    registered_by_ = os::process_id();
    return result;
}

CUresult DriverLog::close() noexcept {
    if (std::exchange(id_, 0) == 0 || registered_by_ != os::process_id()) return CUDA_SUCCESS;
    return table_->cuLogsUnregisterCallback(handle_);
}

std::string DriverLog::take(std::string_view call) const {
    const auto known = std::ranges::find(said_lines, id_, &SaidLines::listener);
    if (id_ == 0 || known == said_lines.end()) return {};
    const SaidLines said = std::exchange(*known, SaidLines{id_});
    return said.call.empty() || is_call(said.call, call) ? said.lines : std::string();
}

}  // namespace LODE_NAMESPACE::detail
