// The check of order between operations, judged by random programs: a model that compares all pairs
// of operations knows which of them nothing orders.
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>

#include <fmt/format.h>

namespace lode::emulator_test::random_streams {
namespace {

constexpr std::size_t most_tasks = 256;
constexpr int kernels_of_kind = 16;
constexpr std::size_t buffer_bytes = 1024;
using Tasks = std::bitset<most_tasks>;
using NamePair = std::pair<std::string, std::string>;

enum class How { reads, writes, updates };

/// Bytes of a buffer, from its start or one word of it.
struct Use {
    CUdeviceptr buffer = 0;
    std::size_t first = 0;
    std::size_t end = 0;
    How how = How::reads;
};

/// One submission to a stream.
struct Task {
    std::string name;  ///< Empty: it touches nothing.
    std::vector<Use> uses;
    Tasks before;
    bool is_copy = false;
};

NamePair sorted(std::string a, std::string b) {
    return a < b ? NamePair{a, b} : NamePair{b, a};
}

/// What the program has done, and what must be found.
class Model {
public:
    /// A submission to a stream, after these tasks too.
    std::size_t add(int stream, std::string name, std::vector<Use> uses, Tasks after = {}) {
        Task task{std::move(name), std::move(uses), known_ | after, false};
        join(task.before, last_[stream]);
        if (stream == 0) {
            for (const auto& [other, last] : last_)
                if (is_blocking(other)) join(task.before, last);
        } else if (is_blocking(stream)) {
            join(task.before, last_[0]);
        }
        tasks_.push_back(std::move(task));
        last_[stream] = tasks_.size() - 1;
        return tasks_.size() - 1;
    }
    /// A node of a graph that a stream launches, after these nodes and `start`.
    std::size_t add_node(std::size_t start, std::string name, std::vector<Use> uses,
                         const Tasks& after) {
        Task task{std::move(name), std::move(uses), after, false};
        join(task.before, start);
        tasks_.push_back(std::move(task));
        return tasks_.size() - 1;
    }
    [[nodiscard]] Tasks upto(std::size_t task) const {
        Tasks all = tasks_[task].before;
        all.set(task);
        return all;
    }
    Task& operator[](std::size_t task) { return tasks_[task]; }
    void host_knows(std::optional<std::size_t> task) { join(known_, task); }
    void host_knows_stream(int stream) { join(known_, last_[stream]); }
    void host_knows_all() {
        for (std::size_t k = 0; k < tasks_.size(); ++k)
            known_.set(k);
    }
    /// Another stream takes the number.
    void renew(int stream) {
        if (is_blocking(stream) && last_[stream]) last_[--gone_] = last_[stream];
        last_[stream].reset();
    }
    [[nodiscard]] std::size_t size() const { return tasks_.size(); }

    /// The pairs that must be found, and those that may be.
    void judge(std::set<NamePair>& must, std::set<NamePair>& may) const {
        for (std::size_t k = 0; k < tasks_.size(); ++k) {
            for (std::size_t n = 0; n < k; ++n) {
                if (tasks_[k].before[n] || tasks_[n].before[k]) continue;
                compare(tasks_[n], tasks_[k], must, may);
            }
        }
    }

private:
    /// 1 and 2, and those that were 1 or 2 once.
    static bool is_blocking(int stream) { return stream == 1 || stream == 2 || stream < 0; }
    void join(Tasks& to, std::optional<std::size_t> task) const {
        if (task) to |= upto(*task);
    }
    static void compare(const Task& a, const Task& b, std::set<NamePair>& must,
                        std::set<NamePair>& may) {
        for (const Use& one : a.uses) {
            for (const Use& other : b.uses) {
                if (one.buffer != other.buffer || one.first >= other.end || other.first >= one.end)
                    continue;
                if (one.how == other.how && one.how != How::writes) continue;
                // A copy may write what is there already, which conflicts with reads alone.
                const bool both_write = one.how != How::reads && other.how != How::reads;
                (both_write && (a.is_copy || b.is_copy) ? may : must)
                    .insert(sorted(a.name, b.name));
            }
        }
    }

    std::vector<Task> tasks_;
    std::map<int, std::optional<std::size_t>> last_;
    Tasks known_;
    int gone_ = 0;
};

std::string kernels() {
    std::string text = ".version 8.0\n.target sm_75\n.address_size 64\n";
    const auto add = [&](const char* kind, int k, const char* what) {
        text += fmt::format(
            ".visible .entry {}{}(.param .u64 to, .param .u32 value)\n{{\n.reg .b32 %r<3>;\n"
            ".reg .b64 %rd<2>;\nld.param.u64 %rd1, [to];\nld.param.u32 %r1, "
            "[value];\n{}\nret;\n}}\n",
            kind, k, what);
    };
    for (int k = 0; k < kernels_of_kind; ++k) {
        add("peek", k, "ld.global.u32 %r2, [%rd1];");
        add("poke", k, "st.global.u32 [%rd1], %r1;");
        add("bump", k, "red.global.add.u32 [%rd1], %r1;");
    }
    return text;
}

/// The pairs that the log names.
class Found {
public:
    static void hook(void* user, int, const char* line) {
        auto& self = *static_cast<Found*>(user);
        const std::string text = line;
        if (text.find("nothing orders the two") == std::string::npos) return;
        const auto memory = text.find(" at 0x", text.find("\n  allocation: "));
        const std::string address =
            text.substr(memory + 4, text.find_first_of(" \n", memory + 4) - memory - 4);
        const auto name = [&](const char* which) {
            const auto at = text.find(which) + std::string_view(which).size();
            std::string found = text.substr(at, text.find(", by ", at) - at);
            if (found.starts_with("cuMem")) found += " " + address;
            return found;
        };
        const std::lock_guard lock(self.mutex);
        self.pairs.insert(sorted(name("\n  first: "), name("\n  second: ")));
        self.text += text + "\n";
    }
    std::mutex mutex;
    std::set<NamePair> pairs;
    std::string text;
};

/// Entry points, found once.
struct Calls {
    PFN_cuMemAlloc_v3020 alloc = CU(cuMemAlloc, 3020);
    PFN_cuMemAllocAsync_v11020 alloc_async = CU(cuMemAllocAsync, 11020);
    PFN_cuMemFreeAsync_v11020 free_async = CU(cuMemFreeAsync, 11020);
    PFN_cuMemsetD8Async_v3020 fill = CU(cuMemsetD8Async, 3020);
    PFN_cuMemcpyDtoDAsync_v3020 copy = CU(cuMemcpyDtoDAsync, 3020);
    PFN_cuMemcpyDtoH_v3020 fetch = CU(cuMemcpyDtoH, 3020);
    PFN_cuStreamCreate_v2000 create_stream = CU(cuStreamCreate, 2000);
    PFN_cuStreamDestroy_v4000 destroy_stream = CU(cuStreamDestroy, 4000);
    PFN_cuStreamSynchronize_v2000 sync_stream = CU(cuStreamSynchronize, 2000);
    PFN_cuStreamQuery_v2000 query_stream = CU(cuStreamQuery, 2000);
    PFN_cuStreamWaitEvent_v3020 wait = CU(cuStreamWaitEvent, 3020);
    PFN_cuEventCreate_v2000 create_event = CU(cuEventCreate, 2000);
    PFN_cuEventRecord_v2000 record = CU(cuEventRecord, 2000);
    PFN_cuEventSynchronize_v2000 sync_event = CU(cuEventSynchronize, 2000);
    PFN_cuEventQuery_v2000 query_event = CU(cuEventQuery, 2000);
    PFN_cuCtxSynchronize_v2000 sync = CU(cuCtxSynchronize, 2000);
    PFN_cuModuleLoadData_v2000 load = CU(cuModuleLoadData, 2000);
    PFN_cuModuleGetFunction_v2000 function = CU(cuModuleGetFunction, 2000);
    PFN_cuLaunchKernel_v4000 launch = CU(cuLaunchKernel, 4000);
    PFN_cuGraphCreate_v10000 create_graph = CU(cuGraphCreate, 10000);
    PFN_cuGraphAddMemsetNode_v10000 add_fill = CU(cuGraphAddMemsetNode, 10000);
    PFN_cuGraphInstantiateWithFlags_v11040 instantiate = CU(cuGraphInstantiateWithFlags, 11040);
    PFN_cuGraphLaunch_v10000 launch_graph = CU(cuGraphLaunch, 10000);
};

constexpr int streams = 5;  // 0: the default stream; 1, 2: blocking; 3, 4: non-blocking.
constexpr int events = 3;

class Program {
public:
    Program(std::uint32_t seed, const Calls& calls) : random_(seed), cu_(calls) {
        const std::string text = kernels();
        REQUIRE(cu_.load(&module_, text.c_str()) == CUDA_SUCCESS);
        for (int k = 1; k < streams; ++k)
            REQUIRE(create_stream(k) == CUDA_SUCCESS);
        for (CUevent& event : event_)
            REQUIRE(cu_.create_event(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
        for (int k = 0; k < 2; ++k) {
            CUdeviceptr buffer = 0;
            REQUIRE(cu_.alloc(&buffer, buffer_bytes) == CUDA_SUCCESS);
            buffers_.push_back(buffer);
        }
    }
    void run(int steps) {
        for (int k = 0; k < steps; ++k)
            step();
        CHECK(cu_.sync() == CUDA_SUCCESS);
    }
    Model model;

private:
    int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
    CUdeviceptr buffer() {
        return buffers_[static_cast<std::size_t>(below(static_cast<int>(buffers_.size())))];
    }
    CUresult create_stream(int k) {
        return cu_.create_stream(&stream_[k], k < 3 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
    }
    /// A size that no other operation of the program has.
    std::size_t new_size() { return static_cast<std::size_t>(++sizes_) * 4; }
    bool has_room() const { return sizes_ < 200 && model.size() < most_tasks - 20; }

    void step() {
        if (!has_room()) return;
        const int s = below(streams);
        switch (below(20)) {
            case 0:
            case 1:
            case 2:
            case 3:
                return fill(s);
            case 4:
            case 5:
                return copy(s);
            case 6:
            case 7:
            case 8:
                return launch(s);
            case 9:
            case 10:
                return record(s);
            case 11:
            case 12:
                return wait(s);
            case 13:
                return allocate(s);
            case 14:
                return release(s);
            case 15:
            case 16:
                return graph(s);
            case 17:
                return renew(s);
            default:
                return below(3) == 0 ? synchronise(s) : query(s);
        }
    }
    void fill(int s) {
        const CUdeviceptr to = buffer();
        const std::size_t bytes = new_size();
        CHECK(cu_.fill(to, static_cast<unsigned char>(sizes_), bytes, stream_[s]) == CUDA_SUCCESS);
        model.add(s, fmt::format("a fill of {} bytes", bytes), {{to, 0, bytes, How::writes}});
    }
    void copy(int s) {
        const CUdeviceptr to = buffer();
        const CUdeviceptr from = buffer();
        if (to == from) return;
        const std::size_t bytes = new_size();
        CHECK(cu_.copy(to, from, bytes, stream_[s]) == CUDA_SUCCESS);
        const auto task = model.add(s, fmt::format("a copy of {} bytes", bytes),
                                    {{from, 0, bytes, How::reads}, {to, 0, bytes, How::writes}});
        model[task].is_copy = true;
    }
    void launch(int s) {
        static constexpr const char* kinds[] = {"peek", "poke", "bump"};
        static constexpr How hows[] = {How::reads, How::writes, How::updates};
        const int kind = below(3);
        if (kernels_[kind] == kernels_of_kind) return;
        const std::string name = fmt::format("{}{}", kinds[kind], kernels_[kind]++);
        CUfunction function = nullptr;
        CHECK(cu_.function(&function, module_, name.c_str()) == CUDA_SUCCESS);
        const CUdeviceptr of = buffer();
        const std::size_t first = static_cast<std::size_t>(below(8)) * 4;
        CUdeviceptr address = of + first;
        unsigned value = 0x10000u + 0x1000000u * static_cast<unsigned>(kind) +
                         static_cast<unsigned>(kernels_[kind]);
        void* parameters[] = {&address, &value};
        CHECK(cu_.launch(function, 1, 1, 1, 1, 1, 1, 0, stream_[s], parameters, nullptr) ==
              CUDA_SUCCESS);
        model.add(s, name, {{of, first, first + 4, hows[kind]}});
    }
    void record(int s) {
        const int e = below(events);
        CHECK(cu_.record(event_[e], stream_[s]) == CUDA_SUCCESS);
        recorded_[e] = model.add(s, "", {});
    }
    void wait(int s) {
        const int e = below(events);
        CHECK(cu_.wait(stream_[s], event_[e], 0) == CUDA_SUCCESS);
        if (recorded_[e]) model.add(s, "", {}, model.upto(*recorded_[e]));
    }
    void allocate(int s) {
        CUdeviceptr made = 0;
        CHECK(cu_.alloc_async(&made, buffer_bytes, stream_[s]) == CUDA_SUCCESS);
        model.add(s, fmt::format("cuMemAllocAsync 0x{:x}", made),
                  {{made, 0, buffer_bytes, How::reads}, {made, 0, buffer_bytes, How::writes}});
        buffers_.push_back(made);
    }
    void release(int s) {
        if (buffers_.size() < 3) return;
        const CUdeviceptr gone = buffers_.back();
        buffers_.pop_back();
        CHECK(cu_.free_async(gone, stream_[s]) == CUDA_SUCCESS);
        model.add(s, fmt::format("cuMemFreeAsync 0x{:x}", gone),
                  {{gone, 0, buffer_bytes, How::reads}, {gone, 0, buffer_bytes, How::writes}});
    }
    void graph(int s) {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        REQUIRE(cu_.create_graph(&graph, 0) == CUDA_SUCCESS);
        CUcontext context = nullptr;
        REQUIRE(CU(cuCtxGetCurrent, 4000)(&context) == CUDA_SUCCESS);
        const std::size_t start = model.add(s, "", {});
        std::vector<CUgraphNode> nodes;
        std::vector<std::size_t> tasks;
        for (int k = 2 + below(4); k > 0; --k) {
            std::vector<CUgraphNode> after;
            Tasks before;
            for (std::size_t n = 0; n < nodes.size(); ++n) {
                if (below(3) != 0) continue;
                after.push_back(nodes[n]);
                before |= model.upto(tasks[n]);
            }
            const std::size_t bytes = new_size();
            CUDA_MEMSET_NODE_PARAMS fill{};
            // Memory that another stream frees would fail the node.
            fill.dst = buffers_[static_cast<std::size_t>(below(2))];
            fill.value = static_cast<unsigned char>(sizes_);
            fill.elementSize = 1;
            fill.width = bytes;
            fill.height = 1;
            CUgraphNode node = nullptr;
            REQUIRE(cu_.add_fill(&node, graph, after.data(), after.size(), &fill, context) ==
                    CUDA_SUCCESS);
            nodes.push_back(node);
            tasks.push_back(model.add_node(start, fmt::format("a fill of {} bytes", bytes),
                                           {{fill.dst, 0, bytes, How::writes}}, before));
        }
        REQUIRE(cu_.instantiate(&exec, graph, 0) == CUDA_SUCCESS);
        CHECK(cu_.launch_graph(exec, stream_[s]) == CUDA_SUCCESS);
        Tasks all;
        for (const std::size_t task : tasks)
            all |= model.upto(task);
        model.add(s, "", {}, all);
    }
    /// Destroys a stream, perhaps with work, and makes another of its kind.
    void renew(int s) {
        if (s == 0 || below(2) == 0) return;
        CHECK(cu_.destroy_stream(stream_[s]) == CUDA_SUCCESS);
        model.renew(s);
        CHECK(create_stream(s) == CUDA_SUCCESS);
    }
    void synchronise(int s) {
        std::byte bytes[4];
        switch (below(4)) {
            case 0: {
                const CUdeviceptr from = buffer();
                if (from != buffers_.front()) return;  // The name must be the only one.
                if (fetched_) return;
                fetched_ = true;
                CHECK(cu_.fetch(bytes, from, 4) == CUDA_SUCCESS);
                ++sizes_;
                model.host_knows(model.add(0, "a copy of 4 bytes", {{from, 0, 4, How::reads}}));
                return;
            }
            case 1: {
                const int e = below(events);
                CHECK(cu_.sync_event(event_[e]) == CUDA_SUCCESS);
                return model.host_knows(recorded_[e]);
            }
            case 2:
                CHECK(cu_.sync_stream(stream_[s]) == CUDA_SUCCESS);
                if (s == 0) model.add(0, "", {});
                return model.host_knows_stream(s);
            default:
                CHECK(cu_.sync() == CUDA_SUCCESS);
                return model.host_knows_all();
        }
    }
    void query(int s) {
        if (below(2) == 0) {
            if (cu_.query_stream(stream_[s]) == CUDA_SUCCESS) model.host_knows_stream(s);
        } else {
            const int e = below(events);
            if (cu_.query_event(event_[e]) == CUDA_SUCCESS) model.host_knows(recorded_[e]);
        }
    }

    std::minstd_rand random_;
    const Calls& cu_;
    CUmodule module_ = nullptr;
    CUstream stream_[streams] = {};
    CUevent event_[events] = {};
    std::optional<std::size_t> recorded_[events];
    std::vector<CUdeviceptr> buffers_;
    int sizes_ = 1;  // 4 bytes are the fetch's.
    int kernels_[3] = {};
    bool fetched_ = false;
};

std::string text_of(const std::set<NamePair>& pairs) {
    std::string text;
    for (const auto& [a, b] : pairs)
        text += fmt::format("  {} | {}\n", a, b);
    return text;
}

}  // namespace

TEST_CASE("stream order: random programs have the findings of a model that compares all pairs") {
    const lode::test::Variable checks("LODE_EMULATOR_CHECK", "streams");
    const lode::test::Variable findings("LODE_EMULATOR_FINDINGS", "log");
    const char* const wanted = std::getenv("LODE_STREAM_PROGRAMS");
    const int programs = wanted == nullptr ? 300 : std::atoi(wanted);
    const char* const first = std::getenv("LODE_STREAM_SEED");
    const std::uint32_t seed = first == nullptr ? 1 : static_cast<std::uint32_t>(std::atoi(first));
    std::size_t compared = 0;
    for (std::uint32_t k = seed; k < seed + static_cast<std::uint32_t>(programs); ++k) {
        const Machine machine("sm_90");
        const Current current;
        static const Calls calls;
        Found found;
        control<decltype(lode_emulator_set_log)>("lode_emulator_set_log")(&Found::hook, &found);
        Program program(k, calls);
        program.run(4 + static_cast<int>(k % 48));
        control<decltype(lode_emulator_set_log)>("lode_emulator_set_log")(nullptr, nullptr);
        std::set<NamePair> must;
        std::set<NamePair> may;
        program.model.judge(must, may);
        std::set<NamePair> missed;
        std::set<NamePair> wrong;
        std::ranges::set_difference(must, found.pairs, std::inserter(missed, missed.end()));
        for (const NamePair& pair : found.pairs)
            if (!must.contains(pair) && !may.contains(pair)) wrong.insert(pair);
        REQUIRE(must.size() < 1000);  // The device reports no more.
        compared += must.size();
        INFO("program ", k, "\nmissed:\n", text_of(missed), "wrong:\n", text_of(wrong), found.text);
        REQUIRE(missed.empty());
        REQUIRE(wrong.empty());
    }
    MESSAGE(programs, " programs, ", compared, " pairs");
    CHECK(compared > static_cast<std::size_t>(programs));
}

}  // namespace lode::emulator_test::random_streams
