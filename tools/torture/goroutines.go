// goroutines N: starts N goroutines with small stacks that grow, panic, recover and collect garbage; prints a sum.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

//go:noinline
func grow(depth int) int {
	var block [64]int
	block[depth%64] = depth
	if depth == 0 {
		return 0
	}
	return grow(depth-1) + block[depth%64] - depth + 1
}

//go:noinline
func catches(n int) (result int) {
	defer func() {
		if caught := recover(); caught != nil {
			result = caught.(int)
		}
	}()
	throws(n)
	return n
}

//go:noinline
func throws(n int) {
	if n%2 == 1 {
		panic(n * 10)
	}
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	results := make(chan int)
	for i := 0; i < n; i++ {
		go func(i int) { results <- grow(i*10) + catches(i) }(i)
	}
	sum := 0
	for i := 0; i < n; i++ {
		sum += <-results
		if i%50 == 0 {
			runtime.GC()
		}
	}
	fmt.Println("sum", sum)
}
