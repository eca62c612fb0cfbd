// What a run of the oracle has seen.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace lode::oracle {

struct Outcome {
    std::string failure;  ///< What went wrong; empty if nothing did.
    std::uint64_t failed_step = 0;
    std::uint64_t requests = 0;
    std::uint64_t compared = 0;  ///< Requests compared with an uncached compilation.
    std::uint64_t failures = 0;  ///< Requests that fail with and without the cache.
    std::uint64_t hits = 0;
    std::uint64_t changed_during = 0;  ///< Compilations during which the world changed.
    std::uint64_t expected_hits = 0;   ///< Requests whose inputs that cache folder had kept.
    std::uint64_t missed = 0;          ///< Expected hits that missed.
    std::uint64_t pch_made = 0;        ///< Precompiled headers.
    std::uint64_t pch_uses = 0;        ///< Compilations with one that existed before.
    std::map<std::string, std::uint64_t> missed_reasons;
    std::map<std::string, std::uint64_t> not_kept;  ///< Counts by reason, without paths.
    std::deque<std::string> last_notes;

    void add(const Outcome& other);
    [[nodiscard]] double hit_percentage() const;
    [[nodiscard]] std::string to_string() const;
};

}  // namespace lode::oracle
