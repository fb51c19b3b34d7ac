// go_calls N: goroutines that call probed functions while their stacks grow, panics are recovered, and garbage is collected;
// prints how often each function was called and returned. go_calls N SECONDS goes on for so long, or until SIGTERM.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

type pair struct{ a, b int }

type shape interface{ area(scale int) int }
type box struct{ w, h int }

//go:noinline
func (b *box) area(scale int) int { return b.w * b.h * scale }

var grows, grown, throwsCalled, throwsReturned, quits int64

//go:noinline
func grow(depth int) int {
	atomic.AddInt64(&grows, 1)
	var block [64]int
	block[depth%64] = depth
	result := 0
	if depth > 0 {
		result = grow(depth-1) + block[depth%64] - depth + 1
	}
	atomic.AddInt64(&grown, 1)
	return result
}

//go:noinline
func parse(text string, base int) (int, error) {
	if text == "" {
		return -1, errors.New("empty")
	}
	return len(text) * base, nil
}

//go:noinline
func total(list []int, label string) int {
	sum := 0
	for _, x := range list {
		sum += x
	}
	return sum + len(label)
}

//go:noinline
func leaf(a, b int) int { return a - b }

//go:noinline
func swap(p pair) pair { return pair{p.b, p.a} }

//go:noinline
func greet(name string) string { return "hello " + name }

//go:noinline
func pick(n int) int {
	switch n % 9 {
	case 0:
		return 3
	case 1:
		return leaf(n, 1)
	case 2:
		return 14
	case 3:
		return leaf(n, 3)
	case 4:
		return 15
	case 5:
		return 9
	case 6:
		return 2
	case 7:
		return leaf(6, n)
	}
	return 5
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
	atomic.AddInt64(&throwsCalled, 1)
	if n%2 == 1 {
		panic(n * 10)
	}
	atomic.AddInt64(&throwsReturned, 1)
}

//go:noinline
func quit(n int) int {
	if n%3 == 0 {
		atomic.AddInt64(&quits, 1)
		runtime.Goexit()
	}
	return n
}

func work(i int) int {
	var s shape = &box{i, 2}
	v, _ := parse("abc"[:i%4], i)
	return grow(i%100*10) + catches(i) + v + total([]int{i, 1, 2}, "xy") + leaf(i, 3) + swap(pair{i, 5}).a + s.area(3) +
		len(greet("bob")) + pick(i)
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	seconds := 0
	if len(os.Args) > 2 {
		seconds, _ = strconv.Atoi(os.Args[2])
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	terminated := make(chan os.Signal, 1)
	if seconds > 0 {
		signal.Notify(terminated, syscall.SIGTERM)
	}
	results := make(chan int)
	sum, works := 0, 0
	for round := 0; round == 0 || (time.Now().Before(end) && len(terminated) == 0); round++ {
		for i := 0; i < n; i++ {
			go func(i int) {
				result := work(i)
				defer func() { results <- result }()
				quit(i)
			}(i)
		}
		for i := 0; i < n; i++ {
			sum += <-results
			if i%50 == 0 {
				runtime.GC()
			}
		}
		works += n
	}
	fmt.Println("sum", sum)
	fmt.Println("works", works, "grow", grows, grown, "throws", throwsCalled, throwsReturned, "quit", works, works-int(quits))
}
