// Values of Go's types, which e2e.language_values compares with what the program itself prints.
package main

import (
	"errors"
	"fmt"
)

type point struct {
	X, Y int
	Name string
}

type failure struct{ Code int }

func (f *failure) Error() string { return fmt.Sprint("code ", f.Code) }

//go:noinline
func text(s string, empty string) int { return len(s) + len(empty) }

//go:noinline
func slices(numbers []int, words []string, none []int, points []point) int {
	return len(numbers) + len(words) + len(none) + len(points)
}

//go:noinline
func maps(ages map[string]int, none map[string]int, small map[int]string) int {
	return len(ages) + len(none) + len(small)
}

//go:noinline
func faults(none error, made error, own error) bool { return none == nil && made != nil && own != nil }

//go:noinline
func mixed(p *point, nothing *point, v point, b bool, f float64, any interface{}) int {
	if nothing != nil || b || any == nil {
		return p.X + v.Y + int(f)
	}
	return 0
}

type empty struct{}

type holder struct {
	Call func(int) int
	None func(int) int
	Nil  empty
	Any  interface{}
	Word interface{}
}

//go:noinline
func generic[T any](list []T, one T) int { return len(list) + cap(list) + len(fmt.Sprint(one)) }

//go:noinline
func channels(full chan int, around <-chan string, bare chan struct{}, shut chan point, none chan int) int {
	return len(full) + len(around) + len(bare) + len(shut) + len(none)
}

func twice(n int) int { return 2 * n }

//go:noinline
func holds(h *holder, anything []interface{}) (n int, err error) {
	kept := "kept on the heap"
	pointer := &kept
	n = len(anything)
	keep = pointer
	return n, errors.New("set")
}

var keep *string

func main() {
	many := make([]int, 100)
	for i := range many {
		many[i] = i
	}
	full, around, shut := make(chan int, 2), make(chan string, 2), make(chan point, 3)
	full <- 1
	full <- -2
	around <- "gone"
	around <- "first"
	<-around
	around <- "second"
	shut <- point{1, 2, "p"}
	close(shut)
	fmt.Println(channels(full, around, make(chan struct{}), shut, nil))
	fmt.Println(text("hello, \"world\"\n", ""))
	fmt.Println(slices([]int{1, -2, 3}, []string{"a", "bc"}, nil, []point{{1, 2, "p"}, {3, 4, "q"}}))
	fmt.Println(slices(many, nil, many[5:7], nil))
	fmt.Println(maps(map[string]int{"ann": 31}, nil, map[int]string{7: "seven"}))
	fmt.Println(faults(nil, errors.New("no such thing"), &failure{5}))
	fmt.Println(generic([]string{"g"}, "h"), generic([]int{1, 2}, 3))
	fmt.Println(holds(&holder{Call: twice, Any: -2.5, Word: "w"}, []interface{}{1, int8(-2), uint16(3), float32(0.5), true, "s", nil, &many}))
	fmt.Println(mixed(&point{1, 2, "p"}, nil, point{3, 4, "v"}, true, 2.5, 42))
}
