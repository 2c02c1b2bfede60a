// For tests: runs a program and reads its output. Example: any_program_test.cpp
#pragma once

#include <map>
#include <string>
#include <vector>

struct outcome {
  int exit_code = -1;  // 128 + signal if a signal ended it
  std::string out;
  std::string err;
};

/// Runs a shell command without PLX_ variables in the environment; %BIN% in `line` is the folder of the programs.
outcome run(std::string line);

/// Creates an empty folder for this test.
std::string fresh_folder();

/// Rows of a CSV file by column; empty if there is no such file.
using table = std::vector<std::map<std::string, std::string>>;
table read_csv(const std::string& path);
/// The rows whose column holds the text.
table where(const table& t, const std::string& column, const std::string& text);
/// The sum of a column.
double sum(const table& t, const std::string& column);
std::string whole_file(const std::string& path);
bool exists(const std::string& path);
