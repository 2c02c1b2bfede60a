// The end of a job and the loss of one locality, as graphs of the messages that net sends between all localities.
//
// Thread safety: none. Cost: some us per message; messages that go the same way at the same time are one node of the
// graph with several parts. Example: job_events_test.cpp
#pragma once

#include <array>
#include <cstdint>

#include "work_graph.hpp"

namespace plx::scale {

enum class job_event {
  end,    ///< net/start/termination.hpp: the counts of the localities, a request, the counts again, and the end
  leave,  ///< net/start/failure_detector.hpp: the ends of the localities spread over the connections of the detector
  loss,   ///< the same: a locality is lost; those connected to it notice, and forward notices
  settle  ///< net/group/call.cpp: survivors send the end of a communicator to the members whose ranks differ by powers
          ///< of two; net/agas/agas_settlement.cpp: every survivor has to decide about an object whose directory was
          ///< lost: requests of a settlement, the request to all, their replies, and the result
};
constexpr const char* name_of(job_event e) {
  constexpr std::array names{"end", "leave", "loss", "settle"};
  return names[static_cast<std::size_t>(e)];
}
inline constexpr std::array job_events{job_event::end, job_event::leave, job_event::loss, job_event::settle};

/// Work: none. Parcels of net have 64 bytes, notices of the failure detector 12; the last locality is the lost one.
/// Requires: localities >= 3.
work_graph graph_of(job_event e, int localities);

/// Messages of a graph, counting parts.
struct message_counts {
  std::uint64_t all = 0;
  std::uint64_t most_sent = 0, most_received = 0;  ///< by the locality that sends, or receives, most
};
message_counts count_messages(const work_graph& g);

}  // namespace plx::scale
