// ModuleParts: the contents of a loaded module. Private to the decoder and the executor.
#pragma once

#include "emulator/decode/borrowed_lines.hpp"
#include "emulator/decode/code.hpp"
#include "emulator/memory/window.hpp"

#include <mutex>
#include <optional>

namespace lode::emulator {

struct ModuleParts {
    Memory* memory = nullptr;
    std::string text;  ///< The AST's views point into it.
    std::string label;
    ptx::Module ast;
    int owner = 0;
    bool shares_slots = true;       ///< LoadOptions::shares_slots.
    bool follows_shuffles = false;  ///< LoadOptions::follows_shuffles.
    int compute_capability = 0;     ///< 10 * major + minor of the loading device.
    u64 data = 0;  ///< Address of the allocation that holds all variables; 0 without variables.
    u64 data_bytes = 0;
    u64 constant_bytes = 0;          ///< Total size of the .const variables.
    std::vector<Global> globals;     ///< In source order, with ascending addresses.
    std::vector<std::string> names;  ///< The names of the kernels.
    std::unordered_map<std::string_view, u32> functions;  ///< Name to index; definitions first.
    std::unordered_map<std::string_view, u32> variables;  ///< Name to index in the AST.
    std::unordered_map<std::string_view, u32> global_of;  ///< Name to index in `globals`.

    BorrowedLines lines;  ///< For functions without lines of their own.

    mutable std::mutex mutex;  ///< Guards `kernels`.
    mutable std::unordered_map<std::string_view, std::unique_ptr<DecodedKernel>> kernels;

    ~ModuleParts();

    [[nodiscard]] bool owns(u64 address) const noexcept { return address - data < data_bytes; }
    /// The variable that contains an address, or nullptr.
    [[nodiscard]] const Global* variable_at(u64 address) const noexcept;
    /// Like variable_at(), or the variable just below when the address is between variables.
    [[nodiscard]] const Global* variable_near(u64 address) const noexcept;
    /// The kernel, decoded on first use; nullptr if there is none. `bind` gives its ops what runs
    /// them: it is called once, before the first kernel is returned to a caller that has it.
    [[nodiscard]] const DecodedKernel* kernel(std::string_view name,
                                              void (*bind)(DecodedKernel&) = nullptr) const;
};

/// The source line of an instruction, then those of the calls that inlined it; empty without line
/// information. May take seconds, because it may ask for lines.
std::vector<SourcePlace> source_stack(const ModuleParts& module, const Code& code,
                                      const ptx::Instruction& at);
/// The same as text: "file.cu:12", with "inlined at …" if applicable.
std::string source_place(const ModuleParts& module, const Code& code, const ptx::Instruction& at);

struct Module::Body : ModuleParts {};

}  // namespace lode::emulator
