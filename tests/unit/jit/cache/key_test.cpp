#include "jit/store/key.hpp"

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;

TEST_CASE("key: fields read back, whatever their values hold") {
    const Key key = KeyWriter()
                        .field("plain", "value")
                        .field("empty", "")
                        .field("tricky", "a\nplain 5:other\n")
                        .field("number", 42)
                        .finish();
    CHECK(key.digest == lode::sha256(key.text));
    const auto fields = key_fields(key.text);
    REQUIRE(fields);
    CHECK(*fields == KeyFields{{"plain", "value"},
                               {"empty", ""},
                               {"tricky", "a\nplain 5:other\n"},
                               {"number", "42"}});
}

TEST_CASE("key: a value can't imitate another field") {
    const Key one = KeyWriter().field("a", "1\nb 1:2").finish();
    const Key two = KeyWriter().field("a", "1").field("b", "2").finish();
    CHECK(one.digest != two.digest);
}

TEST_CASE("key: text that isn't a key is rejected") {
    for (const char* text : {"a", "a 1", "a 1:", "a 1:x", "a 2:x\n", "a x:x\n", "a 1:xy\n",
                             "a 99999999999999999999:x\n", "a -1:x\n"}) {
        CAPTURE(text);
        CHECK_FALSE(key_fields(text));
    }
}
