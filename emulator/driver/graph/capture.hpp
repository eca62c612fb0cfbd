// Stream capture: work submitted to a capturing stream becomes nodes of a graph.
#pragma once

#include "emulator/driver/graph/graph.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

namespace lode::emulator::driver {

/// One capture, in one or more streams. Guarded by GraphTables::mutex.
struct Capture {
    std::shared_ptr<Graph> graph;
    bool to_existing = false;  ///< Into a graph of the caller.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;
    std::uint64_t id = 0;
    std::uintptr_t origin = 0;  ///< The stream that began it.
    bool valid = true;
    std::set<const GraphNode*> captured;  ///< Nodes that the capture added.
};

/// A stream's or an event's place in a capture: later work comes after these nodes.
struct CapturePoint {
    std::shared_ptr<Capture> capture;
    std::vector<GraphNode*> nodes;
    std::shared_ptr<Stream> stream;           ///< Null for an event.
    std::vector<CUgraphNode> handles = {};    ///< The nodes' handles, for a caller.
    std::vector<CUgraphEdgeData> edges = {};  ///< The edges to them, all ordinary, for a caller.
};

/// The captures in progress. All functions lock GraphTables::mutex.
class Captures {
public:
    /// Whether any stream captures or any event was recorded in a capture; a quick test.
    [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_acquire); }

    CUresult begin(const StreamUse& use, CUstreamCaptureMode mode, std::shared_ptr<Graph> into,
                   std::vector<GraphNode*> dependencies);
    CUresult end(const StreamUse& use, std::shared_ptr<Graph>& graph);
    /// Whether the stream captures into a graph that the program has.
    [[nodiscard]] bool has_graph(const Stream& stream);
    /// nullptr if the stream isn't capturing. Valid while the mutex is held.
    [[nodiscard]] CapturePoint* find(const Stream& stream);

    /// IMPLICIT for the legacy stream while a blocking stream of its context captures.
    [[nodiscard]] CUresult check_legacy(const StreamUse& use) const;

    /// Adds the work of a capturing stream as a node; nullopt if the stream isn't capturing.
    std::optional<CUresult> add(const StreamUse& use, const std::function<NodeWork()>& make);
    /// Refuses a call that a capturing stream doesn't allow, which ends the capture's validity;
    /// nullopt if the call is allowed.
    std::optional<CUresult> refuse(const StreamUse& use);
    /// The same for a call that isn't supported in a capture by the emulator.
    std::optional<CUresult> refuse_by_name(const StreamUse& use, const char* what);
    /// Records an event in a capturing stream; nullopt if the stream isn't capturing.
    std::optional<CUresult> record(const StreamUse& use, const std::shared_ptr<Event>& event,
                                   bool external);
    /// Makes a stream wait for an event if either is part of a capture; nullopt otherwise.
    std::optional<CUresult> wait(const StreamUse& use, const std::shared_ptr<Event>& event,
                                 bool external);
    /// CAPTURED_EVENT for an event whose last recording was captured.
    CUresult check_event(const Event& event);
    /// Whether a call with this name is forbidden to this thread now; invalidates the captures
    /// that forbid it.
    CUresult check_call(std::string_view name);

    void forget(const Stream& stream);
    void forget(const Context& context);  ///< All of its streams.
    void forget(const Event& event);
    void forget(const GraphNode& node);

private:
    /// The point of a capturing stream. Errors: INVALIDATED, and IMPLICIT for the legacy stream
    /// while a blocking stream captures.
    CUresult enter(const StreamUse& use, CapturePoint*& point);
    void note_change();

    std::map<std::uintptr_t, CapturePoint> streams_;
    std::map<std::uintptr_t, CapturePoint> events_;
    std::atomic<bool> any_{false};
};

/// The calling thread's interaction mode.
CUstreamCaptureMode& thread_capture_mode() noexcept;

}  // namespace lode::emulator::driver
