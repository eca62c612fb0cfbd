#include "tests/unit/emulator/exec/opcode_bench.hpp"

#include "tests/unit/emulator/exec/support.hpp"

#include <optional>

namespace lode::emulator::exec::testing {

namespace {

std::string newer(std::string text) {
    const auto replace = [&](std::string_view old, std::string_view with) {
        const std::size_t at = text.find(old);
        if (at != std::string::npos) text.replace(at, old.size(), with);
    };
    replace(".version 8.7", ".version 9.0");
    replace(".target sm_90", ".target sm_100a");
    return text;
}

/// Runs opcodes on the executor with one worker.
class ExecutorBench final : public Bench {
public:
    std::string load(const std::string& ptx) override {
        module_.reset();
        rig_.emplace();
        const bool is_120 = ptx.find(".target sm_120a") != std::string::npos;
        LoadOutcome loaded = Module::load(rig_->memory, ptx, is_120 ? 12 : 9, 0);
        // Forms that require a newer target run as that target.
        if (loaded.log.find(".target or .version doesn't support") != std::string::npos)
            loaded = Module::load(rig_->memory, newer(ptx), 10, 0);
        if (loaded.status != LoadStatus::ok) return loaded.log;
        module_ = std::move(loaded.module);
        const Refusal* const refusal = module_->refusal("k");
        return refusal != nullptr ? refusal->message : std::string{};
    }
    bool may_lack(const std::string&) override { return false; }
    [[nodiscard]] bool is_executor() const override { return true; }
    [[nodiscard]] std::string summary() const override { return {}; }

    Ended run(std::uint32_t blocks, std::uint32_t threads, std::span<std::byte> in,
              std::span<std::byte> out, std::span<const std::byte> last,
              std::uint64_t seed) override {
        const auto put = [&](std::span<std::byte> table) {
            return rig_->put(std::vector<std::byte>(table.begin(), table.end()));
        };
        const auto from = put(in);
        const auto to = put(out);
        std::vector<std::byte> parameters(16 + last.size());
        std::memcpy(parameters.data(), &from, 8);
        std::memcpy(parameters.data() + 8, &to, 8);
        std::memcpy(parameters.data() + 16, last.data(), last.size());
        rig_->options.seed = seed;
        const LaunchOutcome outcome = rig_->machine.launch(*module_, "k", {{blocks}, {threads}, 0},
                                                           parameters, rig_->options);
        std::memcpy(in.data(), reinterpret_cast<const void*>(from), in.size());
        std::memcpy(out.data(), reinterpret_cast<const void*>(to), out.size());
        return {outcome.fault, outcome.report};
    }

private:
    std::optional<Rig> rig_;
    std::unique_ptr<Module> module_;
};

}  // namespace

std::unique_ptr<Bench> make_bench(std::string&) {
    return std::make_unique<ExecutorBench>();
}

}  // namespace lode::emulator::exec::testing
