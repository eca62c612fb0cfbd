// What the stand-ins of `lode cached` have in common: the original, and the programs' handles.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <dlfcn.h>

namespace lode::cached {

/// A function of the original, or nullptr.
template <class Function>
[[nodiscard]] Function* original(const char* name) noexcept {
    // It is loaded, and the loader knows it by this name.
    void* const library = ::dlopen(LODE_ORIGINAL, RTLD_NOW | RTLD_LOCAL);
    return library != nullptr ? reinterpret_cast<Function*>(::dlsym(library, name)) : nullptr;
}

/// The file of the original that has a function, without links.
inline std::filesystem::path original_file(const char* function) {
    Dl_info info{};
    std::error_code ignored;
    auto* const address = original<void>(function);
    if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
    return std::filesystem::canonical(info.dli_fname, ignored);
}

/// Runs `body`; nothing that it throws reaches the program.
template <class Body>
auto guarded(const Body& body) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (...) {
        return {};
    }
}

/// What is known of the handles that the original has given. Thread-safe. Nothing that it throws
/// reaches the program.
template <class Handle, class Value>
class Handles {
public:
    void add(Handle handle, std::shared_ptr<Value> value) noexcept {
        guarded([&] {
            const std::lock_guard guard(mutex_);
            values_[handle] = std::move(value);
            return 0;
        });
    }
    std::shared_ptr<Value> find(Handle handle) noexcept {
        return guarded([&]() -> std::shared_ptr<Value> {
            const std::lock_guard guard(mutex_);
            const auto found = values_.find(handle);
            return found == values_.end() ? nullptr : found->second;
        });
    }
    /// nullptr if there is none.
    std::shared_ptr<Value> take(Handle handle) noexcept {
        return guarded([&]() -> std::shared_ptr<Value> {
            const std::lock_guard guard(mutex_);
            auto node = values_.extract(handle);
            return node ? std::move(node.mapped()) : nullptr;
        });
    }

private:
    std::mutex mutex_;
    std::unordered_map<Handle, std::shared_ptr<Value>> values_;
};

}  // namespace lode::cached
