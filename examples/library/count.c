/* count: counts the calls of functions of a running process, and shows the most called ones when it ends or the time is over.
 *
 *   cc count.c $(pkg-config --cflags --libs spile) -o count
 *   ./count PID 'FUNCTIONS' SECONDS        FUNCTIONS as in a probe point: "f*", "*@file.c"
 */
#include <spile.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int failed(const spile_session* session) {
  const spile_message* error = spile_last_error(session);
  if (!error) {
    fprintf(stderr, "count: memory is used up\n");
    return 1;
  }
  if (error->line) fprintf(stderr, "%s:%u:%u: ", error->file, error->line, error->column);
  fprintf(stderr, "%s\n%s", error->text, error->excerpt);
  if (*error->hint) fprintf(stderr, "  hint: %s\n", error->hint);
  return 1;
}

static int more_calls(const void* a, const void* b) {
  const spile_element *first = a, *second = b;
  return (first->value.number < second->value.number) - (first->value.number > second->value.number);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: count PID FUNCTIONS SECONDS\n");
    return 2;
  }
  spile_session* session = spile_new();
  const char* script = "global calls  probe process.function(@1) { calls[ppfunc()]++ }";
  if (!session || spile_set_script(session, script) != SPILE_OK || spile_add_argument(session, argv[2]) != SPILE_OK || spile_add_process(session, (pid_t)atol(argv[1])) != SPILE_OK ||
      spile_start(session) != SPILE_OK) {
    int status = failed(session);
    spile_free(session);
    return status;
  }
  printf("armed\n");
  fflush(stdout);

  /* The script prints nothing: there are no events, and the wait ends with the time or with the process. */
  const spile_event* event;
  int result = spile_next_event(session, (int)(atof(argv[3]) * 1000), &event);
  if (result == SPILE_TIMEOUT) {
    spile_stop(session);
    while ((result = spile_next_event(session, -1, &event)) == SPILE_OK) {
    }
  }

  const spile_snapshot* snapshot = NULL;
  if (result < 0 || spile_read(session, -1, &snapshot) != SPILE_OK) {
    int status = failed(session);
    spile_free(session);
    return status;
  }
  const spile_global* calls = &snapshot->globals[0];
  spile_element* rows = malloc((calls->element_count + 1) * sizeof *rows);
  for (size_t i = 0; rows && i < calls->element_count; i++) rows[i] = calls->elements[i];
  if (rows) qsort(rows, calls->element_count, sizeof *rows, more_calls);
  for (size_t i = 0; rows && i < calls->element_count && i < 20; i++) printf("%12lld %s\n", (long long)rows[i].value.number, rows[i].keys[0].text);
  if (snapshot->skipped) printf("%llu calls were not counted\n", (unsigned long long)snapshot->skipped);
  free(rows);
  spile_free(session);
  return 0;
}
