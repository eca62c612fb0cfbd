#include "kernels_cub.hpp"

#include <lode/runtime/context.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

namespace lode::bench {
namespace {

/// A call of the peer in the device's context.
Status call_peer(const Device& device, decltype(&lode_cub_peer) function, const lode_cub_call& call,
                 void* scratch, std::size_t& bytes, void* stream) {
    const auto scope = ContextScope::enter(device);
    if (!scope) return tl::unexpected(scope.error());
    const int status = function(&call, scratch, &bytes, stream);
    if (status == 0) return {};
    if (status < 0)
        return fail(Errc::not_supported, fmt::format("The CUB peer has no {} of {} {} elements.",
                                                     call.algorithm, call.n, call.type));
    return fail(Errc::driver_failed, fmt::format("CUB's {} of {} {} elements fails with status {}.",
                                                 call.algorithm, call.n, call.type, status));
}

}  // namespace

Result<Cub> Cub::open(const Device& device) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto path = program.parent_path() / "liblode_cub_peer.so";
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return fail(Errc::not_found, fmt::format("The CUB peer can't be opened: {}", ::dlerror()));
    const auto function =
        reinterpret_cast<decltype(&lode_cub_peer)>(::dlsym(library, "lode_cub_peer"));
    const auto version =
        reinterpret_cast<decltype(&lode_cub_version)>(::dlsym(library, "lode_cub_version"));
    if (function == nullptr || version == nullptr)
        return fail(Errc::not_found,
                    fmt::format("{} lacks an entry point of the CUB peer.", path.string()));
    return Cub(device, function, version());
}

std::string Cub::version() const {
    constexpr int major = 100000;
    constexpr int minor = 100;
    return fmt::format("{}.{}.{}", version_ / major, version_ / minor % (major / minor),
                       version_ % minor);
}

Result<Cub::Prepared> Cub::prepare(const lode_cub_call& call) const {
    std::size_t bytes = 0;
    if (auto asked = call_peer(device_, function_, call, nullptr, bytes, nullptr); !asked)
        return tl::unexpected(std::move(asked).error());
    bytes = std::max<std::size_t>(bytes, 1);
    return device_.alloc<std::byte>(bytes).map([&](DeviceBuffer<std::byte> scratch) {
        return Prepared(*this, call, bytes, std::move(scratch));
    });
}

Cub::Prepared::Prepared(const Cub& cub, const lode_cub_call& call, std::size_t bytes,
                        DeviceBuffer<std::byte> scratch)
    : device_(cub.device_),
      function_(cub.function_),
      call_(call),
      bytes_(bytes),
      scratch_(std::move(scratch)) {}

Status Cub::Prepared::launch(StreamRef stream) {
    return call_peer(device_, function_, call_, scratch_.data(), bytes_, stream.native());
}

}  // namespace lode::bench
