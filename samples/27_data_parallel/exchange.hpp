// Training, and the ways to add the gradients of all devices.
#pragma once

#include "nccl.hpp"
#include "ranks.hpp"
#include "replica.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace sample {

using Replicas = std::vector<std::unique_ptr<Replica>>;

/// Enqueues or does: `sum` of each of this process's replicas = the sum of all gradients.
using Exchange = std::function<void(const Replicas& replicas)>;

/// For the devices of one process: every device copies the others' gradients.
inline void exchange_by_copies(const Replicas& replicas) {
    for (const auto& mine : replicas)
        lode::unwrap(mine->ready.record(mine->stream));
    for (const auto& mine : replicas) {
        for (std::size_t k = 0; k < replicas.size(); ++k) {
            lode::unwrap(mine->stream.wait(replicas[k]->ready));
            const auto part = lode::unwrap(mine->shares.span().subspan(k * features, features));
            lode::unwrap(part.copy_from_async(mine->stream, replicas[k]->gradient));
        }
        lode::unwrap(mine->taken.record(mine->stream));
        mine->enqueue_sum(static_cast<int>(replicas.size()));
    }
    // The next gradient is written when all have this one.
    for (const auto& mine : replicas)
        for (const auto& other : replicas)
            lode::unwrap(mine->stream.wait(other->taken));
}

/// For one device of this process: through the processes' memory.
inline Exchange exchange_by_gather(const Rank& rank) {
    return [&rank](const Replicas& replicas) {
        const Replica& mine = *replicas.front();
        lode::unwrap(mine.stream.sync());
        const auto all = rank.gather(lode::unwrap(mine.gradient.to_vector()));
        lode::unwrap(mine.shares.span().copy_from(all));
        mine.enqueue_sum(rank.world());
    };
}

/// NCCL where it is installed and the devices are real.
inline const Nccl* nccl_for(const lode::Runtime& runtime) {
    return runtime.driver().is_emulator() ? nullptr : Nccl::find();
}

/// By NCCL's all-reduce, with a communicator for each of this process's replicas.
inline Exchange exchange_by(std::shared_ptr<const NcclCommunicators> communicators) {
    return [=](const Replicas& replicas) {
        const Nccl& nccl = communicators->nccl;
        nccl.check(nccl.group_start());
        for (std::size_t k = 0; k < replicas.size(); ++k)
            nccl.check(nccl.all_reduce(reinterpret_cast<void*>(replicas[k]->gradient.native()),
                                       reinterpret_cast<void*>(replicas[k]->sum.native()), features,
                                       Nccl::float32, Nccl::sum, communicators->all[k],
                                       replicas[k]->stream.native()));
        nccl.check(nccl.group_end());
    };
}
/// For the first `count` devices.
inline Exchange exchange_by_nccl(const Nccl& nccl, int count) {
    const auto made = std::make_shared<NcclCommunicators>(nccl, count);
    nccl.check(nccl.init_all(made->all.data(), count, nullptr));
    return exchange_by(made);
}
/// For one device of each process. NCCL takes the device whose context is current.
inline Exchange exchange_by_nccl(const Nccl& nccl, const Rank& rank, const lode::Device& device) {
    const auto current = lode::unwrap(lode::ContextScope::enter(device));
    const auto made = std::make_shared<NcclCommunicators>(nccl, 1);
    std::vector<float> id(sizeof(Nccl::Id) / sizeof(float));
    Nccl::IdArgument argument;
    if (rank.rank() == 0) nccl.check(nccl.get_id(&argument.bytes));
    std::memcpy(id.data(), &argument, sizeof argument);
    id = rank.gather(id);  // The first rank's comes first.
    std::memcpy(&argument, id.data(), sizeof argument);
    nccl.check(nccl.init_rank(made->all.data(), rank.world(), argument, rank.rank()));
    return exchange_by(made);
}

/// Trains until the weights have converged, and checks them.
inline void train(const Replicas& replicas, int world, const Exchange& exchange) {
    const float rate = 1.5f / (static_cast<float>(samples) * static_cast<float>(world));
    for (int steps = 0; steps < 40; ++steps) {
        for (const auto& mine : replicas)
            mine->enqueue_gradient();
        exchange(replicas);
        for (const auto& mine : replicas)
            lode::unwrap(mine->step.launch(mine->stream, lode::cover(features), mine->weights,
                                           mine->sum, rate, features));
    }
    const auto first = lode::unwrap(replicas.front()->weights.to_vector());
    for (const auto& mine : replicas)
        check(lode::unwrap(mine->weights.to_vector()) == first,
              "all devices have the same weights");
    for (int f = 0; f < features; ++f)
        check(std::abs(first[static_cast<std::size_t>(f)] - true_weight(f)) < 1e-3f,
              "the weights are those that made the samples");
}

}  // namespace sample
