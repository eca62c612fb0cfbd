#include "jit/cache/header_trace.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace lode::cache {
namespace {

constexpr std::string_view header_event = "Processing Header File";
constexpr std::string_view built_in_header = "__nv_nvrtc_builtin_header.h";

/// Picks "args.detail" out of events by name, without building the document: the trace of a large
/// compilation has megabytes.
class Picker : public nlohmann::json_sax<nlohmann::json> {
public:
    std::vector<std::string> headers;
    bool has_events = false;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool string(string_t& text) override {
        if (key_ == "detail") detail_ = text;
        if (key_ == "name") name_ = text;
        return true;
    }
    bool key(string_t& text) override {
        key_ = text;
        has_events = has_events || text == "traceEvents";
        return true;
    }
    bool start_object(std::size_t) override {
        if (++depth_ == event_depth) {
            name_.clear();
            detail_.clear();
        }
        return true;
    }
    bool end_object() override {
        if (depth_-- == event_depth && name_ == header_event && detail_ != built_in_header) {
            headers.push_back(detail_);
        }
        return true;
    }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
        return false;
    }

private:
    /// The document, and the event in its array.
    static constexpr int event_depth = 2;

    int depth_ = 0;
    std::string key_;
    std::string name_;
    std::string detail_;
};

}  // namespace

Result<std::vector<std::string>> headers_of_trace(std::string_view json) {
    Picker picker;
    if (!nlohmann::json::sax_parse(json, &picker) || !picker.has_events) {
        return fail(Errc::compiler_failed, "NVRTC's time trace isn't readable.");
    }
    auto& headers = picker.headers;
    std::ranges::sort(headers);
    headers.erase(std::unique(headers.begin(), headers.end()), headers.end());
    return std::move(headers);
}

}  // namespace lode::cache
