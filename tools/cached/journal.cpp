#include "tools/cached/journal.hpp"

#include "base/os/descriptor.hpp"
#include "base/os/file.hpp"
#include "base/os/process.hpp"
#include "base/shared_library.hpp"

#include <lode/base/environment.hpp>

#include <span>
#include <string>

#include <nlohmann/json.hpp>

namespace lode::cached {

void add_to_journal(const JournalLine& line) noexcept {
    try {
        const auto file = environment("LODE_CACHED_REPORT");
        if (!file || file->empty()) return;
        const nlohmann::json json = {{"program", os::executable_path().filename().string()},
                                     {"pid", os::process_id()},
                                     {"outcome", line.outcome},
                                     {"reason", line.reason},
                                     {"milliseconds", line.milliseconds},
                                     {"saved_milliseconds", line.saved_milliseconds}};
        const std::string text =
            json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
        // One write, so that the lines of several processes don't mix.
        const Descriptor journal =
            os::open_file(*file, os::Open::writing | os::Open::append | os::Open::create);
        if (journal) (void)os::write_file(journal.get(), std::as_bytes(std::span(text)));
    } catch (...) {  // Out of memory.
    }
}

}  // namespace lode::cached
