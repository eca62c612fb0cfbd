#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

/// A source file and its own cache.
class CachedProject {
public:
    CachedProject() : file_(put(folder_.path() / "saxpy.cu", saxpy_source)) {
        environment_["LODE_CACHE"] = "on";
        environment_["LODE_CACHE_DIR"] = (folder_.path() / "cache").string();
        // The cache doesn't trust headers that were written a moment ago.
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    [[nodiscard]] Outcome run(const std::vector<std::string>& arguments) const {
        return ::lode::test::lode(arguments, environment_);
    }
    [[nodiscard]] Outcome compile(const std::string& more = "--ptx") const {
        return run({"compile", file_.string(), "--out-dir", (folder_.path() / "out").string(),
                    "--arch", "sm_90", "--json", more});
    }
    [[nodiscard]] std::string file() const { return file_.string(); }
    [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

private:
    lode::ScratchFolder folder_ = make_scratch();
    std::filesystem::path file_;
    Environment environment_ = no_driver;
};

}  // namespace

TEST_CASE("lode cache: the second compilation is a hit, and the commands say so") {
    const CachedProject project;
    CHECK(project.compile().json()["images"][0]["code"]["from"] == "compiler");
    CHECK(project.compile().json()["images"][0]["code"]["from"] == "disk");

    const auto stats = project.run({"cache", "stats", "--json"}).json();
    CHECK(stats["kinds"]["entries"]["count"] == 1);
    CHECK(stats["damaged"] == 0);
    const auto list = project.run({"cache", "list", "--json"}).json();
    REQUIRE(list["entries"].size() == 1);
    CHECK(list["entries"][0]["arch"] == "sm_90");
    const std::string key = list["entries"][0]["key"];
    const auto show = project.run({"cache", "show", key.substr(0, 10)});
    CHECK(show.exit_code == 0);
    CHECK(show.says("source.sha256"));
    CHECK(project.run({"cache", "show", "zz"}).exit_code == 1);

    // The key of a refusal, on a machine without the entry, finds it on the one that has it.
    const auto refused = lode::test::lode(
        {"compile", project.file(), "--arch", "sm_90", "-o", project.folder() / "none.cubin"},
        {{"LODE_DRIVER", no_driver.at("LODE_DRIVER")},
         {"LODE_CACHE", "on"},
         {"LODE_CACHE_DIR", (project.folder() / "other").string()},
         {"LODE_JIT", "forbid"}});
    CHECK(refused.exit_code == 1);
    const auto at = refused.err.find("; key ");
    REQUIRE_MESSAGE(at != std::string::npos, refused.err);
    const std::string request = refused.err.substr(at + 6, 64);
    CHECK(request != key);
    CHECK(project.run({"cache", "show", request}).out == project.run({"cache", "show", key}).out);
    CHECK(project.run({"cache", "show", request.substr(0, 10)}).exit_code == 0);
}

TEST_CASE("lode cache: why names the fields that differ from the nearest entry") {
    const CachedProject project;
    CHECK(project.compile().exit_code == 0);
    const auto hit = project.run({"cache", "why", project.file(), "--arch", "sm_90", "--json"});
    CHECK(hit.json()["hit"] == true);
    const auto miss =
        project.run({"cache", "why", project.file(), "--arch", "sm_80", "-DA=1", "--json"}).json();
    CHECK(miss["hit"] == false);
    REQUIRE(miss["differences"].size() == 2);
    CHECK(miss["differences"][0]["field"] == "arch");
    CHECK(miss["differences"][0]["wanted"] == "sm_80");
    CHECK(miss["differences"][0]["nearest"] == "sm_90");
    CHECK(miss["differences"][1]["field"] == "flag");
}

TEST_CASE("lode cache: why asks for a file's code as a program embeds it") {
    const CachedProject project;
    const auto manifest = put(project.folder() / "app.json",
                              R"({"manifest": 1, "requests": [{"file": "saxpy.cu", "embedded": [],
                                  "arch": "sm_90"}]})")
                              .string();
    REQUIRE(project.run({"warm", manifest}).exit_code == 0);
    const std::vector<std::string> why = {"cache", "why", project.file(), "--arch", "sm_90"};
    const auto as_file = project.run(why);
    CHECK_MESSAGE(as_file.says("The nearest entry is of code in memory: --embedded asks for "),
                  as_file.out);
    auto embedded = why;
    embedded.emplace_back("--embedded");
    CHECK(project.run(embedded).says(" is a hit (disk): entry "));
    CHECK(project.compile().exit_code == 0);
    CHECK(project.run(why).says(" is a hit (disk)"));
}

TEST_CASE("lode cache: verify finds a damaged record, repairs it on request") {
    const CachedProject project;
    CHECK(project.compile().exit_code == 0);
    CHECK(project.run({"cache", "verify"}).exit_code == 0);
    for (const auto& item : std::filesystem::recursive_directory_iterator(
             project.folder() / "cache" / "v6" / "entries")) {
        if (item.is_regular_file()) std::filesystem::resize_file(item.path(), 100);
    }
    const auto found = project.run({"cache", "verify"});
    CHECK(found.exit_code == 1);
    CHECK(found.complains("damaged"));
    CHECK(project.run({"cache", "verify", "--repair"}).exit_code == 0);
    CHECK(project.run({"cache", "verify"}).exit_code == 0);
    CHECK(project.compile().json()["images"][0]["code"]["from"] == "compiler");
}

TEST_CASE("lode cache: a pack carries entries to another cache") {
    const CachedProject project;
    CHECK(project.compile().exit_code == 0);
    const std::string pack = (project.folder() / "all.pack").string();
    CHECK(project.run({"cache", "pack", "-o", pack})
              .says("Packed 1 entry and 1 header record into " + pack));
    CHECK(project.run({"cache", "clear"}).exit_code == 0);
    CHECK(project.run({"cache", "stats", "--json"}).json()["bytes"] == 0);
    const auto unpacked = project.run({"cache", "unpack", pack, "--json"}).json();
    CHECK(unpacked["entries"] == 1);
    std::filesystem::resize_file(pack, 100);
    const auto cut = project.run({"cache", "unpack", pack});
    CHECK(cut.exit_code == 1);
    CHECK_MESSAGE(cut.complains(pack), cut.err);
    CHECK(project.compile().json()["images"][0]["code"]["from"] == "disk");
}

TEST_CASE("lode cache: --out-dir writes a pack for each architecture") {
    const CachedProject project;
    CHECK(project.compile().exit_code == 0);
    const auto folder = project.folder() / "new" / "packs";
    const auto packed = project.run({"cache", "pack", "--out-dir", folder.string(), "--json"});
    REQUIRE_MESSAGE(packed.exit_code == 0, packed.err);
    const std::string arch = packed.json()["packs"][0]["arch"];
    CHECK(count_entries(folder) == 1);
    CHECK(std::filesystem::exists(folder / (arch + ".pack")));
    const auto refuses = [&](const std::vector<std::string>& options, std::string_view sentence) {
        std::vector<std::string> words = {"cache", "pack"};
        words.insert(words.end(), options.begin(), options.end());
        const auto outcome = project.run(words);
        CHECK(outcome.exit_code == 2);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
    };
    refuses({}, "Pass --output FILE for one pack, or --out-dir DIR");
    refuses({"-o", "x", "--out-dir", "y"}, "Pass --output FILE for one pack, or --out-dir DIR");
    refuses({"-o", folder.string()}, "a folder; it must name a file.");
    CHECK(project.run({"cache", "pack", "-o", "/dev/null"}).exit_code == 0);
    CHECK(std::filesystem::is_character_file("/dev/null"));
    const auto link = project.folder() / "link.pack";
    std::filesystem::create_symlink(folder / "linked.pack", link);
    CHECK(project.run({"cache", "pack", "-o", link.string()}).exit_code == 0);
    CHECK(std::filesystem::exists(folder / "linked.pack"));
    CHECK(std::filesystem::is_symlink(link));
}

TEST_CASE("lode cache: gc keeps to a size limit, and bad usage is reported") {
    const CachedProject project;
    CHECK(project.compile().exit_code == 0);
    const auto swept = project.run({"cache", "gc", "--max-bytes", "0", "--json"}).json();
    CHECK(swept["removed_records"] == swept["records"]);
    CHECK(project.run({"cache"}).exit_code == 2);
    CHECK(project.run({"cache", "why", project.file(), "--arch", "x"}).exit_code == 2);
}

TEST_CASE("lode cache: merge makes one pack of two, and diff lists what they don't share") {
    const CachedProject project;
    const auto at = [&](const char* name) { return (project.folder() / name).string(); };
    CHECK(project.compile().exit_code == 0);
    CHECK(project.run({"cache", "pack", "-o", at("a.pack")}).exit_code == 0);
    CHECK(project.compile("-DEXTRA=1").exit_code == 0);
    CHECK(project.run({"cache", "pack", "-o", at("both.pack")}).exit_code == 0);
    const auto both = project.run({"cache", "list", "--json"}).json()["entries"];
    REQUIRE(both.size() == 2);

    CHECK(project.run({"cache", "diff", at("a.pack"), at("a.pack")}).exit_code == 0);
    const auto differ = project.run({"cache", "diff", at("a.pack"), at("both.pack"), "--json"});
    CHECK(differ.exit_code == 1);
    CHECK(differ.json()["only_in_first"].empty());
    CHECK(differ.json()["only_in_second"].size() == 1);
    CHECK(differ.json()["equal"] == 1);
    CHECK(project.run({"cache", "diff", at("a.pack"), at("cache"), "--json"}).json()["equal"] == 1);

    CHECK(project.run({"cache", "clear"}).exit_code == 0);
    CHECK(project.compile("-DEXTRA=2").exit_code == 0);
    CHECK(project.run({"cache", "pack", "-o", at("c.pack")}).exit_code == 0);
    const auto merged = project.run(
        {"cache", "merge", "-o", at("all.pack"), at("both.pack"), at("c.pack"), "--json"});
    REQUIRE_MESSAGE(merged.exit_code == 0, merged.err);
    CHECK(merged.json()["entries"] == 3);
    CHECK(project.run({"cache", "clear"}).exit_code == 0);
    CHECK(project.run({"cache", "unpack", at("all.pack")}).exit_code == 0);
    for (const char* more : {"--ptx", "-DEXTRA=1", "-DEXTRA=2"})
        CHECK(project.compile(more).json()["images"][0]["code"]["from"] == "disk");
    CHECK(project.run({"cache", "diff", at("a.pack"), at("missing.pack")}).exit_code == 1);
    CHECK(project.run({"cache", "diff", at("a.pack")}).exit_code == 2);
    CHECK(project.run({"cache", "merge", at("all.pack")}).exit_code == 2);
}

TEST_CASE("lode cache: keygen, sign and verify --trust") {
    namespace fs = std::filesystem;
    const CachedProject project;
    const auto at = [&](const char* name) { return (project.folder() / name).string(); };
    CHECK(project.compile().exit_code == 0);
    const auto made = project.run({"cache", "keygen", at("key"), "--json"});
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    const std::string id = made.json()["key_id"];
    CHECK(fs::status(at("key")).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    const auto taken = project.run({"cache", "keygen", at("key")});
    CHECK(taken.exit_code == 1);
    CHECK_MESSAGE(taken.complains("exists already"), taken.err);
    CHECK(project.run({"cache", "keygen", at("other")}).exit_code == 0);
    CHECK(project.run({"cache", "keygen", at("new/folder/key")}).exit_code == 0);
    // OpenSSL's command finds the same public key in the secret one.
    if (fs::exists("/usr/bin/openssl")) {
        const std::string derived = at("derived");
        REQUIRE(std::system(
                    ("openssl pkey -in " + at("key") + " -pubout -out " + derived).c_str()) == 0);
        CHECK(lode::read_text(at("key.pub"))->ends_with(*lode::read_text(derived)));
    }

    // Nothing is signed yet.
    const auto before = project.run({"cache", "verify", "--trust", "--keys", at("key.pub")});
    CHECK(before.exit_code == 1);
    CHECK(before.complains("wouldn't be used"));
    const auto none = project.run({"cache", "sign"});
    CHECK(none.exit_code == 2);
    CHECK(none.complains("LODE_CACHE_SIGN_WITH"));
    const auto wrong = project.run({"cache", "sign", "--key", at("key.pub")});
    CHECK(wrong.exit_code == 2);
    CHECK_MESSAGE(wrong.complains("is a public key"), wrong.err);

    const auto signed_now = project.run({"cache", "sign", "--key", at("key"), "--json"}).json();
    CHECK(signed_now["key_id"] == id);
    CHECK(signed_now["records"].get<int>() >= 1);
    CHECK(signed_now["skipped"] == 0);
    const auto good =
        project.run({"cache", "verify", "--trust", "--keys", at("key.pub"), "--json"});
    CHECK(good.exit_code == 0);
    CHECK(good.json()["records"] == signed_now["records"]);
    CHECK(good.json()["refused"].empty());
    // Another key isn't trusted, a secret key isn't one that clients hold.
    CHECK(project.run({"cache", "verify", "--trust", "--keys", at("other.pub")}).exit_code == 1);
    const auto secret = project.run({"cache", "verify", "--trust", "--keys", at("key")});
    CHECK(secret.exit_code == 2);
    CHECK(secret.complains("private key"));

    // A revoked key is refused, whatever else trusts it.
    put(project.folder() / "revoked", "revoked " + id + "\n");
    CHECK(project
              .run({"cache", "verify", "--trust", "--keys", at("key.pub"), "--keys", at("revoked")})
              .exit_code == 1);

    // Packs too; an unsigned one is refused until it is signed.
    CHECK(project.run({"cache", "pack", "-o", at("signed.pack")}).exit_code == 0);
    CHECK(project.run({"cache", "verify", "--trust", at("signed.pack"), "--keys", at("key.pub")})
              .exit_code == 0);
    CHECK(project.run({"cache", "clear"}).exit_code == 0);
    CHECK(project.compile().exit_code == 0);
    CHECK(project.run({"cache", "pack", "-o", at("plain.pack")}).exit_code == 0);
    const std::vector<std::string> check = {"cache",          "verify", "--trust",
                                            at("plain.pack"), "--keys", at("key.pub")};
    CHECK(project.run(check).exit_code == 1);
    CHECK(project.run({"cache", "sign", at("plain.pack"), "--key", at("key")}).exit_code == 0);
    CHECK(project.run(check).exit_code == 0);
    // Others may not be able to read a secret key.
    fs::permissions(at("key"), fs::perms::group_read, fs::perm_options::add);
    const auto open = project.run({"cache", "sign", "--key", at("key")});
    CHECK(open.exit_code == 1);
    CHECK(open.complains("0640"));
}
