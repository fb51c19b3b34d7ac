// Prints the spans of OTLP messages (ExportTraceServiceRequest of opentelemetry-proto 1.x) in the files of its arguments, a line each: trace, span, parent ("-": none), begin, end, name,
// then its attributes as NAME=VALUE. For guests without Python; tests/e2e/otlptest.py does the same.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const unsigned char *at, *end; } bytes;

static void fail(const char* why) {
  fprintf(stderr, "spans: %s\n", why);
  exit(1);
}

static uint64_t varint(bytes* in) {
  uint64_t value = 0;
  for (int shift = 0; in->at < in->end && shift < 64; shift += 7) {
    value |= (uint64_t)(*in->at & 127) << shift;
    if (*in->at++ < 128) return value;
  }
  fail("a number ends too early");
  return 0;
}

// Takes a field; returns its number, 0 at the end. A number is in *value, else the field's bytes in *part.
static unsigned next(bytes* in, uint64_t* value, bytes* part) {
  if (in->at == in->end) return 0;
  const uint64_t key = varint(in);
  *value = 0;
  if ((key & 7) == 0) return *value = varint(in), (unsigned)(key >> 3);
  const uint64_t size = (key & 7) == 1 ? 8 : (key & 7) == 2 ? varint(in) : (fail("a wire type"), 0);
  if (size > (uint64_t)(in->end - in->at)) fail("a field ends too early");
  *part = (bytes){in->at, in->at + size};
  if ((key & 7) == 1) memcpy(value, in->at, 8);
  in->at += size;
  return (unsigned)(key >> 3);
}

static void print_bytes(bytes part, int hexadecimal) {
  if (hexadecimal && part.at == part.end) printf("-");
  for (; part.at < part.end; part.at++) printf(hexadecimal ? "%02x" : "%c", *part.at);
}

static void print_attribute(bytes in) {
  uint64_t value;
  bytes part;
  for (unsigned field; (field = next(&in, &value, &part));) {
    if (field == 1) printf(" "), print_bytes(part, 0), printf("=");
    bytes any = part;
    if (field == 2)
      for (unsigned kind; (kind = next(&any, &value, &part));) kind == 1 ? print_bytes(part, 0) : (void)printf("%" PRIu64, value);
  }
}

static void print_span(bytes in) {
  uint64_t value, begin = 0, end = 0;
  bytes part, trace = {0, 0}, span = {0, 0}, parent = {0, 0}, name = {0, 0}, again = in;
  for (unsigned field; (field = next(&in, &value, &part));) {
    if (field == 1) trace = part;
    if (field == 2) span = part;
    if (field == 4) parent = part;
    if (field == 5) name = part;
    if (field == 7) begin = value;
    if (field == 8) end = value;
  }
  print_bytes(trace, 1), printf(" "), print_bytes(span, 1), printf(" "), print_bytes(parent, 1);
  printf(" %" PRIu64 " %" PRIu64 " ", begin, end);
  print_bytes(name, 0);
  for (unsigned field; (field = next(&again, &value, &part));)
    if (field == 9) print_attribute(part);
  printf("\n");
}

// Of a request 1: resource spans; of these 2: scope spans; of these 2: spans.
static void walk(bytes in, int depth) {
  static const unsigned inner[] = {1, 2, 2};
  uint64_t value;
  bytes part;
  for (unsigned field; (field = next(&in, &value, &part));) {
    if (field != inner[depth]) continue;
    if (depth == 2) print_span(part);
    else walk(part, depth + 1);
  }
}

int main(int argc, char** argv) {
  static unsigned char buffer[16 << 20];
  for (int i = 1; i < argc; i++) {
    FILE* file = fopen(argv[i], "rb");
    if (!file) return perror(argv[i]), 1;
    const size_t size = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    walk((bytes){buffer, buffer + size}, 0);
  }
  return 0;
}
