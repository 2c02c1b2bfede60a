#include "probe/sample/unwind_table.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace plx::probe {
namespace {

constexpr std::uintptr_t first_pc = 0x1000, n_code_bytes = 0x100;

/// A table of one function, written by hand: a CIE and an FDE.
class table {
 public:
  /// `augmentation` and what belongs to it in both entries; `program`: the instructions of the function.
  table(std::string_view augmentation, std::initializer_list<int> of_common, std::initializer_list<int> of_function,
        std::initializer_list<int> program) {
    const std::size_t common = begin_entry();
    bytes({0, 0, 0, 0, 1});  // a CIE, version 1
    for (const char c : augmentation) bytes({c});
    bytes({0, 1, 0x78, static_cast<int>(ra_register)});  // factors 1 and -8, the register of the return address
    bytes(of_common);
    bytes({0x0c, static_cast<int>(sp_register), 8});          // DW_CFA_def_cfa: sp + 8
    bytes({0x80 | static_cast<int>(ra_register & 0x3f), 1});  // DW_CFA_offset: at the address - 8
    end_entry(common);
    entry_ = begin_entry();
    const auto back = static_cast<std::uint32_t>(bytes_.size() - common);
    append(back);
    append(first_pc);
    append(n_code_bytes);
    bytes(of_function);
    bytes(program);
    end_entry(entry_);
  }
  [[nodiscard]] bool rules_at(std::uintptr_t pc, walk_cache::rules& out) const {
    return rules_of_entry(bytes_.data() + entry_, bytes_.data(), bytes_.data() + bytes_.size(), pc, out);
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  /// Its first `n` bytes, in memory of that size: AddressSanitizer finds reads beyond them.
  [[nodiscard]] table cut_at(std::size_t n) const {
    table t = *this;
    t.bytes_.resize(n);
    t.bytes_.shrink_to_fit();
    return t;
  }
  [[nodiscard]] std::size_t entry() const { return entry_; }

 private:
  void bytes(std::initializer_list<int> some) {
    for (const int b : some) bytes_.push_back(static_cast<std::byte>(b));
  }
  template <class T>
  void append(T v) {
    const std::size_t n = bytes_.size();
    bytes_.resize(n + sizeof v);
    std::memcpy(bytes_.data() + n, &v, sizeof v);
  }
  std::size_t begin_entry() {
    append(std::uint32_t{0});
    return bytes_.size() - 4;
  }
  void end_entry(std::size_t begin) {
    const auto length = static_cast<std::uint32_t>(bytes_.size() - begin - 4);
    std::memcpy(bytes_.data() + begin, &length, sizeof length);
  }

  std::vector<std::byte> bytes_;
  std::size_t entry_ = 0;
};

constexpr std::initializer_list<int> push = {0x41, 0x0e, 16};  // DW_CFA_advance_loc 1, DW_CFA_def_cfa_offset 16

void expect_a_push(const table& t) {
  walk_cache::rules at;
  ASSERT_TRUE(t.rules_at(first_pc, at));
  EXPECT_EQ(at.base, sp_register);
  EXPECT_EQ(at.offset, 8);
  EXPECT_EQ(at.ra.kind, walk_cache::rule::saved);
  EXPECT_EQ(at.ra.offset, -8);
  ASSERT_TRUE(t.rules_at(first_pc + 1, at));
  EXPECT_EQ(at.offset, 16);
  EXPECT_FALSE(t.rules_at(first_pc - 1, at));
  EXPECT_FALSE(t.rules_at(first_pc + n_code_bytes, at));
}

TEST(UnwindTable, EntriesWithoutAugmentationHaveNoLengthOfIt) { expect_a_push(table("", {}, {}, push)); }

TEST(UnwindTable, DataOfAnAugmentationIsSkipped) {
  expect_a_push(table("z", {0}, {0}, push));
  expect_a_push(table("zLR", {2, 0x1b, 0x00}, {4, 1, 2, 3, 4}, push));
}

TEST(UnwindTable, TheFunctionThatASignalReturnsToIsMarked) {
  walk_cache::rules at;
  ASSERT_TRUE(table("zRS", {1, 0x00}, {0}, push).rules_at(first_pc, at));
  EXPECT_TRUE(at.signal);
}

TEST(UnwindTable, UnknownFormatsGiveNoRules) {
  walk_cache::rules at;
  EXPECT_FALSE(table("eh", {0, 0, 0, 0, 0, 0, 0, 0}, {}, push).rules_at(first_pc, at));
  EXPECT_FALSE(table("zR", {1, 0xff}, {0}, push).rules_at(first_pc, at));  // DW_EH_PE_omit
  EXPECT_FALSE(table("", {}, {}, {0x3f}).rules_at(first_pc, at));          // an unknown instruction
  EXPECT_FALSE(table("", {}, {}, {0x0b}).rules_at(first_pc, at));          // DW_CFA_restore_state: none saved
}

TEST(UnwindTable, ATableThatIsCutIsNotReadBeyondItsEnd) {
  const table whole("zLR", {2, 0x1b, 0x00}, {4, 1, 2, 3, 4}, push);
  walk_cache::rules at;
  for (std::size_t n = whole.entry(); n < whole.size(); ++n)
    EXPECT_FALSE(whole.cut_at(n).rules_at(first_pc, at)) << n << " bytes";
}

}  // namespace
}  // namespace plx::probe
