; x[i] = sinf(x[i]), of libdevice, for one block.
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @__nv_sinf(float)

define void @sine(ptr %x) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr inbounds float, ptr %x, i32 %i
  %old = load float, ptr %at
  %new = call float @__nv_sinf(float %old)
  store float %new, ptr %at
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{ptr @sine, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
