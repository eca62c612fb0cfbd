; y[i] = a * x[i] + y[i]: rustc's of a kernel without core, for nvptx64-nvidia-cuda, with -O.
; ModuleID = 'nc.8796efe77a1f527a-cgu.0'
source_filename = "nc.8796efe77a1f527a-cgu.0"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite)
define ptx_kernel void @saxpy(ptr noundef readonly captures(none) %x, ptr noundef captures(none) %y, float noundef %a, i32 noundef %n) unnamed_addr #0 {
start:
  %_7 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %_8 = tail call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %_6 = mul i32 %_7, %_8
  %_9 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = add i32 %_6, %_9
  %_10 = icmp ult i32 %i, %n
  br i1 %_10, label %bb4, label %bb5

bb5:                                              ; preds = %bb4, %start
  ret void

bb4:                                              ; preds = %start
  %_12 = zext i32 %i to i64
  %at = getelementptr inbounds nuw float, ptr %y, i64 %_12
  %_15 = getelementptr inbounds nuw float, ptr %x, i64 %_12
  %_14 = load float, ptr %_15, align 4, !noundef !2
  %_13 = fmul float %a, %_14
  %_16 = load float, ptr %at, align 4, !noundef !2
  %0 = fadd float %_13, %_16
  store float %0, ptr %at, align 4
  br label %bb5
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite) "target-cpu"="sm_70" "target-features"="+ptx70" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0}
!llvm.ident = !{!1}

!0 = !{i32 8, !"PIC Level", i32 2}
!1 = !{!"rustc version 1.97.0-nightly (e50aa6fba 2026-05-19)"}
!2 = !{}
