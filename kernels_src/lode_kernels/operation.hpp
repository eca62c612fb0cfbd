// A family that a host has loaded: it chooses the row of each problem, loads it once, and checks
// what a run is given.
#pragma once

#include "lode_kernels/family.hpp"

#include <lode/kernels/operation.hpp>
#include <lode/runtime/memory_pool.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::kernels::detail {

/// What a run needs of a workspace.
struct WorkspaceNeed {
    std::size_t bytes = 0;          ///< In all.
    std::size_t cleared = 0;        ///< Those in front that are zero before the first run.
    std::uint32_t most_runs = ~0U;  ///< Before they must be zero again.
    /// Runs with another number write to what this one leaves zero: it is cleared in between.
    std::uint64_t layout = 0;
};

class Operation {
public:
    /// What a run of a row needs.
    using NeedOf = WorkspaceNeed (*)(const LoadedVariant&, const Problem&, const NumberType&);

    /// A row, loaded.
    struct Row {
        LoadedVariant variant;
        std::uint64_t id;  ///< Unique in the process.
    };

    /// Loads the row for the problem `first`.
    static Result<OperationPointer> load(const VariantLoader& loader, KernelFamily family,
                                         CompileOptions compile, const NumberType& type,
                                         NeedOf need_of, const Problem& first = {1U << 20});

    Operation(const VariantLoader& loader, KernelFamily family, CompileOptions compile,
              const NumberType& type, NeedOf need_of);

    [[nodiscard]] const Device& device() const noexcept { return loader_.device(); }
    [[nodiscard]] const NumberType& type() const noexcept { return type_; }

    /// The row for a problem, valid as long as the operation; loaded if it isn't.
    [[nodiscard]] Result<const Row*> row_for(const Problem& problem) const;
    [[nodiscard]] WorkspaceNeed need(const Row& row, const Problem& problem) const {
        return need_(row.variant, problem, type_);
    }

    /// Calls enqueue(variant, address of the workspace) with the row for the problem, after these
    /// have been found to be memory that its kernels can use. Without a workspace, the pool has
    /// one.
    template <class Enqueue>
    [[nodiscard]] Status run(StreamRef stream, const Problem& problem,
                             std::initializer_list<Elements> used, Workspace* workspace,
                             Enqueue enqueue) const {
        const auto row = row_for(problem);
        if (!row) return tl::unexpected(row.error());
        if (auto usable = check(**row, used); !usable) return usable;
        Workspace own;
        AsyncBuffer<std::byte> memory;
        const auto needed = need(**row, problem);
        if (workspace == nullptr) workspace = &own;
        if (workspace == &own && needed.bytes != 0) {
            auto allocated =
                AsyncBuffer<std::byte>::allocate(loader_.device(), stream, needed.bytes);
            if (!allocated) return tl::unexpected(std::move(allocated).error());
            memory = *std::move(allocated);
            own = Workspace(memory);
        }
        if (auto ready = prepare(*workspace, stream, **row, needed); !ready) return ready;
        return enqueue((*row)->variant, workspace->memory().data());
    }

private:
    [[nodiscard]] Status check(const Row& row, std::initializer_list<Elements> used) const;
    [[nodiscard]] Status prepare(Workspace& workspace, StreamRef stream, const Row& row,
                                 const WorkspaceNeed& needed) const;
    [[nodiscard]] Result<const Row*> choose(const Problem& problem) const;

    VariantLoader loader_;
    KernelFamily family_;
    CompileOptions compile_;
    NumberType type_;
    NeedOf need_;
    std::uint64_t id_;  ///< Unique in the process.
    mutable std::mutex mutex_;
    /// One for each row of the family that has been chosen: itself, or the one that it falls back
    /// to.
    mutable std::vector<std::shared_ptr<const Row>> rows_;
};

/// invalid_argument unless these start at a multiple of 16 bytes; `what` is the subject.
[[nodiscard]] Status check_aligned(std::string_view what, const Elements& elements);

/// invalid_argument if the two overlap; `what` is the subject.
[[nodiscard]] Status check_apart(std::string_view what, const Elements& from, const Elements& to);

/// invalid_argument unless the counts are equal; `what` is the subject of the sentence.
[[nodiscard]] Status check_count(std::string_view what, std::size_t count, std::size_t wanted);

}  // namespace LODE_NAMESPACE::kernels::detail
