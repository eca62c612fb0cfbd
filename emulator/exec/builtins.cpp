#include "emulator/exec/builtins.hpp"

#include "base/align_up.hpp"
#include "base/message_text.hpp"
#include "base/os/thread.hpp"
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

std::string_view why_not_freed(FreeOutcome outcome) {
    switch (outcome) {
        case FreeOutcome::double_free:
            return "that has already been freed";
        case FreeOutcome::interior:
            return "inside an allocation, not at its start";
        case FreeOutcome::wrong_kind:
            return "that wasn't allocated by malloc in a kernel";
        default:
            return "that isn't in any allocation";
    }
}

/// The text at a generic address, if that is in any memory.
std::optional<std::string> text_at(WarpContext& c, u32 lane, u64 address) {
    char letter = 0;
    if (!read_generic(c, lane, address, &letter, 1)) return std::nullopt;
    std::string text;
    while (text.size() < 65536 && letter != 0) {
        text += letter;
        if (!read_generic(c, lane, address + text.size(), &letter, 1)) break;
    }
    return text;
}

}  // namespace

bool read_generic(WarpContext& c, u32 lane, u64 address, void* to, u32 bytes) {
    auto* out = static_cast<u8*>(to);
    const u64 window = address >> window_shift;
    for (u32 k = 0; k < bytes; ++k) {
        const u64 at = address + k;
        const auto low = static_cast<u32>(at);
        if (window == static_cast<u64>(Window::local)) {
            if (low >= c.local_bytes) return false;
            out[k] = c.local[(low / 4 * lanes + lane) * 4 + low % 4];
        } else if (window == static_cast<u64>(Window::shared)) {
            if (low >= c.shared_bytes) return false;
            out[k] = c.shared[low];
        } else {
            if (window != 0) return false;
            const auto [lo, hi] = c.launch->memory->bounds(at);
            if (at < lo || at >= hi) return false;
            const u64 run = std::min<u64>(bytes - k, hi - at);
            std::memcpy(out + k, reinterpret_cast<const void*>(at), run);
            k += static_cast<u32>(run) - 1;
        }
    }
    return true;
}

bool write_generic(WarpContext& c, u32 lane, u64 address, const void* from, u32 bytes) {
    const auto* in = static_cast<const u8*>(from);
    const u64 window = address >> window_shift;
    const auto low = static_cast<u32>(address);
    if (window == 0) {
        const auto [lo, hi] = c.launch->memory->bounds(address);
        if (address < lo || address >= hi || bytes > hi - address) return false;
        std::memcpy(reinterpret_cast<void*>(address), in, bytes);
        c.launch->memory->note_write(address, bytes);
        return true;
    }
    const bool is_local = window == static_cast<u64>(Window::local);
    if (!is_local && window != static_cast<u64>(Window::shared)) return false;
    const u32 room = is_local ? c.local_bytes : c.shared_bytes;
    if (low > room || bytes > room - low) return false;
    u8* const memory = is_local ? c.local : c.shared;
    u8* const written = is_local ? c.local_written : c.shared_written;
    for (u32 k = 0; k < bytes; ++k) {
        const u32 at = low + k;
        const u32 place = is_local ? (at / 4 * lanes + lane) * 4 + at % 4 : at;
        memory[place] = in[k];
        if (written != nullptr) written[place] = 1;
    }
    return true;
}

namespace {

/// A conversion of a format, such as `%-5lld`.
struct Conversion {
    std::string flags;
    int width = 0;
    int precision = -1;  ///< Negative for none.
    int bits = 32;       ///< The size of an integer.
    char kind = 0;       ///< 0 where the format ends before it.
    std::size_t end = 0;
};

/// What C's printf makes of one value.
template <class T>
std::string converted(const Conversion& it, const char* kind, T value) {
    const std::string format = "%" + it.flags + "*.*" + kind;
    const int length = std::snprintf(nullptr, 0, format.c_str(), it.width, it.precision, value);
    std::string text(static_cast<std::size_t>(std::max(length, 0)), ' ');
    std::snprintf(text.data(), text.size() + 1, format.c_str(), it.width, it.precision, value);
    return text;
}

/// Reads a format and its arguments.
class Printf {
public:
    Printf(std::string_view format, std::span<const u8> arguments,
           const std::function<std::optional<std::string>(u64)>& text)
        : format_(format), arguments_(arguments), text_(text) {}

    Printed run() {
        for (std::size_t i = 0; i < format_.size();) {
            const std::size_t percent = std::min(format_.find('%', i), format_.size());
            printed_.text += format_.substr(i, percent - i);
            if (percent == format_.size()) break;
            i = convert(percent);
        }
        return std::move(printed_);
    }

private:
    /// The next argument; 0 after the last that the device passes.
    u64 take(std::size_t bytes) {
        if (printed_.arguments == max_arguments) return 0;
        ++printed_.arguments;
        used_ = align_up(used_, bytes);
        u64 value = 0;
        if (used_ + bytes <= arguments_.size())
            std::memcpy(&value, arguments_.data() + used_, bytes);
        used_ += bytes;
        return value;
    }

    int number(std::size_t& i) {
        if (i < format_.size() && format_[i] == '*') {
            ++i;
            return static_cast<i32>(take(4));
        }
        i64 value = 0;
        for (; i < format_.size() && format_[i] >= '0' && format_[i] <= '9'; ++i)
            value = std::min<i64>(value * 10 + (format_[i] - '0'), max_width);
        return static_cast<int>(value);
    }

    Conversion read(std::size_t i) {
        Conversion it;
        for (; i < format_.size() && std::string_view("-+ #0").find(format_[i]) < 5; ++i)
            it.flags += format_[i];
        it.width = std::clamp(number(i), -max_width, max_width);
        if (i < format_.size() && format_[i] == '.')
            it.precision = std::min(number(++i), max_width);
        for (; i < format_.size() && std::string_view("hljzt").find(format_[i]) < 5; ++i)
            it.bits = format_[i] == 'h' ? std::max(it.bits / 2, 8) : 64;
        if (i < format_.size()) it.kind = format_[i++];
        it.end = i;
        return it;
    }

    /// Writes the conversion at a percent sign, as it stands where no argument is left. Returns its
    /// end.
    std::size_t convert(std::size_t percent) {
        const Conversion it = read(percent + 1);
        const std::string_view as_it_stands = format_.substr(percent, it.end - percent);
        if (it.kind == '%') {
            printed_.text += '%';
        } else if (it.kind == 0 ||
                   std::string_view("diuxXoceEfFgGaAps").find(it.kind) == std::string_view::npos ||
                   printed_.arguments == max_arguments) {
            printed_.text += as_it_stands;
        } else {
            printed_.text += value_of(it);
        }
        return it.end;
    }

    u64 integer(const Conversion& it) { return take(it.bits == 64 ? 8 : 4); }
    static int unused(const Conversion& it) { return 64 - it.bits; }

    /// Nothing where a precision has no room for all of it.
    static std::optional<std::string> null_text(const Conversion& it) {
        constexpr std::string_view text = "(null)";
        const bool fits = it.precision < 0 || it.precision >= static_cast<int>(text.size());
        return fits ? std::string(text) : std::string();
    }

    std::string value_of(const Conversion& it) {
        const std::string kind(1, it.kind);
        switch (it.kind) {
            case 'd':
            case 'i':
                return converted(it, ("ll" + kind).c_str(),
                                 static_cast<long long>(integer(it) << unused(it)) >> unused(it));
            case 'u':
            case 'x':
            case 'X':
            case 'o':
                return converted(
                    it, ("ll" + kind).c_str(),
                    static_cast<unsigned long long>(integer(it) << unused(it)) >> unused(it));
            case 'c':
                return converted(it, "c", static_cast<int>(take(4)));
            case 'p':
                return converted(it, "p", reinterpret_cast<void*>(take(8)));
            case 's': {
                const u64 address = take(8);
                const auto word = address == 0 ? null_text(it) : text_(address);
                if (!word && !printed_.unreadable) printed_.unreadable = address;
                return converted(it, "s", word.value_or("").c_str());
            }
            default:
                return converted(it, kind.c_str(), std::bit_cast<f64>(take(8)));
        }
    }

    static constexpr int max_width = 65536;
    static constexpr int max_arguments = 32;  ///< The programming guide's.

    std::string_view format_;
    std::span<const u8> arguments_;
    const std::function<std::optional<std::string>(u64)>& text_;
    std::size_t used_ = 0;
    Printed printed_;
};

}  // namespace

Printed format_printf(std::string_view format, std::span<const u8> arguments,
                      const std::function<std::optional<std::string>(u64)>& text) {
    const os::PlainLocale plain;
    return Printf(format, arguments, text).run();
}

const Op* builtin_vprintf(WarpContext& c, const Op* op, const CallSite& site) {
    u32 failed = lanes;
    u64 unreadable = 0;
    each_lane(c.mask, [&](u32 lane) {
        if (failed != lanes) return;
        const auto fail = [&](u64 address) {
            failed = lane;
            unreadable = address;
        };
        const u64 address = argument<u64>(c, site, 0, lane);
        if (address == 0) return give_result(c, site, lane, i32{-1});
        const auto format = text_at(c, lane, address);
        if (!format) return fail(address);
        const u64 block = argument<u64>(c, site, 1, lane);
        // The device allows 32 arguments of 8 bytes.
        std::vector<u8> bytes(256);
        u32 readable = 0;
        while (readable < bytes.size() &&
               read_generic(c, lane, block + readable, bytes.data() + readable, 4)) {
            readable += 4;
        }
        const Printed printed =
            format_printf(*format, std::span(bytes).first(readable),
                          [&](u64 address) { return text_at(c, lane, address); });
        if (printed.unreadable) return fail(*printed.unreadable);
        if (c.launch->options->print) {
            const std::lock_guard lock(c.launch->mutex);
            c.launch->options->print(printed.text);
        }
        give_result(c, site, lane, i32{printed.arguments});
    });
    if (failed == lanes) return op + 1;
    return raise(
        c, op, failed, Fault::illegal_address,
        fmt::format("lets printf read text that isn't in any memory\naddress: {:#x}", unreadable));
}

std::string text_of(WarpContext& c, const CallSite& site, std::size_t index, u32 lane) {
    return text_at(c, lane, argument<u64>(c, site, index, lane)).value_or("");
}

const Op* builtin_assertfail(WarpContext& c, const Op* op, const CallSite& site) {
    const auto lane = static_cast<u32>(std::countr_zero(c.mask));
    const std::string message = text_of(c, site, 0, lane);
    const std::string file = text_of(c, site, 1, lane);
    const u32 line = argument<u32>(c, site, 2, lane);
    constexpr std::size_t most_shown = 40;  // In the headline.
    constexpr std::size_t most_quoted = 4096;
    const std::string function = text_of(c, site, 3, lane);
    if (c.launch->options->complain) {
        const std::lock_guard lock(c.launch->mutex);
        each_lane(c.mask, [&](u32 i) {
            const u32 thread[3] = {reinterpret_cast<const u32*>(c.warp->specials + tid_x)[i],
                                   reinterpret_cast<const u32*>(c.warp->specials + tid_y)[i],
                                   reinterpret_cast<const u32*>(c.warp->specials + tid_z)[i]};
            c.launch->options->complain(fmt::format(
                "{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.\n", file,
                line, function, c.block->index.x, c.block->index.y, c.block->index.z, thread[0],
                thread[1], thread[2], message));
        });
    }
    return raise(c, op, lane, Fault::assert_failed,
                 fmt::format("fails the assertion `{}`\nassertion: `{}` in {} ({}:{})",
                             lode::shortened(message, most_shown),
                             lode::shortened(message, most_quoted), function, file, line));
}

std::string heap_label(const WarpContext& c, const Op* op) {
    const ptx::Instruction& at = c.frame->code->instruction(op);
    const std::string source = source_place(*c.launch->module, *c.frame->code, at);
    return fmt::format("malloc in kernel {}, {}", c.launch->kernel->info.name,
                       source.empty() ? fmt::format("PTX line {}", at.line) : source);
}

u64 take_from_heap(Launch& launch, u64 asked, std::string_view label) {
    // A size is rounded up, where the largest ones wrap to 0, and also no bytes have a place.
    const u64 bytes = asked == 0 || asked > ~u64{15} ? 1 : asked;
    u64 address = 0;
    const std::size_t limit = launch.options->heap_limit;
    const std::size_t before = launch.heap_used.fetch_add(bytes);
    if (bytes <= limit && before + bytes <= limit)
        address = launch.memory->allocate(bytes, MemoryKind::heap, label, launch.module->owner);
    if (address == 0) launch.heap_used.fetch_sub(bytes);
    return address;
}

std::string give_to_heap(WarpContext& c, u64 address) {
    if (address == 0) return {};
    Launch& launch = *c.launch;
    const auto found = launch.memory->find(address);
    const bool heap = found && found->kind == MemoryKind::heap;
    const FreeOutcome outcome =
        found && !heap ? FreeOutcome::wrong_kind : launch.memory->free(address);
    if (outcome != FreeOutcome::freed)
        return fmt::format("frees an address {}\naddress: 0x{:x}", why_not_freed(outcome), address);
    launch.heap_used.fetch_sub(std::min(launch.heap_used.load(), found->bytes));
    std::fill(c.worker->bounds.begin(), c.worker->bounds.end(), Bounds{});
    return {};
}

const Op* builtin_malloc(WarpContext& c, const Op* op, const CallSite& site) {
    const std::string label = heap_label(c, op);
    each_lane(c.mask, [&](u32 lane) {
        give_result(c, site, lane,
                    take_from_heap(*c.launch, argument<u64>(c, site, 0, lane), label));
    });
    return op + 1;
}

const Op* builtin_free(WarpContext& c, const Op* op, const CallSite& site) {
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto lane = static_cast<u32>(std::countr_zero(left));
        std::string wrong = give_to_heap(c, argument<u64>(c, site, 0, lane));
        if (!wrong.empty()) return raise(c, op, lane, Fault::illegal_address, std::move(wrong));
    }
    return op + 1;
}

const Op* builtin_set_condition(WarpContext& c, const Op* op, const CallSite& site) {
    const auto& set = c.launch->options->set_condition;
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto lane = static_cast<u32>(std::countr_zero(left));
        const u64 handle = argument<u64>(c, site, 0, lane);
        if (set && set(handle, argument<u32>(c, site, 1, lane))) continue;
        return raise(c, op, lane, Fault::illegal_address,
                     fmt::format("sets a condition that no graph has\ncondition: 0x{:x}", handle));
    }
    return op + 1;
}

const BuiltinHandler builtin_handlers[] = {
#define LODE_BUILTIN(name, handler) handler,
#define LODE_DEVICE_RUNTIME(name, handler) handler,
#define LODE_NO_DEVICE_RUNTIME(name) nullptr,  // Decoding refuses the call.
#include "emulator/decode/builtins.def"
#undef LODE_BUILTIN
#undef LODE_DEVICE_RUNTIME
#undef LODE_NO_DEVICE_RUNTIME
};

}  // namespace lode::emulator::exec
