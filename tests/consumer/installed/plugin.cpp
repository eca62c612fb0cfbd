#include <lode/lode.hpp>

/// The plug-in's only function.
extern "C" [[gnu::visibility("default")]] int plugin_devices() {
    const auto runtime = lode::Runtime::open();
    return runtime ? runtime->device_count() : -1;
}
