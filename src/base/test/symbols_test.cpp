#include "base/symbols.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

// Read as mangled types, these are unsigned long and float.
extern "C" {
long m = 1;
[[gnu::noinline]] int f(int n) {
  asm volatile("" : "+r"(n));
  return n + 2;
}
}

namespace {

// External and internal linkage: the second is in no dynamic symbol table.
[[gnu::noinline]] int planted_function(int n) {
  asm volatile("" : "+r"(n));
  return n + 1;
}

TEST(symbols, functions_of_the_program_and_of_libraries) {
  EXPECT_NE(plx::function_name(reinterpret_cast<const void*>(&planted_function)).find("planted_function(int)"),
            std::string::npos);
  EXPECT_NE(plx::function_name(reinterpret_cast<const void*>(&std::qsort)).find("qsort"), std::string::npos);
  EXPECT_EQ(plx::function_name(nullptr), "");
  const int on_the_stack = 0;
  EXPECT_EQ(plx::function_name(&on_the_stack), "");
}

int planted_variable[4];
static int planted_private = 1;

TEST(symbols, variables_with_the_offset_in_them) {
  EXPECT_NE(plx::variable_name(&planted_private).find("planted_private"), std::string::npos);
  const std::string third = plx::variable_name(&planted_variable[2]);
  EXPECT_TRUE(third.ends_with("planted_variable+0x8")) << third;
  const int on_the_stack = 0;
  EXPECT_EQ(plx::variable_name(&on_the_stack), "");
  EXPECT_EQ(plx::variable_name(nullptr), "");
  EXPECT_EQ(plx::variable_name(reinterpret_cast<const void*>(&planted_function)), "");
}

TEST(symbols, names_of_c_are_no_types) {
  EXPECT_EQ(plx::variable_name(&m), "m");
  EXPECT_EQ(plx::function_name(reinterpret_cast<const void*>(&f)), "f");
  EXPECT_EQ(plx::loaded_file(&m), plx::loaded_file(reinterpret_cast<const void*>(&f)));
  EXPECT_NE(plx::loaded_file(reinterpret_cast<const void*>(&std::rand)).find("libc"), std::string::npos);
  EXPECT_EQ(plx::loaded_file(nullptr), "");
}

TEST(symbols, lines) {
  const void* addresses[] = {reinterpret_cast<const void*>(&planted_function), nullptr,
                             reinterpret_cast<const void*>(&plx::function_name)};
  const auto found = plx::locate(addresses);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NE(found[0].back().function.find("planted_function"), std::string::npos);
  EXPECT_NE(found[0].back().module.find("+0x"), std::string::npos);
  EXPECT_EQ(found[1].back().function, "");
  if (std::system("addr2line --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "addr2line is not installed";
  if (found[0].back().line == 0) GTEST_SKIP() << "compiled without line tables";
  EXPECT_NE(found[0].back().file.find("symbols_test.cpp"), std::string::npos);
  EXPECT_NE(found[2].back().function.find("function_name"), std::string::npos);
}

TEST(symbols, without_the_tool_only_functions_are_known) {
  setenv("PLX_ADDR2LINE", "/nonexistent/addr2line", 1);
  const void* addresses[] = {reinterpret_cast<const void*>(&planted_function)};
  const auto found = plx::locate(addresses);
  unsetenv("PLX_ADDR2LINE");
  EXPECT_NE(found[0].back().function.find("planted_function"), std::string::npos);
  EXPECT_EQ(found[0].back().line, 0);
}

TEST(symbols, the_tool_runs_without_the_measurement_and_within_the_limit) {
  const std::string tool = testing::TempDir() + "plx_symbols_tool_" + std::to_string(::getpid()), seen = tool + ".txt";
  std::ofstream(tool) << "#!/bin/sh\nenv > '" << seen << "'\n";
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  setenv("PLX_ADDR2LINE", tool.c_str(), 1);
  setenv("LD_PRELOAD", "/nonexistent/library.so", 1);
  setenv("SYMBOLS_TEST", "kept", 1);
  const void* first[] = {reinterpret_cast<const void*>(&planted_function)};
  EXPECT_EQ(plx::locate(first)[0].back().line, 0);
  std::stringstream environment;
  environment << std::ifstream(seen).rdbuf();
  EXPECT_NE(environment.str().find("SYMBOLS_TEST=kept\n"), std::string::npos);
  EXPECT_EQ(environment.str().find("LD_PRELOAD="), std::string::npos);
  EXPECT_EQ(environment.str().find("PLX_"), std::string::npos);
  std::filesystem::remove(seen);
  const void* second[] = {reinterpret_cast<const void*>(&f)};
  EXPECT_EQ(plx::locate(second, 0)[0].back().function, "f");
  EXPECT_FALSE(std::filesystem::exists(seen)) << "no time is left for the tool";
  for (const char* name : {"PLX_ADDR2LINE", "LD_PRELOAD", "SYMBOLS_TEST"}) unsetenv(name);
  std::filesystem::remove(tool);
}

TEST(symbols, names_for_pictures_have_no_parameters) {
  EXPECT_EQ(plx::brief_function("main"), "main");
  EXPECT_EQ(plx::brief_function("ns::f(int, std::vector<int> const&)"), "ns::f");
  EXPECT_EQ(plx::brief_function("void ns::f<int, (ns::kind)2>(double) const"), "ns::f<int, (ns::kind)2>");
  EXPECT_EQ(plx::brief_function("std::pair<int, int> (anonymous namespace)::g<long>(long (*)(int))"),
            "(anonymous namespace)::g<long>");
  EXPECT_EQ(plx::brief_function("f(int) const::{lambda(long)#2}::operator()(long) const"),
            "f::{lambda(long)#2}::operator()");
  EXPECT_EQ(plx::brief_function("std::ostream& std::operator<< <char>(std::ostream&, char const*)"),
            "std::operator<< <char>");
  EXPECT_EQ(plx::brief_function("a::operator new(unsigned long)"), "a::operator new");
  EXPECT_EQ(plx::brief_function("f(int) [clone .cold]"), "f");
  EXPECT_EQ(plx::brief_function(std::string(300, 'x')).size(), 240u);
  EXPECT_EQ(plx::brief_function("a<" + std::string(40, 'x') + ">::f<int>(int)"), "a<...>::f<int>");
  EXPECT_EQ(plx::brief_function("bool a::operator< <" + std::string(40, 'x') + ">(int)"), "a::operator< <...>");
  EXPECT_EQ(plx::brief_function(""), "");
}

TEST(symbols, names_are_demangled) {
  EXPECT_EQ(plx::demangled("_Z3fooi"), "foo(int)");
  EXPECT_EQ(plx::demangled("main"), "main");
}

}  // namespace
