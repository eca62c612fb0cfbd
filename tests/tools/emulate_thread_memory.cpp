namespace {

constexpr int size = 5000;
[[gnu::tls_model("initial-exec")]] thread_local char memory[size];

}  // namespace

extern "C" __attribute__((visibility("default"))) char* lode_thread_memory() {
    return memory;
}
