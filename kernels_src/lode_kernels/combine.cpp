#include "lode_kernels/combine.hpp"

#include <utility>

namespace LODE_NAMESPACE::kernels {

void set_element(KernelFamily& family, const detail::NumberType& type, bool adds) {
    const bool is_wide = type.bytes == 8;
    if (!type.is_integer)
        family.name += "_" + std::string(type.name);
    else if (is_wide)
        family.name += "_int64";
    if (adds && type.is_integer && !is_wide) return;
    const auto element = adds && type.is_integer ? "unsigned long long" : type.name;
    for (auto& row : family.rows)
        row.definitions = {{"LODE_ELEMENT", std::string(element)}};
}

Result<detail::OperationPointer> load_combining(
    const VariantLoader& loader, KernelFamily (*make)(const detail::NumberType&, bool adds),
    detail::Operation::NeedOf need, const detail::NumberType& type, const CombineOptions& options) {
    const bool adds = options.combine.empty();
    if (adds != options.identity.empty()) {
        return fail(Errc::invalid_argument,
                    text_of("The operator has ", adds ? "no expression" : "no identity",
                            ": CombineOptions needs both combine and identity."));
    }
    auto compile = options.compile;
    if (!adds) {
        compile.definitions.push_back({"LODE_COMBINE", options.combine});
        compile.definitions.push_back({"LODE_IDENTITY", options.identity});
    }
    return detail::Operation::load(loader, make(type, adds), std::move(compile), type, need);
}

}  // namespace LODE_NAMESPACE::kernels
