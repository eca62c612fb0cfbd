// What the driver itself says about failed calls (cuLogs…, since CUDA 12.9).
#pragma once

#include "base/os/process.hpp"
#include "runtime/driver/table.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE::detail {

/// Receives the lines of one driver's log, on the threads whose calls fail. Successful calls cost
/// nothing. take() is thread-safe.
class DriverLog {
public:
    DriverLog() noexcept = default;
    ~DriverLog() = default;
    DriverLog(const DriverLog&) = delete;
    DriverLog& operator=(const DriverLog&) = delete;

    /// Asks the driver for its lines; succeeds without doing anything if the driver has no log.
    /// `table` must outlive this object.
    [[nodiscard]] CUresult listen(const DriverTable& table);
    /// Stops listening; succeeds without a call in a forked child, or if the driver has no log.
    [[nodiscard]] CUresult close() noexcept;

    /// What the driver has said on this thread about the last failed call if that was `call`:
    /// "\"buffer cannot be NULL\""; several lines are separated by semicolons. Empty if it has said
    /// nothing. Forgets it.
    [[nodiscard]] std::string take(std::string_view call) const;

private:
    const DriverTable* table_ = nullptr;
    CUlogsCallbackHandle handle_ = nullptr;
    std::uintptr_t id_ = 0;  ///< 0 unless registered; never reused.
    os::ProcessId registered_by_ = 0;
};

}  // namespace LODE_NAMESPACE::detail
