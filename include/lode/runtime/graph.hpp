/// \file
/// Graphs: work that is described once and launched many times.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/graph_builder.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

class Device;
class GraphExec;

namespace detail {
struct GraphExecTraits {
    using Handle = NativeGraphExec;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
}  // namespace detail

/// Memory that a graph allocates.
template <class T>
struct GraphMemory {
    GraphNode node;        ///< The node that allocates it.
    DeviceSpan<T> memory;  ///< Valid for nodes after that node and before the one that frees it.
};

/// Nodes of work and the order between them. Build one explicitly with create() and add…(), or from
/// the work of a stream with Capture; then instantiate() it.
///
/// A kernel in a graph stays loaded as long as the graph and what was instantiated from it. The
/// memory that nodes use isn't kept: it must outlive the last launch, or be given to keep().
///
/// A graph with conditional nodes, or with nodes that allocate memory, can't be a child of another,
/// and can be instantiated again only once its last GraphExec has been destroyed.
///
/// Move-only; keeps the device alive. A default-constructed or moved-from graph is empty: every use
/// of it fails with invalid_argument. Not thread-safe. Errors of every call: device_lost and the
/// driver's own; of those that add a node also invalid_argument for a node of another graph.
class Graph : public GraphBuilder {
public:
    /// An empty graph, to be assigned to.
    Graph() noexcept = default;
    /// Leaves `other` empty.
    Graph(Graph&& other) noexcept = default;
    /// Destroys the current graph and takes over the other's.
    Graph& operator=(Graph&& other) noexcept = default;
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() = default;

    /// A graph without nodes (cuGraphCreate).
    [[nodiscard]] static Result<Graph> create(const Device& device);

    /// Adds a function that every launch calls on a driver thread (cuGraphAddHostNode). It must not
    /// call CUDA, and neither must its destructor; an exception from it is logged and ignored. The
    /// graph and what was instantiated from it keep it. Errors: invalid_argument for an empty
    /// function; not_supported before driver 11.3.
    [[nodiscard]] Result<GraphNode> add_host_function(const After& after,
                                                      std::function<void()> function);

    /// Adds an allocation of `count` elements with undefined content (cuGraphAddMemAllocNode).
    /// Every launch uses the same address, whose memory other graphs and buffers can use between
    /// the launches. It must be freed with add_free(): instantiate() fails otherwise. Zero elements
    /// allocate nothing. Errors: out_of_memory; not_supported before driver 11.4 and on devices
    /// without memory pools.
    template <class T>
    [[nodiscard]] Result<GraphMemory<T>> add_alloc(const After& after, std::size_t count) {
        detail::DeviceMemoryRef memory;
        return add_alloc_node(after, count, sizeof(T), memory).map([&](GraphNode node) {
            return GraphMemory<T>{node, DeviceSpan<T>(memory, count)};
        });
    }
    /// Adds a node that frees all of what a node of this graph has allocated
    /// (cuGraphAddMemFreeNode). Errors: invalid_argument for other memory, and for memory that is
    /// freed already.
    template <class T>
    [[nodiscard]] Result<GraphNode> add_free(const After& after, DeviceSpan<T> memory) {
        return add_free_node(after, memory.native(), memory.size());
    }
    /// Adds a recording of the event, which must outlive the last launch.
    [[nodiscard]] Result<GraphNode> add_record(const After& after, const Event& event);
    /// Adds a wait for the event's last recording before the launch. The event must outlive the
    /// last launch.
    [[nodiscard]] Result<GraphNode> add_wait(const After& after, const Event& event);
    /// Writes the graph in the DOT language, for Graphviz. Errors: not_supported before driver
    /// 11.3; driver_failed if the file can't be written.
    [[nodiscard]] Status write_dot(const std::filesystem::path& file) const;

    /// Makes a graph that can be launched; later changes of this graph don't affect it
    /// (cuGraphInstantiateWithFlags). Errors: invalid_argument if the nodes wait for each other in
    /// a circle.
    [[nodiscard]] Result<GraphExec> instantiate() const;

private:
    friend class Capture;
    friend class GraphBuilder;
    friend class GraphExec;
    [[nodiscard]] Result<GraphNode> add_alloc_node(const After& after, std::size_t count,
                                                   std::size_t size,
                                                   detail::DeviceMemoryRef& memory);
    [[nodiscard]] Result<GraphNode> add_free_node(const After& after, NativeDevicePointer address,
                                                  std::size_t count);
    explicit Graph(UniqueHandle<detail::GraphTraits> handle) : GraphBuilder(std::move(handle)) {}
};

/// A graph that can be launched, made by Graph::instantiate(). Only one launch of it runs at a
/// time; later ones wait.
///
/// Keeps the device, the graph's kernels and what the graph keeps. Destroying it doesn't wait; what
/// its last launch uses must outlive the launch. Move-only; a default-constructed or moved-from one
/// is empty: every use of it fails with invalid_argument. Launching and changing it from several
/// threads at once isn't allowed. Errors of every call: device_lost and the driver's own.
class GraphExec {
public:
    /// An empty one, to be assigned to.
    GraphExec() noexcept = default;

    /// Whether there is a graph.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

    /// Enqueues all of the graph's work and returns (cuGraphLaunch). Errors: invalid_argument for
    /// a stream that is empty or of another device; capture_active for a stream that is being
    /// captured, which the driver doesn't record: add_child() puts a graph into another.
    [[nodiscard]] Status launch(StreamRef stream) const;
    /// Prepares the first launch on the device, so that it takes no longer than later ones
    /// (cuGraphUpload).
    [[nodiscard]] Status upload(StreamRef stream) const;

    /// Changes a kernel node's kernel, shape and arguments for later launches
    /// (cuGraphExecKernelNodeSetParams). Errors: those of Graph::add_kernel(); invalid_argument if
    /// the node isn't a kernel of the instantiated graph.
    template <class... Parameters, class... Arguments>
    [[nodiscard]] Status set_kernel(GraphNode node, const Kernel<void(Parameters...)>& kernel,
                                    const LaunchShape& shape, const Arguments&... arguments) {
        const auto set = [&](void** pointers) {
            return set_kernel_node(node, kernel.untyped(), shape, pointers);
        };
        return detail::with_node_arguments(kernel, set, arguments...);
    }
    /// Whether later launches run a kernel, copy or fill (cuGraphNodeSetEnabled). Errors:
    /// not_supported before driver 11.6; invalid_argument for other nodes.
    [[nodiscard]] Status set_enabled(GraphNode node, bool enabled) const;
    /// Whether launches run the node.
    [[nodiscard]] Result<bool> is_enabled(GraphNode node) const;

    /// Takes over the parameters of all nodes of a graph with the same structure, and what it keeps
    /// (cuGraphExecUpdate). Errors: invalid_argument with the reason if the structure differs or a
    /// change isn't possible; nothing has changed then, and a new instantiate() is needed.
    [[nodiscard]] Status update(const Graph& graph);

    /// The driver's handle, still owned by this object; also a cudaGraphExec_t.
    [[nodiscard]] NativeGraphExec native() const noexcept { return handle_.get(); }

private:
    friend class Graph;
    GraphExec(UniqueHandle<detail::GraphExecTraits> handle, detail::KeptObjects kept) noexcept
        : kept_(std::move(kept)), handle_(std::move(handle)) {}
    [[nodiscard]] Status check_present() const;
    [[nodiscard]] Status set_kernel_node(GraphNode node, const UntypedKernel& kernel,
                                         const LaunchShape& shape, void** arguments);

    detail::KeptObjects kept_;  // Goes after the handle, whose work may use it.
    UniqueHandle<detail::GraphExecTraits> handle_;
};

/// Which calls a capture forbids meanwhile, because they could spoil it (cuStreamBeginCapture).
/// lode's own loads and allocations are always allowed; they don't become part of the graph.
enum class CaptureMode : std::uint8_t {
    every_thread,  ///< On every thread: allocations and other unsafe calls fail.
    this_thread,   ///< On the thread that began the capture, which also has to finish it.
    relaxed,       ///< None. Any thread may finish the capture.
};

/// A capture in progress: work submitted to the stream becomes nodes of a graph instead of running.
/// Other streams take part once they wait for an event recorded on a capturing stream, and must be
/// joined in the same way before finish().
///
/// Destroying it before finish() ends the capture and discards the graph. Kernels of the stream's
/// device are kept from their launch on, by the capture and then by the graph. Kernels of other
/// devices and memory must outlive the graph's launches, or be given to Graph::keep(). Move-only;
/// not thread-safe. The stream must outlive it.
class Capture {
public:
    /// Begins a capture. Errors: invalid_argument for the default stream and an empty stream;
    /// capture_active if the stream is being captured already.
    [[nodiscard]] static Result<Capture> begin(StreamRef stream,
                                               CaptureMode mode = CaptureMode::this_thread);
    ~Capture();
    /// Leaves `other` without a capture.
    Capture(Capture&& other) noexcept
        : stream_(other.stream_), active_(std::exchange(other.active_, false)) {}
    Capture& operator=(Capture&&) = delete;
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /// Ends the capture. Errors: capture_active with the reason if a call spoiled the capture, if
    /// another stream's work wasn't joined, on the wrong thread, or if memory that was allocated on
    /// the stream meanwhile hasn't been freed; invalid_argument if it has already ended.
    [[nodiscard]] Result<Graph> finish();

private:
    explicit Capture(StreamRef stream) noexcept : stream_(stream) {}
    StreamRef stream_;
    bool active_ = true;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
