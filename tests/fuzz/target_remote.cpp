// What a server of the remote cache answers: its actions, the files that they name, compressed
// bodies.
#include "jit/remote/action_result.hpp"
#include "jit/remote/remote_tier.hpp"
#include "jit/remote/zstd_body.hpp"
#include "tests/fuzz/source.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lode::fuzz {
namespace {

using namespace lode;
using namespace lode::cache;

constexpr std::size_t most_record_bytes = 4096;

/// Answers each request with the next piece of the input, or with nothing or a fault.
class InputStore final : public RemoteStore {
public:
    explicit InputStore(Bytes input) : input_(input) {}

    [[nodiscard]] std::size_t inline_limit() const noexcept override { return 256; }
    [[nodiscard]] std::vector<BlobResult> get(std::span<const BlobName> names) override {
        std::vector<BlobResult> answers;
        for (std::size_t i = 0; i < names.size(); ++i)
            answers.push_back(next());
        return answers;
    }
    [[nodiscard]] Status put(const BlobName& /*name*/, std::span<const std::byte>) override {
        return {};
    }
    [[nodiscard]] Status remove(const BlobName& /*name*/) override { return {}; }
    [[nodiscard]] Status ping() override { return {}; }
    void abandon() noexcept override {}
    void quiesce() noexcept override {}

private:
    BlobResult next() {
        constexpr std::uint16_t fault = 0xffff;
        const auto size = input_.take<std::uint16_t>();
        if (size == fault) return fail(Errc::file_failed, "A fault.");
        if (size == 0) return std::nullopt;
        const Bytes piece = input_.take_bytes(size);
        return lode::Bytes(piece.begin(), piece.end());
    }

    Source input_;
};

/// A tier that reads these answers; whatever it returns is a file of an action with its digest.
bool remote_answers(Bytes bytes) {
    RemoteCacheOptions options;
    options.url = "http://server";
    options.read_only = true;
    options.most_faults = 1000;  // The thread that tries a server again would only slow this down.
    options.max_record_bytes = most_record_bytes;
    AtomicCounters counters;
    RemoteTier tier(
        options,
        [bytes]() -> Result<std::unique_ptr<RemoteStore>> {
            return std::make_unique<InputStore>(bytes);
        },
        {}, Log(), counters);
    const std::array keys{RecordKey{RecordKind::manifest, sha256("a")},
                          RecordKey{RecordKind::entry, sha256("a")},
                          RecordKey{RecordKind::entry, sha256("b")}};
    bool has_record = false;
    const auto ask = [&] {
        for (const auto& key : keys) {
            const auto record = tier.get(key);
            require(record.has_value());
            has_record |= record->has_value();
        }
    };
    ask();
    tier.prefetch(keys);
    ask();
    return has_record;
}

/// A body that decompresses within a limit.
bool zstd_body(Bytes bytes) {
    const auto plain = decompress_body(bytes, most_record_bytes);
    if (!plain) return false;
    require(plain->size() <= most_record_bytes);
    return !plain->empty();
}

constexpr Target remote_rows[] = {
    {"remote_answers", remote_answers, Form::bytes, "remote_answers", 8192},
    {"zstd_body", zstd_body, Form::bytes, "zstd_body"},
};

}  // namespace

std::span<const Target> remote_targets() noexcept {
    return remote_rows;
}

}  // namespace lode::fuzz
