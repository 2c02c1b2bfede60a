#include "probe/crash/crash_stack.hpp"

#include <gtest/gtest.h>
#include <ucontext.h>

#include <string>

#include "probe/sample/sampler.hpp"

namespace plx::probe {
namespace {

std::string brief(std::string_view mangled) {
  char buffer[1024];
  signal_text out(buffer, sizeof buffer);
  write_function(out, mangled);
  return std::string(out.text());
}

TEST(CrashStack, NamesAreShortened) {
  EXPECT_EQ(brief("main"), "main");
  EXPECT_EQ(brief("_Z5faultv"), "fault");
  EXPECT_EQ(brief("_ZN4star4stepIiEEvd"), "star::step<...>");
  EXPECT_EQ(brief("_ZNK3plx6futureISt6vectorIdSaIdEEE3getEv"), "plx::future<...>::get");
  EXPECT_EQ(brief("_ZN12_GLOBAL__N_112null_pointerEv"), "(anonymous namespace)::null_pointer");
  EXPECT_EQ(brief("_ZL6squarei"), "square");
  EXPECT_EQ(brief("_ZSt4sortIPiEvT_S1_"), "std::sort<...>");
  EXPECT_EQ(brief("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector<...>::push_back");
  EXPECT_EQ(brief("_ZN3plx7runtimeC2ENS_7optionsE"), "plx::runtime::{constructor}");
  EXPECT_EQ(brief("_ZZ4mainENKUlvE_clEv"), "main()::{lambda}::operator()");
  EXPECT_EQ(brief("_ZZN3plx5runAtILi3EEEvPKcENKUlT_E0_clIiEEDaS3_"), "plx::runAt<...>()::{lambda}::operator()<...>");
  EXPECT_EQ(brief("_ZN1aILi5ELb1ENS_1bEE1fEv"), "a<...>::f");
  EXPECT_EQ(brief("_ZN1aIXadL_Z1gvEEE1fEv"), "a<...>::f");
  EXPECT_EQ(brief("_ZN3foo3runILNS_4kindE0EEEvv"), "foo::run<...>");
  EXPECT_EQ(brief("_ZN3foo3runILNS_4kindE12ENS0_1aEE4stepEv"), "foo::run<...>::step");
  EXPECT_EQ(brief("_ZN1aIL5color1EE1fEv"), "a<...>::f");
  EXPECT_EQ(brief("_ZN1aIRA6_KcE1fEv"), "a<...>::f");
}

TEST(CrashStack, OtherTextStaysAsItIs) {
  for (const char* text : {"", "_", "_Z", "_ZN", "_ZN3plx", "_ZN9999999999999999999999plxE", "_ZTV3abc",
                           "_ZN3plx5asyncI", "_ZNS_E", "_ZZZZZZ", "_Z1", "?strange@@"})
    EXPECT_EQ(brief(text), text);
  const std::string deep = "_Z" + std::string(4000, 'Z'), lambdas = "_ZN1aI" + std::string(4000, 'L') + "E";
  EXPECT_EQ(brief(deep), deep.substr(0, 160) + "...");
  EXPECT_EQ(brief(lambdas), lambdas.substr(0, 160) + "...");
  EXPECT_EQ(brief("_Z500" + std::string(500, 'f') + "v"), std::string(160, 'f') + "...");
}

std::string frames_text;

[[gnu::noinline]] void innermost() {
  ucontext_t here;
  ASSERT_EQ(getcontext(&here), 0);
  crash_stack stack;
  stack.walk(&here, stack_of_this_thread());
  char buffer[4096];
  signal_text out(buffer, sizeof buffer);
  for (std::size_t i = 0; i < stack.size(); ++i) stack.write(out, i), out << "\n";
  frames_text = std::string(out.text());
}
[[gnu::noinline]] void middle() {
  innermost();
  asm volatile("");  // no tail call
}

TEST(CrashStack, FramesHaveNamesFilesAndOffsets) {
  if (!walks_stacks()) GTEST_SKIP() << "callers are not found here";
  middle();
  const std::size_t first = frames_text.find("(anonymous namespace)::innermost (");
  ASSERT_NE(first, std::string::npos) << frames_text;
  const std::size_t second = frames_text.find("(anonymous namespace)::middle (", first);
  ASSERT_NE(second, std::string::npos) << frames_text;
  EXPECT_NE(frames_text.find("+0x", second), std::string::npos) << frames_text;
  EXPECT_NE(frames_text.find("main (", second), std::string::npos) << frames_text;
}

TEST(CrashStack, WithoutAContextItIsEmpty) {
  crash_stack stack;
  stack.walk(nullptr, stack_of_this_thread());
  EXPECT_EQ(stack.size(), 0u);
}

}  // namespace
}  // namespace plx::probe
