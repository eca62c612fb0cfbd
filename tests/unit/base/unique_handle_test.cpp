#include <lode/base/unique_handle.hpp>

#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

struct IntTraits {
    using Handle = int;
    using Owner = std::shared_ptr<std::vector<int>>;  // Records the destroyed handles.
    static void destroy(Handle handle, const Owner& owner) noexcept { owner->push_back(handle); }
};
using IntHandle = lode::UniqueHandle<IntTraits>;
using Destroyed = std::vector<int>;

}  // namespace

TEST_CASE("unique handle: destroys once, at the end of its scope") {
    const auto destroyed = std::make_shared<Destroyed>();
    {
        const IntHandle handle(7, destroyed);
        CHECK(handle.get() == 7);
        CHECK(handle);
        CHECK(destroyed->empty());
    }
    CHECK(*destroyed == Destroyed{7});
    CHECK(destroyed.use_count() == 1);
}

TEST_CASE("unique handle: an empty handle destroys nothing") {
    const auto destroyed = std::make_shared<Destroyed>();
    {
        IntHandle empty;
        CHECK_FALSE(empty);
        empty.reset();
        const IntHandle none(0, destroyed);
        CHECK_FALSE(none);
    }
    CHECK(destroyed->empty());
}

TEST_CASE("unique handle: moving transfers ownership") {
    const auto destroyed = std::make_shared<Destroyed>();
    IntHandle first(1, destroyed);
    IntHandle second(std::move(first));
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from handle is empty.
    CHECK(second.get() == 1);
    CHECK(destroyed->empty());

    second = IntHandle(2, destroyed);
    CHECK(*destroyed == Destroyed{1});
    auto& same = second;
    second = std::move(same);
    CHECK(second.get() == 2);
    CHECK(second.owner() == destroyed);
    CHECK(*destroyed == Destroyed{1});
}

TEST_CASE("unique handle: release gives up ownership, reset destroys at once") {
    const auto destroyed = std::make_shared<Destroyed>();
    IntHandle handle(3, destroyed);
    CHECK(handle.release() == 3);
    CHECK_FALSE(handle);
    CHECK(destroyed->empty());

    handle = IntHandle(4, destroyed);
    handle.reset();
    handle.reset();
    CHECK(*destroyed == Destroyed{4});
}
