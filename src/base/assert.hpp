// Assertions that print values and stay on in release builds.
//
// Thread safety: any thread may fail; the message is one write, then the process aborts.
// Cost: one compare and a branch that is never taken; values are evaluated and formatted only on failure, out of line.
// Example: base/test/assert_test.cpp
//
//   PLX_ASSERT(index < size, index, size);   // file:12: in f(): assertion failed: index < size (index=7, size=5)
//   PLX_ASSERT_EQ(blocks.size(), expected);  // each operand is evaluated once; integers compare by value
#pragma once

#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

namespace plx::detail {

/// One value of an assertion's message, reduced to what the compiled printer knows. Other types print as "(no text)".
class assert_value {
 public:
  enum class kind { none, boolean, character, integer, natural, real, text, address };

  template <class T>
  assert_value(const T& v) noexcept {  // NOLINT: implicit on purpose, the macro builds lists of these
    if constexpr (std::is_same_v<T, bool>) {
      set(kind::boolean).natural_ = v;
    } else if constexpr (std::is_same_v<T, char>) {
      set(kind::character).integer_ = v;
    } else if constexpr (std::is_enum_v<T>) {
      set(kind::integer).integer_ = static_cast<long long>(v);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      set(kind::integer).integer_ = v;
    } else if constexpr (std::is_integral_v<T>) {
      set(kind::natural).natural_ = v;
    } else if constexpr (std::is_floating_point_v<T>) {
      set(kind::real).real_ = static_cast<double>(v);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      set(kind::text).text_ = v;
    } else if constexpr (std::is_pointer_v<T>) {
      set(kind::address).address_ = reinterpret_cast<const void*>(v);
    }
  }

  kind what() const noexcept { return kind_; }
  long long integer() const noexcept { return integer_; }
  unsigned long long natural() const noexcept { return natural_; }
  double real() const noexcept { return real_; }
  const void* address() const noexcept { return address_; }
  std::string_view text() const noexcept { return text_; }

 private:
  assert_value& set(kind k) noexcept { return kind_ = k, *this; }

  kind kind_ = kind::none;
  union {
    long long integer_ = 0;
    unsigned long long natural_;
    double real_;
    const void* address_;
  };
  std::string_view text_;
};

struct assert_place {
  const char* file;
  int line;
  const char* function;
  const char* expression;
  const char* names;  // the values' source text, separated by commas
};

[[noreturn, gnu::cold, gnu::noinline]] void assert_failed(const assert_place& place,
                                                          std::initializer_list<assert_value> values) noexcept;

template <class T>
inline constexpr bool plain_integer =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
    !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>;

template <class A, class B>
constexpr bool assert_equal(const A& a, const B& b) {
  if constexpr (plain_integer<A> && plain_integer<B>)
    return std::cmp_equal(a, b);
  else
    return a == b;
}
template <class A, class B>
constexpr bool assert_less(const A& a, const B& b) {
  if constexpr (plain_integer<A> && plain_integer<B>)
    return std::cmp_less(a, b);
  else
    return a < b;
}
template <class A, class B>
constexpr bool assert_less_equal(const A& a, const B& b) {
  if constexpr (plain_integer<A> && plain_integer<B>)
    return std::cmp_less_equal(a, b);
  else
    return a <= b;  // not !(b < a): that is true for a NaN
}

}  // namespace plx::detail

/// Aborts with file, line, function, the expression and `name=value` of each further argument when `condition` is
/// false.
#define PLX_ASSERT(condition, ...)                   \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::plx::detail::assert_failed({__FILE__, __LINE__, __func__, #condition, "" #__VA_ARGS__}, {__VA_ARGS__}))

#define PLX_DETAIL_ASSERT_COMPARE(holds, a, text, b)                                               \
  do {                                                                                             \
    const auto& plx_left = (a);                                                                    \
    const auto& plx_right = (b);                                                                   \
    if (__builtin_expect(!(holds), 0))                                                             \
      ::plx::detail::assert_failed({__FILE__, __LINE__, __func__, #a " " text " " #b, #a ", " #b}, \
                                   {plx_left, plx_right});                                         \
  } while (false)

#define PLX_ASSERT_EQ(a, b) PLX_DETAIL_ASSERT_COMPARE(::plx::detail::assert_equal(plx_left, plx_right), a, "==", b)
#define PLX_ASSERT_NE(a, b) PLX_DETAIL_ASSERT_COMPARE(!::plx::detail::assert_equal(plx_left, plx_right), a, "!=", b)
#define PLX_ASSERT_LT(a, b) PLX_DETAIL_ASSERT_COMPARE(::plx::detail::assert_less(plx_left, plx_right), a, "<", b)
#define PLX_ASSERT_LE(a, b) PLX_DETAIL_ASSERT_COMPARE(::plx::detail::assert_less_equal(plx_left, plx_right), a, "<=", b)
#define PLX_ASSERT_GT(a, b) PLX_DETAIL_ASSERT_COMPARE(::plx::detail::assert_less(plx_right, plx_left), a, ">", b)
#define PLX_ASSERT_GE(a, b) PLX_DETAIL_ASSERT_COMPARE(::plx::detail::assert_less_equal(plx_right, plx_left), a, ">=", b)
