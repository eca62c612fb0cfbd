/// \file
/// Graphs: work that is described once and launched many times.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/stream.hpp>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lode {

class Device;

namespace detail {
struct GraphTraits {
    using Handle = NativeGraph;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
struct GraphExecTraits {
    using Handle = NativeGraphExec;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};

/// Objects that a graph keeps alive.
using KeptObjects = std::vector<std::shared_ptr<const void>>;
}  // namespace detail

/// A node of a graph: a view, valid as long as the Graph that made it.
class GraphNode {
public:
    /// For the driver's own handle of a node, such as one of a captured graph.
    explicit GraphNode(NativeGraphNode native) noexcept : native_(native) {}
    /// The driver's handle.
    [[nodiscard]] NativeGraphNode native() const noexcept { return native_; }
    /// Whether both are the same node.
    friend bool operator==(const GraphNode&, const GraphNode&) noexcept = default;

private:
    NativeGraphNode native_;
};

/// The nodes that a new node comes after: `{}`, `{a}` or `{a, b}`, or a range of nodes.
class After {
public:
    /// No nodes.
    After() noexcept = default;
    /// These nodes.
    After(std::initializer_list<GraphNode> nodes) : After(std::span(nodes.begin(), nodes.size())) {}
    /// These nodes.
    explicit After(std::span<const GraphNode> nodes) {
        for (const GraphNode node : nodes)
            natives_.push_back(node.native());
    }
    /// The driver's handles.
    [[nodiscard]] std::span<const NativeGraphNode> natives() const noexcept { return natives_; }

private:
    std::vector<NativeGraphNode> natives_;
};

class GraphExec;

/// Nodes of work and the order between them. Build one explicitly with create() and add…(), or from
/// the work of a stream with Capture; then instantiate() it.
///
/// A kernel in a graph stays loaded as long as the graph and what was instantiated from it. The
/// memory that nodes use isn't kept: it must outlive the last launch, or be given to keep().
///
/// Move-only; keeps the device alive. A default-constructed or moved-from graph is empty: every use
/// of it fails with invalid_argument. Not thread-safe. Errors of every call: device_lost and the
/// driver's own; of those that add a node also invalid_argument for a node of another graph.
class Graph {
public:
    /// An empty graph, to be assigned to.
    Graph() noexcept = default;

    /// A graph without nodes (cuGraphCreate).
    [[nodiscard]] static Result<Graph> create(const Device& device);

    /// Whether there is a graph.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

    /// Adds a launch of a kernel; the arguments are copied now (cuGraphAddKernelNode). Errors:
    /// those of Kernel::launch(); not_supported for a shape with attributes, which a Capture can
    /// record.
    template <class... Parameters, class... Arguments>
    [[nodiscard]] Result<GraphNode> add_kernel(const After& after,
                                               const Kernel<void(Parameters...)>& kernel,
                                               const LaunchShape& shape,
                                               const Arguments&... arguments) {
        Result<GraphNode> node = GraphNode(nullptr);
        const auto add = [&](void** pointers) -> Status {
            return add_kernel_node(after, kernel.untyped(), shape, pointers).map([&](GraphNode it) {
                node = it;
            });
        };
        if (auto added = with_arguments(kernel, add, arguments...); !added)
            return tl::unexpected(std::move(added).error());
        return node;
    }

    /// Adds a copy between spans of the same size, on one device or two of one driver
    /// (cuGraphAddMemcpyNode). Errors: invalid_argument for different sizes.
    template <class T>
    [[nodiscard]] Result<GraphNode> add_copy(const After& after, DeviceSpan<T> to,
                                             std::type_identity_t<DeviceSpan<const T>> from) {
        return detail::check_same_size("the source", from.size(), to.size()).and_then([&] {
            return add_copy_node(after, to.memory(), from.memory(), nullptr, nullptr,
                                 to.size_bytes());
        });
    }
    /// Adds a copy from host memory, which is read at every launch and must outlive the last.
    template <class T>
    [[nodiscard]] Result<GraphNode> add_copy(const After& after, DeviceSpan<T> to,
                                             std::type_identity_t<std::span<const T>> from) {
        return detail::check_same_size("host memory", from.size(), to.size()).and_then([&] {
            return add_copy_node(after, to.memory(), {}, nullptr, from.data(), to.size_bytes());
        });
    }
    /// Adds a copy to host memory, which must outlive the last launch.
    template <class T>
    [[nodiscard]] Result<GraphNode> add_copy(const After& after, std::span<T> to,
                                             std::type_identity_t<DeviceSpan<const T>> from) {
        return detail::check_same_size("host memory", to.size(), from.size()).and_then([&] {
            return add_copy_node(after, {}, from.memory(), to.data(), nullptr, from.size_bytes());
        });
    }

    /// Adds a fill of every element; only for T of 1, 2 or 4 bytes (cuGraphAddMemsetNode).
    template <detail::Fillable T>
    [[nodiscard]] Result<GraphNode> add_fill(const After& after, DeviceSpan<T> memory,
                                             const std::type_identity_t<T>& value) {
        return add_fill_node(after, memory.memory(), &value, sizeof(T), memory.size());
    }

    /// Adds a function that every launch calls on a driver thread (cuGraphAddHostNode). It must not
    /// call CUDA, and neither must its destructor; an exception from it is logged and ignored. The
    /// graph and what was instantiated from it keep it. Errors: invalid_argument for an empty
    /// function; not_supported before driver 11.3.
    [[nodiscard]] Result<GraphNode> add_host_function(const After& after,
                                                      std::function<void()> function);

    /// Adds a copy of another graph as one node (cuGraphAddChildGraphNode), and keeps what that
    /// graph keeps. Errors: invalid_argument for an empty graph and for this one.
    [[nodiscard]] Result<GraphNode> add_child(const After& after, const Graph& child);
    /// Adds a node without work, to join others (cuGraphAddEmptyNode).
    [[nodiscard]] Result<GraphNode> add_empty(const After& after);
    /// Adds a recording of the event, which must outlive the last launch.
    [[nodiscard]] Result<GraphNode> add_record(const After& after, const Event& event);
    /// Adds a wait for the event's last recording before the launch. The event must outlive the
    /// last launch.
    [[nodiscard]] Result<GraphNode> add_wait(const After& after, const Event& event);
    /// Makes `second` come after `first`. Errors: invalid_argument if it already does.
    [[nodiscard]] Status add_dependency(GraphNode first, GraphNode second);

    /// Keeps an object as long as this graph and what is instantiated from it later: a moved
    /// buffer, a copy of a kernel, a shared_ptr.
    template <class T>
    requires(!std::is_lvalue_reference_v<T> ||
             std::copy_constructible<std::remove_cvref_t<T>>) void keep(T&& object) {
        kept_.push_back(std::make_shared<std::remove_cvref_t<T>>(std::forward<T>(object)));
    }

    /// The number of nodes, without those inside child graphs.
    [[nodiscard]] Result<std::size_t> node_count() const;
    /// All nodes in the order of their creation.
    [[nodiscard]] Result<std::vector<GraphNode>> nodes() const;
    /// Writes the graph in the DOT language, for Graphviz. Errors: not_supported before driver
    /// 11.3; driver_failed if the file can't be written.
    [[nodiscard]] Status write_dot(const std::filesystem::path& file) const;

    /// Makes a graph that can be launched; later changes of this graph don't affect it
    /// (cuGraphInstantiateWithFlags). Errors: invalid_argument if the nodes wait for each other in
    /// a circle.
    [[nodiscard]] Result<GraphExec> instantiate() const;

    /// The driver's handle, still owned by this object; also a cudaGraph_t.
    [[nodiscard]] NativeGraph native() const noexcept { return handle_.get(); }

private:
    friend class Capture;
    friend class GraphExec;
    Graph(UniqueHandle<detail::GraphTraits> handle, detail::KeptObjects kept) noexcept
        : kept_(std::move(kept)), handle_(std::move(handle)) {}

    /// Checks and converts the arguments of a kernel, and calls use(pointers to them).
    template <class Use, class... Parameters, class... Arguments>
    [[nodiscard]] static Status with_arguments(const Kernel<void(Parameters...)>& kernel,
                                               const Use& use, const Arguments&... arguments) {
        static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                      "the number of arguments differs from the kernel's signature");
        const detail::ArgumentOwner owners[] = {detail::owner_of(arguments)..., {}};
        if (auto checked = detail::check_owners(kernel.untyped().state(), owners); !checked)
            return checked;
        std::tuple<detail::ArgumentHolder<Parameters, Arguments>...> holders(arguments...);
        return std::apply(
            [&](auto&... holder) {
                void* pointers[sizeof...(Parameters) + 1] = {holder.address()..., nullptr};
                return use(pointers);
            },
            holders);
    }

    [[nodiscard]] Status check_present() const;
    [[nodiscard]] Result<GraphNode> add_kernel_node(const After& after, const UntypedKernel& kernel,
                                                    const LaunchShape& shape, void** arguments);
    [[nodiscard]] Result<GraphNode> add_copy_node(const After& after, detail::DeviceMemoryRef to,
                                                  detail::DeviceMemoryRef from, void* host_to,
                                                  const void* host_from, std::size_t bytes);
    [[nodiscard]] Result<GraphNode> add_fill_node(const After& after,
                                                  detail::DeviceMemoryRef memory, const void* value,
                                                  std::size_t value_bytes, std::size_t count);

    detail::KeptObjects kept_;
    UniqueHandle<detail::GraphTraits> handle_;
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

    /// Enqueues all of the graph's work and returns (cuGraphLaunch). In a capture, the graph
    /// becomes a child node. Errors: invalid_argument for a stream that is empty or of another
    /// device.
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
        return Graph::with_arguments(kernel, set, arguments...);
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
/// Destroying it before finish() ends the capture and discards the graph. Kernels and memory used
/// in the capture must outlive the graph's launches, or be given to Graph::keep(). Move-only; not
/// thread-safe. The stream must outlive it.
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
    /// another stream's work wasn't joined, or on the wrong thread; invalid_argument if it has
    /// already ended.
    [[nodiscard]] Result<Graph> finish();

private:
    explicit Capture(StreamRef stream) noexcept : stream_(stream) {}
    StreamRef stream_;
    bool active_ = true;
};

}  // namespace lode
