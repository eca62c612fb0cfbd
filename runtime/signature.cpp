// Compares a C++ signature with the parameters of a compiled kernel.
#include "base/align_up.hpp"
#include "base/cxx_names.hpp"
#include "base/message_text.hpp"
#include "base/try.hpp"
#include "runtime/state/empty.hpp"
#include "runtime/state/kernel_state.hpp"

#include <lode/jit/target.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {
namespace {

using Kind = KernelParameter::Kind;

/// "f32", "i64 or pointer", "pointer", "12 bytes".
std::string describe(Kind kind, std::size_t size, bool may_be_pointer) {
    constexpr std::size_t bits_per_byte = 8;
    switch (kind) {
        case Kind::floating_point:
            return fmt::format("f{}", size * bits_per_byte);
        case Kind::integer:
            return fmt::format(
                "i{}{}", size * bits_per_byte,
                may_be_pointer && size == sizeof(NativeDevicePointer) ? " or pointer" : "");
        case Kind::pointer:
            return "pointer";
        case Kind::aggregate:
        case Kind::unknown:
            break;
    }
    return fmt::format("{} byte{}", size, size == 1 ? "" : "s");
}

/// What a parameter of this C++ type points to: "float const*" to f32. Bytes stand for anything.
PointeeShape pointee_of(std::string_view type) {
    const auto number = number_type(pointee_type(type));
    if (!number || number->size == 1) return {};
    return {number->is_floating ? Kind::floating_point : Kind::integer, number->size};
}

/// The kernel's side: sizes and offsets from the loaded kernel, kinds as far as the PTX states
/// them, and what pointers point to as far as a mangled symbol does.
class CompiledSide {
public:
    explicit CompiledSide(const KernelState& kernel) : kernel_(kernel) {
        const auto* signature = kernel.library->image->signature_of(kernel.symbol);
        if (signature != nullptr && signature->parameters.size() == kernel.parameters.size())
            from_ptx_ = signature;
        types_ = parameter_types(kernel.symbol);
        if (types_.size() != kernel.parameters.size()) types_.clear();
    }

    [[nodiscard]] const std::vector<ParameterSlot>& slots() const { return kernel_.parameters; }
    [[nodiscard]] Kind kind(std::size_t index) const {
        return from_ptx_ == nullptr ? Kind::unknown : from_ptx_->parameters[index].kind;
    }
    [[nodiscard]] PointeeShape pointee(std::size_t index) const {
        return types_.empty() ? PointeeShape() : pointee_of(types_[index]);
    }
    [[nodiscard]] std::string describe_one(std::size_t index) const {
        return describe(kind(index), slots()[index].size, true);
    }
    [[nodiscard]] std::string describe_all() const {
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < slots().size(); ++i)
            texts.push_back(describe_one(i));
        return fmt::format("({})", listed(texts));
    }

private:
    const KernelState& kernel_;
    const KernelSignature* from_ptx_ = nullptr;
    std::vector<std::string> types_;  ///< Empty if unknown.
};

std::string describe_all(std::span<const ParameterShape> parameters) {
    std::vector<std::string> texts;
    for (const auto& parameter : parameters)
        texts.push_back(describe(parameter.kind, parameter.size, false));
    return fmt::format("({})", listed(texts));
}

/// Whether one side is known to be floating point and the other known not to be.
bool kinds_clash(Kind compiled, Kind cpp) {
    const auto is_whole = [](Kind kind) { return kind == Kind::integer || kind == Kind::pointer; };
    return (compiled == Kind::floating_point && is_whole(cpp)) ||
           (cpp == Kind::floating_point && is_whole(compiled));
}

/// A sentence on the first difference; empty if there is none. Messages count parameters from 1.
std::string first_difference(const CompiledSide& compiled,
                             std::span<const ParameterShape> parameters) {
    const auto& slots = compiled.slots();
    std::size_t offset = 0;
    for (std::size_t i = 0; i < std::min(slots.size(), parameters.size()); ++i) {
        const auto& cpp = parameters[i];
        offset = align_up(offset, cpp.align);
        if (cpp.size != slots[i].size || kinds_clash(compiled.kind(i), cpp.kind)) {
            return fmt::format("parameter {} is {} in the kernel and {} in C++", i + 1,
                               compiled.describe_one(i), describe(cpp.kind, cpp.size, false));
        }
        if (const auto pointee = compiled.pointee(i);
            pointee != cpp.pointee && pointee != PointeeShape() && cpp.pointee != PointeeShape()) {
            return fmt::format("parameter {} points to {} in the kernel and to {} in C++", i + 1,
                               describe(pointee.kind, pointee.size, false),
                               describe(cpp.pointee.kind, cpp.pointee.size, false));
        }
        if (offset != slots[i].offset) {
            return fmt::format(
                "parameter {} starts at byte {} in the kernel and at byte {} in C++ "
                "(its type is aligned differently)",
                i + 1, slots[i].offset, offset);
        }
        offset += cpp.size;
    }
    if (slots.size() != parameters.size()) {
        return fmt::format("the kernel has {} parameter{} and C++ has {}", slots.size(),
                           slots.size() == 1 ? "" : "s", parameters.size());
    }
    return {};
}

tl::unexpected<Error> unknown_parameters(const KernelState& kernel) {
    const DriverState& driver = *kernel.device->driver;
    const auto& entry = driver.table.cuKernelGetParamInfo;
    return fail(
        Errc::not_supported,
        fmt::format("The parameters of kernel '{}' can't be determined: the driver supports CUDA "
                    "{} and has no {} (CUDA {}), and image '{}' has no PTX that declares "
                    "them.",
                    shortened(kernel.name), cuda_version_text(driver.version), entry.name,
                    cuda_version_text(entry.abi), kernel.library->image->name));
}

}  // namespace

Status verify_signature(const KernelState& kernel, std::span<const ParameterShape> parameters) {
    if (kernel.device == nullptr) return fail_empty("kernel");
    if (!kernel.parameters_known) return unknown_parameters(kernel);
    const CompiledSide compiled(kernel);
    const std::string difference = first_difference(compiled, parameters);
    if (difference.empty()) return {};
    return fail(Errc::signature_mismatch,
                fmt::format("The C++ signature of kernel '{}' differs from the compiled one: {}. "
                            "The kernel takes {}; C++ passes {}.",
                            shortened(kernel.name), difference, compiled.describe_all(),
                            describe_all(parameters)));
}

}  // namespace detail

Result<std::vector<ParameterSlot>> UntypedKernel::parameters() const {
    if (!*this) return detail::fail_empty("kernel");
    if (!state_->parameters_known) return detail::unknown_parameters(*state_);
    return state_->parameters;
}

}  // namespace LODE_NAMESPACE
