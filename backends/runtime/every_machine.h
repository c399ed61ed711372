// Hot loops that are compiled once per instruction set; which one runs is decided when the library is loaded.
#pragma once

/// Stands before a function. What it calls is compiled so as well if it is inlined always.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define BERTH_EVERY_MACHINE \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BERTH_EVERY_MACHINE
#endif
