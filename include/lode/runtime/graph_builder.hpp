/// \file
/// Building graphs: nodes, the order between them, and conditional bodies.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/native.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

class Graph;

namespace detail {
struct GraphTraits {
    using Handle = NativeGraph;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};

/// Objects that a graph keeps alive, each once.
using KeptObjects = std::set<std::shared_ptr<const void>>;

enum class ConditionalKind : std::uint8_t { runs_if, runs_while, runs_one };

/// A graph and what it keeps.
struct GraphState {
    KeptObjects kept;
    UniqueHandle<GraphTraits> handle;
    std::set<NativeDevicePointer> unfreed;  ///< Memory that a node allocates and none frees.
};

/// Checks and converts the arguments of a kernel, and calls use(pointers to them).
template <class Use, class... Parameters, class... Arguments>
[[nodiscard]] Status with_node_arguments(const Kernel<void(Parameters...)>& kernel, const Use& use,
                                         const Arguments&... arguments) {
    static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                  "the number of arguments differs from the kernel's signature");
    const ArgumentOwner owners[] = {owner_of(arguments)..., {}};
    if (auto checked = check_owners(kernel.untyped().state(), owners); !checked) return checked;
    std::tuple<ArgumentHolder<Parameters, Arguments>...> holders(arguments...);
    return std::apply(
        [&](auto&... holder) {
            void* pointers[sizeof...(Parameters) + 1] = {holder.address()..., nullptr};
            return use(pointers);
        },
        holders);
}
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

/// The number that decides a conditional node, made by add_condition(). A kernel takes it as a
/// cudaGraphConditionalHandle (NativeGraphCondition in its C++ signature) and sets the number with
/// cudaGraphSetConditional(condition, number), which any thread of it may call, but not two at
/// once. A view, valid as long as its graph and what was instantiated from it.
///
/// cudaGraphSetConditional is part of CUDA's device runtime: compile with
/// CompileOptions::relocatable and, for a GPU, link with LinkInput::device_runtime(). The software
/// device has it built in.
class GraphCondition {
public:
    /// For a handle that the driver made.
    explicit GraphCondition(NativeGraphCondition native) noexcept : native_(native) {}
    /// The driver's handle.
    [[nodiscard]] NativeGraphCondition native() const noexcept { return native_; }
    /// native(), so that launches take it as an argument.
    operator NativeGraphCondition() const noexcept { return native_; }

private:
    NativeGraphCondition native_;
};

struct ConditionalNode;

/// What graphs and the bodies of conditional nodes have in common: adding nodes. Not thread-safe.
class GraphBuilder {
public:
    /// Whether there is a graph.
    explicit operator bool() const noexcept { return state_ != nullptr; }

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
        if (auto added = detail::with_node_arguments(kernel, add, arguments...); !added)
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

    /// Adds a copy of another graph as one node (cuGraphAddChildGraphNode), and keeps what that
    /// graph keeps. Errors: invalid_argument for an empty graph and for this one.
    [[nodiscard]] Result<GraphNode> add_child(const After& after, const Graph& child);
    /// Adds a node without work, to join others (cuGraphAddEmptyNode).
    [[nodiscard]] Result<GraphNode> add_empty(const After& after);
    /// Adds a number that decides one conditional node of this graph or of a body inside it
    /// (cuGraphConditionalHandleCreate). It is `at_launch` at the start of every launch; without
    /// that it is undefined until a kernel sets it. A condition without a node makes instantiate()
    /// fail. Errors: not_supported before driver 12.3.
    [[nodiscard]] Result<GraphCondition> add_condition(
        std::optional<std::uint32_t> at_launch = std::nullopt);
    /// Adds a node that runs its body if the number isn't 0 (cuGraphAddNode). A body that is left
    /// without nodes does nothing. Errors, also of the other conditional nodes: invalid_argument
    /// for a condition that has a node already or belongs to another graph; not_supported before
    /// driver 12.3.
    [[nodiscard]] Result<ConditionalNode> add_if(const After& after, GraphCondition condition);
    /// Adds a node that runs its first body if the number isn't 0, and its second otherwise.
    /// Errors: driver_too_old before driver 12.8.
    [[nodiscard]] Result<ConditionalNode> add_if_else(const After& after, GraphCondition condition);
    /// Adds a node that runs its body as long as the number isn't 0, which it tests before each
    /// run.
    [[nodiscard]] Result<ConditionalNode> add_while(const After& after, GraphCondition condition);
    /// Adds a node with several bodies that runs the one whose index is the number, or none.
    /// Errors: invalid_argument for no bodies; driver_too_old before driver 12.8.
    [[nodiscard]] Result<ConditionalNode> add_switch(const After& after, GraphCondition condition,
                                                     std::size_t bodies);

    /// Makes `second` come after `first`. Errors: invalid_argument if it already does.
    [[nodiscard]] Status add_dependency(GraphNode first, GraphNode second);

    /// Keeps an object as long as the graph and what is instantiated from it later: a moved buffer,
    /// a copy of a kernel, a shared_ptr. Does nothing with an empty graph.
    template <class T>
    requires(!std::is_lvalue_reference_v<T> ||
             std::copy_constructible<std::remove_cvref_t<T>>) void keep(T&& object) {
        if (state_ == nullptr) return;
        state_->kept.insert(std::make_shared<std::remove_cvref_t<T>>(std::forward<T>(object)));
    }

    /// The number of nodes, without those inside child graphs.
    [[nodiscard]] Result<std::size_t> node_count() const;
    /// All nodes in the order of their creation.
    [[nodiscard]] Result<std::vector<GraphNode>> nodes() const;
    /// The driver's handle, still owned by the graph; also a cudaGraph_t.
    [[nodiscard]] NativeGraph native() const noexcept {
        return state_ == nullptr ? nullptr : native_;
    }

protected:
    /// Without a graph.
    GraphBuilder() noexcept = default;
    /// A whole graph.
    explicit GraphBuilder(UniqueHandle<detail::GraphTraits> handle) : native_(handle.get()) {
        state_ = std::make_shared<detail::GraphState>(
            detail::GraphState{.kept = {}, .handle = std::move(handle), .unfreed = {}});
    }
    /// A body inside a graph.
    GraphBuilder(std::shared_ptr<detail::GraphState> state, NativeGraph native) noexcept
        : state_(std::move(state)), native_(native) {}
    /// Another view of the same graph.
    GraphBuilder(const GraphBuilder&) = default;
    /// Leaves `other` without a graph.
    GraphBuilder(GraphBuilder&& other) noexcept = default;
    /// Another view of the same graph.
    GraphBuilder& operator=(const GraphBuilder&) = default;
    /// Leaves `other` without a graph.
    GraphBuilder& operator=(GraphBuilder&& other) noexcept = default;
    ~GraphBuilder() = default;

    /// Fails for an empty graph.
    [[nodiscard]] Status check_present() const;
    /// The graph's device; only if there is a graph.
    [[nodiscard]] detail::DeviceState& device() const noexcept { return *state_->handle.owner(); }
    /// The graph that the nodes belong to, at whatever depth.
    [[nodiscard]] detail::GraphState* state() const noexcept { return state_.get(); }

private:
    [[nodiscard]] Result<GraphNode> add_kernel_node(const After& after, const UntypedKernel& kernel,
                                                    const LaunchShape& shape, void** arguments);
    [[nodiscard]] Result<GraphNode> add_copy_node(const After& after, detail::DeviceMemoryRef to,
                                                  detail::DeviceMemoryRef from, void* host_to,
                                                  const void* host_from, std::size_t bytes);
    [[nodiscard]] Result<GraphNode> add_fill_node(const After& after,
                                                  detail::DeviceMemoryRef memory, const void* value,
                                                  std::size_t value_bytes, std::size_t count);
    [[nodiscard]] Result<ConditionalNode> add_conditional(const After& after,
                                                          GraphCondition condition,
                                                          detail::ConditionalKind kind,
                                                          std::size_t bodies);

    std::shared_ptr<detail::GraphState> state_;
    NativeGraph native_ = nullptr;
};

/// A body of a conditional node. Its nodes can be kernels, copies, fills, empty nodes, conditional
/// nodes and child graphs of such nodes, all of one device. A view that keeps its graph.
class GraphBody : public GraphBuilder {
private:
    friend class GraphBuilder;
    GraphBody(std::shared_ptr<detail::GraphState> state, NativeGraph native) noexcept
        : GraphBuilder(std::move(state), native) {}
};

/// A conditional node with its bodies, to which nodes are added.
struct ConditionalNode {
    GraphNode node;                 ///< The node itself.
    std::vector<GraphBody> bodies;  ///< In the order of the numbers that select them.
};

}  // namespace LODE_NAMESPACE

LODE_API_END
