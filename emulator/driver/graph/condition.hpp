// The values that decide conditional nodes.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/context/context.hpp"
#include "emulator/driver/handles.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace lode::emulator::driver {

class Graph;

/// The value of a conditional handle. Kernels set it and conditional nodes read it while a graph
/// runs.
class Condition : public Handled {
public:
    Condition(const std::shared_ptr<Graph>& graph, std::shared_ptr<Context> context,
              std::optional<unsigned> at_launch) noexcept
        : graph_(graph), context_(std::move(context)), at_launch_(at_launch) {}

    /// The graph that it was created for; nullptr once that is destroyed.
    [[nodiscard]] std::shared_ptr<Graph> graph() const noexcept { return graph_.lock(); }
    [[nodiscard]] Context& context() const noexcept { return *context_; }

    /// Begins a launch: the value is the default, or undefined without one.
    void begin() noexcept;
    void set(unsigned value) noexcept { value_ = value; }
    /// An undefined value is reported and counts as 0.
    [[nodiscard]] unsigned value() const noexcept;

    bool used = false;  ///< By a node. Guarded by GraphTables::mutex.

private:
    static constexpr std::uint64_t undefined = ~std::uint64_t{0};

    const std::weak_ptr<Graph> graph_;
    const std::shared_ptr<Context> context_;
    const std::optional<unsigned> at_launch_;
    std::atomic<std::uint64_t> value_{undefined};
};

/// Finds conditions as long as a graph, or an executable graph, keeps them. Thread-safe.
class Conditions {
public:
    CUgraphConditionalHandle add(const std::shared_ptr<Condition>& condition);
    /// nullptr if the handle isn't live.
    [[nodiscard]] std::shared_ptr<Condition> find(CUgraphConditionalHandle handle) const;

private:
    mutable std::mutex mutex_;
    std::unordered_map<CUgraphConditionalHandle, std::weak_ptr<Condition>> conditions_;
};

}  // namespace lode::emulator::driver
