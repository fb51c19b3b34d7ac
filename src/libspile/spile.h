/* spile.h: run spile's probe scripts from a program of your own (docs/library-api.md).
 *
 *   spile_session* session = spile_new();
 *   spile_set_script(session, "global n  probe process.function(\"main\") { n++ printf(\"%d\\n\", n) }");
 *   spile_set_command(session, "./program");
 *   if (spile_start(session) == SPILE_OK) {
 *     const spile_event* event;
 *     while (spile_next_event(session, -1, &event) == SPILE_OK) fwrite(event->text, 1, event->text_size, stdout);
 *   }
 *   if (spile_last_error(session)) fprintf(stderr, "%s\n", spile_last_error(session)->text);
 *   spile_free(session);
 *
 * A session is one run of one script. The library starts the program `spile` for it and reads what that finds: rights, ptrace and
 * everything else are as if the user had started `spile`. It is found in this order: the variable SPILE_PROGRAM, the folder that
 * belongs to the library's own, PATH.
 *
 * Threads: a session is used by one thread at a time; spile_stop() and spile_descriptor() alone may be called by any thread while
 * another one is inside a function. Sessions know nothing of each other: any number may run at once. The library starts no
 * thread, handles no signal, and changes nothing that belongs to the process.
 *
 * Errors: functions that return int return SPILE_OK, or another value of enum spile_result; those that are negative are errors,
 * and spile_last_error() has the details.
 *
 * Memory: what a pointer that was returned points to belongs to the session; each declaration says how long it is valid. Texts
 * end with a NUL that is not counted in their size; those of scripts and traced programs may have NULs and any other bytes before
 * it. Texts are never null.
 *
 * Numbers that overflow in a script wrap around, as everywhere in spile.
 */
#ifndef SPILE_H
#define SPILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum spile_result {
  SPILE_OK = 0,
  SPILE_TIMEOUT = 1,         /* nothing came within the time */
  SPILE_END = 2,             /* the run has ended, and all is read */
  SPILE_UNKNOWN = 3,         /* the value is not known */
  SPILE_NOTE = 10,           /* as the code of a message: what -v prints */
  SPILE_WARNING = 11,        /* as the code of a message */
  SPILE_ERROR_ARGUMENT = -1, /* an argument is null, empty or has no meaning */
  SPILE_ERROR_STATE = -2,    /* not at this time: before spile_start(), or after it */
  SPILE_ERROR_MEMORY = -3,   /* memory or descriptors are used up */
  SPILE_ERROR_PROGRAM = -4,  /* the program spile can't be started, or is of a version that the library does not understand */
  SPILE_ERROR_SCRIPT = -5,   /* the script is wrong; the message has the range */
  SPILE_ERROR_SYSTEM = -6,   /* the system refused: no such process, no right to trace it, no such function ... */
  SPILE_ERROR_HANDLER = -7,  /* handlers raised errors while the script ran: division by 0, a bad pointer ... */
  SPILE_ERROR_DIED = -8      /* spile was killed, or crashed */
};

/* What spile says about a run: an error, a warning, or a line of -v. */
typedef struct spile_message {
  int32_t code;                  /* a negative value of enum spile_result, SPILE_WARNING or SPILE_NOTE */
  uint32_t line, column;         /* where in the script, from 1; the column counts bytes. 0: it is about no place */
  uint32_t end_line, end_column; /* behind the last byte; 0: not known */
  uint32_t reserved;
  const char* text;    /* what is wrong: "unresolved function 'prnt'" */
  const char* hint;    /* what to do about it; "": none */
  const char* file;    /* "<input>", the script's file, or a file of the library of scripts; "": it is about no place */
  const char* excerpt; /* that line of the script, and a caret below the place; with other places that matter. "": none */
} spile_message;

enum spile_type { SPILE_NUMBER = 1, SPILE_TEXT = 2, SPILE_STATISTICS = 3 };

/* A number, or a text. */
typedef struct spile_value {
  int32_t type; /* SPILE_NUMBER or SPILE_TEXT */
  uint32_t reserved;
  int64_t number;   /* SPILE_NUMBER */
  const char* text; /* SPILE_TEXT; else "" */
  size_t size;      /* bytes of text */
} spile_value;

/* What one printf, print or println of a handler printed. */
typedef struct spile_event {
  int64_t time_ns;   /* when, since 1970, UTC */
  const char* probe; /* the point, as spile has resolved it: process("/usr/bin/x").function("f@a.c:3"); "": not known */
  const char* text;  /* as it would have been printed */
  size_t text_size;  /* bytes */
  /* what was printed, in order: arguments but constants, which are part of the format; of a histogram or a stack its text */
  const spile_value* values;
  size_t value_count;
  uint32_t cpu;    /* on which the handler ran */
  int32_t process; /* whose handler it was; 0: not known, as of handlers in the kernel and in spile */
  /* on which the handler ran, as tid() has it; -1: not known, as of handlers in the kernel and of timers */
  int64_t thread;
} spile_event;

/* What was added with <<<. */
typedef struct spile_statistics {
  uint64_t count;
  int64_t sum, min, max; /* 0 where count is 0 */
  double average;        /* sum / count; 0 where count is 0 */
} spile_statistics;

/* An element of an array; of a global that is not an array, its value. */
typedef struct spile_element {
  const spile_value* keys; /* null: not an array */
  size_t key_count;
  spile_value value;           /* of a number or a text */
  spile_statistics statistics; /* of statistics; else all 0 */
  const void* sketch;          /* for spile_percentile() */
} spile_element;

typedef struct spile_global {
  const char* name;
  int32_t type;                  /* enum spile_type, of the values */
  uint32_t key_count;            /* 0: not an array */
  const spile_element* elements; /* of a global that is not an array: one, or none where it was not read */
  size_t element_count;
  uint64_t left_out; /* elements beyond 100,000 */
  int32_t is_known;  /* 0: handlers held its lock all the time, elements may be missing */
  int32_t reserved;
} spile_global;

typedef struct spile_probe {
  const char* point;  /* resolved; of several places as the script has it */
  const char* place;  /* in the script: "a.stp:3:5" */
  uint64_t places;    /* where it is armed */
  uint64_t hits;      /* handlers that have run; 0 where is_counted is 0 */
  int32_t is_counted; /* 0: hits are not counted for this kind */
  int32_t reserved;
} spile_probe;

/* What a run has at a moment. */
typedef struct spile_snapshot {
  int64_t time_ns;             /* when, since 1970, UTC */
  const spile_global* globals; /* in the order of the script */
  size_t global_count;
  const spile_probe* probes;
  size_t probe_count;
  uint64_t skipped;       /* hits whose handler could not run */
  uint64_t lost_records;  /* events that were lost: buffers were full, or the program did not read them in time */
  uint64_t lost_elements; /* updates of elements that arrays had no room for */
  /* of those that had come: dropped, the oldest first, while spile_read() waited and nobody took them */
  uint64_t dropped_events;
  int32_t is_final; /* 1: the run has ended, and this is what there was when its probes were removed */
  int32_t reserved;
} spile_snapshot;

typedef struct spile_session spile_session;

/* Returns the version of the library, "0.1.0". */
const char* spile_version(void);

/* Returns a new session; null: memory is used up. */
spile_session* spile_new(void);

/* Ends the run, waits until spile has restored the traced processes (for at most 30 s, then it is killed: they run on with the
   probes, and the next spile removes these), and frees * everything. In a child that was made by fork(2) it only frees. Null
   is allowed. */
void spile_free(spile_session* session);

/* Set up a run; before spile_start(). Texts are copied. One of spile_set_script(), spile_set_script_file() and
   spile_set_verb() is needed; the last one holds. Messages name the first * "<input>"; its text has at most 100,000 bytes. */
int spile_set_script(spile_session* session, const char* text);
int spile_set_script_file(spile_session* session, const char* path);
/* Sets a verb of spile(1) that traces: "top", "lat", "trace", "flame" ... Its words and options are those of
   spile_add_argument(): "f*", "--callers", "--every=1s". Events and globals are those of * the script that `spile --script
   VERB ...` prints, as with spile record; the verb's own table or file is not made. */
int spile_set_verb(spile_session* session, const char* verb);
/* Adds an argument of the script: $1 and @1 are the first; or a word of the verb. */
int spile_add_argument(spile_session* session, const char* argument);
/* Adds a process to trace, with its threads and children (-x). */
int spile_add_process(spile_session* session, pid_t pid);
/* Sets a command to start and to trace (-c), as a shell takes it; the run ends when it ends. Its output is the caller's, its
   input /dev/null. Not together with processes. */
int spile_set_command(spile_session* session, const char* command);
/* Adds another option of spile(1), as one word: "-DMAXMAPENTRIES=10000", "--runtime=inproc", "-T10". */
int spile_add_option(spile_session* session, const char* option);

/* Starts the run: compiles the script and arms its probes. Returns when they are armed, or the run is over already (a script
   that calls exit() at once). * SPILE_END: spile_stop() came before. Errors: STATE, ARGUMENT (no script or verb was set),
   PROGRAM, SCRIPT, SYSTEM, DIED. After an error nothing is traced. */
int spile_start(spile_session* session);

/* Waits for the next event for at most timeout_ms (-1: without end; 0: not at all). SPILE_OK: *event is valid until the next
   call for the session. SPILE_END: there will be none. * Events come in order of time, some milliseconds after they were
   printed. Signals do not end the wait. Errors: STATE; HANDLER, SYSTEM and DIED when all events are read, as the * run has
   ended by that; the same again with each later call. */
int spile_next_event(spile_session* session, int timeout_ms, const spile_event** event);

/* Returns a descriptor for poll(2): it is readable when spile_next_event(session, 0, ...) is to be called, until that returns
   SPILE_TIMEOUT. -1: the run has not begun, or is over. * The caller must neither read nor close it. */
int spile_descriptor(spile_session* session);

/* Reads all globals and what the probes have counted: those of now, or of the end. Waits for at most timeout_ms (as above).
   *snapshot is valid until the next call for the * session. Events that come meanwhile are kept for spile_next_event(), up to
   64 MiB. Errors: STATE (before spile_start()), DIED (with what is known in *snapshot, else null). */
int spile_read(spile_session* session, int timeout_ms, const spile_snapshot** snapshot);

/* Computes the value that `percent` (0 to 100) of the values of an element do not exceed, within 1/128 of it. SPILE_UNKNOWN:
   nothing was added, or the element is of an array and the * script does not ask for @percentile of it. REQUIRES: the snapshot
   of the element is valid. */
int spile_percentile(const spile_element* element, double percent, int64_t* value);

/* Has the run end: probes are removed, end probes run, what they print are the last events. Returns at once;
   spile_next_event() returns SPILE_END when it is done. Any thread. */
int spile_stop(spile_session* session);

/* Returns the error of the last function that failed; null: none has. Valid until the next call for the session. */
const spile_message* spile_last_error(const spile_session* session);

/* Returns what spile has said so far, in order; *count: how many. At most 10,000 are kept, the first ones. Valid until the
   next call for the session. */
const spile_message* spile_messages(const spile_session* session, size_t* count);

#ifdef __cplusplus
}
#endif

#endif
