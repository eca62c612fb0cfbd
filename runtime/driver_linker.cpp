#include "base/cxx_names.hpp"
#include "base/message_text.hpp"
#include "base/ptx_scan.hpp"
#include "base/try.hpp"
#include "jit/link_checks.hpp"
#include "runtime/jit_options.hpp"
#include "runtime/state/library_state.hpp"

#include <lode/runtime/driver_linker.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <cuda.h>
#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr std::string_view linking = "Linking with the driver";

CUjitInputType input_type_of(LinkInput::Kind kind) noexcept {
    switch (kind) {
        case LinkInput::Kind::cubin:
            return CU_JIT_INPUT_CUBIN;
        case LinkInput::Kind::fatbin:
            return CU_JIT_INPUT_FATBINARY;
        case LinkInput::Kind::object:
            return CU_JIT_INPUT_OBJECT;
        case LinkInput::Kind::archive:
            return CU_JIT_INPUT_LIBRARY;
        case LinkInput::Kind::ptx:
        case LinkInput::Kind::lto_ir:
            break;
    }
    return CU_JIT_INPUT_PTX;
}

/// Destroys the driver's link on every exit path.
class DriverLinkScope {
public:
    DriverLinkScope(const detail::DriverState& driver, CUlinkState state) noexcept
        : driver_(driver), state_(state) {}
    ~DriverLinkScope() {
        const auto& destroy = driver_.table.cuLinkDestroy;
        driver_.report_destroy(destroy.name, destroy(state_));
    }
    DriverLinkScope(const DriverLinkScope&) = delete;
    DriverLinkScope& operator=(const DriverLinkScope&) = delete;

private:
    const detail::DriverState& driver_;
    CUlinkState state_;
};

Status check_driver_options(const LinkOptions& options) {
    constexpr int highest_level = 4;
    LODE_TRY(link::check_options(options));
    if (const int level = options.optimization_level.value_or(0);
        level < 0 || level > highest_level) {
        return fail(Errc::invalid_argument,
                    fmt::format("LinkOptions::optimization_level ({}) is outside the range 0 to "
                                "{}.",
                                level, highest_level));
    }
    const auto refuse = [](std::string_view option) {
        return fail(Errc::invalid_argument,
                    fmt::format("The driver's linker has no option for LinkOptions::{}; "
                                "lode::Linker has.",
                                option));
    };
    if (options.lto) return refuse("lto");
    if (options.split_compile != 1) return refuse("split_compile");
    if (!options.kernels_used.empty()) return refuse("kernels_used");
    if (!options.variables_used.empty()) return refuse("variables_used");
    if (options.drop_unused_variables) return refuse("drop_unused_variables");
    if (!options.extra_flags.empty()) return refuse("extra_flags");
    return {};
}

/// The device's architecture, with the suffix of the inputs that have one.
Arch target_of(const Device& device, std::span<const LinkInput> inputs) {
    for (const auto& input : inputs) {
        if (input.arch && input.arch->cc() == device.cc() &&
            input.arch->as_virtual() != Arch(device.cc()).as_virtual())
            return Arch(device.cc(), input.arch->suffix());
    }
    return Arch(device.cc());
}

tl::unexpected<Error> fail_link(Error error, std::string_view doing,
                                const detail::LoadLog& buffers) {
    const std::string log = buffers.text();
    error.message = fmt::format("{} fails: {}{}", doing, error.message, link::explain(log));
    error.log = with_readable_symbols(log);
    if (error.native.origin == Native::Origin::driver && error.code != Errc::device_lost &&
        error.code != Errc::out_of_memory)
        error.code = Errc::link_failed;
    return tl::unexpected<Error>(std::move(error));
}

}  // namespace

Result<Image> link_with_driver(const Device& device, std::span<const LinkInput> inputs,
                               const LinkOptions& options) {
    auto& state = *device.state();
    const detail::DriverTable& table = state.table();
    LODE_TRY(check_driver_options(options));
    const auto lto = std::ranges::find(inputs, LinkInput::Kind::lto_ir, &LinkInput::kind);
    if (lto != inputs.end()) {
        return fail(Errc::not_supported,
                    fmt::format("'{}' is LTO-IR, which drivers don't link since CUDA 12. Link it "
                                "with lode::Linker.",
                                lto->name));
    }
    const Arch target = target_of(device, inputs);
    LODE_TRY(link::check_inputs(inputs, target));
    LODE_TRY(state.driver->require(table.cuLinkCreate, linking));
    LODE_TRY(state.driver->require(table.cuLinkAddData, linking));
    LODE_TRY(state.driver->require(table.cuLinkComplete, linking));
    LODE_TRY(state.driver->require(table.cuLinkDestroy, linking));

    detail::LoadLog buffers;
    detail::JitOptions jit(buffers);
    jit.add_compiler_options({.max_registers = options.max_registers,
                              .optimization_level = options.optimization_level.value_or(-1),
                              .line_info = options.line_info,
                              .debug = options.debug,
                              .verbose_log = options.verbose});
    LODE_TRY_ASSIGN(const auto context, detail::CurrentContext::enter(state));
    const detail::OutsideCapture outside(*state.driver);
    CUlinkState native = nullptr;
    LODE_TRY(state.call(table.cuLinkCreate, jit.count(), jit.names(), jit.values(), &native));
    const DriverLinkScope scope(*state.driver, native);

    Image linked;
    for (const auto& input : inputs) {
        auto bytes = link::terminated(input);
        const auto added = state.call(table.cuLinkAddData, native, input_type_of(input.kind),
                                      static_cast<void*>(bytes.data()), bytes.size(),
                                      input.name.c_str(), 0U, nullptr, nullptr);
        if (!added)
            return fail_link(added.error(), fmt::format("Adding '{}'", input.name), buffers);
        link::describe(input, linked);
    }
    void* code = nullptr;
    std::size_t size = 0;
    const auto completed = state.call(table.cuLinkComplete, native, &code, &size);
    if (!completed)
        return fail_link(completed.error(), fmt::format("Linking '{}'", shortened(linked.name)),
                         buffers);

    // The software device's machine code is PTX.
    const std::string_view text(static_cast<const char*>(code), size);
    if (const auto ptx = text.substr(0, text.find('\0')); begins_as_ptx(ptx)) {
        linked.ptx = ptx;
        linked.arch = ptx_target_of(ptx).value_or(target.as_virtual());
        linked.kernels = kernels_of_ptx(ptx);
    } else {
        const auto* const begin = static_cast<const std::byte*>(code);
        linked.cubin.assign(begin, begin + size);
        linked.arch = target;
    }
    linked.log = with_readable_symbols(buffers.text());
    linked.compiler = "driver for CUDA " + cuda_version_text(state.driver->version);
    return linked;
}

}  // namespace LODE_NAMESPACE
