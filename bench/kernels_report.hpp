// The results of lode_bench_kernels, as text and as JSON.
#pragma once

#include "kernels_measure.hpp"

#include <lode/base/error.hpp>
#include <lode/runtime/runtime.hpp>
#include <lode/runtime/variants.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lode::bench {

/// A row or a peer on one problem.
struct Candidate {
    std::string name;
    bool is_peer = false;
    bool verified = false;            ///< Its result was right.
    std::string problem = {};         ///< Why it wasn't measured; empty if it was.
    std::optional<Times> times = {};  ///< If it was measured.
};

struct ProblemResult {
    std::string family;
    std::string extents;  ///< What x, y and z mean.
    Problem problem;
    std::size_t sets = 0;   ///< Data sets that took turns.
    double bytes = 0;       ///< Per launch, at least.
    double operations = 0;  ///< Per launch; 0 for families measured by bandwidth.
    std::vector<Candidate> candidates = {};
    std::string tuned = {};  ///< The row that tune() chose; empty if it wasn't asked.

    /// The candidate of that name, if it was measured.
    [[nodiscard]] const Candidate* measured(std::string_view name) const noexcept;
    /// The first row of the family that was measured; nullptr if none was.
    [[nodiscard]] const Candidate* first_row() const noexcept;
};

/// What the results depend on besides the kernels.
struct Machine {
    std::string device;
    std::string compute_capability;
    std::string driver;
    bool software_device = false;
    int multiprocessors = 0;
    std::size_t l2_bytes = 0;
    bool ecc = false;
    DeviceClocks clocks;
    double copy_rate = 0;         ///< Bytes per second, read and written.
    double theoretical_rate = 0;  ///< Bytes per second.
};

/// Everything but the rate of copies.
Machine machine_of(const Runtime& runtime, const Device& device);

std::string text_of(const Machine& machine);

/// Several lines: each candidate with its rate, and rows beside the peers.
std::string text_of(const ProblemResult& result, const Machine& machine);

/// What the tuned choices win over the first rows, a line for each problem; empty without choices.
std::string text_of_tuned(const std::vector<ProblemResult>& problems);

struct Report {
    Machine machine;
    std::string command;
    std::string commit;
    std::vector<ProblemResult> problems = {};
};

/// Errors: file_failed.
[[nodiscard]] Status write_json(const Report& report, const std::string& file);

}  // namespace lode::bench
