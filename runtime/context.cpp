#include "runtime/state/device_state.hpp"

#include <lode/runtime/context.hpp>

#include <utility>

namespace LODE_NAMESPACE {
namespace detail {
namespace {

Status push(DeviceState& device) {
    LODE_TRY_ASSIGN(CUcontext context, device.context());
    return device.call(device.table().cuCtxPushCurrent, context);
}

void pop(const DeviceState& device) noexcept {
    CUcontext popped = nullptr;
    const auto& entry = device.table().cuCtxPopCurrent;
    device.report_destroy(entry.name, entry(&popped));
}

}  // namespace

Result<CurrentContext> CurrentContext::enter(DeviceState& device) {
    LODE_TRY(push(device));
    return CurrentContext(device);
}

CurrentContext::~CurrentContext() {
    if (device_ != nullptr) pop(*device_);
}

OutsideCapture::OutsideCapture(const DriverState& driver) noexcept
    : driver_(driver), changed_(exchange()) {}

OutsideCapture::~OutsideCapture() {
    if (changed_) exchange();
}

bool OutsideCapture::exchange() noexcept {
    const auto& entry = driver_.table.cuThreadExchangeStreamCaptureMode;
    const CUresult result = entry(&mode_);
    driver_.report_destroy(entry.name, result);
    return result == CUDA_SUCCESS;
}

}  // namespace detail

ContextScope::ContextScope(std::shared_ptr<detail::DeviceState> device) noexcept
    : device_(std::move(device)) {}

ContextScope::ContextScope(ContextScope&& other) noexcept = default;

ContextScope::~ContextScope() {
    if (device_) detail::pop(*device_);
}

Result<ContextScope> ContextScope::enter(const Device& device) {
    LODE_TRY(detail::push(*device.state()));
    return ContextScope(device.state());
}

}  // namespace LODE_NAMESPACE
