#include "emulator/driver/driver.hpp"

#include "base/foreign_environment.hpp"
#include "base/message_text.hpp"
#include "emulator/debug/session.hpp"
#include "emulator/devices/visible.hpp"
#include "emulator/devices/words.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/journal.hpp"
#include "emulator/driver/log.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

constexpr std::string_view default_devices = "sm_90";
/// The upper limit for a launch's time-out in milliseconds: a year.
constexpr std::uint64_t longest_timeout = 31'536'000'000;
/// The upper limit for worker threads, beyond the processor count of any host.
constexpr std::uint64_t most_workers = 1024;

/// See lode_emulator_set_default_timeout().
std::atomic<std::uint64_t> default_timeout{600'000};

std::atomic<Driver*> instance{nullptr};
std::atomic<std::uint64_t> generation{0};
std::mutex instance_mutex;

/// nullopt, with a report, if the text isn't a number.
std::optional<std::uint64_t> read_number(std::string_view variable, std::uint64_t fallback = 0) {
    const auto number = environment_number(variable, 0);
    if (number) return number->value_or(fallback);
    log::report(number.error().message);
    return std::nullopt;
}

/// LODE_EMULATOR_CHECK: any combination of memory, race, init, sync and streams, or all or none.
std::optional<exec::Checks> read_checks() {
    const auto text = environment("LODE_EMULATOR_CHECK");
    exec::Checks checks;
    if (!text) return checks;
    checks = exec::Checks{.memory = false};
    const auto words = words_of(*text);
    if (words.size() > 1 && std::ranges::find(words, "none") != words.end()) {
        log::report("LODE_EMULATOR_CHECK contains 'none' beside other checks.");
        return std::nullopt;
    }
    for (const std::string_view word : words) {
        if (word == "memory") {
            checks.memory = true;
        } else if (word == "race") {
            checks.race = true;
        } else if (word == "init") {
            checks.init = true;
        } else if (word == "sync") {
            checks.sync = true;
        } else if (word == "streams") {
            checks.streams = true;
        } else if (word == "all") {
            checks = exec::Checks{true, true, true, true, true};
        } else if (word != "none") {
            static const std::string known[] = {"memory",  "race", "init", "sync",
                                                "streams", "all",  "none"};
            log::report(
                fmt::format("LODE_EMULATOR_CHECK contains '{}'; the possible values are memory, "
                            "race, init, sync, streams, all and none.{}",
                            word, did_you_mean(closest(word, known))));
            return std::nullopt;
        }
    }
    return checks;
}

/// A variable with a fixed set of words; nullopt, with a report, for any other word.
std::optional<std::string> read_word(std::string_view variable, std::string_view fallback) {
    auto word = environment_word(variable);
    if (word) return std::move(*word).value_or(std::string(fallback));
    log::report(word.error().message);
    return std::nullopt;
}

/// As nvidia-smi prints it.
std::string uuid_text(const CUuuid& uuid) {
    std::string text = "GPU";
    for (std::size_t i = 0; i < std::size(uuid.bytes); ++i) {
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

/// The indices of the devices that CUDA_VISIBLE_DEVICES shows; without it, or with `all`, of all.
std::vector<std::size_t> find_visible(const std::vector<const Profile*>& machine, bool all) {
    std::vector<std::string> uuids;
    std::vector<std::size_t> every;
    for (std::size_t index = 0; index < machine.size(); ++index) {
        uuids.push_back(uuid_text(uuid_of(*machine[index], static_cast<int>(index))));
        every.push_back(index);
    }
    const auto list = foreign_environment("CUDA_VISIBLE_DEVICES");
    return list && !all ? visible_devices(*list, uuids) : every;
}

}  // namespace

CUuuid uuid_of(const Profile& profile, int index) noexcept {
    CUuuid uuid{};
    // No byte is 0: programs take them for a text.
    uuid.bytes[0] = static_cast<char>(profile.cc.number());
    uuid.bytes[1] = static_cast<char>(index + 1);
    std::ranges::copy(std::string_view("lode-emulator!"), uuid.bytes + 2);
    return uuid;
}

Device::Device(Memory& memory, const Profile& its_profile, int its_index, int its_ordinal,
               unsigned workers)
    : profile(its_profile),
      index(its_index),
      ordinal(its_ordinal),
      machine(memory, workers),
      default_pool(std::make_shared<MemoryPool>(its_ordinal)),
      pool(Handles<MemoryPool, CUmemoryPool>::native_of(*default_pool)),
      graph_memory(std::make_shared<MemoryPool>(its_ordinal)) {
    // Graphs keep memory until cuDeviceGraphMemTrim.
    graph_memory->chunk_bytes = 1;
}

CUresult Driver::initialise() {
    const std::lock_guard lock(init_mutex);
    if (initialised) return CUDA_SUCCESS;
    if (const std::string why = exec::unsupported_processor(); !why.empty()) {
        log::report(why);
        return CUDA_ERROR_SYSTEM_NOT_READY;
    }
    const auto checks = read_checks();
    const auto seed = read_number("LODE_EMULATOR_SEED");
    const auto workers = read_number("LODE_EMULATOR_WORKERS");
    // A program that hangs has no report: `lode emulate` reads the findings at its end.
    const bool has_limit = environment("LODE_EMULATOR_REPORT").has_value();
    const auto timeout =
        read_number("LODE_EMULATOR_TIMEOUT", has_limit ? default_timeout.load() : 0);
    const auto findings = read_word("LODE_EMULATOR_FINDINGS", "fail");
    const auto log_place = read_word("LODE_EMULATOR_LOG", "");  // The log also reads it.
    if (!checks || !seed || !workers || !timeout || !findings || !log_place)
        return CUDA_ERROR_INVALID_VALUE;
    settings.checks = *checks;
    settings.seed = *seed;
    settings.workers = static_cast<unsigned>(std::min<std::uint64_t>(*workers, most_workers));
    settings.findings_fail = *findings == "fail";
    if (settings.checks.streams) order = std::make_shared<StreamOrder>();
    settings.launches_wait = foreign_environment("CUDA_LAUNCH_BLOCKING") == "1";
    settings.timeout_ms = std::min<std::uint64_t>(*timeout, longest_timeout);
    settings.timeout_is_default = !environment("LODE_EMULATOR_TIMEOUT");
    if (settings.checks.init && !memory.watch_writes()) {
        log::report(
            "LODE_EMULATOR_CHECK contains init, but the process doesn't have enough address space "
            "left to track written bytes.");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }

    if (!machine) {
        const auto text = environment("LODE_EMULATOR_DEVICES");
        auto parsed = parse_devices(text ? std::string_view(*text) : default_devices);
        if (!parsed) {
            log::report(parsed.error().message);
            return CUDA_ERROR_INVALID_VALUE;
        }
        machine = *std::move(parsed);
    }
    const std::vector<std::size_t> visible = find_visible(*machine, shows_all);
    if (visible.empty()) return CUDA_ERROR_NO_DEVICE;
    for (const std::size_t index : visible) {
        const int ordinal = static_cast<int>(devices.size());
        auto& device = devices.emplace_back(std::make_unique<Device>(
            memory, *machine->at(index), static_cast<int>(index), ordinal, settings.workers));
        device->primary = std::make_shared<Context>(*device, next_context_id++, true);
        pools.add(device->default_pool);
    }
    if (const auto socket = environment("LODE_EMULATOR_DEBUG")) {
        std::string why;
        debug::Session* const session = debug::Session::connect(*socket, why);
        if (session == nullptr) {
            log::report(why);
            return CUDA_ERROR_INVALID_VALUE;
        }
        settings.debugger = &session->debugger();
    }
    gate::watch_forks();
    journal::open();
    std::string names;
    for (const auto& device : devices)
        names += (names.empty() ? "" : ",") + Arch(device->profile.cc).to_string();
    journal::add(journal::Kind::process, {}, names);
    initialised = true;
    return CUDA_SUCCESS;
}

void Driver::trim_pools() const {
    pools.for_each([](MemoryPool& pool) { pool.trim(pool.release_threshold); });
}

Device* Driver::device(CUdevice ordinal) noexcept {
    if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size()) return nullptr;
    return devices[static_cast<std::size_t>(ordinal)].get();
}

bool is_initialised() noexcept {
    const Driver* now = instance.load(std::memory_order_acquire);
    return now != nullptr && now->initialised.load(std::memory_order_acquire);
}

void set_default_timeout(std::uint64_t milliseconds) noexcept {
    default_timeout = milliseconds;
}

Driver& driver() {
    if (Driver* now = instance.load(std::memory_order_acquire); now != nullptr) [[likely]]
        return *now;
    const std::lock_guard lock(instance_mutex);
    if (instance.load() == nullptr) instance.store(new Driver, std::memory_order_release);
    return *instance.load();
}

void replace_driver(std::optional<std::vector<const Profile*>> machine) {
    Driver& old = driver();
    for (const auto& library : old.libraries.remove_if([](const Library&) { return true; }))
        library->unload();
    for (const auto& context : old.contexts.remove_if([](const Context&) { return true; }))
        context->end();
    const std::lock_guard lock(instance_mutex);
    auto fresh = std::make_unique<Driver>();
    fresh->machine = std::move(machine);
    ++generation;
    delete instance.exchange(fresh.release());
}

std::uint64_t driver_generation() noexcept {
    return generation.load(std::memory_order_acquire);
}

}  // namespace lode::emulator::driver
