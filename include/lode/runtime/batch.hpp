/// \file
/// Batch: many kernels, loaded at once.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/pending.hpp>
#include <lode/jit/source.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/kernel.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Kernels to load, on one device or several. Copies share everything; thread-safe.
///
/// Requests for one device with the same source and options are one compilation, also for several
/// instances of a template, and equal ones for several devices are compiled once. If such a
/// compilation fails because of one name, each kernel is compiled alone, so that one error spoils
/// nothing else.
class Batch {
public:
    /// An empty batch.
    Batch();

    /// Adds a request as for Device::load_async(); start() starts it.
    Pending<UntypedKernel> add(const Device& device, Source source, std::string name,
                               KernelOptions options = {});
    /// The same with the signature verified.
    template <class Signature>
    Pending<Kernel<Signature>> add(const Device& device, Source source, std::string name,
                                   KernelOptions options = {}) {
        return add(device, std::move(source), std::move(name), std::move(options))
            .then([](const UntypedKernel& untyped) {
                return Kernel<Signature>::from_untyped(untyped);
            });
    }

    /// The number of requests added so far.
    [[nodiscard]] std::size_t size() const;
    /// The number of requests that have ended, with a kernel or an error.
    [[nodiscard]] std::size_t done() const;

    /// Starts what was added since the last call; doesn't block.
    void start();

    /// Blocks until another request that was started has ended and returns its index, in the order
    /// of add(); nullopt once each was returned. Starts nothing. Several threads may call it; each
    /// index is returned once.
    [[nodiscard]] std::optional<std::size_t> next();
    /// A request's result, by its index in the order of add(). An index past the end gives an empty
    /// Pending.
    [[nodiscard]] Pending<UntypedKernel> result(std::size_t index) const;

    /// Starts what isn't started, and blocks until everything has ended. Errors: the first one in
    /// the order of add(); later ones are in their results.
    [[nodiscard]] Status wait();

    /// Cancels every request that hasn't ended, also those that aren't started.
    void cancel();

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
