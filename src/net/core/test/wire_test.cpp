#include "net/core/wire.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <numeric>
#include <random>

namespace plx::net {
namespace {

enum class colour : std::uint8_t { red, green };

std::span<const std::byte> first_bytes(std::span<const std::byte> memory, std::size_t n) { return memory.first(n); }

template <class T>
T there_and_back(const T& value, std::size_t* used = nullptr) {
  std::vector<std::byte> memory(1 << 20);
  wire_writer w(memory);
  write(w, value);
  EXPECT_FALSE(w.overflowed());
  if (used != nullptr) *used = w.used();
  wire_reader r(first_bytes(memory, w.used()));
  T copy{};
  read(r, copy);
  EXPECT_TRUE(r.complete());
  return copy;
}

TEST(Wire, ValuesAreUnchanged) {
  EXPECT_EQ(there_and_back(7), 7);
  EXPECT_EQ(there_and_back(colour::green), colour::green);
  EXPECT_EQ(there_and_back(std::complex<double>(1, 2)), std::complex<double>(1, 2));
  EXPECT_EQ(there_and_back(std::string("abc")), "abc");
  EXPECT_EQ(there_and_back(std::vector<bool>{true, false, true}), (std::vector<bool>{true, false, true}));
  const std::vector<std::string> words = {"", "one", std::string(5000, 'x')};
  EXPECT_EQ(there_and_back(words), words);
  const std::tuple<int, std::optional<std::string>, std::optional<int>> t{1, "two", std::nullopt};
  EXPECT_EQ(there_and_back(t), t);
  const std::pair<std::string, std::array<std::string, 2>> p{"a", {"b", "c"}};
  EXPECT_EQ(there_and_back(p), p);
}

TEST(Wire, BitwiseTypesTakeTheirSize) {
  std::size_t used = 0;
  there_and_back(std::complex<double>(), &used);
  EXPECT_EQ(used, 16u);
  there_and_back(std::tuple<int, std::array<float, 3>>(), &used);
  EXPECT_EQ(used, 16u);
}

enum class yes_or_no : bool { no, yes };

// Types with and without bool members, to test their detection.
struct plain {
  int a;
  double b;
  float c[3];  // and padding
};
struct with_flag {
  bool b;
};
struct deep {
  int a = 0;
  with_flag f{};
  double d = 0;
};
struct with_flags {
  int a;
  bool q[3];
};
struct derived_flag : with_flag {
  int c;
};
struct with_answer {
  yes_or_no a;
};
struct in_bits {
  unsigned a : 3, b : 29;
};
struct cells {
  double x[1000];
};
struct cells_and_flag {
  cells c;
  bool b[8];
};
static_assert(!detail::has_bool_member<plain>() && !detail::has_bool_member<in_bits>());
static_assert(!detail::has_bool_member<std::complex<double>>() && !detail::has_bool_member<cells>());
static_assert(detail::has_bool_member<with_flag>() && detail::has_bool_member<deep>());
static_assert(detail::has_bool_member<with_flags>() && detail::has_bool_member<derived_flag>());
static_assert(detail::has_bool_member<with_answer>() && detail::has_bool_member<cells_and_flag>());
static_assert(is_bitwise<std::array<char, 2>> && !is_bitwise<std::array<bool, 2>> &&
              !is_bitwise<std::array<std::array<bool, 2>, 2>>);

template <class T>
bool refuses(std::initializer_list<std::uint8_t> bytes) {
  const std::vector<std::uint8_t> memory(bytes);
  wire_reader r(std::as_bytes(std::span(memory)));
  T value{};
  read(r, value);
  return r.failed();
}

TEST(Wire, ABoolIsTrueOrFalse) {
  EXPECT_FALSE(refuses<bool>({1}));
  EXPECT_TRUE(refuses<bool>({7}));
  EXPECT_FALSE((refuses<std::array<bool, 3>>({1, 0, 1})));
  EXPECT_TRUE((refuses<std::array<bool, 3>>({1, 0, 2})));
  EXPECT_FALSE(refuses<yes_or_no>({0}));
  EXPECT_TRUE(refuses<yes_or_no>({128}));
  EXPECT_FALSE(refuses<std::vector<yes_or_no>>({2, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_TRUE(refuses<std::vector<yes_or_no>>({2, 0, 0, 0, 0, 0, 0, 0, 1, 3}));
  EXPECT_TRUE(refuses<std::vector<bool>>({2, 0, 0, 0, 0, 0, 0, 0, 1, 3}));
  EXPECT_TRUE((refuses<std::pair<char, bool>>({2, 2})));
  const std::vector<std::array<bool, 2>> flags = {{true, false}, {false, true}};
  EXPECT_EQ(there_and_back(flags), flags);
  EXPECT_EQ(there_and_back(std::vector<yes_or_no>(3, yes_or_no::yes)), std::vector<yes_or_no>(3, yes_or_no::yes));
}

TEST(Wire, AFullWriterCountsBytes) {
  std::array<std::byte, 10> memory{};
  wire_writer w(memory);
  write(w, std::uint64_t{1});
  EXPECT_FALSE(w.overflowed());
  write(w, std::uint64_t{1});
  write(w, std::uint16_t{1});
  EXPECT_TRUE(w.overflowed());
  EXPECT_EQ(w.used(), 18u);
}

TEST(Wire, LargeDataBecomePieces) {
  std::vector<double> large(1000), small(10);
  std::iota(large.begin(), large.end(), 0.0);
  buffer<float> also_large(2000);
  std::iota(also_large.begin(), also_large.end(), 1.0f);
  const auto all = std::tuple(small, large, also_large);

  std::array<std::byte, 1000> memory{};
  std::vector<piece> pieces;
  wire_writer w(memory, &pieces);
  write(w, all);
  ASSERT_FALSE(w.overflowed());
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].data, std::get<1>(all).data());
  EXPECT_EQ(pieces[1].size_bytes, 8000u);

  std::array<place, 2> places{{{nullptr, 8000}, {nullptr, 8000}}};
  wire_reader r(first_bytes(memory, w.used()), places);
  std::tuple<std::vector<double>, std::vector<double>, buffer<float>> back;
  read(r, back);
  ASSERT_TRUE(r.complete());
  for (std::size_t i = 0; i < 2; ++i) std::memcpy(places[i].data, pieces[i].data, pieces[i].size_bytes);
  EXPECT_EQ(std::get<0>(back), small);
  EXPECT_EQ(std::get<1>(back), large);
  EXPECT_TRUE(std::ranges::equal(std::get<2>(back), also_large));
}

TEST(Wire, PiecesOfAnotherSizeAreRefused) {
  std::vector<double> large(1000);
  std::array<std::byte, 100> memory{};
  std::vector<piece> pieces;
  wire_writer w(memory, &pieces);
  write(w, large);
  std::array<place, 1> places{{{nullptr, 8008}}};
  wire_reader r(first_bytes(memory, w.used()), places);
  std::vector<double> back;
  read(r, back);
  EXPECT_TRUE(r.failed());
  EXPECT_TRUE(back.empty());
}

TEST(Wire, LengthsBeyondTheMessageAllocateNothing) {
  for (const std::uint64_t length : {std::uint64_t{100}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    std::array<std::byte, 16> memory{};
    std::memcpy(memory.data(), &length, sizeof length);
    std::vector<double> doubles;
    std::vector<std::string> words;
    buffer<int> ints;
    wire_reader a(memory), b(memory), c(memory);
    read(a, doubles), read(b, words), read(c, ints);
    EXPECT_TRUE(a.failed() && b.failed() && c.failed());
    EXPECT_EQ(doubles.size() + words.size() + ints.size(), 0u);
  }
}

TEST(Wire, RandomBytesAreReadSafely) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 20000; ++turn) {
    std::vector<std::byte> noise(random() % 64);
    for (auto& b : noise) b = static_cast<std::byte>(random() % 4 == 0 ? random() : random() % 3);
    std::tuple<std::vector<std::string>, std::optional<int>, std::vector<std::vector<char>>> t;
    wire_reader r(noise);
    read(r, t);
    std::size_t bytes = 0;
    for (const auto& s : std::get<0>(t)) bytes += s.size();
    for (const auto& v : std::get<2>(t)) bytes += v.size();
    ASSERT_LE(bytes, noise.size());
  }
}

TEST(Buffer, IsSharedByItsCopies) {
  buffer<int> a(3);
  a[0] = 1;
  const buffer<int> b = a;
  b[0] = 2;
  EXPECT_EQ(a[0], 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u);
  EXPECT_TRUE(buffer<int>().empty());
  EXPECT_THROW(buffer<double>(SIZE_MAX / 4), std::bad_alloc);
}

}  // namespace
}  // namespace plx::net
