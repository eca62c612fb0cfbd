// Green contexts: parts of a device's multiprocessors and work queues. The emulator only keeps
// account of them; all work runs on the same threads.
#pragma once

#include "base/cuda_additions.hpp"
#include "emulator/driver/abi.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/stream/stream.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace lode::emulator::driver {

/// A range of a device's multiprocessors, as stored in a CUdevResource.
struct MultiprocessorRange {
    std::uint64_t split = 0;  ///< The split that made it; 0 if it can be split itself.
    std::int32_t device = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// Work queues, as stored in a CUdevResource too.
struct WorkQueues {
    std::uint64_t id = 0;  ///< 0 for those that all contexts of a device share.
    std::int32_t device = 0;
    std::uint32_t concurrency = 8;  ///< The default of CUDA_DEVICE_MAX_CONNECTIONS.
    std::uint32_t scope = CU_WORKQUEUE_SCOPE_DEVICE_CTX;
    std::uint32_t unused = 0;
};

/// What cuDevResourceGenerateDesc describes: resources of one device.
struct ResourceDescription : Handled {
    int device = 0;
    std::vector<MultiprocessorRange> ranges;
    std::optional<WorkQueues> queues;
    bool makes_queues = false;  ///< Whether the green context makes them; they exist otherwise.
};

/// A green context. It counts as a reference to the device's primary context, to which its streams
/// belong.
class GreenContext : public Handled {
public:
    explicit GreenContext(std::shared_ptr<const ResourceDescription> description) noexcept;

    [[nodiscard]] const ResourceDescription& description() const noexcept { return *description_; }
    [[nodiscard]] const WorkQueues& queues() const noexcept { return queues_; }

    /// The handle that names the primary context with these resources; cuCtxFromGreenCtx.
    [[nodiscard]] CUcontext converted() const noexcept {
        return reinterpret_cast<CUcontext>(converted_.handle());
    }
    void close() noexcept { closed_ = true; }
    [[nodiscard]] bool is_closed() const noexcept { return closed_; }

    void add(const std::shared_ptr<Stream>& stream);
    [[nodiscard]] bool has(const Stream& stream) const;
    /// Those that aren't gone.
    [[nodiscard]] std::vector<std::shared_ptr<Stream>> streams() const;

    /// Makes streams that are added later wait for a point, and returns the points so far that
    /// haven't been reached.
    void wait_for(Point point);
    [[nodiscard]] std::vector<Point> awaited();

private:
    const std::shared_ptr<const ResourceDescription> description_;
    WorkQueues queues_;
    const Handled converted_;
    std::atomic<bool> closed_{false};
    mutable std::mutex mutex_;
    std::vector<std::weak_ptr<Stream>> streams_;
    std::vector<Point> awaited_;
};

class Context;

/// What a CUcontext names: a context, or a device's primary context with the resources of a green
/// one.
struct ContextUse {
    std::shared_ptr<Context> context;  ///< Null if the handle isn't live.
    std::shared_ptr<GreenContext> green;

    [[nodiscard]] CUcontext native() const noexcept;
};
ContextUse find_context(CUcontext handle);

/// Makes a stream of a green context, which waits for what the context waits for. Throws
/// StreamClosed if the primary context isn't open.
std::shared_ptr<Stream> create_stream(GreenContext& green, Stream::Kind kind, int priority);

/// The green context that a stream was made in; null if none.
CUgreenCtx green_context_of(const Stream& stream);

}  // namespace lode::emulator::driver
