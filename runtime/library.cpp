#include "base/cxx_names.hpp"
#include "base/message_text.hpp"
#include "runtime/state/empty.hpp"
#include "runtime/state/in_order.hpp"
#include "runtime/state/kernel_state.hpp"

#include <lode/runtime/library.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
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
    if (!library.image->kernels.empty()) return names_by_ptx(*library.image);
    return names_by_driver(library);
}

}  // namespace detail

namespace {

/// The symbols that a variable of this C++ name may have: from name expressions that differ only in
/// spelling, and from the mangling of variables in namespaces, "_ZN2ns5tableE".
std::vector<std::string> symbols_of_variable(const Image& image, std::string_view name) {
    std::vector<NamedSymbol> expressions;
    for (const auto& [expression, symbol] : image.lowered_names)
        expressions.push_back({symbol, expression});
    auto symbols = symbols_named(name, expressions);
    std::string mangled;
    std::string canonical = canonical_name(name, Spelling::exact);
    if (canonical.starts_with('&')) canonical.erase(0, 1);
    if (canonical.find("::") == std::string::npos) {
        mangled = canonical;
    } else if (canonical.find('<') == std::string::npos) {
        mangled = "_ZN";
        for (std::string_view rest = canonical; !rest.empty();) {
            const auto part = rest.substr(0, rest.find("::"));
            mangled += fmt::format("{}{}", part.size(), part);
            rest.remove_prefix(std::min(part.size() + 2, rest.size()));
        }
        mangled += 'E';
    }
    if (symbols.empty() && !mangled.empty()) symbols.push_back(std::move(mangled));
    return symbols;
}

/// Searches with `entry`, cuLibraryGetGlobal or cuLibraryGetManaged.
template <class Entry>
Result<GlobalVariable> find_variable(const detail::LibraryState& state, const Entry& entry,
                                     std::string_view name) {
    const detail::LibraryState* const library = &state;
    detail::DeviceState& device = *library->device;
    const Image& image = *library->image;
    // A variable's name expression is its address: "&ns::table".
    std::string symbol(image.symbol_of(name));
    if (symbol == name) symbol = image.symbol_of("&" + symbol);
    if (symbol.starts_with('&')) symbol.erase(0, 1);
    GlobalVariable variable;
    const auto find = [&] {
        return detail::call_in_context(device, entry, &variable.address, &variable.size,
                                       library->handle, symbol.c_str());
    };
    auto found = find();
    if (found) return variable;
    Error error = std::move(found).error();
    if (error.code != Errc::not_found) return tl::unexpected<Error>(std::move(error));
    const auto symbols = symbols_of_variable(image, name);
    if (symbols.size() == 1) {
        symbol = symbols.front();
        found = find();
        if (found) return variable;
        if (found.error().code != Errc::not_found)
            return tl::unexpected<Error>(std::move(found).error());
    }
    error.message = fmt::format(
        "Image '{}' has no variable '{}'. Name a C++ variable as a name expression when "
        "compiling, \"&{}\", which also keeps the compiler from dropping it.",
        image.name, shortened(name), shortened(name.starts_with('&') ? name.substr(1) : name));
    if (symbols.size() > 1) {
        error.message = fmt::format("'{}' is the name of {} variables of image '{}': {}.",
                                    shortened(name), symbols.size(), image.name, listed(symbols));
    }
    return tl::unexpected<Error>(std::move(error));
}

Result<GlobalVariable> find_global(const detail::LibraryState* library, std::string_view name) {
    if (library == nullptr) return detail::fail_empty("library");
    return find_variable(*library, library->device->table().cuLibraryGetGlobal, name);
}

/// A variable as elements of a type.
Result<detail::TypedVariable> as_elements(const GlobalVariable& variable,
                                          detail::DeviceState& device, std::string_view name,
                                          std::size_t size, std::size_t align) {
    if (variable.size % size != 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("The variable '{}' has {} bytes, which isn't a whole number of "
                                "elements of {} bytes.",
                                name, variable.size, size));
    }
    if (variable.address % align != 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("The variable '{}' at {:#x} isn't aligned to {} bytes.", name,
                                variable.address, align));
    }
    return detail::TypedVariable{{variable.address, &device}, variable.size / size};
}

Status check_extent(std::string_view name, std::size_t bytes, const GlobalVariable& variable) {
    if (bytes <= variable.size) return {};
    return fail(Errc::invalid_argument,
                fmt::format("A copy of {} bytes exceeds the size of the variable '{}' ({} bytes).",
                            bytes, name, variable.size));
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

Result<detail::TypedVariable> Library::typed_global(std::string_view name, std::size_t size,
                                                    std::size_t align) const {
    LODE_TRY_ASSIGN(const GlobalVariable variable, find_global(state_.get(), name));
    return as_elements(variable, *state_->device, name, size, align);
}

Result<detail::TypedVariable> Library::typed_managed(std::string_view name, std::size_t size,
                                                     std::size_t align) const {
    if (!state_) return detail::fail_empty("library");
    detail::DeviceState& device = *state_->device;
    if (!device.properties.managed_memory) {
        return fail(Errc::not_supported,
                    fmt::format("Managed variables aren't supported by {}.", device.describe()));
    }
    const auto& entry = device.table().cuLibraryGetManaged;
    LODE_TRY(device.driver->require(entry, "A managed variable"));
    auto variable = find_variable(*state_, entry, name);
    if (!variable) {
        Error error = std::move(variable).error();
        if (error.code == Errc::not_found)
            error.message = fmt::format("Image '{}' has no managed variable '{}'.",
                                        state_->image->name, shortened(name));
        return tl::unexpected<Error>(std::move(error));
    }
    return as_elements(*variable, device, name, size, align);
}

Status Library::check_count(std::string_view name, std::size_t size, std::size_t has,
                            std::size_t wanted) {
    if (has == wanted) return {};
    return fail(Errc::invalid_argument,
                fmt::format("The variable '{}' has {} elements of {} bytes, not {}.", name, has,
                            size, wanted));
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
    static const detail::Permanent<Image> none;
    return state_ ? *state_->image : none.value;
}

const std::string& Library::load_log() const noexcept {
    static const detail::Permanent<std::string> none;
    return state_ ? state_->log : none.value;
}

NativeLibrary Library::native() const noexcept {
    return state_ ? state_->handle : nullptr;
}

}  // namespace LODE_NAMESPACE
