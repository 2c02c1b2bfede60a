// Messages of MPI in the trace, for libplx-mpi.so.
#include "attach/core/message_list.hpp"
#include "attach/core/program.hpp"
#include "attach/preload/call_tables.hpp"
#include "attach/preload/real.hpp"

using namespace plx::probe;

namespace {

mpi_moment moment(bool arrives) {
  mpi_moment m{};
  program::event([&](thread_row& row, plx::ticks now) {
    m.when = now;
    if (!arrives) return m.task = row.current(), true;
    const task_id around = row.around();
    if (around == 0) return true;
    m.task = row.log().next_id() | join_bit;
    row.log().edge(m.task, around, now);
    return true;
  });
  return m;
}

const mpi_table calls_of_mpi{.version = mpi_table::current,
                             .records =
                                 [](unsigned rank, unsigned ranks) {
                                   program* p = program::get();
                                   return program::measures() && p->messages() != nullptr && p->is_process(rank, ranks);
                                 },
                             .leaves = [] { return moment(false); },
                             .arrives = [] { return moment(true); },
                             .message =
                                 [](bool sent, const mpi_message& m) {
                                   if (!program::measures() || this_slot.inside != 0) return;
                                   const inside_scope inside;
                                   program::get()->messages()->add({.when = m.at.when,
                                                                    .task = m.at.task,
                                                                    .number = m.number,
                                                                    .bytes = m.bytes,
                                                                    .peer = m.peer,
                                                                    .name = m.timer,
                                                                    .channel = m.channel,
                                                                    .tag = m.tag},
                                                                   sent);
                                 },
                             .lost = [](uint64_t n) { program::get()->messages()->lose(n); }};

}  // namespace

PLX_HOOK const mpi_table* plx_exec_mpi_calls() { return program::begun() ? &calls_of_mpi : nullptr; }
