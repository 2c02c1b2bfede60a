// PLX_TSAN, PLX_ASAN: defined under ThreadSanitizer and AddressSanitizer, of GCC and clang.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define PLX_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLX_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PLX_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLX_ASAN 1
#endif
#endif
