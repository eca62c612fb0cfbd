// The functions of libcudadevrt.a, thread by thread.
#include "emulator/exec/device_calls.hpp"

#include "emulator/exec/device_call.hpp"

#include <utility>

namespace lode::emulator::exec {

DeviceCalls::~DeviceCalls() {
    for (const u64 address : allocations_)
        memory_->free(address);
}

u64 DeviceCalls::allocate(Memory& memory, u64 bytes, std::string_view label, int owner) {
    const u64 address = memory.allocate(std::max<u64>(bytes, 1), MemoryKind::heap, label, owner);
    if (address == 0) return 0;
    memory_ = &memory;
    allocations_.push_back(address);
    return address;
}

namespace {

/// A new buffer for the parameters of a launch. Null if there is none, with the error.
u64 new_buffer(Call& call, const ParameterBuffer& buffer) {
    const u64 address =
        call.calls.allocate(*call.launch().memory, buffer.bytes,
                            "parameters of a launch by a kernel", call.launch().module->owner);
    if (address == 0) {
        remember(call, DeviceError::launch_out_of_resources);
    } else {
        call.calls.buffers[address] = buffer;
    }
    return address;
}

u64 buffer_for(Call& call, std::string_view kernel, const GridShape& shape) {
    DeviceError error =
        kernel.empty() ? DeviceError::invalid_device_function : call.runtime->check(kernel, shape);
    if (error != DeviceError::none) {
        remember(call, error);
        return 0;
    }
    const auto* const info = call.launch().module->kernel(kernel);
    return new_buffer(call, {kernel, shape, info->info.parameter_bytes});
}

/// Launches with the parameters in a buffer, which may be null for a kernel without any.
DeviceError launch_with(Call& call, std::string_view kernel, const GridShape& shape, u64 buffer,
                        u64 room, u64 stream) {
    if (const DeviceError error = call.check_stream(stream); error != DeviceError::none)
        return error;
    std::vector<std::byte> parameters(call.launch().module->kernel(kernel)->info.parameter_bytes);
    if (room < parameters.size()) return DeviceError::invalid_value;
    if (!parameters.empty())
        std::memcpy(parameters.data(), reinterpret_cast<const void*>(buffer), parameters.size());
    return call.runtime->launch(kernel, shape, std::move(parameters), stream == tail_stream);
}

DeviceError copy(Call& call, Rows to, Rows from, u64 width, u64 height, u32 kind, u64 stream) {
    constexpr u32 device_to_device = 3;
    constexpr u32 either = 4;  // By the addresses.
    if (kind != device_to_device && kind != either) return DeviceError::invalid_memcpy_direction;
    if (const DeviceError error = call.check_stream(stream); error != DeviceError::none)
        return error;
    return call.runtime->copy(to, from, width, height, stream == tail_stream);
}

DeviceError fill(Call& call, Rows to, u32 value, u64 width, u64 height, u64 stream) {
    if (const DeviceError error = call.check_stream(stream); error != DeviceError::none)
        return error;
    return call.runtime->fill(to, static_cast<u8>(value), width, height, stream == tail_stream);
}

/// The device address of an error's text; 0 if there is no memory.
u64 error_text(Call& call, bool is_name) {
    const std::string text = call.runtime->error_text(call.arg<i32>(0), is_name);
    const auto [at, is_new] = call.calls.texts.try_emplace(text, 0);
    if (is_new) {
        at->second = call.calls.allocate(*call.launch().memory, text.size() + 1,
                                         "the text of an error", call.launch().module->owner);
        if (at->second != 0) {
            std::memcpy(reinterpret_cast<void*>(at->second), text.c_str(), text.size() + 1);
            call.launch().memory->note_write(at->second, text.size() + 1);
        }
    }
    return at->second;
}

i32 last_error(Call& call, bool clear) {
    const auto found = call.calls.last_errors.find(call.thread());
    if (found == call.calls.last_errors.end()) return 0;
    const auto error = static_cast<i32>(found->second);
    if (clear) call.calls.last_errors.erase(found);
    return error;
}

}  // namespace

const Op* device_get_buffer(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        return new_buffer(call, {{}, {}, call.arg<u64>(1)});
    });
}

const Op* device_get_buffer_for(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        return buffer_for(call, call.kernel_at(call.arg<u64>(0)),
                          {call.arg<Dim3>(1), call.arg<Dim3>(2), call.arg<u32>(3)});
    });
}

const Op* device_launch(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        const std::string_view kernel = call.kernel_at(call.arg<u64>(0));
        const u64 buffer = call.arg<u64>(1);
        const GridShape shape{call.arg<Dim3>(2), call.arg<Dim3>(3), call.arg<u32>(4)};
        if (kernel.empty()) return DeviceError::invalid_device_function;
        if (const DeviceError error = call.runtime->check(kernel, shape);
            error != DeviceError::none)
            return error;
        const auto found = call.calls.buffers.find(buffer);
        const u64 room = found == call.calls.buffers.end() ? 0 : found->second.bytes;
        return launch_with(call, kernel, shape, buffer, room, call.arg<u64>(5));
    });
}

const Op* device_launch_buffer(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        const auto found = call.calls.buffers.find(call.arg<u64>(0));
        if (found == call.calls.buffers.end() || found->second.kernel.empty())
            return DeviceError::invalid_value;
        const ParameterBuffer& buffer = found->second;
        return launch_with(call, buffer.kernel, buffer.shape, found->first, buffer.bytes,
                           call.arg<u64>(1));
    });
}

const Op* device_get_last_error(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) { return last_error(call, true); });
}

const Op* device_peek_at_last_error(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) { return last_error(call, false); });
}

const Op* device_get_error_string(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) { return error_text(call, false); });
}

const Op* device_get_error_name(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) { return error_text(call, true); });
}

const Op* device_create_stream(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        constexpr u32 non_blocking = 1;
        return call.create(call.calls.streams, non_blocking);
    });
}

const Op* device_destroy_stream(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) { return call.destroy(call.calls.streams); });
}

const Op* device_create_event(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        constexpr u32 disable_timing = 2;
        return call.create(call.calls.events, disable_timing);
    });
}

const Op* device_destroy_event(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) { return call.destroy(call.calls.events); });
}

const Op* device_record_event(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        return call.check_event(call.arg<u64>(0), call.arg<u64>(1));
    });
}

const Op* device_wait_event(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        if (call.arg<u32>(2) != 0) return DeviceError::invalid_value;
        return call.check_event(call.arg<u64>(1), call.arg<u64>(0));
    });
}

const Op* device_copy(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        const u64 bytes = call.arg<u64>(2);
        return copy(call, {call.arg<u64>(0), bytes}, {call.arg<u64>(1), bytes}, bytes, 1,
                    call.arg<u32>(3), call.arg<u64>(4));
    });
}

const Op* device_copy_2d(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        return copy(call, {call.arg<u64>(0), call.arg<u64>(1)},
                    {call.arg<u64>(2), call.arg<u64>(3)}, call.arg<u64>(4), call.arg<u64>(5),
                    call.arg<u32>(6), call.arg<u64>(7));
    });
}

const Op* device_fill(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        const u64 bytes = call.arg<u64>(2);
        return fill(call, {call.arg<u64>(0), bytes}, call.arg<u32>(1), bytes, 1, call.arg<u64>(3));
    });
}

const Op* device_fill_2d(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        return fill(call, {call.arg<u64>(0), call.arg<u64>(1)}, call.arg<u32>(2), call.arg<u64>(3),
                    call.arg<u64>(4), call.arg<u64>(5));
    });
}

const Op* device_get_attribute(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        int value = 0;
        const DeviceError error =
            call.runtime->attribute(call.arg<u32>(1), call.arg<i32>(2), value);
        return call.store(call.arg<u64>(0), value, error);
    });
}

const Op* device_get_limit(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        u64 value = 0;
        const DeviceError error = call.runtime->limit(call.arg<u32>(1), value);
        return call.store(call.arg<u64>(0), value, error);
    });
}

const Op* device_get_cache_config(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        return call.store(call.arg<u64>(0), call.runtime->cache_config());
    });
}

const Op* device_get_device(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        return call.store(call.arg<u64>(0), call.runtime->device());
    });
}

const Op* device_get_device_count(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        return call.store(call.arg<u64>(0), call.runtime->device_count());
    });
}

const Op* device_get_version(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        return call.store(call.arg<u64>(0), call.runtime->version());
    });
}

const Op* device_get_function_attributes(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        const std::string_view kernel = call.kernel_at(call.arg<u64>(1));
        if (kernel.empty()) return DeviceError::invalid_device_function;
        std::vector<std::byte> bytes;
        const DeviceError error = call.runtime->attributes(kernel, bytes);
        if (error != DeviceError::none) return error;
        return call.store(call.arg<u64>(0), bytes.data(), bytes.size());
    });
}

const Op* device_get_occupancy(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        const std::string_view kernel = call.kernel_at(call.arg<u64>(1));
        if (kernel.empty()) return DeviceError::invalid_device_function;
        int blocks = 0;
        const DeviceError error =
            call.runtime->occupancy(kernel, call.arg<i32>(2), call.arg<u64>(3), blocks);
        return call.store(call.arg<u64>(0), blocks, error);
    });
}

const Op* device_malloc(WarpContext& c, const Op* op, const CallSite& site) {
    const std::string label = heap_label(c, op);
    return each_thread(c, op, site, [&](Call& call) {
        const u64 address = take_from_heap(call.launch(), call.arg<u64>(1), label);
        const DeviceError error = address != 0 ? DeviceError::none : DeviceError::memory_allocation;
        return call.store(call.arg<u64>(0), address, error);
    });
}

const Op* device_free(WarpContext& c, const Op* op, const CallSite& site) {
    return each_thread(c, op, site, [](Call& call) {
        call.wrong = give_to_heap(call.context(), call.arg<u64>(0));
        return DeviceError::none;
    });
}

}  // namespace lode::emulator::exec
