// One process for each device: the ranks of MPI, or instances of the program that it starts itself
// and that share a page of memory.
#pragma once

#include "check.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef SAMPLE_HAS_MPI
#include <mpi.h>
#endif

namespace sample {

/// A process among others that run the same program.
class Rank {
public:
    /// How many numbers gather() takes at most.
    static constexpr std::size_t most = 1024;
    static constexpr int most_ranks = 16;

    /// This process among those that start() started.
    Rank(int rank, int world, int descriptor) : rank_(rank), world_(world) {
        void* const memory =
            mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        check(memory != MAP_FAILED, "the ranks share memory");
        shared_ = static_cast<Shared*>(memory);
    }
    /// This process among those that mpirun started.
    static Rank of_mpi() {
#ifdef SAMPLE_HAS_MPI
        int rank = 0;
        int world = 0;
        MPI_Init(nullptr, nullptr);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &world);
        return Rank(rank, world);
#else
        throw std::runtime_error("This sample was built without MPI.");
#endif
    }
    ~Rank() {
        if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
#ifdef SAMPLE_HAS_MPI
        if (shared_ == nullptr) MPI_Finalize();
#endif
    }
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    [[nodiscard]] int rank() const {
        return rank_;
    }
    [[nodiscard]] int world() const {
        return world_;
    }

    /// Concatenates the arrays of all ranks, which have the same size.
    [[nodiscard]] std::vector<float> gather(std::span<const float> own) const {
        std::vector<float> all(own.size() * static_cast<std::size_t>(world_));
#ifdef SAMPLE_HAS_MPI
        if (shared_ == nullptr) {
            const int count = static_cast<int>(own.size());
            MPI_Allgather(own.data(), count, MPI_FLOAT, all.data(), count, MPI_FLOAT,
                          MPI_COMM_WORLD);
            return all;
        }
#endif
        check(own.size() <= most, "the array fits into the shared memory");
        std::ranges::copy(own, shared_->parts[rank_]);
        wait();
        for (int other = 0; other < world_; ++other)
            std::copy_n(shared_->parts[other], own.size(),
                        all.data() + static_cast<std::size_t>(other) * own.size());
        wait();  // The next call overwrites the parts.
        return all;
    }

    /// Runs this program once for each rank, with the arguments "--rank", the rank, the number of
    /// ranks and the descriptor of their memory; true if all succeed.
    static bool start(int world) {
        check(world >= 1 && world <= most_ranks, "there are 1 to 16 ranks");
        const int descriptor = memfd_create("ranks", 0);
        check(descriptor >= 0 && ftruncate(descriptor, sizeof(Shared)) == 0, "memory is shared");
        const std::string program = std::filesystem::canonical("/proc/self/exe");
        std::vector<pid_t> processes;
        for (int rank = 0; rank < world; ++rank) {
            const std::string number = std::to_string(rank);
            const std::string count = std::to_string(world);
            const std::string file = std::to_string(descriptor);
            const pid_t process = fork();
            if (process == 0) {
                execl(program.c_str(), program.c_str(), "--rank", number.c_str(), count.c_str(),
                      file.c_str(), nullptr);
                _exit(1);
            }
            processes.push_back(process);
        }
        close(descriptor);
        // If one fails, the others would wait for it for ever.
        bool all_succeeded = true;
        for (std::size_t left = processes.size(); left > 0; --left) {
            int status = 1;
            const pid_t ended = wait_for_one(status);
            std::erase(processes, ended);
            if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
            all_succeeded = false;
            for (const pid_t process : processes)
                kill(process, SIGKILL);
        }
        return all_succeeded;
    }

private:
    Rank(int rank, int world) : rank_(rank), world_(world) {}
    /// All zeros at the start.
    struct Shared {
        std::atomic<unsigned> arrived;
        std::atomic<unsigned> round;
        float parts[most_ranks][most];
    };
    static_assert(std::atomic<unsigned>::is_always_lock_free);

    static pid_t wait_for_one(int& status) {
        return ::waitpid(-1, &status, 0);
    }

    /// A barrier of all ranks.
    void wait() const {
        const unsigned round = shared_->round.load();
        if (shared_->arrived.fetch_add(1) + 1 == static_cast<unsigned>(world_)) {
            shared_->arrived = 0;
            ++shared_->round;
            return;
        }
        while (shared_->round.load() == round)
            std::this_thread::yield();
    }

    int rank_ = 0;
    int world_ = 1;
    Shared* shared_ = nullptr;
};

}  // namespace sample
