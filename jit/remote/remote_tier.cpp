#include "jit/remote/remote_tier.hpp"

#include "jit/store/disk_tier.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

/// The newest entries of manifests that were read, until they are asked for.
constexpr std::size_t next_bytes = std::size_t{64} << 20;
constexpr std::size_t prefetched_bytes = std::size_t{32} << 20;
/// The entry that a file of an action is; nullopt for other files.
std::optional<Digest> entry_of(const OutputFile& file) {
    const std::string prefix = fmt::format("{}/", folder_name(RecordKind::entry));
    if (!file.path.starts_with(prefix)) return std::nullopt;
    return digest_from_hex(std::string_view(file.path).substr(prefix.size()));
}

/// 128 random bits as text.
std::string random_owner() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

BlobName action_of(const RecordKey& key) {
    return {BlobName::Space::actions, sha256("lode remote 1 " + record_path(key))};
}

std::string next_path(const RecordKey& key) {
    return fmt::format("{}/{}", folder_name(key.kind), key.digest.to_hex());
}

RemoteTier::RemoteTier(RemoteCacheOptions options, OpenStore open, Merge merge, Log log,
                       AtomicCounters& counters)
    : options_(std::move(options)),
      open_(std::move(open)),
      merge_(std::move(merge)),
      log_(std::move(log)),
      counters_(counters),
      process_(os::process_id()),
      breaker_(options_),
      next_(next_bytes),
      prefetched_(prefetched_bytes) {}

RemoteStore* RemoteTier::store() {
    std::call_once(store_once_, [this] {
        auto opened = open_();
        if (opened) {
            store_ = *std::move(opened);
        } else {
            note(Traffic::read, opened.error());
        }
    });
    return breaker_.is_closed() ? store_.get() : nullptr;
}

void RemoteTier::note(Traffic traffic, const Error& fault) {
    ++counters_.remote_faults;
    breaker_.failed(traffic, fault);
    if (!was_logged_.exchange(true)) {
        log_.write(LogLevel::warning,
                   fmt::format("The remote cache fails, and compilation goes on without what it "
                               "would answer: {}",
                               fault.message));
    }
    if (breaker_.is_closed() || store_ == nullptr) return;
    start_thread();
    // The thread that is about to wait for something else must see that a trial is due.
    const std::lock_guard guard(mutex_);
    changed_->notify_all();
}

void RemoteTier::count_read(const Bytes& bytes) {
    counters_.bytes_read += bytes.size();
    counters_.remote_bytes_read += bytes.size();
}

RemoteTier::Files RemoteTier::files_of(const RecordKey& key, BlobResult answer) {
    if (!note(Traffic::read, answer) || !*answer) return std::nullopt;
    count_read(**answer);
    auto files = parse_action_result(**answer);
    if (files && files->front().path != record_file)
        files = fail(Errc::invalid_image, "Its first file isn't a record.");
    if (!files) {
        report_damage(key, files.error());
        return std::nullopt;
    }
    return *std::move(files);
}

void RemoteTier::report_damage(const RecordKey& key, const Error& why) {
    ++counters_.repairs;
    note(Traffic::content,
         Error{Errc::invalid_image,
               fmt::format("{} holds a damaged record ({}/{}): {}", options_.url,
                           folder_name(key.kind), key.digest.to_hex(), why.message)});
}

void RemoteTier::keep_next(OutputFile file) {
    const auto entry = entry_of(file);
    if (!entry) return;
    const std::size_t bytes = sizeof(OutputFile) + file.contents.size();
    next_.put(*entry, std::make_shared<const OutputFile>(std::move(file)), bytes);
}

std::optional<Bytes> RemoteTier::content_of(RemoteStore& store, OutputFile file) {
    if (!file.contents.empty()) return std::move(file.contents);
    if (file.size > options_.max_record_bytes) return std::nullopt;
    const BlobName name{BlobName::Space::contents, file.digest};
    BlobResult content = std::move(store.get({&name, 1}).front());
    if (content && *content &&
        ((*content)->size() != file.size || sha256(**content) != file.digest)) {
        note(Traffic::content,
             Error{Errc::invalid_image,
                   fmt::format("{} sends contents that don't match their digest.", options_.url)});
        return std::nullopt;
    }
    if (!note(Traffic::read, content)) return std::nullopt;
    if (*content) count_read(**content);
    return *std::move(content);
}

Result<std::optional<Record>> RemoteTier::get(const RecordKey& key) {
    RemoteStore* const from = store();
    if (from == nullptr) return std::nullopt;
    const auto as_record = [](std::optional<Bytes> bytes) -> std::optional<Record> {
        if (!bytes) return std::nullopt;
        return Record{*std::move(bytes), {}};
    };
    if (key.kind == RecordKind::entry) {
        if (const auto kept = next_.get(key.digest)) {
            next_.remove(key.digest);
            if (auto bytes = content_of(*from, *kept)) return as_record(std::move(bytes));
        }
    } else if (const auto kept = prefetched_.get(key.digest)) {
        prefetched_.remove(key.digest);
        return as_record(*kept);
    }
    const BlobName name = action_of(key);
    auto files = files_of(key, std::move(from->get({&name, 1}).front()));
    if (!files) return std::nullopt;
    auto bytes = content_of(*from, std::move(files->front()));
    for (std::size_t i = 1; i < files->size(); ++i)
        keep_next(std::move((*files)[i]));
    return as_record(std::move(bytes));
}

void RemoteTier::prefetch(std::span<const RecordKey> keys) {
    constexpr std::size_t at_once = 64;
    for (; !keys.empty(); keys = keys.subspan(std::min(keys.size(), at_once))) {
        RemoteStore* const from = store();
        if (from == nullptr) return;
        const auto part = keys.first(std::min(keys.size(), at_once));
        std::vector<BlobName> names;
        for (const auto& key : part)
            names.push_back(action_of(key));
        auto answers = from->get(names);
        std::vector<OutputFile> large;
        for (std::size_t i = 0; i < part.size(); ++i) {
            auto files = files_of(part[i], std::move(answers[i]));
            if (!files) continue;
            OutputFile& record = files->front();
            if (part[i].kind == RecordKind::entry) {
                record.path = next_path(part[i]);
                (record.contents.empty() ? large : *files).push_back(record);
            } else if (!record.contents.empty()) {
                const std::size_t bytes = record.contents.size();
                prefetched_.put(part[i].digest,
                                std::make_shared<const Bytes>(std::move(record.contents)), bytes);
            }
            for (std::size_t f = 1; f < files->size(); ++f) {
                auto& file = (*files)[f];
                // Only the first is the newest entry, which is likely to be asked for.
                if (file.contents.empty() && f == 1) {
                    large.push_back(std::move(file));
                } else {
                    keep_next(std::move(file));
                }
            }
        }
        std::erase_if(large,
                      [&](const auto& file) { return file.size > options_.max_record_bytes; });
        if (large.empty()) continue;
        names.clear();
        for (const auto& file : large)
            names.push_back({BlobName::Space::contents, file.digest});
        answers = from->get(names);
        for (std::size_t i = 0; i < large.size(); ++i) {
            if (!note(Traffic::read, answers[i]) || !*answers[i]) continue;
            count_read(**answers[i]);
            if ((*answers[i])->size() != large[i].size || sha256(**answers[i]) != large[i].digest) {
                continue;  // Its get() reads it again, and reports the fault.
            }
            large[i].contents = *std::move(*answers[i]);
            keep_next(std::move(large[i]));
        }
    }
}

RemoteTier::Lease RemoteTier::acquire(const Digest& key) {
    if (options_.read_only) return Lease::none;
    RemoteStore* const from = store();
    if (from == nullptr || !from->has_leases()) return Lease::none;
    const std::string owner = random_owner();
    const auto taken = from->acquire(key, owner, options_.lease);
    if (!note(Traffic::read, taken)) return Lease::none;
    if (!*taken) return Lease::busy;
    {
        const std::lock_guard guard(mutex_);
        leases_[key] = {owner, Breaker::Clock::now() + options_.lease / 3};
    }
    start_thread();
    return Lease::taken;
}

void RemoteTier::release(const Digest& key) {
    enqueue({Write::Kind::release, {RecordKind::manifest, key}});
}

}  // namespace LODE_NAMESPACE::cache
