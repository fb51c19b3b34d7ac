use std::panic;
use std::backtrace::Backtrace;
#[inline(never)] fn thrower(n: u64) -> u64 { if n % 2 == 1 { panic!("odd {}", n) } n }
struct Guard<'a>(&'a mut u64);
impl<'a> Drop for Guard<'a> { fn drop(&mut self) { *self.0 += 1; } }
#[inline(never)] fn middle(n: u64, dropped: &mut u64) -> u64 { let _g = Guard(dropped); thrower(n) + 1 }
#[inline(never)] fn catcher(n: u64, dropped: &mut u64) -> u64 {
    panic::catch_unwind(panic::AssertUnwindSafe(|| middle(n, dropped))).unwrap_or(1000) }
#[inline(never)] fn looks(depth: u32) -> usize {
    if depth == 0 { return format!("{}", Backtrace::force_capture()).matches("looks").count() }
    std::hint::black_box(looks(depth - 1)) }
fn main() {
    panic::set_hook(Box::new(|_| {}));
    let n: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10);
    let (mut sum, mut dropped) = (0, 0);
    for i in 0..n { sum += catcher(i, &mut dropped); }
    println!("sum {} dropped {} looks {}", sum, dropped, looks(5));
}
