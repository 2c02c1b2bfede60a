// Names and source lines of code addresses, for reports that people read.
//
// Thread safety: all functions are thread-safe. Cost: function_name() reads the symbol table of the address's file once
// per process (milliseconds), then does a binary search; locate() starts `addr2line` once per file (0.05 to 1 s) and is
// for rare use. Neither may be called in a signal handler. Example: base/test/symbols_test.cpp
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plx {

/// A source location. Unknown parts are empty or 0.
struct code_location {
  std::string function;  // demangled
  std::string file;      // as passed to the compiler
  int line = 0;
  std::string module;  // the program or library, with the offset as addr2line expects it: "/usr/bin/x+0x1234"
};

/// The path of the program or library that is loaded at `address`; "" if there is none. Like the two functions below,
/// it may be called while another thread is in dlopen() or dlclose().
std::string loaded_file(const void* address);

/// The demangled function that contains `address`, from the symbol table of its file; "" if it has none.
std::string function_name(const void* address);

/// The demangled variable that contains `address`, with the offset from its start if it is not 0 ("pool+0x28"); "" if
/// the address is not in a variable of static storage that has a symbol.
std::string variable_name(const void* address);

/// One list per address: the functions that the compiler inlined there, innermost first, then the function itself.
/// Lines require debug information (-g1 is enough) and addr2line, llvm-addr2line or the program that PLX_ADDR2LINE
/// names; otherwise only functions are given, as for files that it has not answered within 30 s, or within `limit_s`
/// from the call on. It runs without LD_PRELOAD and variables PLX_*. A return address belongs to the call before it:
/// pass the address minus 1.
std::vector<std::vector<code_location>> locate(std::span<const void* const> addresses, double limit_s = 1e9);

/// A demangled function without its parameters, the return type of a template, long template arguments ("<...>"), and
/// the end of a very long name, for pictures: "star::step<int>" of "void star::step<int>(double, int) const".
std::string brief_function(std::string_view demangled);

/// `name` demangled, or unchanged if it is not a mangled name.
std::string demangled(const char* name);

}  // namespace plx
