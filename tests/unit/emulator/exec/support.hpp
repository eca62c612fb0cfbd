// A machine for running PTX in tests, and the corpus's device on top of it.
#pragma once

#include "emulator/exec/machine.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <tests/corpus/corpus.hpp>

namespace lode::emulator::exec::testing {

/// Memory and a machine, by default with one worker, which makes execution deterministic.
struct Rig {
    explicit Rig(unsigned workers = 1) : machine(memory, workers) {
        // For running all tests on one tier: 0 interprets, 1 compiles at once.
        if (const char* const after = std::getenv("LODE_TEST_COMPILE_AFTER"); after != nullptr)
            options.compile_after = static_cast<std::uint32_t>(std::atoi(after));
    }

    std::unique_ptr<Module> load(std::string_view ptx, int major = 9, int minor = 0) {
        LoadOutcome outcome = Module::load(memory, ptx, major, minor, load_options);
        INFO(outcome.log);
        REQUIRE(outcome.status == LoadStatus::ok);
        return std::move(outcome.module);
    }
    template <class T>
    std::uint64_t put(const std::vector<T>& values) {
        const std::uint64_t at =
            memory.allocate(values.size() * sizeof(T), MemoryKind::device, "test");
        std::memcpy(reinterpret_cast<void*>(at), values.data(), values.size() * sizeof(T));
        memory.note_write(at, values.size() * sizeof(T));
        return at;
    }
    template <class T>
    std::vector<T> get(std::uint64_t from, std::size_t count) const {
        std::vector<T> values(count);
        std::memcpy(values.data(), reinterpret_cast<const void*>(from), count * sizeof(T));
        return values;
    }
    template <class... T>
    LaunchOutcome run(const Module& module, std::string_view kernel, Dim3 grid, Dim3 block,
                      const T&... values) {
        return machine.launch(module, kernel, {grid, block, shared},
                              corpus::Arguments::of(values...).bytes(), options);
    }

    Memory memory;
    Machine machine;
    LaunchOptions options;
    LoadOptions load_options;
    std::uint32_t shared = 0;
};

/// A PTX module with one kernel `k`; `body` may use the registers declared here.
inline std::string ptx_kernel(std::string_view parameters, std::string_view body,
                              std::string_view before = {}) {
    std::string text = ".version 8.7\n.target sm_90\n.address_size 64\n";
    text += before;
    text += "\n.visible .entry k(";
    text += parameters;
    text +=
        ")\n{\n.reg .pred %p<16>;\n.reg .b16 %rs<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n"
        ".reg .f32 %f<16>;\n.reg .f64 %fd<16>;\n";
    text += body;
    text += "\nret;\n}\n";
    return text;
}

/// The PTX lines that findings name.
inline std::set<unsigned> ptx_lines(const std::vector<std::string>& findings) {
    constexpr std::string_view word = "PTX line ";
    std::set<unsigned> lines;
    for (const std::string& finding : findings) {
        const std::size_t at = finding.find(word);
        REQUIRE(at != finding.npos);
        lines.insert(static_cast<unsigned>(std::atoi(finding.c_str() + at + word.size())));
    }
    return lines;
}

/// Runs corpus cases on a loaded module.
class EmulatedDevice : public corpus::Device {
public:
    EmulatedDevice(Rig& rig, const Module& module) : rig_(rig), module_(module) {}
    std::uint64_t allocate(std::size_t bytes) override {
        return rig_.memory.allocate(bytes, MemoryKind::device, "test");
    }
    void upload(std::uint64_t to, std::span<const std::byte> bytes) override {
        std::memcpy(reinterpret_cast<void*>(to), bytes.data(), bytes.size());
        rig_.memory.note_write(to, bytes.size());
    }
    void download(std::span<std::byte> bytes, std::uint64_t from) override {
        std::memcpy(bytes.data(), reinterpret_cast<const void*>(from), bytes.size());
    }
    std::uint64_t global(std::string_view name) override {
        const Global* const found = module_.global(name);
        if (found == nullptr) throw std::runtime_error("no variable " + std::string(name));
        return found->address;
    }
    void launch(std::string_view kernel, corpus::Shape grid, corpus::Shape block,
                const corpus::Arguments& arguments, unsigned shared, bool cooperative) override {
        exec::LaunchOptions options = rig_.options;
        options.cooperative = cooperative;
        const LaunchOutcome outcome = rig_.machine.launch(
            module_, kernel, {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared},
            arguments.bytes(), options);
        if (outcome.fault != Fault::none) throw std::runtime_error(outcome.report);
    }

private:
    Rig& rig_;
    const Module& module_;
};

}  // namespace lode::emulator::exec::testing
