; Reverses 64 numbers in shared memory, with one block of 64 threads.
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"

@tile = internal addrspace(3) global [64 x i32] undef, align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()

define void @reverse(i32* %x) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr inbounds i32, i32* %x, i32 %i
  %mine = load i32, i32* %from
  %to = getelementptr inbounds [64 x i32], [64 x i32] addrspace(3)* @tile, i32 0, i32 %i
  store i32 %mine, i32 addrspace(3)* %to
  call void @llvm.nvvm.barrier0()
  %other = sub i32 63, %i
  %there = getelementptr inbounds [64 x i32], [64 x i32] addrspace(3)* @tile, i32 0, i32 %other
  %theirs = load i32, i32 addrspace(3)* %there
  store i32 %theirs, i32* %from
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{void (i32*)* @reverse, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
