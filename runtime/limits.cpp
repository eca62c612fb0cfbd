#include "runtime/state/kernel_state.hpp"

#include <lode/runtime/limits.hpp>

#include <array>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

struct LimitName {
    Limit limit;
    CUlimit native;
    std::string_view name;
    std::string_view what;  ///< In a sentence.
    bool before_loading;    ///< Whether it is fixed once code is loaded.
};

constexpr std::array limit_names{
    LimitName{Limit::stack, CU_LIMIT_STACK_SIZE, "stack", "stack size", false},
    LimitName{Limit::printf_fifo, CU_LIMIT_PRINTF_FIFO_SIZE, "printf_fifo", "printf buffer", true},
    LimitName{Limit::malloc_heap, CU_LIMIT_MALLOC_HEAP_SIZE, "malloc_heap", "malloc heap", true},
    LimitName{Limit::pending_launches, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
              "pending_launches", "number of pending launches", false},
    LimitName{Limit::l2_fetch_granularity, CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
              "l2_fetch_granularity", "L2 fetch granularity", false},
    LimitName{Limit::persisting_l2, CU_LIMIT_PERSISTING_L2_CACHE_SIZE, "persisting_l2",
              "persisting part of the L2 cache", false},
};

const LimitName& row_of(Limit limit) noexcept {
    return limit_names[static_cast<std::size_t>(limit)];
}

/// The driver says UNSUPPORTED_LIMIT, which only this file's callers can put into words.
Error in_words(Error error, const detail::DeviceState& device, const LimitName& row) {
    if (error.native.code == CUDA_ERROR_UNSUPPORTED_LIMIT) {
        error.code = Errc::not_supported;
        error.message = fmt::format("{} has no limit of the {}.", device.describe(), row.what);
    }
    return error;
}

Result<std::size_t> read_limit(detail::DeviceState& device, const LimitName& row) {
    std::size_t value = 0;
    LODE_TRY(detail::call_in_context(device, device.table().cuCtxGetLimit, &value, row.native)
                 .map_error([&](Error error) { return in_words(std::move(error), device, row); }));
    return value;
}

}  // namespace

std::string_view to_string(Limit limit) noexcept {
    return row_of(limit).name;
}

Result<std::size_t> limit(const Device& device, Limit limit) {
    return read_limit(*device.state(), row_of(limit));
}

Result<std::size_t> set_limit(const Device& device, Limit limit, std::size_t value) {
    detail::DeviceState& state = *device.state();
    const LimitName& row = row_of(limit);
    if (row.before_loading && state.has_loaded_code.load(std::memory_order_relaxed)) {
        return fail(Errc::invalid_argument,
                    fmt::format("The {} of {} is fixed once code is loaded on it. Set it before "
                                "the first Device::load().",
                                row.what, state.describe()));
    }
    if (const auto most = state.properties.persisting_l2_bytes;
        limit == Limit::persisting_l2 && value > most) {
        return detail::exceeds_limit(fmt::format("The {}", row.what), value, state.describe(),
                                     most);
    }
    LODE_TRY(detail::call_in_context(state, state.table().cuCtxSetLimit, row.native, value)
                 .map_error([&](Error error) {
                     return in_words(std::move(error), state, row)
                         .in(fmt::format("setting the {} to {}", row.what, value));
                 }));
    return read_limit(state, row);
}

Result<std::vector<LimitValue>> limits(const Device& device) {
    std::vector<LimitValue> values;
    for (const LimitName& row : limit_names) {
        auto value = read_limit(*device.state(), row);
        if (!value && value.error().code != Errc::not_supported)
            return tl::unexpected<Error>(std::move(value).error());
        values.push_back({row.limit, value ? std::optional(*value) : std::nullopt});
    }
    return values;
}

Status reset_persisting_l2(const Device& device) {
    detail::DeviceState& state = *device.state();
    return detail::call_in_context(state, state.table().cuCtxResetPersistingL2Cache);
}

}  // namespace LODE_NAMESPACE
