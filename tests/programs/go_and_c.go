// Go and C that call each other: goroutines on C's threads and stacks, calls back, and callbacks on threads that C has made.
// Says how often each function was called.
package main

/*
#include <pthread.h>
extern long goCallback(long);
static __attribute__((noinline)) long c_add(long a, long b) { __asm__ volatile("" : "+r"(a)); return a + b; }
static __attribute__((noinline)) long c_calls_go(long times) {
  long sum = 0;
  for (long i = 0; i < times; i++) sum += goCallback(i);
  return sum;
}
static void* on_thread(void* argument) { return (void*)goCallback((long)argument); }
static __attribute__((noinline)) long c_thread(long value) {
  pthread_t thread;
  void* result;
  pthread_create(&thread, 0, on_thread, (void*)value);
  pthread_join(thread, &result);
  return (long)result;
}
*/
import "C"
import (
	"fmt"
	"runtime"
	"sync"
)

//go:noinline
func add(a, b int) int { return a + b }

//export goCallback
func goCallback(x C.long) C.long { return C.long(add(int(x), 1)) }

//go:noinline
func deep(n int) int {
	var pad [64]int
	pad[n%64] = n
	if n == 0 {
		return pad[0]
	}
	return deep(n-1) + pad[n%64] - n + 1
}

const workers, rounds, depth = 4, 500, 3000

func main() {
	var group sync.WaitGroup
	var mutex sync.Mutex
	total := 0
	for w := 0; w < workers; w++ {
		group.Add(1)
		go func(w int) {
			defer group.Done()
			sum := 0
			for i := 0; i < rounds; i++ {
				sum += int(C.c_add(C.long(i), C.long(w))) + int(C.c_calls_go(3)) + add(i, w)
				if i%100 == 0 {
					sum += deep(depth) + int(C.c_thread(C.long(i)))
					runtime.GC()
				}
			}
			mutex.Lock()
			total += sum
			mutex.Unlock()
		}(w)
	}
	group.Wait()
	calls, threads := workers*rounds, workers*rounds/100
	fmt.Println("total", total)
	fmt.Printf("c_add %d\nc_calls_go %d\nc_thread %d\n", calls, calls, threads)
	fmt.Printf("goCallback %d\nmain.add %d\nmain.deep %d\n", 3*calls+threads, 4*calls+threads, threads*(depth+1))
}
