// Separates the assembler's resource report from the compiler's log.
#pragma once

#include <lode/base/image.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// A log in two parts.
struct SplitLog {
    std::string messages;                    ///< The messages for the user.
    std::vector<KernelResources> resources;  ///< One per kernel, in the report's order.
};

/// Separates the lines that --ptxas-options=-v adds from the compiler's messages. Other remarks of
/// ptxas, e.g. "Potential Performance Loss", stay with the messages.
SplitLog split_ptxas_report(std::string_view log);

}  // namespace LODE_NAMESPACE
