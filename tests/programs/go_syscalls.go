// go_syscalls N: system calls of all kinds that Go makes: N each of getppid (which the scheduler does not learn of) and getpgid (which
// it does) by 16 goroutines, at all depths of their small stacks while garbage is collected; threads that end, and children.
// Prints "calls C children D exits E": how many of each of the two, children, and threads that have ended.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

//go:noinline
func call(depth, n int) int {
	var block [24]byte
	block[depth%24] = byte(n)
	syscall.Getppid()
	if _, err := syscall.Getpgid(0); err != nil {
		panic(err)
	}
	if depth > 0 && n > 1 {
		return call(depth-1, n-1) + int(block[(depth+1)%24])
	}
	for ; n > 1; n-- {
		syscall.Getppid()
		syscall.Getpgid(0)
	}
	return 0
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	const callers, threads, children = 16, 30, 5
	var all sync.WaitGroup
	for i := 0; i < callers; i++ {
		all.Add(1)
		go func(i int) { call(20*i, n); all.Done() }(i)
	}
	ended := make(chan int, threads)
	for i := 0; i < threads; i++ {
		go func() { runtime.LockOSThread(); ended <- syscall.Gettid() }() // and its thread ends with it
	}
	for i := 0; i < children; i++ {
		if err := exec.Command("/bin/true").Run(); err != nil {
			panic(err)
		}
		runtime.GC()
	}
	all.Wait()
	exits := 0
	for i := 0; i < threads; i++ {
		tid := <-ended
		if tid == os.Getpid() {
			continue // the first thread stays
		}
		for exits++; ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
				break
			}
		}
	}
	fmt.Printf("calls %d children %d exits %d\n", callers*n, children, exits)
}
