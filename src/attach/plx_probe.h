/* Measurement of any program of threads, in C or C++, without the runtime of Parallax.
 *
 *   static plx_probe_timer solve;                      once:  solve = plx_probe_timer_named("solve");
 *   plx_probe_init();                                  PLX_PROFILE=1, PLX_TRACE=json, ... say what is measured
 *   plx_probe_start(solve); ... plx_probe_stop(solve); nested as calls are; per thread
 *
 * At the end of the program the files are written (docs/probe.md, "Without the runtime"). Under plx-exec the same calls
 * go into its measurement. While nothing is measured a call costs a nanosecond or two, and does nothing.
 * Thread safety: everything, unless it says otherwise; timers belong to the thread that started them.
 * Errors: nothing here ends the program; what cannot be is 0 or NULL, and plx_probe_error() says why in one line.
 * Example: tests/exec/any_program.c. C++: attach/zone.hpp. */
#ifndef PLX_PROBE_H
#define PLX_PROBE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A name of what is timed. 0 is a timer without a name. */
typedef uint32_t plx_probe_timer;

/* Stands for "on no object in particular", see plx_probe_start_on. */
#define PLX_PROBE_NO_KEY UINT64_MAX

/* ---- The measurement ---- */

/* Begins, as the environment says (PLX_PROFILE, PLX_TRACE, PLX_OUTPUT, ... and the file of PLX_CONFIG). 1: it measures;
 * 0: nothing is asked for, or an error. Again, or under plx-exec: says whether it measures. The thread that calls it
 * gets the row "main". */
int plx_probe_init(void);
/* The same, and the arguments --plx:profile=..., which are taken out. Requires: argv as main gets it. */
int plx_probe_init_arguments(int* argc, char** argv);
/* Ends and writes the files; done at exit anyway. Under plx-exec nothing happens before the end of the program. */
void plx_probe_finalize(void);
/* Whether it measures now. */
int plx_probe_measuring(void);
/* Writes the files as things are now, and goes on. 1, or 0 with an error. Cost: milliseconds; other threads wait for
 * some microseconds. */
int plx_probe_write(void);
/* The last error of this thread in one line, "" without one. Valid until the next error of this thread. */
const char* plx_probe_error(void);

/* ---- Timers ---- */

/* The timer of a name; the same for the same name. Keep it: this takes a lock. Can be called before init. */
plx_probe_timer plx_probe_timer_named(const char* name);
/* Starts; what runs now in this thread is interrupted until the stop. */
void plx_probe_start(plx_probe_timer t);
/* The same, for the object `key` (a block of a mesh, a chain): its costs are summed too. */
void plx_probe_start_on(plx_probe_timer t, uint64_t key);
/* Stops the innermost timer, which is `t`. If it is another one that is started within `t`, that is stopped as well; if
 * `t` is not started here, nothing happens. Both are counted and reported at the end. */
void plx_probe_stop(plx_probe_timer t);

/* A timer that was taken off its thread. Plain data: it may be lost without harm. */
typedef struct plx_probe_paused {
  uint64_t key;
  uint64_t begin;
  uint64_t earlier;
  uint64_t away;
  plx_probe_timer timer;
  int32_t valid;
} plx_probe_paused;

/* Takes the innermost timer off this thread, for something that goes on later, perhaps in another thread. */
plx_probe_paused plx_probe_yield(void);
/* Goes on with it here; it is one call, however often it is interrupted. Requires: each is resumed at most once. */
void plx_probe_resume(plx_probe_paused timer);

/* ---- Values ---- */

/* A value at this moment: number, mean, extremes and deviation are in samples.csv, and a curve is in the trace. */
void plx_probe_sample(const char* name, double value);
/* Something that happened now, shown in the trace. */
void plx_probe_mark(const char* text);

/* A number that the program adds to. */
typedef struct plx_probe_counter plx_probe_counter;
/* The counter of a name such as "/mesh/count/blocks"; NULL when the name is malformed. Can be called before init. */
plx_probe_counter* plx_probe_counter_named(const char* name, const char* unit, const char* help);
/* Adds; negative values too. Nothing happens with NULL. Cost: a locked addition. */
void plx_probe_count(plx_probe_counter* c, double n);
/* A counter whose value is asked for: `pull` is called with `context` from any thread, one at a time, until it is
 * removed. Its number, or 0 when the name is malformed or taken, or nothing is measured. */
int plx_probe_add_counter(const char* name, const char* unit, const char* help, double (*pull)(void* context),
                          void* context);
/* When it returns, the function runs no more. */
void plx_probe_remove_counter(int number);

/* ---- Names ---- */

/* The name of this thread in the files (the system's name of the thread stays). */
void plx_probe_name_thread(const char* name);
/* The name of a mutex, a condition variable, ... in waits.csv (which plx-exec writes). */
void plx_probe_name_object(const void* object, const char* name);

#ifdef __cplusplus
}
#endif
#endif
