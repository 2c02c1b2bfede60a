// A function that GCC compiles for several instruction sets, of which the loader selects one: for short loops over
// numbers that the compiler vectorizes.
//
// Bits of sums then depend on the processor's instruction set. Not under sanitizers, whose runtime is not ready when
// the loader selects. Example: num/nonuniform_fourier.cpp
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define PLX_NUM_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define PLX_NUM_CLONES
#endif
