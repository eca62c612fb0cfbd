#include "lode_kernels/operation.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace LODE_NAMESPACE::kernels {
namespace detail {
namespace {

std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

/// A choice that a thread has made.
struct Choice {
    std::uint64_t operation = 0;
    Problem problem;
    const Operation::Row* row = nullptr;
};

/// Where this thread keeps its last choice for a problem like this. Choosing allocates and takes a
/// lock; a loop over the same sizes does so once.
Choice& kept_choice(std::uint64_t operation, const Problem& problem) {
    thread_local std::array<Choice, 16> choices;
    const auto mixed =
        (operation * 31 + problem.x * 7 + problem.y * 3 + problem.z) * 0x9e3779b97f4a7c15U;
    return choices[mixed >> 60];
}

}  // namespace

Operation::Operation(const VariantLoader& loader, KernelFamily family, CompileOptions compile,
                     const NumberType& type, NeedOf need_of)
    : loader_(loader),
      family_(std::move(family)),
      compile_(std::move(compile)),
      type_(type),
      need_(need_of),
      id_(next_id()),
      rows_(family_.rows.size()) {}

Result<OperationPointer> Operation::load(const VariantLoader& loader, KernelFamily family,
                                         CompileOptions compile, const NumberType& type,
                                         NeedOf need_of, const Problem& first) {
    auto operation = std::make_shared<const Operation>(loader, std::move(family),
                                                       std::move(compile), type, need_of);
    return operation->row_for(first).map([&](const Row*) { return OperationPointer(operation); });
}

Result<const Operation::Row*> Operation::row_for(const Problem& problem) const {
    Choice& kept = kept_choice(id_, problem);
    if (kept.operation == id_ && kept.problem == problem) return kept.row;
    return choose(problem).map([&](const Row* row) {
        kept = {id_, problem, row};
        return row;
    });
}

Result<const Operation::Row*> Operation::choose(const Problem& problem) const {
    const VariantOptions options{
        .problem = problem, .problem_class = problem_class_of(problem), .compile = compile_};
    const auto choice = loader_.choose(family_, options);
    if (!choice) return tl::unexpected(choice.error());
    const std::lock_guard guard(mutex_);
    auto& row = rows_[choice->row];
    if (row) return row.get();
    auto variant = loader_.load(family_, options);
    if (!variant) return tl::unexpected(std::move(variant).error());
    // A workspace that one row has used needs no clearing for itself alone.
    for (const auto& loaded : rows_) {
        if (!loaded || loaded->variant.row.name != variant->row.name) continue;
        row = loaded;
        return row.get();
    }
    row = std::make_shared<const Row>(Row{*std::move(variant), next_id()});
    return row.get();
}

Status Operation::check(const Row& row, std::initializer_list<Elements> used) const {
    const auto& kernel = row.variant.kernel;
    for (const auto& elements : used) {
        if (elements.count == 0 || elements.memory.device == kernel.launchable().device) continue;
        const lode::detail::ArgumentOwner owner{lode::detail::ArgumentKind::memory,
                                                elements.memory.address != 0,
                                                elements.memory.device};
        if (auto usable = lode::detail::check_owners(kernel.state(), {&owner, 1}); !usable)
            return usable;
    }
    return {};
}

Status Operation::prepare(Workspace& workspace, StreamRef stream, const Row& row,
                          const WorkspaceNeed& needed) const {
    const auto memory = workspace.memory();
    if (needed.bytes == 0) return {};
    if (memory.size() < needed.bytes) {
        return fail(Errc::invalid_argument,
                    text_of("The workspace has ", memory.size(), " bytes, but '", family_.name,
                            "' needs ", needed.bytes, ": workspace_bytes() says how many."));
    }
    if (auto aligned = check_aligned("The workspace", memory); !aligned) return aligned;
    if (auto usable = check(row, {memory}); !usable) return usable;
    return workspace.prepare(stream, row.id, needed);
}

Result<std::size_t> workspace_bytes(const Operation& operation, const Problem& problem) {
    return operation.row_for(problem).map(
        [&](const Operation::Row* row) { return operation.need(*row, problem).bytes; });
}

Status check_aligned(std::string_view what, const Elements& elements) {
    const auto rest = elements.memory.address % 16;
    if (rest == 0) return {};
    return fail(Errc::invalid_argument,
                text_of(what, " starts ", rest,
                        " bytes after a multiple of 16, where the kernels can't use it."));
}

Status check_apart(std::string_view what, const Elements& from, const Elements& to) {
    const auto first = std::max(from.memory.address, to.memory.address);
    const auto last = std::min(from.memory.address + from.bytes, to.memory.address + to.bytes);
    if (first >= last) return {};
    return fail(Errc::invalid_argument,
                text_of(what, " overlaps its input by ", last - first, " bytes."));
}

Status check_count(std::string_view what, std::size_t count, std::size_t wanted) {
    if (count == wanted) return {};
    return fail(Errc::invalid_argument,
                text_of(what, " has ", count, " elements instead of ", wanted, "."));
}

}  // namespace detail

Status Workspace::prepare(StreamRef stream, std::uint64_t user, const detail::WorkspaceNeed& need) {
    if (need.cleared == 0) return {};
    const auto capturing = stream.is_capturing();
    if (!capturing) return tl::unexpected(capturing.error());
    // The host doesn't see when a graph uses the memory: from then on each run clears it.
    captured_ = captured_ || *capturing;
    const bool is_ready = !captured_ && user_ == user && layout_ == need.layout &&
                          need.cleared <= cleared_ && runs_ < need.most_runs;
    if (!is_ready) {
        const auto cleared = memory_.first(need.cleared).and_then([&](DeviceSpan<std::byte> front) {
            return front.zero_async(stream);
        });
        if (!cleared) return cleared;
        user_ = user;
        layout_ = need.layout;
        cleared_ = need.cleared;
        runs_ = 0;
    }
    ++runs_;
    return {};
}

}  // namespace LODE_NAMESPACE::kernels
