#include "base/align_up.hpp"
#include "base/cxx_names.hpp"
#include "base/message_text.hpp"
#include "runtime/state/empty.hpp"
#include "runtime/state/kernel_state.hpp"

#include <lode/runtime/kernel.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {
namespace {

/// The names that kernels have: every symbol, and every name expression of a kernel. If the symbols
/// are unknown, a name expression without "&" counts as a kernel's.
std::vector<NamedSymbol> candidates(const LibraryState& library,
                                    const std::vector<std::string>& symbols) {
    std::vector<NamedSymbol> names;
    for (const auto& symbol : symbols)
        names.push_back({symbol});
    for (const auto& [expression, symbol] : library.image->lowered_names) {
        const bool is_kernel = symbols.empty()
                                   ? !expression.starts_with('&')
                                   : std::ranges::find(symbols, symbol) != symbols.end();
        if (is_kernel) names.push_back({symbol, expression});
    }
    return names;
}

/// The symbol of the kernel that `name` spells in C++. `error` is the driver's for `name` itself;
/// the error code is not_found also if several kernels have the name.
Result<std::string> spelled_symbol(const LibraryState& library, std::string_view name,
                                   Error error) {
    const auto symbols = kernel_names(library);
    const auto known = candidates(library, symbols.value_or(std::vector<std::string>()));
    const auto found = symbols_named(name, known);
    if (found.size() == 1) return found.front();
    if (!found.empty()) {
        error.message = fmt::format(
            "'{}' is the name of {} kernels of image '{}': {}. Name one with its parameters or by "
            "its symbol.",
            shortened(name), found.size(), library.image->name, listed_near(name, found));
        return tl::unexpected<Error>(std::move(error));
    }
    const Image& image = *library.image;
    error.message = fmt::format("Image '{}' has no kernel '{}'.", image.name, shortened(name));
    if (!image.tile_ir.empty() && !(image.cubin.empty() && image.ptx.empty()))
        error.message +=
            " Its tile kernels aren't loaded beside other code; compile them with Tile::only.";
    if (!symbols) return tl::unexpected<Error>(std::move(error));
    std::vector<std::string> names;
    for (const auto& candidate : known)
        names.push_back(candidate.name.empty() ? readable_name(candidate.symbol) : candidate.name);
    error.message += suggestion(name, names);
    error.message += symbols->empty() ? " It has no kernels."
                                      : fmt::format(" It has: {}.", listed_near(name, *symbols));
    return tl::unexpected<Error>(std::move(error));
}

Status read_attributes(KernelState& kernel) {
    DeviceState& device = *kernel.device;
    Status status;
    const auto read = [&](CUfunction_attribute attribute) {
        int value = 0;
        if (status) {
            status = device.call(device.table().cuKernelGetAttribute, &value, attribute,
                                 kernel.handle, device.device);
        }
        return value;
    };
    const auto bytes = [&](CUfunction_attribute attribute) {
        return static_cast<std::size_t>(read(attribute));
    };
    KernelAttributes& to = kernel.attributes;
    to.registers = read(CU_FUNC_ATTRIBUTE_NUM_REGS);
    to.static_shared_bytes = bytes(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    to.constant_bytes = bytes(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    to.local_bytes = bytes(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    to.max_threads_per_block = read(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    to.ptx_version = read(CU_FUNC_ATTRIBUTE_PTX_VERSION);
    to.binary_version = read(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    const auto shared = device.properties.shared_bytes_per_block_optin;
    to.max_dynamic_shared_bytes = shared - std::min(shared, to.static_shared_bytes);
    return status;
}

void set_limits(KernelState& kernel) {
    const DeviceProperties& device = kernel.device->properties;
    const auto& attributes = kernel.attributes;
    kernel.limits.grid = device.max_grid;
    kernel.limits.block = device.max_block;
    kernel.limits.threads = static_cast<std::uint32_t>(
        std::min(attributes.max_threads_per_block, device.max_threads_per_block));
    const auto usual = device.shared_bytes_per_block;
    kernel.shared_ready =
        static_cast<std::uint32_t>(usual - std::min(usual, attributes.static_shared_bytes));
}

/// The number of parameters by the image's PTX, else by the driver; nullopt if neither says it.
Result<std::optional<std::size_t>> parameter_count(const KernelState& kernel,
                                                   const KernelSignature* signature) {
    if (signature != nullptr) return signature->parameters.size();
    const auto& entry = kernel.device->table().cuKernelGetParamCount;
    if (!entry) return std::nullopt;
    std::size_t count = 0;
    LODE_TRY(kernel.device->call(entry, kernel.handle, &count));
    return count;
}

/// Reads the parameters from the driver if it can list them, else from the image's PTX. Asking the
/// driver for one past the last is an error that checking tools report, so that is done only if
/// nothing else gives their number.
Status read_parameters(KernelState& kernel) {
    DeviceState& device = *kernel.device;
    const auto* const signature = kernel.library->image->signature_of(kernel.symbol);
    if (const auto& entry = device.table().cuKernelGetParamInfo) {
        LODE_TRY_ASSIGN(const auto count, parameter_count(kernel, signature));
        while (!count || kernel.parameters.size() < *count) {
            ParameterSlot slot;
            const CUresult result =
                entry(kernel.handle, kernel.parameters.size(), &slot.offset, &slot.size);
            if (result == CUDA_ERROR_INVALID_VALUE) break;  // No more parameters.
            if (result != CUDA_SUCCESS)
                return tl::unexpected<Error>(device.failed(entry.name, result));
            kernel.parameters.push_back(slot);
        }
        // A driver counts from a place of its own if the first parameter is aligned to 64 bytes or
        // more (a tensor map, for example): it says 48 or 112.
        const std::size_t first = kernel.parameters.empty() ? 0 : kernel.parameters.front().offset;
        for (auto& parameter : kernel.parameters)
            parameter.offset -= std::min(first, parameter.offset);
        kernel.parameters_known = true;
    } else if (signature != nullptr) {
        for (const auto& parameter : signature->parameters)
            kernel.parameters.push_back({parameter.offset, parameter.size});
        kernel.parameters_known = true;
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<const KernelState>> find_kernel(std::shared_ptr<const LibraryState> library,
                                                       std::string_view name) {
    DeviceState& device = *library->device;
    if (device.notice_reset()) return tl::unexpected<Error>(device.lost_error());
    {
        const std::lock_guard guard(library->kernels_mutex);
        const auto known = library->kernels.find(name);
        if (known != library->kernels.end()) {
            if (auto kernel = known->second.lock()) return kernel;
        }
    }
    auto kernel = std::make_shared<KernelState>();
    static std::atomic<std::uint64_t> kernels{0};
    kernel->number = kernels.fetch_add(1, std::memory_order_relaxed) + 1;
    kernel->device = &device;
    static_assert(std::is_same_v<std::underlying_type_t<CUresult>, unsigned>);
    kernel->launch = reinterpret_cast<LaunchFunction>(
        reinterpret_cast<void*>(device.table().cuLaunchKernel.function));
    kernel->name = name;
    kernel->symbol = library->image->symbol_of(name);
    kernel->breadcrumb = device.intern(kernel->name);
    kernel->library = std::move(library);

    LODE_TRY_ASSIGN(const CurrentContext scope, CurrentContext::enter(device));
    const OutsideCapture outside(*device.driver);
    const auto fill = [&]() -> Status {
        const auto find = [&] {
            return device.call(device.table().cuLibraryGetKernel, &kernel->handle,
                               kernel->library->handle, kernel->symbol.c_str());
        };
        if (auto found = find(); !found) {
            if (found.error().code != Errc::not_found) return found;
            LODE_TRY_ASSIGN(kernel->symbol,
                            spelled_symbol(*kernel->library, name, std::move(found).error()));
            LODE_TRY(find());
        }
        LODE_TRY(
            device.call(device.table().cuKernelGetFunction, &kernel->function, kernel->handle));
        LODE_TRY(read_attributes(*kernel));
        set_limits(*kernel);
        return read_parameters(*kernel);
    };
    if (auto filled = fill(); !filled) {
        return tl::unexpected<Error>(
            std::move(filled).error().in(fmt::format("finding kernel '{}'", shortened(name))));
    }
    device.note_kernel(kernel->function, kernel->handle, kernel->library);
    const std::lock_guard guard(kernel->library->kernels_mutex);
    kernel->library->kernels[kernel->name] = kernel;
    return kernel;
}

Status opt_in_to_shared(const KernelState& kernel, std::uint32_t bytes) {
    const std::lock_guard guard(kernel.opt_in_mutex);
    if (bytes <= kernel.shared_ready.load(std::memory_order_relaxed)) return {};
    DeviceState& device = *kernel.device;
    const std::lock_guard kernels(kernel.library->kernels_mutex);
    auto& limit = kernel.library->shared_limits[kernel.handle];
    if (bytes > limit) {
        LODE_TRY(device.call(device.table().cuKernelSetAttribute,
                             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             static_cast<int>(bytes), kernel.handle, device.device));
        limit = bytes;
    }
    kernel.shared_ready.store(limit, std::memory_order_relaxed);
    return {};
}

Result<int> resident_blocks(const KernelState& kernel, std::uint32_t threads,
                            std::uint32_t dynamic_shared_bytes) {
    constexpr unsigned threads_at = 48;
    constexpr unsigned blocks_at = 32;
    constexpr std::uint64_t blocks_mask = 0xffff;
    const std::uint64_t question = std::uint64_t{threads} << threads_at | dynamic_shared_bytes;
    const auto memo = kernel.residency_memo.load(std::memory_order_relaxed);
    if ((memo & ~(blocks_mask << blocks_at)) == question)
        return static_cast<int>(memo >> blocks_at & blocks_mask);

    LODE_TRY(opt_in_to_shared(kernel, dynamic_shared_bytes));
    int blocks = 0;
    LODE_TRY(call_in_context(
        *kernel.device, kernel.device->table().cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks,
        kernel.function, static_cast<int>(threads), std::size_t{dynamic_shared_bytes}));
    kernel.residency_memo.store(question | static_cast<std::uint64_t>(blocks) << blocks_at,
                                std::memory_order_relaxed);
    return blocks;
}

}  // namespace detail

namespace {

/// The state that all empty kernels share: no device, no name, and limits that no shape meets.
const detail::KernelState& empty_kernel() noexcept {
    static const detail::Permanent<detail::KernelState> kernel;
    return kernel.value;
}

}  // namespace

UntypedKernel::UntypedKernel() noexcept
    : state_(std::shared_ptr<const void>(), &empty_kernel()), launchable_(state_.get()) {}

UntypedKernel::UntypedKernel(std::shared_ptr<const detail::KernelState> state) noexcept
    : state_(std::move(state)), launchable_(state_.get()) {}

UntypedKernel::UntypedKernel(UntypedKernel&& other) noexcept : UntypedKernel() {
    std::swap(state_, other.state_);
    std::swap(launchable_, other.launchable_);
}

UntypedKernel& UntypedKernel::operator=(UntypedKernel&& other) noexcept {
    UntypedKernel taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(launchable_, taken.launchable_);
    return *this;
}

const std::string& UntypedKernel::name() const noexcept {
    return state_->name;
}

const std::string& UntypedKernel::symbol() const noexcept {
    return state_->symbol;
}

const KernelAttributes& UntypedKernel::attributes() const noexcept {
    return state_->attributes;
}

NativeKernel UntypedKernel::native() const noexcept {
    return state_->handle;
}

Status UntypedKernel::preload() const {
    if (!*this) return detail::fail_empty("kernel");
    detail::DeviceState& device = *state_->device;
    const detail::DriverTable& table = device.table();
    const detail::OutsideCapture outside(*device.driver);
    if (!table.cuFuncLoad) return {};  // Before 12.4 getting the function loads it.
    return detail::call_in_context(device, table.cuFuncLoad, state_->function);
}

Result<Occupancy> UntypedKernel::occupancy(std::uint32_t threads_per_block,
                                           std::size_t dynamic_shared_bytes) const {
    if (!*this) return detail::fail_empty("kernel");
    LaunchShape shape;
    shape.block.x = threads_per_block;
    shape.dynamic_shared_bytes = static_cast<std::uint32_t>(
        std::min<std::size_t>(dynamic_shared_bytes, std::numeric_limits<std::uint32_t>::max()));
    LODE_TRY(detail::check_limits(*state_, shape));
    LODE_TRY_ASSIGN(const int blocks, detail::resident_blocks(*state_, threads_per_block,
                                                              shape.dynamic_shared_bytes));
    const DeviceProperties& device = state_->device->properties;
    const auto warp = static_cast<std::uint32_t>(std::max(device.warp_size, 1));
    const auto warps_per_block = divide_up(threads_per_block, warp);
    const double warps = blocks * static_cast<double>(warps_per_block);
    const double most = device.max_threads_per_multiprocessor / static_cast<double>(warp);
    return Occupancy{blocks, most > 0 ? warps / most : 0};
}

Result<int> UntypedKernel::suggest_block_size(std::size_t dynamic_shared_bytes) const {
    if (!*this) return detail::fail_empty("kernel");
    if (const auto most = state_->attributes.max_dynamic_shared_bytes;
        dynamic_shared_bytes > most) {
        return fail(Errc::out_of_resources,
                    fmt::format("Dynamic shared memory ({} bytes) exceeds {}, the most that kernel "
                                "'{}' can have on {}.",
                                dynamic_shared_bytes, most, name(), state_->device->describe()));
    }
    LODE_TRY(detail::opt_in_to_shared(*state_, static_cast<std::uint32_t>(dynamic_shared_bytes)));
    int least_grid = 0;
    int block = 0;
    constexpr int no_limit = 0;
    LODE_TRY(detail::call_in_context(
        *state_->device, state_->device->table().cuOccupancyMaxPotentialBlockSize, &least_grid,
        &block, state_->function, CUoccupancyB2DSize{nullptr}, dynamic_shared_bytes, no_limit));
    return block;
}

}  // namespace LODE_NAMESPACE
