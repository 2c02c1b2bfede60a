// What plx-exec must know of a program before it runs it.
//
// Thread safety: everything. Example: tests/exec/plx_exec_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"

namespace plx::probe {

/// The file of a program, as the shell finds it: in PATH unless the name has a slash. "" when there is none.
std::string find_program(const std::string& name);

/// Whether a library can be preloaded: an error says why not (linked statically, for another processor, 32 bits,
/// set-user-id). Of a script its interpreter counts. What cannot be read is left to the system to refuse.
result<void> can_be_measured(const std::string& path);

/// Whether the program itself, not only a library of it, is linked with a library of this name ("libgomp.so.1").
bool is_linked_with(const std::string& path, const std::string& library);

}  // namespace plx::probe
