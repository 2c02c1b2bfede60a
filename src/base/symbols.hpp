// Names and source lines of addresses in the program's code, for explanations that people read.
//
// Thread safety: everything. Cost: function_name() reads the symbol table of the address's file once per process
// (milliseconds), then a binary search; locate() starts `addr2line` once per file (0.05 to 1 s) and is for rare
// occasions. Neither may be called in a signal handler. Example: base/test/symbols_test.cpp
#pragma once

#include <span>
#include <string>
#include <vector>

namespace plx {

/// Where some code stands. What is not known is empty or 0.
struct code_location {
  std::string function;  // demangled
  std::string file;      // as the compiler was told it
  int line = 0;
  std::string module;  // the program or library, with the offset that addr2line wants: "/usr/bin/x+0x1234"
};

/// The path of the program or library that was loaded to `address`; "" when it is in none. Like the two functions
/// below, it may be called while another thread is in dlopen() or dlclose().
std::string loaded_file(const void* address);

/// The demangled function that holds `address`, from the symbol table of its file; "" when it has none.
std::string function_name(const void* address);

/// The demangled variable that holds `address`, with the offset from its begin if there is one ("pool+0x28"); "" when
/// the address is not in a variable of static storage that has a symbol.
std::string variable_name(const void* address);

/// One list per address: the function there, and before it those that the compiler inlined into it, innermost first.
/// Lines need debug information (-g1 is enough) and addr2line, llvm-addr2line or what PLX_ADDR2LINE names; without, the
/// functions alone. An address that was returned to belongs to the call before it: give the address minus 1.
std::vector<std::vector<code_location>> locate(std::span<const void* const> addresses);

/// `name` demangled, or as it is.
std::string demangled(const char* name);

}  // namespace plx
