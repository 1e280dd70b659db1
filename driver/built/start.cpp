// The first instructions of an executable that tl links: it brings its own entry, so that no C compiler's files are
// needed where it is built. As the System V ABI for AMD64 says, the stack holds argc, argv, and %rdx what to call at
// exit; glibc (2.34 and later) runs the constructors itself.
extern "C" {
__attribute__((visibility("hidden"))) void* __dso_handle = nullptr;
int main(int argc, char** argv);
}

asm(R"(
  .text
  .globl _start
  .type _start, @function
_start:
  .cfi_startproc
  .cfi_undefined rip
  xorl %ebp, %ebp
  movq %rdx, %r9
  popq %rsi
  movq %rsp, %rdx
  andq $-16, %rsp
  pushq %rax
  pushq %rsp
  xorl %r8d, %r8d
  xorl %ecx, %ecx
  leaq main(%rip), %rdi
  call *__libc_start_main@GOTPCREL(%rip)
  hlt
  .cfi_endproc
)");
