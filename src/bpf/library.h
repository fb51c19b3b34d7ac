#pragma once
// libbpf's headers. Its <bpf/bpf.h> has the name of our own public header, which the compiler would find first.

#include_next <bpf/bpf.h>
#include <bpf/libbpf.h>
