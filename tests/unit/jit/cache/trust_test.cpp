// The threat model of docs/dev/cache-security.md: what someone can do who writes the folder,
// its packs or the answers of a server, and that a cache that takes only signed records never
// returns other code for it.
#include "jit/store/trust.hpp"

#include "jit/cache/packs.hpp"
#include "jit/cache/toolchain.hpp"
#include "jit/store/entry_format.hpp"
#include "tests/unit/jit/cache/fake_compiler.hpp"
#include "tests/unit/jit/cache/keys.hpp"

using namespace lode;
using namespace lode::cache;

namespace {

std::unique_ptr<DiskTier> open(const std::filesystem::path& folder) {
    return unwrap(DiskTier::open(folder, true, CacheOptions::default_max_bytes));
}

std::vector<RecordKey> all_keys(const DiskTier& tier, RecordKind kind) {
    std::vector<RecordKey> keys;
    REQUIRE(tier.for_each(kind,
                          [&](const RecordKey& key, const FileIdentity&) { keys.push_back(key); }));
    return keys;
}

RecordKey only_key(const DiskTier& tier, RecordKind kind) {
    const auto keys = all_keys(tier, kind);
    REQUIRE(keys.size() == 1);
    return keys.front();
}

Bytes bytes_of(const DiskTier& tier, const RecordKey& key) {
    auto record = unwrap(tier.peek(key));
    REQUIRE(record);
    return record->bytes;
}

/// Changes every record of a folder.
template <class Change>
void change_all(const std::filesystem::path& folder, Change change) {
    const auto tier = open(folder);
    for (const RecordKind kind : record_kinds) {
        for (const auto& key : all_keys(*tier, kind))
            REQUIRE(tier->put(key, change(key, bytes_of(*tier, key))));
    }
}

bool has_records(const std::filesystem::path& folder) {
    const auto tier = open(folder);
    return !all_keys(*tier, RecordKind::entry).empty() ||
           !all_keys(*tier, RecordKind::manifest).empty() ||
           !all_keys(*tier, RecordKind::toolchain).empty();
}

/// What the code of a source must contain.
bool has_code(const CachedImage& image, std::string_view text) {
    return as_text(image.image->cubin).find(text) != std::string_view::npos;
}

/// A log that keeps its warnings.
struct Warnings {
    std::shared_ptr<std::vector<std::string>> lines = std::make_shared<std::vector<std::string>>();
    [[nodiscard]] Log log() const {
        return Log([kept = lines](LogLevel level, std::string_view line) {
            if (level >= LogLevel::warning) kept->emplace_back(line);
        });
    }
};

/// A publisher's folder with k.cu and c.h, and its key "publisher".
class PublishedWorld {
public:
    PublishedWorld() : key(make_key(scratch, "publisher")) {
        scratch.write("k.cu", "#include \"c.h\"\nkernel\n");
        scratch.write("c.h", "header one\n");
        settle();
        (void)publish();
    }
    CachedImage publish() const {
        return FakeProcess(signing(scratch, "cache", "publisher")).compile(source());
    }
    [[nodiscard]] Source source() const { return Source::file(scratch / "k.cu"); }
    [[nodiscard]] CacheOptions client(std::vector<std::string> keys = {"publisher.pub"}) const {
        return trusting(scratch, "cache", keys);
    }

    const Scratch scratch;
    const SecretKey key;
};

}  // namespace

TEST_CASE("trust: records of a trusted key are hits, those of others are misses") {
    const PublishedWorld world;
    const FakeProcess client(world.client());
    CHECK(client.tier(world.source()) == "disk");
    CHECK(client.fake->openings == 0);
    CHECK(client.cached->counters().untrusted == 0);

    make_key(world.scratch, "other");
    Warnings warnings;
    CacheOptions options = world.client({"other.pub"});
    options.log = warnings.log();
    const FakeProcess stranger(options);
    const auto image = stranger.compile(world.source());
    CHECK(image.report.tier.empty());
    CHECK(has_code(image, "header one"));
    CHECK(stranger.cached->counters().untrusted >= 2);
    CHECK(stranger.cached->counters().faults == 0);
    // Once for the key, not once for each record.
    REQUIRE(warnings.lines->size() == 1);
    CHECK(warnings.lines->front().find("nobody trusts the key " +
                                       world.key.public_key().id().to_hex() + " that signed it") !=
          std::string::npos);
    // The records stay for those who trust them.
    CHECK(FakeProcess(world.client()).tier(world.source()) == "disk");
}

TEST_CASE("trust: without a key of its own a strict cache stores nothing, with one it does") {
    const PublishedWorld world;
    make_key(world.scratch, "machine");
    CacheOptions memory_only = trusting(world.scratch, "mine", {"publisher.pub"});
    {
        const FakeProcess process(memory_only);
        CHECK(process.tier(world.source()).empty());
        CHECK(process.tier(world.source()) == "memory");
    }
    CHECK_FALSE(has_records(world.scratch / "mine"));
    memory_only.sign_with = world.scratch / "machine";
    CHECK(FakeProcess(memory_only).tier(world.source()).empty());
    CHECK(FakeProcess(memory_only).tier(world.source()) == "disk");
    CHECK(has_records(world.scratch / "mine"));
}

TEST_CASE("threat: a lying server's changed code is a miss") {
    const PublishedWorld world;
    // Consistent records, with checksums, names and keys as they should be, but other code.
    change_all(world.scratch / "cache", [](const RecordKey& key, const Bytes& bytes) {
        const auto record = unwrap(split_record(bytes));
        if (key.kind != RecordKind::entry) return bytes;
        Entry entry = unwrap(parse_entry(record.sealed));
        const auto evil = as_bytes("evil code");
        entry.image.cubin.assign(evil.begin(), evil.end());
        return join_record(format_entry(entry), record.signatures);
    });
    CacheOptions gullible = world.client();
    gullible.trust = CacheTrust::any;
    CHECK(has_code(FakeProcess(gullible).compile(world.source()), "evil"));
    const FakeProcess client(world.client());
    const auto image = client.compile(world.source());
    CHECK(image.report.tier.empty());
    CHECK(has_code(image, "header one"));
    CHECK(client.cached->counters().untrusted == 1);
}

TEST_CASE("threat: swapped entries are misses") {
    const PublishedWorld world;
    world.scratch.write("b.cu", "other kernel\n");
    const auto other = Source::file(world.scratch / "b.cu");
    (void)FakeProcess(signing(world.scratch, "cache", "publisher")).compile(other);
    {
        const auto tier = open(world.scratch / "cache");
        const auto keys = all_keys(*tier, RecordKind::entry);
        REQUIRE(keys.size() == 2);
        const Bytes first = bytes_of(*tier, keys[0]);
        REQUIRE(tier->put(keys[0], bytes_of(*tier, keys[1])));
        REQUIRE(tier->put(keys[1], first));
    }
    const FakeProcess client(world.client());
    CHECK(has_code(client.compile(world.source()), "header one"));
    CHECK(has_code(client.compile(other), "other kernel"));
    CHECK(client.fake->compilations == 2);
    CHECK(client.cached->counters().untrusted == 2);
}

TEST_CASE("threat: an old entry that is replayed for a changed header is a miss") {
    const PublishedWorld world;
    const auto folder = world.scratch / "cache";
    const RecordKey old_entry = only_key(*open(folder), RecordKind::entry);
    const RecordKey request = only_key(*open(folder), RecordKind::manifest);
    const Bytes old_bytes = bytes_of(*open(folder), old_entry);
    const Bytes old_manifest = bytes_of(*open(folder), request);

    world.scratch.write("c.h", "header two\n");
    settle();
    const auto now = world.publish();
    REQUIRE(now.report.tier.empty());
    const RecordKey new_entry{RecordKind::entry, now.report.key};
    const auto check = [&](const char* what) {
        INFO(what);
        const FakeProcess client(world.client());
        const auto image = client.compile(world.source());
        CHECK(has_code(image, "header two"));
        CHECK_FALSE(has_code(image, "header one"));
    };
    check("as published");
    REQUIRE(open(folder)->put(new_entry, old_bytes));
    check("the old entry in the new one's place");
    REQUIRE(open(folder)->put(request, old_manifest));
    check("the old manifest too");
    REQUIRE(open(folder)->remove(new_entry, nullptr));
    check("nothing but the old records");
}

TEST_CASE("threat: a manifest that leads a changed header to an old entry isn't believed") {
    const PublishedWorld world;
    const auto folder = world.scratch / "cache";
    const RecordKey request = only_key(*open(folder), RecordKind::manifest);
    const Bytes published = bytes_of(*open(folder), request);
    const auto plain = unwrap(split_record(published));
    Manifest lie = unwrap(parse_manifest(plain.sealed));
    const Manifest honest = lie;
    world.scratch.write("c.h", "header two\n");
    settle();
    // The content is today's, the list is that of the old entry.
    REQUIRE(lie.sets.size() == 1);
    bool is_changed = false;
    for (auto& header : lie.sets[0].set.headers) {
        if (header.content != sha256("header one\n")) continue;
        header.content = sha256("header two\n");
        header.settled = false;
        is_changed = true;
    }
    REQUIRE(is_changed);
    REQUIRE(open(folder)->put(request, join_record(format_manifest(lie), plain.signatures)));
    CacheOptions gullible = world.client();
    gullible.trust = CacheTrust::any;
    gullible.mode = CacheMode::read_only;
    CHECK(has_code(FakeProcess(gullible).compile(world.source()), "header one"));
    CHECK(has_code(FakeProcess(world.client()).compile(world.source()), "header two"));

    // One that a trusted key has signed, for a machine where today's header has this stamp.
    Manifest stamped = honest;
    FileStamp stamp{};
    {
        const FakeProcess process(world.scratch / "unsigned");
        (void)process.compile(world.source());
        const auto tier = open(world.scratch / "unsigned");
        const auto manifest =
            unwrap(parse_manifest(bytes_of(*tier, only_key(*tier, RecordKind::manifest))));
        for (const auto& header : manifest.sets[0].set.headers) {
            if (header.content == sha256("header two\n")) stamp = header.stamp;
        }
    }
    for (auto& header : stamped.sets[0].set.headers) {
        if (header.content != sha256("header one\n")) continue;
        header.stamp = stamp;
        header.settled = true;
    }
    REQUIRE(open(folder)->put(request,
                              unwrap(add_signature(request, format_manifest(stamped), world.key))));
    CHECK(has_code(FakeProcess(gullible).compile(world.source()), "header one"));
    CHECK(has_code(FakeProcess(world.client()).compile(world.source()), "header two"));
}

TEST_CASE("threat: a downgrade to unsigned records is a miss") {
    const PublishedWorld world;
    change_all(world.scratch / "cache", [](const RecordKey&, const Bytes& bytes) {
        const auto record = unwrap(split_record(bytes));
        REQUIRE(record.signatures.size() == 1);
        return join_record(record.sealed, {});
    });
    Warnings warnings;
    CacheOptions options = world.client();
    options.log = warnings.log();
    const FakeProcess client(options);
    CHECK(client.tier(world.source()).empty());
    CHECK(client.cached->counters().untrusted >= 2);
    REQUIRE(warnings.lines->size() == 1);
    CHECK(warnings.lines->front().find("it isn't signed") != std::string::npos);
    CacheOptions any = world.client();
    any.trust = CacheTrust::any;
    CHECK(FakeProcess(any).tier(world.source()) == "disk");
}

TEST_CASE("threat: a record of another compiler's properties isn't believed") {
    const PublishedWorld world;
    const auto folder = world.scratch / "cache";
    const RecordKey place = only_key(*open(folder), RecordKind::toolchain);
    KnownCompiler lie =
        unwrap(parse_toolchain(unwrap(split_record(bytes_of(*open(folder), place))).sealed));
    lie.properties.info.build = "12.0.1";
    REQUIRE(open(folder)->put(place, format_toolchain(lie)));
    CHECK(unwrap(FakeProcess(world.client()).cached->info()).build == "13.0.88");
    // A right one of another machine, which its key has signed.
    const RecordKey elsewhere{RecordKind::toolchain, sha256("another machine")};
    REQUIRE(open(folder)->put(place,
                              unwrap(add_signature(elsewhere, format_toolchain(lie), world.key))));
    CHECK(unwrap(FakeProcess(world.client()).cached->info()).build == "13.0.88");
    REQUIRE(
        open(folder)->put(place, unwrap(add_signature(place, format_toolchain(lie), world.key))));
    CHECK(unwrap(FakeProcess(world.client()).cached->info()).build == "12.0.1");
}

TEST_CASE("trust: a revoked key counts for nothing, even where it is trusted") {
    const PublishedWorld world;
    const std::string id = world.key.public_key().id().to_hex();
    world.scratch.write("revoked", "revoked " + id + " since today\n");
    Warnings warnings;
    CacheOptions options = world.client({"publisher.pub", "revoked"});
    options.log = warnings.log();
    CHECK(FakeProcess(options).tier(world.source()).empty());
    REQUIRE(warnings.lines->size() == 1);
    CHECK(warnings.lines->front().find("the key " + id + " that signed it is revoked") !=
          std::string::npos);
    // Its owner doesn't sign with it any more, and takes back what it signed.
    CacheOptions owner = signing(world.scratch, "cache", "publisher");
    owner.keys = {world.scratch / "revoked"};
    const FakeProcess publisher(owner);
    CHECK(publisher.tier(world.source()).empty());
    CHECK(publisher.cached->counters().faults == 1);
    CHECK(publisher.cached->counters().bytes_written == 0);
}

TEST_CASE("trust: keys rotate: records with both signatures are hits under either") {
    const PublishedWorld world;
    const SecretKey next = make_key(world.scratch, "next");
    CHECK(FakeProcess(world.client({"next.pub"})).tier(world.source()).empty());
    const auto report = unwrap(sign_records(*open(world.scratch / "cache"), next));
    CHECK(report.records >= 3);
    CHECK(report.skipped == 0);
    CHECK(FakeProcess(world.client({"next.pub"})).tier(world.source()) == "disk");
    CHECK(FakeProcess(world.client()).tier(world.source()) == "disk");
    world.scratch.write("revoked", "revoked " + world.key.public_key().id().to_hex() + "\n");
    CHECK(
        FakeProcess(world.client({"next.pub", "publisher.pub", "revoked"})).tier(world.source()) ==
        "disk");
}

TEST_CASE(
    "trust: a file of keys that can't be used narrows the trust, and never ends a compilation") {
    const PublishedWorld world;
    world.scratch.write("broken", "nonsense\n");
    for (const auto& keys :
         {std::vector<std::string>{"publisher.pub", "missing"}, {"publisher.pub", "broken"}, {}}) {
        Warnings warnings;
        CacheOptions options = world.client(keys);
        options.log = warnings.log();
        const FakeProcess client(options);
        CHECK(client.tier(world.source()).empty());
        CHECK(client.cached->counters().faults == 1);
        CHECK_FALSE(warnings.lines->empty());
    }
    // A publisher without its key stores nothing: its records would replace signed ones.
    const auto before = open(world.scratch / "cache");
    const Bytes entry = bytes_of(*before, only_key(*before, RecordKind::entry));
    CacheOptions options = signing(world.scratch, "cache", "missing");
    const FakeProcess publisher(options);
    CHECK(publisher.tier(world.source()).empty());
    CHECK(bytes_of(*before, only_key(*before, RecordKind::entry)) == entry);
}

TEST_CASE("trust: a cache that signs doesn't vouch for header sets that nobody signed") {
    const PublishedWorld world;
    const auto folder = world.scratch / "cache";
    const RecordKey request = only_key(*open(folder), RecordKind::manifest);
    Manifest foreign =
        unwrap(parse_manifest(unwrap(split_record(bytes_of(*open(folder), request))).sealed));
    foreign.sets[0].set.headers[0].content = sha256("a lie");
    foreign.sets[0].list = sha256("leads elsewhere");
    REQUIRE(open(folder)->put(request, format_manifest(foreign)));
    CHECK(world.publish().report.tier.empty());
    const Bytes bytes = bytes_of(*open(folder), request);
    const Manifest stored = unwrap(parse_manifest(unwrap(split_record(bytes)).sealed));
    REQUIRE(stored.sets.size() == 1);
    CHECK(stored.sets[0].list != sha256("leads elsewhere"));
}

TEST_CASE("trust: packs carry signatures, and unsigned packs count for nothing") {
    const PublishedWorld world;
    const auto tier = open(world.scratch / "cache");
    const auto file = world.scratch / "app.pack";
    CHECK(unwrap(pack(*tier, file)).entries == 1);
    CacheOptions client = trusting(world.scratch, "empty", {"publisher.pub"});
    client.packs = {file};
    {
        const FakeProcess process(client);
        CHECK(process.tier(world.source()) == "pack");
        CHECK(process.fake->compilations == 0);
    }
    (void)FakeProcess(world.scratch / "plain").compile(world.source());
    const auto plain = world.scratch / "plain.pack";
    CHECK(unwrap(pack(*open(world.scratch / "plain"), plain)).entries == 1);
    client.packs = {plain};
    CHECK(FakeProcess(client).tier(world.source()).empty());
    // An unsigned pack in front of a signed one takes nothing away.
    client.packs = {plain, file};
    CHECK(FakeProcess(client).tier(world.source()) == "pack");
    client.packs = {plain};
    CHECK(unwrap(sign_records(plain, world.key)).records == 2);
    CHECK(FakeProcess(client).tier(world.source()) == "pack");
}

TEST_CASE("trust: records of caches before signatures are hits without trust and misses with it") {
    const PublishedWorld world;
    (void)FakeProcess(world.scratch / "old").compile(world.source());
    CHECK(FakeProcess(world.scratch / "old").tier(world.source()) == "disk");
    const FakeProcess strict(trusting(world.scratch, "old", {"publisher.pub"}));
    CHECK(strict.tier(world.source()).empty());
    CHECK(strict.cached->counters().repairs == 0);
    CHECK(FakeProcess(world.scratch / "old").tier(world.source()) == "disk");
}
