// Messages of MPI. Called by the wrappers of mpi.cpp around sends, receives and completions while a trace is recorded
// (MESSAGES in mpi_wrappers.py lists them).
//
// Both ends number a message among those with the same sender, receiver, communicator and tag. MPI delivers these in
// the order in which they were sent, to receives in the order in which they were posted; so the number of a received
// message is known when all earlier receives that it could have matched have got theirs, which wildcards may delay. The
// objects do nothing unless recording(). They change no argument, except that a status that the program ignores is
// replaced by one of their own.
// Thread safety: all; messages of one communicator, peer and tag that several threads send or receive at once may
//   exchange their numbers, as MPI does not order them. Memory: at most `most_tracked` posted receives and as many
//   pairs of peer and tag; messages beyond are counted as lost, as are those of threads that are not measured. Cost:
//   docs/probe.md.
// Example: tests/exec/test_mpi_messages.py
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>
#include <vector>

#include "attach/preload/mpi_communicators.hpp"

namespace plx_mpi {

constexpr std::size_t most_tracked = std::size_t{1} << 18;

/// Whether messages are recorded: after the initialization of MPI, if a trace of this rank is written.
bool recording();
/// At the end: the messages whose numbers earlier receives left open, and the number of lost ones.
void finish_messages();

/// All channels, for finish_messages().
void note_channel(channel* c);
void forget_channel_now(channel* c);

/// A call that sends one message, unless `to` is MPI_PROC_NULL.
class sending {
 public:
  sending(unsigned timer, double count, MPI_Datatype type, int to, int tag, MPI_Comm c);
  void end(int done) const;

 private:
  bool on_;
  unsigned timer_;
  double count_;
  MPI_Datatype type_;
  int to_, tag_;
  MPI_Comm comm_;
  plx::probe::mpi_moment at_{};
};

/// A call that posts a receive: MPI_Recv, MPI_Irecv, MPI_Mprobe. Unless a function below says how it ended, it has
/// failed.
class receiving {
 public:
  receiving(unsigned timer, int from, int tag, MPI_Comm c);
  ~receiving();
  receiving(const receiving&) = delete;
  receiving& operator=(const receiving&) = delete;
  void end(int done, const MPI_Status* status);
  void pending(int done, MPI_Request request);
  /// `found`: null if the call waits for a message.
  void probed(int done, const int* found, const MPI_Message* message, const MPI_Status* status);

 private:
  unsigned timer_;
  std::shared_ptr<posted_receive> posted_;
};

/// A call that receives a message that MPI_Mprobe has found.
class receiving_found {
 public:
  receiving_found(unsigned timer, MPI_Message message);
  void end(int done);
  void pending(int done, MPI_Request request);

 private:
  unsigned timer_;
  MPI_Message message_;
  std::shared_ptr<posted_receive> posted_;
};

/// A call that completes requests.
class completing {
 public:
  completing(unsigned timer, int n, const MPI_Request* requests);
  ~completing();
  completing(const completing&) = delete;
  completing& operator=(const completing&) = delete;

  /// The program's status, or one of this object if the program ignores it and it is needed.
  MPI_Status* status(MPI_Status* given);
  MPI_Status* statuses(MPI_Status* given);

  /// `completed`: null if the call waits; `which`: null if it has one request. A failed call may not have set them.
  void one(int done, const int* completed, const int* which, const MPI_Status* status);
  void all(int done, const int* completed, const MPI_Status* statuses);
  void some(int done, const int* n, const int* which, const MPI_Status* statuses);

 private:
  void complete(std::size_t which, const MPI_Status& status);

  unsigned timer_;
  std::vector<MPI_Request> requests_;  // empty: none is followed
  std::vector<MPI_Status> own_;
  std::vector<std::shared_ptr<channel>> touched_;
};

/// Persistent requests.
void made_send(int done, double count, MPI_Datatype type, int to, int tag, MPI_Comm c, MPI_Request request);
void made_receive(int done, int from, int tag, MPI_Comm c, MPI_Request request);
class starting {
 public:
  starting(unsigned timer, int n, const MPI_Request* requests);
  void end(int done) const;

 private:
  unsigned timer_;
  std::vector<MPI_Request> requests_;
  plx::probe::mpi_moment at_{};
};
/// Called before MPI_Request_free.
void freeing(const MPI_Request* request);

}  // namespace plx_mpi
