/* Point-to-point messages of MPI in all the ways that pair them differently: three ranks. Each message of a sender has
 * a size of its own, so a pair of ends that do not belong together has two sizes. Each rank writes what it sent and
 * received to FOLDER/RANK.txt, as "sent PEER TAG BYTES" and "received PEER TAG BYTES", PEER being a rank of
 * MPI_COMM_WORLD. The output does not depend on measurement. Usage: mpi_messages FOLDER */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ranks = 3, room = 1 << 16, many = 8 };

static int rank = 0, next = 0, prev = 0, serial = 0;
static FILE* record = NULL;
static char out[room], in[many][room];

/* Between two attempts of a test: its records would fill the trace. */
static void rest(void) {
  const struct timespec ms = {0, 1000000};
  nanosleep(&ms, NULL);
}

static void check(const char* what, long found, long expected) {
  if (found == expected) return;
  fprintf(stderr, "rank %d: %s: expected %ld, found %ld\n", rank, what, expected, found);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The size of the next message, unique among those of this rank. */
static int sent(int to, int tag) {
  const int bytes = 1 + serial++;
  fprintf(record, "sent %d %d %d\n", to, tag, bytes);
  return bytes;
}

/* `from` is the peer's rank in MPI_COMM_WORLD if the communicator has others. */
static void received_from(const MPI_Status* s, int from) {
  int bytes = 0;
  MPI_Get_count(s, MPI_CHAR, &bytes);
  fprintf(record, "received %d %d %d\n", from, s->MPI_TAG, bytes);
}
static void received(const MPI_Status* s) { received_from(s, s->MPI_SOURCE); }

static void blocking(void) {
  MPI_Status s;
  if (rank == 0) {
    const int sizes[4] = {sent(1, 5), sent(1, 6), sent(1, 5), sent(1, 5)};
    MPI_Send(out, sizes[0], MPI_CHAR, 1, 5, MPI_COMM_WORLD);
    MPI_Send(out, sizes[1], MPI_CHAR, 1, 6, MPI_COMM_WORLD);
    MPI_Rsend(out, 0, MPI_CHAR, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
    MPI_Send(out, sizes[2], MPI_CHAR, 1, 5, MPI_COMM_WORLD);
    MPI_Ssend(out, sizes[3], MPI_CHAR, 1, 5, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(in[0], room, MPI_CHAR, 0, 6, MPI_COMM_WORLD, &s), received(&s); /* the second overtakes the first */
    MPI_Recv(in[0], room, MPI_CHAR, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &s), received(&s);
    MPI_Recv(in[0], room, MPI_CHAR, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &s);
    check("source of no process", s.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Recv(in[0], room, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s), received(&s);
    MPI_Recv(in[0], room, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &s), received(&s);
  }
}

/* Receives with wildcards that are posted before others, and are completed after them. */
static void out_of_order(void) {
  MPI_Request r[many];
  MPI_Status s[many];
  int i = 0, which = 0, done = 0, flag = 0, indices[many];
  if (rank == 1) {
    MPI_Irecv(in[0], room, MPI_CHAR, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(in[1], room, MPI_CHAR, 0, 7, MPI_COMM_WORLD, &r[1]);
    MPI_Irecv(in[2], room, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &r[2]);
    MPI_Irecv(in[3], room, MPI_CHAR, 0, 7, MPI_COMM_WORLD, &r[3]);
    MPI_Irecv(in[4], room, MPI_CHAR, 0, 8, MPI_COMM_WORLD, &r[4]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 4; i >= 0; --i) MPI_Wait(&r[i], &s[i]), check("request", r[i] == MPI_REQUEST_NULL, 1);
    for (i = 0; i < 5; ++i) received(&s[i]);
    MPI_Wait(&r[0], &s[0]); /* of no request: nothing is received */
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; rank == 0 && i < 4; ++i) MPI_Send(out, sent(1, 7), MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(out, sent(1, 8), MPI_CHAR, 1, 8, MPI_COMM_WORLD);
  }
  /* Completed by each of the functions. */
  for (i = 0; i < many; ++i) MPI_Irecv(in[i], room, MPI_CHAR, prev, 10 + i % 2, MPI_COMM_WORLD, &r[i]);
  for (i = 0; i < many; ++i) MPI_Send(out, sent(next, 10 + i % 2), MPI_CHAR, next, 10 + i % 2, MPI_COMM_WORLD);
  MPI_Waitany(many, r, &which, &s[0]), received(&s[0]);
  while (MPI_Testany(many, r, &which, &flag, &s[0]), flag == 0) rest();
  received(&s[0]);
  MPI_Waitsome(many, r, &done, indices, s);
  for (i = 0; i < done; ++i) received(&s[i]);
  MPI_Testsome(many, r, &which, indices, s);
  for (i = 0; i < which && which != MPI_UNDEFINED; ++i) received(&s[i]);
  done += which == MPI_UNDEFINED ? 0 : which;
  for (i = 0; i < many && done < many - 2; ++i) {
    if (r[i] == MPI_REQUEST_NULL) continue;
    while (MPI_Test(&r[i], &flag, &s[0]), flag == 0) rest();
    received(&s[0]), ++done;
  }
  MPI_Waitany(many, r, &which, MPI_STATUS_IGNORE);
  check("no active request", which, MPI_UNDEFINED);
  /* Statuses that the program ignores; the sizes are known to the sender alone. */
  for (i = 0; i < 4; ++i) MPI_Irecv(in[i], room, MPI_CHAR, prev, 20, MPI_COMM_WORLD, &r[i]);
  for (i = 0; i < 4; ++i) MPI_Isend(out, sent(next, 20), MPI_CHAR, next, 20, MPI_COMM_WORLD, &r[4 + i]);
  MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
  MPI_Irecv(in[0], room, MPI_CHAR, prev, 20, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(out, sent(next, 20), MPI_CHAR, next, 20, MPI_COMM_WORLD, &r[1]);
  while (MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE), flag == 0) rest();
  MPI_Barrier(MPI_COMM_WORLD);
}

static void cancelled(void) {
  MPI_Request r;
  MPI_Status s;
  int flag = 0;
  MPI_Irecv(in[1], room, MPI_CHAR, prev, 30, MPI_COMM_WORLD, &r);
  MPI_Cancel(&r);
  MPI_Wait(&r, &s);
  MPI_Test_cancelled(&s, &flag);
  check("cancelled", flag, 1);
  MPI_Barrier(MPI_COMM_WORLD); /* before a message could be taken by the first receive */
  MPI_Sendrecv(out, sent(next, 30), MPI_CHAR, next, 30, in[0], room, MPI_CHAR, prev, 30, MPI_COMM_WORLD, &s);
  received(&s);
}

static void exchanges(void) {
  MPI_Request r[2];
  MPI_Status s;
  MPI_Message found;
  int bytes = 0, i = 0, flag = 0;
  /* The same size both ways, because the buffer is replaced. */
  const int size = 5000;
  fprintf(record, "sent %d %d %d\n", next, 40, size);
  MPI_Sendrecv_replace(out, size, MPI_CHAR, next, 40, prev, 40, MPI_COMM_WORLD, &s), received(&s);
  for (i = 0; i < 3; ++i)
    MPI_Isend(out, sent(next, 41), MPI_CHAR, next, 41, MPI_COMM_WORLD, &r[0]), MPI_Request_free(&r[0]);
  MPI_Mprobe(prev, 41, MPI_COMM_WORLD, &found, &s); /* takes the first of three, which is received last */
  MPI_Get_count(&s, MPI_CHAR, &bytes);
  for (i = 0; i < 2; ++i) {
    MPI_Probe(MPI_ANY_SOURCE, 41, MPI_COMM_WORLD, &s);
    MPI_Recv(in[0], room, MPI_CHAR, s.MPI_SOURCE, 41, MPI_COMM_WORLD, &s), received(&s);
  }
  MPI_Mrecv(in[0], bytes, MPI_CHAR, &found, &s), received(&s);
  MPI_Improbe(prev, 42, MPI_COMM_WORLD, &flag, &found, MPI_STATUS_IGNORE);
  check("no message", flag, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(out, sent(next, 42), MPI_CHAR, next, 42, MPI_COMM_WORLD);
  while (MPI_Improbe(prev, 42, MPI_COMM_WORLD, &flag, &found, MPI_STATUS_IGNORE), flag == 0) rest();
  MPI_Imrecv(in[0], room, MPI_CHAR, &found, &r[0]);
  MPI_Wait(&r[0], &s), received(&s);
  /* To itself. */
  MPI_Irecv(in[0], room, MPI_CHAR, 0, 43, MPI_COMM_SELF, &r[0]);
  MPI_Send(out, sent(rank, 43), MPI_CHAR, 0, 43, MPI_COMM_SELF);
  MPI_Wait(&r[0], &s), received_from(&s, rank);
  /* Persistent. */
  const int bytes_sent = 1 + serial;
  MPI_Send_init(out, bytes_sent, MPI_CHAR, next, 44, MPI_COMM_WORLD, &r[0]);
  MPI_Recv_init(in[0], room, MPI_CHAR, prev, 44, MPI_COMM_WORLD, &r[1]);
  for (i = 0; i < 3; ++i) {
    fprintf(record, "sent %d %d %d\n", next, 44, bytes_sent);
    MPI_Startall(2, r);
    MPI_Wait(&r[1], &s), received(&s);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    check("a persistent request remains", r[0] != MPI_REQUEST_NULL, 1);
  }
  ++serial;
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

/* The same ranks and tags in several communicators: only these distinguish the messages. */
static void communicators(void) {
  MPI_Comm c[6], half;
  MPI_Group all, reversed;
  MPI_Status s;
  int i = 0, n = 0, from = 0;
  const int order[ranks] = {2, 1, 0};
  MPI_Comm_dup(MPI_COMM_WORLD, &c[0]);
  MPI_Comm_dup(c[0], &c[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &c[2]); /* reversed */
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, ranks, order, &reversed);
  MPI_Comm_create(c[0], reversed, &c[3]);
  MPI_Comm_create_group(MPI_COMM_WORLD, reversed, 3, &c[4]);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half); /* {1, 2} and {0} */
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 9, &c[5]);
  for (n = 0; n < 5; ++n) {
    int own = 0;
    MPI_Comm_rank(c[n], &own);
    const int to = (own + 1) % ranks, there = n < 2 ? to : order[to];
    MPI_Request r[2];
    MPI_Isend(out, sent(there, 50), MPI_CHAR, to, 50, c[n], &r[0]);
    MPI_Isend(out, sent(there, 50), MPI_CHAR, to, 50, c[n], &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  for (n = 4; n >= 0; --n) /* in another order than they were sent */
    for (i = 0; i < 2; ++i) {
      MPI_Recv(in[0], room, MPI_CHAR, MPI_ANY_SOURCE, 50, c[n], &s);
      from = n < 2 ? s.MPI_SOURCE : order[s.MPI_SOURCE];
      received_from(&s, from);
    }
  if (rank == 0) { /* the remote ranks 0 and 1 are 1 and 2 of the world */
    for (i = 0; i < 2; ++i) MPI_Send(out, sent(1 + i, 51), MPI_CHAR, i, 51, c[5]);
    for (i = 0; i < 2; ++i)
      MPI_Recv(in[0], room, MPI_CHAR, MPI_ANY_SOURCE, 52, c[5], &s), received_from(&s, 1 + s.MPI_SOURCE);
  } else {
    MPI_Recv(in[0], room, MPI_CHAR, 0, 51, c[5], &s), received_from(&s, 0);
    MPI_Send(out, sent(0, 52), MPI_CHAR, 0, 52, c[5]);
  }
  for (n = 0; n < 6; ++n) MPI_Comm_free(&c[n]);
  MPI_Comm_free(&half);
  MPI_Group_free(&all);
  MPI_Group_free(&reversed);
}

/* A communicator that is freed while persistent requests exist: the requests are the last to use it. */
static void freed_before_its_requests(void) {
  MPI_Comm c;
  MPI_Request r[2];
  MPI_Status s;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  MPI_Send_init(out, sent(next, 53), MPI_CHAR, next, 53, c, &r[0]);
  MPI_Recv_init(in[0], room, MPI_CHAR, prev, 53, c, &r[1]);
  MPI_Startall(2, r);
  MPI_Wait(&r[1], &s), received(&s);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Comm_free(&c);
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
  MPI_Comm_dup(MPI_COMM_WORLD, &c); /* of one request that was never started */
  MPI_Send_init(out, 1, MPI_CHAR, next, 53, c, &r[0]);
  MPI_Comm_free(&c);
  MPI_Request_free(&r[0]);
}

/* Each rank computes after the one before has: 50 ms of processor time. */
static void chain(void) {
  MPI_Status s;
  struct timespec begin, now;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank > 0) MPI_Recv(in[0], room, MPI_CHAR, prev, 60, MPI_COMM_WORLD, &s), received(&s);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < 0.05);
  if (next > 0) MPI_Send(out, sent(next, 60), MPI_CHAR, next, 60, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int n = 0;
  char path[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (n != ranks || argc != 2) MPI_Abort(MPI_COMM_WORLD, 4);
  next = (rank + 1) % ranks, prev = (rank + ranks - 1) % ranks;
  snprintf(path, sizeof path, "%s/%d.txt", argv[1], rank);
  record = fopen(path, "w");
  if (record == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
  blocking();
  out_of_order();
  cancelled();
  exchanges();
  communicators();
  freed_before_its_requests();
  chain();
  fclose(record);
  MPI_Finalize();
  if (rank == 0) printf("all messages have arrived\n");
  return 0;
}
