// HeaderView: a header in memory, as NVRTC takes it.
#pragma once

#include <lode/base/api.hpp>

namespace LODE_NAMESPACE {

/// An in-memory header by reference. Both texts end with NUL and must outlive the program's
/// creation.
struct HeaderView {
    const char* name;
    const char* text;
};

}  // namespace LODE_NAMESPACE
