/* Measurement of threaded programs in C or C++ that do not use the runtime of Parallax.
 *
 *   static plx_probe_timer solve;                      once:  solve = plx_probe_timer_named("solve");
 *   plx_probe_init();                                  PLX_PROFILE=1, PLX_TRACE=1, ... select the measurements
 *   plx_probe_start(solve); ... plx_probe_stop(solve); nested like calls; per thread
 *
 * The files are written at the end of the program (docs/probe.md, "Without the runtime"). Under plx-exec the calls
 * record into its measurement. If measurement is off, a call costs a nanosecond or two and does nothing. Thread safety:
 * all functions, unless stated otherwise; timers belong to the thread that started them. Errors: no function ends the
 * program; failures return 0 or NULL, and plx_probe_error() gives the reason in one line. Example:
 * tests/exec/any_program.c. C++: attach/zone.hpp. */
#ifndef PLX_PROBE_H
#define PLX_PROBE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A named timer. 0 is a timer without a name. */
typedef uint32_t plx_probe_timer;

/* No object; see plx_probe_start_on. */
#define PLX_PROBE_NO_KEY UINT64_MAX

/* ---- The measurement ---- */

/* Begins the measurement with settings from the environment (PLX_PROFILE, PLX_TRACE, PLX_OUTPUT, ... and the file of
 * PLX_CONFIG). Returns 1 if measuring, 0 if no measurement is requested or on an error. If called again, or under
 * plx-exec, only returns whether it measures. The calling thread gets the row "main". */
int plx_probe_init(void);
/* As plx_probe_init, also reading and removing arguments --plx:profile=... Requires: argv as passed to main. */
int plx_probe_init_arguments(int* argc, char** argv);
/* Ends the measurement and writes the files; also called at exit. Under plx-exec it has no effect. */
void plx_probe_finalize(void);
/* Returns 1 while measuring. */
int plx_probe_measuring(void);
/* Writes the files with the current state and continues. Returns 1, or 0 on an error. Cost: milliseconds; other threads
 * wait for some microseconds. */
int plx_probe_write(void);
/* The last error of this thread in one line, or "". Valid until the next error of this thread. */
const char* plx_probe_error(void);

/* ---- Timers ---- */

/* The timer with that name; equal names give the same timer. Keep it, since the call takes a lock. May precede init. */
plx_probe_timer plx_probe_timer_named(const char* name);
/* Starts a timer; the timer running in this thread is interrupted until the stop. */
void plx_probe_start(plx_probe_timer t);
/* As plx_probe_start, for the object `key` (such as a mesh block), over which costs are also summed. */
void plx_probe_start_on(plx_probe_timer t, uint64_t key);
/* Stops timer `t`, which should be the innermost one. Timers started within `t` are stopped too; if `t` does not run in
 * this thread, nothing happens. Both cases are counted and reported at the end. */
void plx_probe_stop(plx_probe_timer t);

/* A timer removed from its thread. Plain data; it may be discarded. */
typedef struct plx_probe_paused {
  uint64_t key;
  uint64_t begin;
  uint64_t earlier;
  uint64_t away;
  plx_probe_timer timer;
  int32_t valid;
} plx_probe_paused;

/* Removes the innermost timer from this thread, for work that continues later, possibly in another thread. */
plx_probe_paused plx_probe_yield(void);
/* Continues the timer in this thread; it counts as one call. Requires: resumed at most once. */
void plx_probe_resume(plx_probe_paused timer);

/* ---- Values ---- */

/* Records a value: count, mean, extremes and deviation go to samples.csv, and a curve to the trace. */
void plx_probe_sample(const char* name, double value);
/* Records an event, shown in the trace. */
void plx_probe_mark(const char* text);

/* A number that the program adds to. */
typedef struct plx_probe_counter plx_probe_counter;
/* The counter with a name such as "/mesh/count/blocks"; NULL if the name is malformed. May be called before init. */
plx_probe_counter* plx_probe_counter_named(const char* name, const char* unit, const char* help);
/* Adds n, which may be negative. NULL is ignored. Cost: a locked addition. */
void plx_probe_count(plx_probe_counter* c, double n);
/* Adds a counter whose value is read by calling `pull` with `context`, from any thread, one at a time, until it is
 * removed. Returns its number, or 0 if the name is malformed or taken, or measurement is off. */
int plx_probe_add_counter(const char* name, const char* unit, const char* help, double (*pull)(void* context),
                          void* context);
/* On return the function no longer runs. */
void plx_probe_remove_counter(int number);

/* ---- Names ---- */

/* Sets the name of this thread in the files; the system's name of the thread is unchanged. */
void plx_probe_name_thread(const char* name);
/* Sets the name of a mutex, condition variable, ... in waits.csv (written by plx-exec). */
void plx_probe_name_object(const void* object, const char* name);

#ifdef __cplusplus
}
#endif
#endif
