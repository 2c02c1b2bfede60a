// Internal: opening events of the kernel. For perf_monitor.cpp and perf_group.cpp.
#pragma once

#if defined(__linux__)
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plx::probe {

struct perf_event {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
  const char* unit;
  double scale;
  const char* help;
  int group = 0;  // events of one group above 0 are counted over the same intervals
};

/// By reason.
using omitted_events = std::map<std::string, std::vector<std::string>>;

/// The requested events; an unknown name becomes a note.
std::vector<const perf_event*> perf_events_named(const std::string& events, std::vector<std::string>& notes);
/// A descriptor; -1 and errno on failure. Includes the kernel's work for the thread, if that is permitted. `leader`:
/// the descriptor of the group's first event, or -1; `format`: its read_format.
int open_perf_event(const perf_event& e, int thread_id, bool children, int leader, std::uint64_t format);
/// Whether `n` more descriptors leave the upper half of the table to the program.
bool perf_room_for(std::size_t n);
/// An error of open_perf_event() in words; EMFILE: no room.
std::string perf_why_not(int number);
/// "all" adds no notes, "1" one line for all events together, and events requested by name have a line each.
void add_perf_notes(std::vector<std::string>& notes, const std::string& events, const omitted_events& left_out,
                    const char* what = "perf event");

}  // namespace plx::probe
#endif
