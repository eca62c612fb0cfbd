// A variable of the environment for a scope of a test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace lode::test {

/// Sets an environment variable, or removes it with a null value; the destructor restores it. Not
/// while another thread reads the environment.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* const old = std::getenv(name); old != nullptr) old_ = old;
        set(value);
    }
    ~Variable() { set(old_ ? old_->c_str() : nullptr); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    void set(const char* value) const {
        if (value != nullptr) ::setenv(name_, value, 1);
        if (value == nullptr) ::unsetenv(name_);
    }

    const char* name_;
    std::optional<std::string> old_;
};

}  // namespace lode::test
