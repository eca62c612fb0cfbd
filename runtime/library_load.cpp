#include "base/ptx_scan.hpp"
#include "base/tile_ir.hpp"
#include "base/try.hpp"
#include "runtime/jit_options.hpp"
#include "runtime/state/library_state.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/linker.hpp>
#include <lode/jit/target.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {

std::string LoadLog::text() const {
    std::string text(errors.data(), ::strnlen(errors.data(), errors.size()));
    const std::string_view more(information.data(),
                                ::strnlen(information.data(), information.size()));
    if (!text.empty() && !more.empty()) text += '\n';
    return text.append(more);
}

void LibraryState::unload() noexcept {
    if (handle == nullptr) return;
    // Libraries belong to no context, so a reset leaves them loaded.
    const OutsideCapture outside(*device->driver);
    const auto& entry = device->table().cuLibraryUnload;
    const CUresult result = entry(handle);
    // A library that is still loaded would go on to call this object.
    if (result != CUDA_SUCCESS && !line_requests.empty())
        device->driver->set_emulator_lines(handle, nullptr, nullptr);
    handle = nullptr;
    device->report_destroy(entry.name, result);
    device->forget_kernels();
}

namespace {

enum class Form : std::uint8_t { machine_code, ptx, tile_ir };

Arch ptx_arch(const Image& image) {
    return ptx_target_of(image.ptx).value_or(image.arch.as_virtual());
}

/// "machine code (sm_90, 3496 bytes)", "PTX (compute_90, ISA 9.0)" or "Tile IR (13.3, 257 bytes)".
std::string describe(const Image& image, Form form) {
    if (form == Form::machine_code) {
        return fmt::format("machine code ({}, {} bytes)", image.arch.to_string(),
                           image.cubin.size());
    }
    if (form == Form::tile_ir) {
        const auto version = tile_ir_version(image.tile_ir);
        return fmt::format("Tile IR ({}{} bytes)",
                           version ? cuda_version_text(*version) + ", " : "", image.tile_ir.size());
    }
    const auto version = ptx_version_of(image.ptx);
    const std::string isa =
        version ? fmt::format(", ISA {}.{}", version->version_major, version->version_minor) : "";
    return fmt::format("PTX ({}{})", ptx_arch(image).to_string(), isa);
}

/// Options that drivers don't have from the start.
Status check_driver_has(const LoadOptions& options, const DriverState& driver) {
    constexpr int block_limits_since = 12040;
    constexpr int split_compile_since = 13000;
    constexpr int loader_threads_since = 13010;
    const auto needs = [&](bool is_used, int since, std::string_view option) -> Status {
        if (!is_used) return {};
        return driver.require_version(since, fmt::format("LoadOptions::{}", option));
    };
    LODE_TRY(needs(options.max_threads_per_block > 0, block_limits_since, "max_threads_per_block"));
    LODE_TRY(needs(options.override_directives, block_limits_since, "override_directives"));
    LODE_TRY(needs(options.split_compile != 1, split_compile_since, "split_compile"));
    return needs(options.loader_threads != 1, loader_threads_since, "loader_threads");
}

Status check_options(const LoadOptions& options, const DriverState& driver) {
    constexpr int most_registers = 255;
    constexpr int highest_level = 4;
    constexpr int most_threads = 1024;
    constexpr int most_blocks = 32;
    struct Range {
        std::string_view option;
        int value;
        int most;
    };
    const Range ranges[] = {
        {"min_threads_per_block", options.min_threads_per_block, most_threads},
        {"max_threads_per_block", options.max_threads_per_block, most_threads},
        {"min_blocks_per_multiprocessor", options.min_blocks_per_multiprocessor, most_blocks},
        {"split_compile", options.split_compile, std::numeric_limits<int>::max()},
        {"loader_threads", options.loader_threads, std::numeric_limits<int>::max()}};
    for (const Range& range : ranges) {
        if (range.value < 0 || range.value > range.most) {
            return fail(Errc::invalid_argument,
                        fmt::format("LoadOptions::{} ({}) is outside the range 0 to {}.",
                                    range.option, range.value, range.most));
        }
    }
    if (options.min_blocks_per_multiprocessor > 0) {
        if (options.max_threads_per_block == 0) {
            return fail(Errc::invalid_argument,
                        "LoadOptions::min_blocks_per_multiprocessor needs max_threads_per_block.");
        }
        if (options.max_registers > 0 || options.min_threads_per_block > 0) {
            return fail(Errc::invalid_argument,
                        "The driver ignores LoadOptions::min_blocks_per_multiprocessor beside "
                        "max_registers or min_threads_per_block.");
        }
    }
    if (options.max_registers < 0 || options.max_registers > most_registers) {
        return fail(Errc::invalid_argument,
                    fmt::format("LoadOptions::max_registers ({}) is outside the range 0 to {}.",
                                options.max_registers, most_registers));
    }
    if (options.optimization_level < -1 || options.optimization_level > highest_level) {
        return fail(Errc::invalid_argument,
                    fmt::format("LoadOptions::optimization_level ({}) is outside the range -1 to "
                                "{}.",
                                options.optimization_level, highest_level));
    }
    return check_driver_has(options, driver);
}

/// Whether the driver takes the image's Tile IR. Drivers load it from CUDA 13.1 on, and not that of
/// a newer version than their own. An older one only says that the image is invalid.
Status check_tile_ir(const Image& image, const DriverState& driver) {
    constexpr int loaded_since = 13010;
    if (driver.is_emulator()) {
        return fail(Errc::not_supported,
                    fmt::format("Image '{}' has only Tile IR, which the software device doesn't "
                                "run; it runs PTX.",
                                image.name));
    }
    const auto version = tile_ir_version(image.tile_ir);
    if (!version) {
        return fail(
            Errc::invalid_image,
            fmt::format("The Tile IR of image '{}' ({} bytes) doesn't begin as Tile IR does.",
                        image.name, image.tile_ir.size()));
    }
    return driver.require_version(
        std::max(loaded_since, *version),
        fmt::format("Image '{}', Tile IR {},", image.name, cuda_version_text(*version)));
}

/// The forms to try, best first. unsupported_arch if the device can run none of them.
Result<std::vector<Form>> forms_to_try(const Image& image, const DeviceState& device,
                                       const LoadOptions& options) {
    LODE_TRY_ASSIGN(const bool force_ptx, environment_flag("LODE_FORCE_PTX"));
    const bool has_code = !image.cubin.empty() && !force_ptx;
    const bool has_ptx = !image.ptx.empty();
    if (force_ptx && !has_ptx) {
        return fail(
            Errc::unsupported_arch,
            fmt::format("Image '{}' has no PTX, which LODE_FORCE_PTX asks for.", image.name));
    }
    if (!has_code && !has_ptx && !image.lto_ir.empty()) {
        return fail(Errc::invalid_image,
                    fmt::format("Image '{}' is LTO-IR, which no driver loads. Link it to machine "
                                "code with lode::Linker.",
                                image.name));
    }
    if (!image.optix_ir.empty()) {
        return fail(Errc::invalid_image,
                    fmt::format("Image '{}' is OptiX IR, which OptiX loads, not the driver: give "
                                "Image::optix_ir to optixModuleCreate().",
                                image.name));
    }
    // Beside other code it isn't a form of the same kernels.
    if (image.cubin.empty() && !has_ptx && !image.tile_ir.empty()) {
        LODE_TRY(check_tile_ir(image, *device.driver));
        return std::vector{Form::tile_ir};
    }
    if (!has_code && !has_ptx) {
        return fail(Errc::invalid_image,
                    fmt::format("Image '{}' has neither machine code nor PTX.", image.name));
    }
    const auto cc = device.properties.cc;
    const bool ptx_runs = has_ptx && ptx_arch(image).runs_on(cc);
    std::vector<Form> forms;
    if (ptx_runs) forms.push_back(Form::ptx);
    if (ptx_runs && device.driver->is_emulator()) return forms;  // The emulator runs only PTX.
    if (has_code && image.arch.runs_on(cc)) {
        forms.insert(options.prefer_ptx ? forms.end() : forms.begin(), Form::machine_code);
    }
    if (!forms.empty()) return forms;

    const std::string code = has_code ? describe(image, Form::machine_code) : "";
    const std::string ptx = has_ptx ? describe(image, Form::ptx) : "";
    return fail(
        Errc::unsupported_arch,
        fmt::format("Image '{}' has {}{}{}, which {} can't run. Compile for {}{}.", image.name,
                    code, has_code && has_ptx ? " and " : "", ptx, device.describe(),
                    Arch(cc).to_string(), has_ptx ? "" : ", or keep the PTX in the image"));
}

/// PTX with its final NUL.
std::span<const std::byte> form_bytes(const Image& image, Form form) {
    switch (form) {
        case Form::machine_code:
            return image.cubin;
        case Form::tile_ir:
            return image.tile_ir;
        case Form::ptx:
            break;
    }
    return std::as_bytes(std::span(image.ptx.c_str(), image.ptx.size() + 1));
}

/// Loads one form into the device's context at once, so that errors of the driver's compiler
/// surface here and not at the first launch.
Status load_form(LibraryState& library, Form form, const LoadOptions& options) {
    DeviceState& device = *library.device;
    const DriverTable& table = device.table();
    library.buffers = std::make_unique<LoadLog>();
    JitOptions jit(*library.buffers);
    if (form == Form::ptx) jit.add_compiler_options(options);
    const void* code = form_bytes(*library.image, form).data();

    LODE_TRY_ASSIGN(const CurrentContext scope, CurrentContext::enter(device));
    const OutsideCapture outside(*device.driver);
    LODE_TRY(device.call(table.cuLibraryLoadData, &library.handle, code, jit.names(), jit.values(),
                         jit.count(), nullptr, nullptr, 0U));
    device.has_loaded_code.store(true, std::memory_order_relaxed);
    CUmodule module = nullptr;
    return device.call(table.cuLibraryGetModule, &module, library.handle);
}

/// SetEmulatorLines: gives the software device lines for a library, the `user`. Runs on a thread of
/// the device, which waits.
void give_lines(void* user, TakeEmulatorLines* take, void* to) noexcept {
    const auto& library = *static_cast<const LibraryState*>(user);
    try {
        for (const auto& request : library.line_requests)
            if (const auto ptx = library.device->lines->compile(*request))
                take(to, ptx->data(), ptx->size());
    } catch (const std::exception&) {  // Without memory, there are fewer lines.
    }
}

/// Lets the software device ask for lines of the code, if lode has compiled it.
void offer_lines(LibraryState& library) {
    const DriverState& driver = *library.device->driver;
    if (library.device->lines == nullptr || driver.set_emulator_lines == nullptr) return;
    library.line_requests = library.device->lines->requests_of(*library.image);
    if (!library.line_requests.empty())
        driver.set_emulator_lines(library.handle, &give_lines, &library);
}

/// Whether another form of the same code may load.
bool is_about_the_form(const Error& error) {
    constexpr int codes[] = {CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
                             CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                             CUDA_ERROR_JIT_COMPILATION_DISABLED};
    return error.native.origin == Native::Origin::driver &&
           std::ranges::find(codes, error.native.code) != std::end(codes);
}

bool is_unsupported_ptx(const Error& error) {
    return error.native.origin == Native::Origin::driver &&
           error.native.code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

/// The last step of the arch ladder: nvJitLink compiles the PTX that this driver refuses to machine
/// code. If no library can, the ladder's error says why.
Result<Image> link_ptx(const Image& image, const DeviceState& device, const LoadOptions& options) {
    const int driver_version = device.driver->version;
    const Linker linker({.driver_version = driver_version});
    const auto found = linker.info();
    LODE_TRY_ASSIGN(const Image ptx, Image::from_ptx(image.ptx, image.name));
    const ImageProperties properties = ImageProperties::of(ptx);
    const auto cc = device.properties.cc;
    LODE_TRY(choose_image(cc, std::span(&properties, 1),
                          {.driver_version = driver_version,
                           .linker_version = found ? found->version : 0,
                           .driver_refused_ptx = true}));
    return linker.link(ptx, Arch(cc, ptx.arch.suffix()),
                       {.max_registers = options.max_registers,
                        .line_info = options.line_info,
                        .debug = options.debug});
}

/// Loads the machine code that nvJitLink makes from the library's PTX, instead of the PTX.
Status load_linked(LibraryState& library, const LoadOptions& options) {
    LODE_TRY_ASSIGN(Image linked, link_ptx(*library.image, *library.device, options));
    library.device->driver->log.write(
        LogLevel::info, fmt::format("Loading '{}' as {} by {}, because the driver refuses its PTX",
                                    library.image->name, linked.arch.to_string(), linked.compiler));
    auto image = std::make_shared<Image>(*library.image);
    image->arch = linked.arch;
    image->cubin = std::move(linked.cubin);
    library.image = std::move(image);
    return load_form(library, Form::machine_code, options);
}

}  // namespace

Result<std::span<const std::byte>> code_for_driver(const Image& image, const DeviceState& device) {
    LODE_TRY_ASSIGN(const auto forms, forms_to_try(image, device, {}));
    return form_bytes(image, forms.front());
}

Result<std::shared_ptr<const LibraryState>> load_library(std::shared_ptr<DeviceState> device,
                                                         std::shared_ptr<const Image> image,
                                                         const LoadOptions& options) {
    LODE_TRY(check_options(options, *device->driver));
    if (device->notice_reset()) return tl::unexpected<Error>(device->lost_error());
    LODE_TRY_ASSIGN(const auto forms, forms_to_try(*image, *device, options));
    const auto library = std::make_shared<LibraryState>(std::move(device), std::move(image));
    const DriverState& driver = *library->device->driver;
    for (const Form form : forms) {
        auto loaded = load_form(*library, form, options);
        library->log = library->buffers->text();
        if (loaded) {
            offer_lines(*library);
            return library;
        }
        library->unload();
        Error error = std::move(loaded).error();
        if (form != forms.back() && is_about_the_form(error)) {
            driver.log.write(LogLevel::warning, fmt::format("Trying the other form of '{}': {}",
                                                            library->image->name, error.message));
            continue;
        }
        if (form == Form::ptx && is_unsupported_ptx(error)) {
            const auto linked = load_linked(*library, options);
            if (linked) return library;
            library->unload();
            error.message += "\n" + linked.error().message;
            library->log += linked.error().log;
        }
        error.log = library->log;
        return tl::unexpected<Error>(std::move(error).in(
            fmt::format("loading '{}', {}, on {} with a driver for CUDA {}", library->image->name,
                        describe(*library->image, form), library->device->describe(),
                        cuda_version_text(driver.version))));
    }
    return library;  // Unreachable: the last form returns.
}

}  // namespace LODE_NAMESPACE::detail
