//@ right: A bulk copy reads what another one has loaded, which needs no fence between proxies.
//@ class: race
//@ buffer: data i32[256] = 5 * i
//@ buffer: out i32[256] = 1
//@ launch: reverse<<<2, 128>>>(data, out)
//@ expect: out = data[i]

__global__ void reverse(const int* in, int* out) {
    __shared__ alignas(16) int tile[128];
    const int t = threadIdx.x, base = blockIdx.x * 128;
    __shared__ alignas(8) unsigned long long barrier;
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(at) : "memory");
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, "
            "[%2];" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))),
            "l"(in + base), "r"(at)
            : "memory");
        asm volatile(
            "{\n.reg .pred p;\nagain:\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra again;\n}\n" ::"r"(at)
            : "memory");
    }
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                         out + base),
                     "r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))), "r"(512)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
