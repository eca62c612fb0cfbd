#include "jit/cache/recorder.hpp"

#include "base/file.hpp"
#include "base/os/descriptor.hpp"
#include "base/os/file.hpp"
#include "base/try.hpp"
#include "jit/cache/recorded_line.hpp"

#include <cerrno>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

Status failed_to(std::string_view what, const std::filesystem::path& file) {
    return fail_from_errno(what, file, errno);
}

/// Everything from `offset` on; false with errno.
bool read_from(int file, std::uint64_t offset, std::string& text) {
    constexpr std::size_t block = std::size_t{64} << 10;
    for (;;) {
        const std::size_t had = text.size();
        text.resize(had + block);
        const auto room = std::as_writable_bytes(std::span(text)).subspan(had);
        const auto got = os::read_file_at(file, room, offset + had);
        text.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
        if (got <= 0) return got == 0;
    }
}

}  // namespace

std::unique_ptr<Recorder> Recorder::make(const CacheOptions& options) {
    if (options.record.empty()) return nullptr;
    return std::make_unique<Recorder>(options.record, options.log);
}

Recorder::Recorder(const std::filesystem::path& file, Log log)
    : file_([&] {
          std::error_code unknown;
          const auto path = std::filesystem::absolute(file, unknown);
          return unknown ? file : path;
      }()),
      log_(std::move(log)) {}

void Recorder::record(const CompileRequest& request, const CachedImage& answer) {
    if (answer.report.miss.reason == MissReason::ptx_source) return;  // Nothing compiles it.
    const auto try_to = [&]() -> Status {
        std::error_code unknown;
        const auto folder = std::filesystem::current_path(unknown);
        LODE_TRY_ASSIGN(std::string line, recorded_line(request, folder));
        const Digest digest = sha256(line);
        const CompileReport& report = answer.report;
        return append(digest, with_measurement(
                                  std::move(line), answer.image->compiler,
                                  report.hit() ? report.saved_milliseconds : report.milliseconds));
    };
    const Status done = try_to();
    if (done) return;
    const std::lock_guard guard(mutex_);
    if (warned_.insert(done.error().message).second)
        log_.write(LogLevel::warning, "LODE_RECORD: " + done.error().message);
}

Status Recorder::append(const Digest& request, const std::string& line) {
    const std::lock_guard guard(mutex_);
    if (written_.contains(request)) return {};
    using os::Open;
    const Descriptor file =
        os::open_file(file_, Open::updating | Open::create | Open::append, 0644);
    if (!file) return failed_to("opening the recording", file_);
    if (!os::lock_file(file.get())) return failed_to("locking the recording", file_);
    LODE_TRY(catch_up(file.get()));
    if (written_.contains(request)) return {};
    if (const int problem = write_all(file.get(), std::as_bytes(std::span(line))); problem != 0) {
        (void)os::resize_file(file.get(), read_bytes_);
        return fail_from_errno("writing the recording", file_, problem);
    }
    read_bytes_ += line.size();
    written_.insert(request);
    return {};
}

Status Recorder::catch_up(int file) {
    os::FileAttributes attributes;
    if (!os::attributes_of(file, attributes)) return failed_to("reading the recording", file_);
    if (attributes.kind != os::FileKind::regular) {
        return fail(Errc::file_failed,
                    fmt::format("'{}' isn't a regular file, so nothing is recorded in it.",
                                file_.string()));
    }
    const std::uint64_t number = attributes.number;
    if (std::exchange(inode_, number) != number || attributes.size < read_bytes_) {
        written_.clear();
        read_bytes_ = 0;
    }
    std::string added;
    if (!read_from(file, read_bytes_, added)) return failed_to("reading the recording", file_);
    std::string_view rest = added;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        const std::string_view line = rest.substr(0, end);
        // Whatever else the file may be, it isn't damaged.
        if (!line.starts_with(recorded_line_start.substr(0, line.size()))) {
            return fail(Errc::file_failed,
                        fmt::format("'{}' isn't a recording of lode, so nothing is added to it.",
                                    file_.string()));
        }
        if (end == std::string_view::npos) {
            if (!os::resize_file(file, read_bytes_))
                return failed_to("removing an unfinished line of the recording", file_);
            return {};
        }
        written_.insert(sha256(fmt::format("{}}}", without_measurement(line))));
        read_bytes_ += end + 1;
        rest.remove_prefix(end + 1);
    }
    return {};
}

}  // namespace LODE_NAMESPACE::cache
