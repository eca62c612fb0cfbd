#include "runtime/empty.hpp"
#include "runtime/kernel_state.hpp"
#include "runtime/memory.hpp"

#include <lode/runtime/library.hpp>

#include <fmt/format.h>

namespace lode {
namespace detail {
namespace {

constexpr std::string_view enumeration = "Listing the kernels of an image without PTX";

std::vector<std::string> names_by_ptx(const Image& image) {
    std::vector<std::string> names;
    for (const auto& kernel : image.kernels)
        names.push_back(kernel.kernel);
    return names;
}

Result<std::vector<std::string>> names_by_driver(const LibraryState& library) {
    DeviceState& device = *library.device;
    const DriverTable& table = device.table();
    LODE_TRY(device.driver->require(table.cuLibraryEnumerateKernels, enumeration));
    LODE_TRY(device.driver->require(table.cuLibraryGetKernelCount, enumeration));
    LODE_TRY(device.driver->require(table.cuKernelGetName, enumeration));
    unsigned count = 0;
    LODE_TRY(device.call(table.cuLibraryGetKernelCount, &count, library.handle));
    std::vector<CUkernel> kernels(count);
    LODE_TRY(device.call(table.cuLibraryEnumerateKernels, kernels.data(), count, library.handle));
    std::vector<std::string> names;
    for (CUkernel kernel : kernels) {
        const char* name = nullptr;
        LODE_TRY(device.call(table.cuKernelGetName, &name, kernel));
        names.emplace_back(name);
    }
    return names;
}

}  // namespace

Result<std::vector<std::string>> kernel_names(const LibraryState& library) {
    if (!library.image.kernels.empty()) return names_by_ptx(library.image);
    return names_by_driver(library);
}

}  // namespace detail

namespace {

Result<GlobalVariable> find_global(const detail::LibraryState* library, std::string_view name) {
    if (library == nullptr) return detail::fail_empty("library");
    detail::DeviceState& device = *library->device;
    const Image& image = library->image;
    // A variable's name expression is its address: "&ns::table".
    std::string symbol(image.symbol_of(name));
    if (symbol == name) symbol = image.symbol_of("&" + symbol);
    if (symbol.starts_with('&')) symbol.erase(0, 1);
    GlobalVariable variable;
    LODE_TRY(detail::call_in_context(device, device.table().cuLibraryGetGlobal, &variable.address,
                                     &variable.size, library->handle, symbol.c_str())
                 .map_error([&](Error error) {
                     if (error.code != Errc::not_found) return error;
                     error.message = fmt::format(
                         "Image '{}' has no variable '{}'. Name a C++ variable as a name "
                         "expression when compiling, \"&{}\", which also keeps the compiler from "
                         "dropping it.",
                         image.name, name, name);
                     return error;
                 }));
    return variable;
}

Status check_extent(std::string_view name, std::size_t bytes, const GlobalVariable& variable) {
    if (bytes <= variable.size) return {};
    return fail(Errc::invalid_argument,
                fmt::format("A copy of {} bytes exceeds the variable '{}' ({} bytes).", bytes, name,
                            variable.size));
}

}  // namespace

Result<std::vector<std::string>> Library::kernel_names() const {
    if (!state_) return detail::fail_empty("library");
    return detail::kernel_names(*state_);
}

Result<UntypedKernel> Library::kernel(std::string_view name) const {
    if (!state_) return detail::fail_empty("library");
    return detail::find_kernel(state_, name).map([](auto state) {
        return UntypedKernel(std::move(state));
    });
}

Result<GlobalVariable> Library::global(std::string_view name) const {
    return find_global(state_.get(), name);
}

Status Library::write_global(std::string_view name, const void* from, std::size_t bytes) const {
    LODE_TRY_ASSIGN(const GlobalVariable variable, find_global(state_.get(), name));
    LODE_TRY(check_extent(name, bytes, variable));
    detail::DeviceState& device = *state_->device;
    return detail::in_order_with_everything(device, [&] {
        return device.call(device.table().cuMemcpyHtoD, variable.address, from, bytes);
    });
}

Status Library::read_global(std::string_view name, void* to, std::size_t bytes) const {
    LODE_TRY_ASSIGN(const GlobalVariable variable, find_global(state_.get(), name));
    LODE_TRY(check_extent(name, bytes, variable));
    detail::DeviceState& device = *state_->device;
    return detail::in_order_with_everything(device, [&] {
        return device.call(device.table().cuMemcpyDtoH, to, variable.address, bytes);
    });
}

const Image& Library::image() const noexcept {
    static const Image none;
    return state_ ? state_->image : none;
}

const std::string& Library::load_log() const noexcept {
    static const std::string none;
    return state_ ? state_->log : none;
}

NativeLibrary Library::native() const noexcept {
    return state_ ? state_->handle : nullptr;
}

}  // namespace lode
