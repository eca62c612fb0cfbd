// One thread's call of a function of libcudadevrt.a. Private to emulator/exec.
#pragma once

#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/builtins.hpp"
#include "emulator/exec/device_calls.hpp"
#include "emulator/exec/scheduler.hpp"

#include <bit>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_set>

#include <fmt/format.h>

namespace lode::emulator::exec {

// The streams that every grid has.
inline constexpr u64 null_stream = 0;
inline constexpr u64 tail_stream = 3;
inline constexpr u64 fire_and_forget_stream = 4;

/// One thread's call.
class Call {
public:
    Call(WarpContext& c, const CallSite& site, u32 lane)
        : calls(c.launch->device_calls),
          runtime(c.launch->options->device_runtime),
          context_(c),
          site_(site),
          lane_(lane) {}

    template <class T>
    [[nodiscard]] T arg(std::size_t index) const {
        return argument<T>(context_, site_, index, lane_);
    }

    /// Stores what the call returns through a pointer.
    DeviceError store(u64 address, const void* bytes, std::size_t count) {
        if (address == 0) return DeviceError::invalid_value;
        if (!write_generic(context_, lane_, address, bytes, static_cast<u32>(count))) {
            wrong = fmt::format(
                "lets the device runtime write {} to an address outside memory\n"
                "address: 0x{:x}",
                bytes_text(count), address);
        }
        return DeviceError::none;
    }
    template <class T>
    DeviceError store(u64 address, T value) {
        return store(address, &value, sizeof value);
    }
    /// Stores the value of a query, unless that has failed.
    template <class T>
    DeviceError store(u64 address, T value, DeviceError error) {
        return error == DeviceError::none ? store(address, value) : error;
    }

    [[nodiscard]] Launch& launch() const { return *context_.launch; }
    [[nodiscard]] WarpContext& context() const { return context_; }
    [[nodiscard]] u64 thread() const {
        return context_.block->linear * 1024 + u64{context_.warp->index} * lanes + lane_;
    }

    /// The kernel at a device address; empty if there is none.
    [[nodiscard]] std::string_view kernel_at(u64 address) const {
        const auto& functions = launch().module->ast.functions;
        const auto index = static_cast<u32>(address);
        if (address != (window_tag(Window::code) | index) || index >= functions.size()) return {};
        const ptx::Function& function = functions[index];
        return function.entry && function.defined ? function.name : std::string_view();
    }
    [[nodiscard]] DeviceError check_stream(u64 stream) const {
        const bool is_known = stream == null_stream || stream == tail_stream ||
                              stream == fire_and_forget_stream || calls.streams.contains(stream);
        return is_known ? DeviceError::none : DeviceError::invalid_resource_handle;
    }
    /// Tails and launches that nothing waits for have no order that events could tell.
    [[nodiscard]] DeviceError check_event(u64 event, u64 stream) const {
        if (stream == tail_stream || stream == fire_and_forget_stream)
            return DeviceError::invalid_value;
        if (!calls.events.contains(event)) return DeviceError::invalid_resource_handle;
        return check_stream(stream);
    }
    /// Stores a new stream or event where the first argument points to; the second is its flag.
    DeviceError create(std::unordered_set<u64>& handles, u32 only_flag) {
        if (arg<u32>(1) != only_flag) return DeviceError::invalid_value;
        const u64 handle = ++calls.last_handle;
        handles.insert(handle);
        return store(arg<u64>(0), handle);
    }
    /// Ends the stream or event that the first argument is.
    DeviceError destroy(std::unordered_set<u64>& handles) {
        return handles.erase(arg<u64>(0)) != 0 ? DeviceError::none
                                               : DeviceError::invalid_resource_handle;
    }

    DeviceCalls& calls;
    DeviceRuntime* const runtime;  ///< Never null where a call is made.
    std::string wrong;             ///< For raise().

private:
    WarpContext& context_;
    const CallSite& site_;
    u32 lane_;
};

inline void remember(const Call& call, DeviceError error) {
    if (error != DeviceError::none) call.calls.last_errors[call.thread()] = error;
}

/// Makes the call for each thread, one at a time. An error that `make` returns becomes the
/// thread's last.
template <class Make>
const Op* each_thread(WarpContext& c, const Op* op, const CallSite& site, Make&& make) {
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto lane = static_cast<u32>(std::countr_zero(left));
        const std::lock_guard lock(c.launch->device_calls.mutex);
        Call call(c, site, lane);
        if (call.runtime == nullptr)
            return raise(c, op, lane, Fault::refused, "calls the device runtime without a driver");
        const auto result = make(call);
        if constexpr (std::is_same_v<decltype(result), const DeviceError>) {
            remember(call, result);
            give_result(c, site, lane, static_cast<i32>(result));
        } else {
            give_result(c, site, lane, result);
        }
        if (!call.wrong.empty())
            return raise(c, op, lane, Fault::illegal_address, std::move(call.wrong));
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
