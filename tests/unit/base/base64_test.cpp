#include "base/base64.hpp"

#include <doctest/doctest.h>

using namespace lode;

TEST_CASE("base64: the vectors of RFC 4648, both ways") {
    for (const auto& [bytes, text] :
         {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="),
          std::pair("foo", "Zm9v"), std::pair("foob", "Zm9vYg=="), std::pair("fooba", "Zm9vYmE="),
          std::pair("foobar", "Zm9vYmFy"), std::pair("\xff\xfe\xfb", "//77")}) {
        CHECK(to_base64(bytes) == text);
        CHECK(from_base64(text) == bytes);
    }
}

TEST_CASE("base64: what isn't the text of any bytes is refused") {
    for (const char* text : {"Z", "Zg", "Zg=", "Zh==", "Zm8", "Zm9=", "=",
                             "====", "Zg==Zg==", "Zm9v ", "Zm9v\n", "Zm-v", "Zg==="})
        CHECK_MESSAGE(!from_base64(text), text);
}
