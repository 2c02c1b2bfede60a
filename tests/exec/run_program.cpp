#include "run_program.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "probe/record/test/temporary_test.hpp"

namespace fs = std::filesystem;

std::string whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool exists(const std::string& path) { return fs::exists(path); }

namespace {
/// A path that is unique to this test and process.
std::string path_of_test(const char* what) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "_" + test->name();
  for (char& c : name) c = c == '/' ? '_' : c;
  return plx::probe::temporary_path(what + name);
}
}  // namespace

std::string fresh_folder() {
  const std::string folder = path_of_test("plx_exec_");
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

outcome run(std::string line) {
  static const char* const bin = PLX_BIN;
  for (std::size_t at; (at = line.find("%BIN%")) != std::string::npos;) line.replace(at, 5, bin);
  const std::string base = path_of_test("plx_exec_out_");
  const int status = std::system(("( " + line + " ) > " + base + ".out 2> " + base + ".err < /dev/null").c_str());
  outcome o;
  o.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  o.out = whole_file(base + ".out");
  o.err = whole_file(base + ".err");
  return o;
}

namespace {
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"')
        fields.back() += line[++i];
      else
        quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}
}  // namespace

table read_csv(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  table rows;
  if (!std::getline(file, line)) return rows;
  const auto columns = fields_of(line);
  while (std::getline(file, line)) {
    const auto fields = fields_of(line);
    EXPECT_EQ(fields.size(), columns.size()) << line;
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size() && i < fields.size(); ++i) row[columns[i]] = fields[i];
  }
  return rows;
}

table where(const table& t, const std::string& column, const std::string& text) {
  table found;
  for (const auto& row : t)
    if (const auto it = row.find(column); it != row.end() && it->second.find(text) != std::string::npos)
      found.push_back(row);
  return found;
}

double sum(const table& t, const std::string& column) {
  double total = 0;
  for (const auto& row : t) {
    const auto it = row.find(column);
    EXPECT_NE(it, row.end()) << column;
    if (it != row.end()) total += std::strtod(it->second.c_str(), nullptr);
  }
  return total;
}
