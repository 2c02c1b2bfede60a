// The JSON trace in a build without zlib: this program has its own copy of text_sink.cpp, compiled without it.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/file.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/tools/trace_export.hpp"

int main() {
  using namespace plx::probe;
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("plx_no_zlib_" + std::to_string(::getpid()))).string();
  std::filesystem::create_directories(folder);
  recorder r(1);
  r.trace(true, 64);
  const plx::ticks now = plx::now_ticks();
  r.worker(0).record({.name = register_name("work"), .begin = now, .end = now + 100, .id = 1});
  const auto done = write_json_trace(r.collect_trace(), text_sink::compressed_name(folder + "/trace.json"));
  const auto trace = plx::read_file(folder + "/trace.json");
  std::filesystem::remove_all(folder);
  const bool right = done && trace && trace->starts_with("{\"displayTimeUnit\"");
  if (!right) std::fprintf(stderr, "%s\n", done ? "no trace.json" : done.error().message.c_str());
  return right ? 0 : 1;
}
