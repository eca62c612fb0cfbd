#include "emulator/driver/launch/queued_launch.hpp"

#include "emulator/debug/debugger.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/journal.hpp"
#include "emulator/driver/launch/device_works.hpp"
#include "emulator/driver/launch/print_hook.hpp"
#include "emulator/driver/log.hpp"

#include <chrono>
#include <cstdio>
#include <deque>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

using Time = std::chrono::steady_clock;

/// Like the driver's, device printf writes to stdout, unless the test interface takes it.
void print(std::string_view text) {
    if (print_hook::call(text)) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

/// Like the driver's, a device assert writes to stderr.
void complain(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

/// A report's text; the first without a source line says how to get lines.
std::string with_hint(const exec::FindingReport& report) {
    if (!report.stack.empty() || driver().lines_hinted.exchange(true)) return report.text;
    return report.text + "\n  lines: compile with --line-info (lode) or -lineinfo (nvcc, NVRTC)";
}

/// The findings of a launch and of those of its kernel. Each is logged; together they form a report
/// of limited length. Not thread-safe.
class Findings {
public:
    /// A grid numbers its findings from 0.
    void begin_grid() noexcept { first_of_grid_ = texts_.size(); }
    void add(const exec::FindingReport& report) {
        std::string text = with_hint(report);
        log::write(log::Level::error, text);
        texts_.emplace_back(report.number, std::move(text));
    }
    void add_repeated(const exec::FindingReport& report) {
        for (auto& [number, text] : std::span(texts_).subspan(first_of_grid_)) {
            if (number == report.number)
                text += fmt::format("\n  count: {} times in this launch", report.count + 1);
        }
    }
    [[nodiscard]] bool empty() const noexcept { return texts_.empty(); }
    /// The findings, and a line for those that are only in the log.
    [[nodiscard]] std::string text() const {
        std::string all;
        std::size_t told = 0;
        for (const auto& [number, text] : texts_) {
            if (told == most_findings || all.size() + text.size() > most_bytes) break;
            all += (told++ == 0 ? "" : "\n") + text;
        }
        if (told == texts_.size()) return all;
        return fmt::format("{}\nThe log has {} more findings of this launch.", all,
                           texts_.size() - told);
    }

private:
    static constexpr std::size_t most_findings = 32;
    static constexpr std::size_t most_bytes = std::size_t{24} * 1024;
    std::vector<std::pair<std::uint32_t, std::string>> texts_;
    std::size_t first_of_grid_ = 0;
};

/// Runs one grid. False after a fault, which fails the context. `begin` is that of the launch, to
/// which the time limit belongs.
bool run_grid(const QueuedLaunch& launch, DeviceWorks& children, Findings& findings,
              Time::time_point begin) {
    const Settings& settings = driver().settings;
    Device& device = launch.context->device();
    exec::LaunchOptions options;
    options.cooperative = launch.cooperative;
    options.checks = settings.checks;
    options.seed = settings.seed;
    options.workers = settings.workers;
    options.stack_limit = static_cast<std::uint32_t>(launch.kernel.local_bytes +
                                                     launch.context->limit(CU_LIMIT_STACK_SIZE));
    options.heap_limit = launch.context->limit(CU_LIMIT_MALLOC_HEAP_SIZE);
    options.multiprocessors = static_cast<std::uint32_t>(device.profile.multiprocessors);
    options.timeout = std::chrono::milliseconds(settings.timeout_ms);
    options.time_used = std::chrono::duration_cast<std::chrono::milliseconds>(Time::now() - begin);
    options.device_runtime = &children;
    if (settings.timeout_is_default) {
        options.timeout_fact =
            "limit: the default of lode emulate; LODE_EMULATOR_TIMEOUT sets "
            "another in milliseconds, and 0 none";
    }
    options.skips_bad_accesses = !settings.findings_fail;
    options.print = print;
    options.complain = complain;
    findings.begin_grid();
    const auto note = [](const exec::FindingReport& report) {
        journal::add(report.benign ? journal::Kind::benign : journal::Kind::finding, report);
    };
    options.finding = [&](const exec::FindingReport& report) {
        if (!report.benign) findings.add(report);
        if (report.benign) log::write(log::Level::information, report.text);
        note(report);
    };
    options.repeated = [&](const exec::FindingReport& report) {
        findings.add_repeated(report);
        note(report);
    };
    options.set_condition = [](std::uint64_t handle, std::uint32_t value) {
        const auto condition = driver().graph_tables.conditions.find(handle);
        if (condition != nullptr) condition->set(value);
        return condition != nullptr;
    };
    TouchedBytes touched;
    StreamOrder* const order = driver().order.get();
    if (order != nullptr) options.touched = &touched;
    debug::Debugger* const debugger = settings.debugger;
    if (debugger != nullptr) {
        options.debug = debugger;
        options.workers = 1;
        options.compile_after = 0;
        options.timeout = {};
        const auto once = [debugger](auto& tell) {
            tell = [debugger, tell](const auto& what) {
                if (!debugger->is_repeating()) tell(what);
            };
        };
        once(options.print);
        once(options.complain);
        once(options.finding);
        once(options.repeated);
        debugger->begin_launch(driver().memory);
    }
    exec::LaunchOutcome outcome;
    do {
        outcome = device.machine.launch(launch.module->code(), launch.kernel.name, launch.shape,
                                        launch.parameters, options);
    } while (debugger != nullptr && debugger->runs_again());
    if (debugger != nullptr) debugger->end_launch();
    if (order != nullptr)
        order->note(std::move(touched), {exec::brief_name(launch.kernel.name), {}, true});
    if (outcome.fault == exec::Fault::none) return true;
    exec::FindingReport fault = outcome.place;
    const bool has_place = !fault.kind.empty();
    if (!has_place) {
        fault.kind = "fault";
        fault.kernel = launch.kernel.name;
        fault.text = outcome.report;
    }
    journal::add(journal::Kind::fault, fault);
    const std::string text = has_place ? with_hint(fault) : fault.text;
    log::write(log::Level::error, text);
    log::keep_findings(findings.empty() ? text : text + "\n" + findings.text());
    const auto code = static_cast<CUresult>(outcome.fault);
    if (outcome.fault == exec::Fault::out_of_memory) {
        launch.context->fail_once(code);
    } else {
        launch.context->fail(code);
    }
    return false;
}

}  // namespace

void perform(const QueuedLaunch& launch) {
    const Settings& settings = driver().settings;
    const auto begin = Time::now();
    Findings findings;
    std::deque<DeviceWork> works;
    // A grid's works run before those that wait already: it is complete when all of them are.
    const auto run = [&](const QueuedLaunch& grid, int depth) {
        DeviceWorks children(grid, depth, works.size());
        if (!run_grid(grid, children, findings, begin)) return false;
        children.move_to(works);
        return true;
    };
    bool goes_on = run(launch, 0);
    while (goes_on && !works.empty()) {
        const DeviceWork work = std::move(works.front());
        works.pop_front();
        if (work.grid != nullptr) {
            ++driver().child_launches;
            goes_on = run(*work.grid, work.depth);
        } else {
            work.other();
            goes_on = launch.context->error() == CUDA_SUCCESS;
        }
    }
    if (!goes_on || findings.empty()) return;
    log::keep_findings(findings.text());
    // Results may be wrong, so the context fails as after a fault.
    if (settings.findings_fail) launch.context->fail(CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace lode::emulator::driver
