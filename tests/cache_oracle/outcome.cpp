#include "tests/cache_oracle/outcome.hpp"

#include <fmt/format.h>

namespace lode::oracle {

void Outcome::add(const Outcome& other) {
    if (failure.empty()) {
        failure = other.failure;
        failed_step = other.failed_step;
    }
    requests += other.requests;
    compared += other.compared;
    failures += other.failures;
    hits += other.hits;
    changed_during += other.changed_during;
    expected_hits += other.expected_hits;
    missed += other.missed;
    pch_made += other.pch_made;
    pch_uses += other.pch_uses;
    for (const auto& [reason, count] : other.not_kept)
        not_kept[reason] += count;
    for (const auto& [reason, count] : other.missed_reasons)
        missed_reasons[reason] += count;
}

double Outcome::hit_percentage() const {
    constexpr double hundred = 100;
    if (expected_hits == 0) return hundred;
    return hundred * static_cast<double>(expected_hits - missed) /
           static_cast<double>(expected_hits);
}

std::string Outcome::to_string() const {
    std::string text = fmt::format(
        "{} requests, {} compared ({} of them failures), {} hits; {} compilations with changes "
        "during them; {} requests of unchanged inputs, {:.2f} % hit",
        requests, compared, failures, hits, changed_during, expected_hits, hit_percentage());
    if (pch_made > 0)
        text += fmt::format("; {} precompiled headers, used {} times", pch_made, pch_uses);
    for (const auto& [reason, count] : missed_reasons)
        text += fmt::format("\n  missed {} times: {}", count, reason);
    for (const auto& [reason, count] : not_kept)
        text += fmt::format("\n  not kept {} times: {}", count, reason);
    return text;
}

}  // namespace lode::oracle
