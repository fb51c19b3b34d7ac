# libspile from C: two sessions in two threads count exactly what their commands do, in a program that ignores SIGCHLD and has no
# standard input; misuse is an error, not a crash; nothing is left of a session: no descriptor, child or thread.
from libspile_install import *

source = r"""
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(condition) ((condition) ? (void)0 : (printf("line %d: not %s\n", __LINE__, #condition), exit(1)))

static int entries(const char* path) {
  DIR* folder = opendir(path);
  int count = 0;
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

static long number_of(const spile_snapshot* snapshot, const char* name) {
  for (size_t i = 0; i < snapshot->global_count; i++)
    if (strcmp(snapshot->globals[i].name, name) == 0) return (long)snapshot->globals[i].elements[0].value.number;
  return -1;
}

static void* count(void* command) {
  spile_session* session = spile_new();
  EXPECT(spile_set_script(session, "global n, of, t probe process.function(\"foo\") { n++ of[$arg % 3, \"rest\"]++ t <<< $arg printf(\"%d;%s;%s\\n\", $arg, ppfunc(), @1) } probe end { print(\"end\") }") == SPILE_OK);
  EXPECT(spile_set_command(session, command) == SPILE_OK && spile_add_argument(session, "an argument") == SPILE_OK && spile_add_option(session, "-s8") == SPILE_OK);
  EXPECT(spile_descriptor(session) == -1);
  EXPECT(spile_start(session) == SPILE_OK && spile_last_error(session) == NULL);
  const spile_event* event;
  long events = 0, sum = 0, ends = 0, result;
  int64_t last = 0;
  struct pollfd polled = {spile_descriptor(session), POLLIN, 0};
  EXPECT(polled.fd > 2);
  while ((result = spile_next_event(session, 0, &event)) != SPILE_END) {
    if (result == SPILE_TIMEOUT) {
      EXPECT(poll(&polled, 1, 60000) == 1);
      continue;
    }
    EXPECT(result == SPILE_OK && event->time_ns >= last && strlen(event->text) == event->text_size);
    last = event->time_ns;
    if (strcmp(event->text, "end") == 0) {
      ends++;
      EXPECT(strcmp(event->probe, "end") == 0 && event->value_count == 0);
      continue;
    }
    char text[100];
    EXPECT(event->process > 1 && event->thread >= event->process && event->value_count == 2 && event->values[0].type == SPILE_NUMBER && event->values[1].type == SPILE_TEXT && strcmp(event->values[1].text, "foo") == 0);
    snprintf(text, sizeof text, "%ld;foo;an argument\n", (long)event->values[0].number);
    EXPECT(strcmp(event->text, text) == 0 && strstr(event->probe, "function(\"foo"));
    events++;
    sum += event->values[0].number;
  }
  const spile_snapshot* end;
  EXPECT(ends == 1 && spile_read(session, 0, &end) == SPILE_OK && end->is_final && end->skipped == 0 && end->lost_records == 0 && end->dropped_events == 0);
  EXPECT(number_of(end, "n") == events && end->probes[0].hits == (uint64_t)events && end->probes[0].is_counted);
  const spile_global* of = &end->globals[1];
  long counted = 0;
  EXPECT(of->key_count == 2 && of->type == SPILE_NUMBER && of->is_known && of->element_count == 3);
  for (int i = 0; i < 3; i++) {
    EXPECT(of->elements[i].key_count == 2 && of->elements[i].keys[0].number < 3 && strcmp(of->elements[i].keys[1].text, "rest") == 0);
    counted += of->elements[i].value.number;
  }
  const spile_element* t = &end->globals[2].elements[0];
  int64_t median = 0;
  EXPECT(counted == events && end->globals[2].type == SPILE_STATISTICS && t->statistics.count == (uint64_t)events && t->statistics.sum == sum && t->statistics.min == 0);
  EXPECT(t->statistics.average == (double)sum / (double)events && spile_percentile(t, 50, &median) == SPILE_OK && labs((long)(median * 2 - t->statistics.max)) <= t->statistics.max / 60 + 2);
  EXPECT(spile_percentile(&of->elements[0], 50, &median) == SPILE_UNKNOWN && spile_percentile(t, 101, &median) == SPILE_ERROR_ARGUMENT);
  EXPECT(spile_next_event(session, -1, &event) == SPILE_END && spile_descriptor(session) == -1 && spile_stop(session) == SPILE_OK);
  spile_free(session);
  return (void*)events;
}

static void misuse(void) {
  const spile_event* event;
  const spile_snapshot* snapshot;
  size_t messages;
  spile_free(NULL);
  EXPECT(spile_set_script(NULL, "") == SPILE_ERROR_ARGUMENT && spile_start(NULL) == SPILE_ERROR_ARGUMENT && spile_stop(NULL) == SPILE_ERROR_ARGUMENT && !spile_last_error(NULL));
  spile_session* session = spile_new();
  EXPECT(spile_start(session) == SPILE_ERROR_ARGUMENT && strstr(spile_last_error(session)->text, "no script"));
  EXPECT(spile_next_event(session, 0, &event) == SPILE_ERROR_STATE && spile_read(session, 0, &snapshot) == SPILE_ERROR_STATE && snapshot == NULL);
  EXPECT(spile_set_script(session, NULL) == SPILE_ERROR_ARGUMENT && spile_set_script_file(session, "-") == SPILE_ERROR_ARGUMENT && spile_set_verb(session, NULL) == SPILE_ERROR_ARGUMENT && spile_set_verb(session, "-x") == SPILE_ERROR_ARGUMENT && spile_add_process(session, 0) == SPILE_ERROR_ARGUMENT);
  EXPECT(spile_add_option(session, "word") == SPILE_ERROR_ARGUMENT && spile_add_option(session, "--") == SPILE_ERROR_ARGUMENT && spile_set_command(session, "") == SPILE_ERROR_ARGUMENT);
  EXPECT(spile_set_script(session, "probe begin { println(\"-x\") exit() }") == SPILE_OK && spile_start(session) == SPILE_OK && spile_start(session) == SPILE_ERROR_STATE);
  EXPECT(spile_set_script(session, "") == SPILE_ERROR_STATE && spile_next_event(session, -1, NULL) == SPILE_ERROR_ARGUMENT);
  EXPECT(spile_next_event(session, -1, &event) == SPILE_OK && strcmp(event->text, "-x\n") == 0 && spile_next_event(session, -1, &event) == SPILE_END);
  EXPECT(spile_messages(session, &messages) != NULL || messages == 0);
  spile_free(session);
  // What the program spile rejects.
  session = spile_new();
  spile_set_script(session, "probe begin { exit() }");
  spile_add_option(session, "--no-such-option");
  EXPECT(spile_start(session) == SPILE_ERROR_SYSTEM && strstr(spile_last_error(session)->text, "unknown option '--no-such-option'") && *spile_last_error(session)->hint);
  spile_free(session);
  // Stopped before it began; and freed in a forked child, which leaves the parent's alone.
  session = spile_new();
  spile_set_script(session, "probe timer.ms(1) { print(\"tick\") } probe end { print(\"end\") }");
  EXPECT(spile_start(session) == SPILE_OK);
  pid_t child = fork();
  if (child == 0) {
    spile_free(session);
    _exit(0);
  }
  EXPECT(waitpid(child, NULL, 0) == child);
  EXPECT(spile_next_event(session, -1, &event) == SPILE_OK && strcmp(event->text, "tick") == 0);
  usleep(50000);
  EXPECT(spile_stop(session) == SPILE_OK);
  int result, last = 0;
  while ((result = spile_next_event(session, -1, &event)) == SPILE_OK) last = strcmp(event->text, "end") == 0;
  EXPECT(result == SPILE_END && last);
  spile_free(session);
  // No such program, and one that is not spile.
  setenv("SPILE_PROGRAM", "/nowhere/spile", 1);
  session = spile_new();
  spile_set_script(session, "probe begin { exit() }");
  EXPECT(spile_start(session) == SPILE_ERROR_PROGRAM && strstr(spile_last_error(session)->text, "run /nowhere/spile: No such file"));
  spile_free(session);
  setenv("SPILE_PROGRAM", "/bin/true", 1);
  session = spile_new();
  spile_set_script(session, "probe begin { exit() }");
  result = spile_start(session);
  EXPECT(result == SPILE_ERROR_PROGRAM && strstr(spile_last_error(session)->text, "/bin/true (process "));
  spile_free(session);
  unsetenv("SPILE_PROGRAM");
}

int main(int argc, char** argv) {
  close(0);
  int descriptors = entries("/proc/self/fd");
  misuse();
  signal(SIGCHLD, SIG_IGN);
  pthread_t threads[2];
  void* counted[2];
  EXPECT(argc == 3);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, count, argv[i + 1]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], &counted[i]);
  printf("%ld %ld\n", (long)counted[0], (long)counted[1]);
  EXPECT(entries("/proc/self/fd") == descriptors && entries("/proc/self/task") == 3);
  EXPECT(waitpid(-1, NULL, 0) < 0 && errno == ECHILD);
  return 0;
}
"""
calls = command_line(program("calls"))
built = compile_with_pkg_config(source, "-std=gnu11", "-O1", "-pthread")
expect_true(run(built, f"{calls} 1500 2", f"{calls} 500").endswith("\n3000 500\n"), "what two sessions have counted")
