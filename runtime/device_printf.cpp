#include "runtime/driver/driver_state.hpp"

#include <lode/runtime/device_printf.hpp>

#include <cstddef>
#include <utility>

namespace LODE_NAMESPACE {
namespace detail {

/// One capture. The emulator's library is never unloaded, so its function stays valid.
struct DevicePrintfState {
    DevicePrintfState(SetEmulatorPrint* its_set, std::function<void(std::string_view)> its_receive)
        : set(its_set), receive(std::move(its_receive)) {
        set(&DevicePrintfState::print, this);
    }
    ~DevicePrintfState() { set(nullptr, this); }
    DevicePrintfState(const DevicePrintfState&) = delete;
    DevicePrintfState& operator=(const DevicePrintfState&) = delete;

    static void print(void* user, const char* text, std::size_t length) noexcept {
        try {
            static_cast<DevicePrintfState*>(user)->receive(std::string_view(text, length));
        } catch (...) {  // It has no caller that could take an exception.
            return;
        }
    }

    SetEmulatorPrint* const set;
    const std::function<void(std::string_view)> receive;
};

}  // namespace detail

Result<DevicePrintf> DevicePrintf::capture(const Driver& driver,
                                           std::function<void(std::string_view)> receive) {
    detail::SetEmulatorPrint* const set = driver.state()->set_emulator_print;
    if (set == nullptr) {
        return fail(Errc::not_supported,
                    "Only the software device can pass on what kernels print: the driver writes it "
                    "to the process's stdout. Run the kernel in a child process and read the "
                    "child's output.");
    }
    if (!receive)
        return fail(Errc::invalid_argument,
                    "The function that receives a printf must not be empty.");
    return DevicePrintf(std::make_unique<detail::DevicePrintfState>(set, std::move(receive)));
}

DevicePrintf::DevicePrintf(std::unique_ptr<detail::DevicePrintfState> state) noexcept
    : state_(std::move(state)) {}
DevicePrintf::~DevicePrintf() = default;
DevicePrintf::DevicePrintf(DevicePrintf&& other) noexcept = default;
DevicePrintf& DevicePrintf::operator=(DevicePrintf&& other) noexcept = default;

}  // namespace LODE_NAMESPACE
