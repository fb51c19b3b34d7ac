// Objects of many layouts, each passed to a function by value and returned: one function a type, called with an object that the line beside it says how to print.
#[derive(Clone, PartialEq)] pub struct TwoNumbers { a: u32, b: u32 }
#[derive(Clone, PartialEq)] pub struct TwoWords { a: u64, b: u64 }
#[derive(Clone, PartialEq)] pub struct Mixed { a: u64, b: f64 }
#[derive(Clone, PartialEq)] pub struct TwoFloats { a: f32, b: f32 }
#[derive(Clone, PartialEq)] pub struct Tiny { a: u8, b: u8, c: u8 }
#[derive(Clone, PartialEq)] pub struct Big { a: u64, b: u64, c: u64 }
#[derive(Clone, PartialEq)] pub struct Wrapped(f64);
#[derive(Clone, PartialEq)] pub enum Shape { Dot, Circle(f64), Rectangle { w: u32, h: u32 } }
#[derive(Clone, PartialEq)] pub enum Color { Red, Green }

// Each function writes its own name there, so that no two have the same code.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
static LAST: AtomicUsize = AtomicUsize::new(0);

// The compiler does not know what comes out, nor which function is called, so that it leaves parameters and results alone.
fn opaque<T>(value: T) -> T {
    let copy = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    copy
}

macro_rules! functions {
    ($($name:ident $type:ty, $value:expr, $text:expr;)*) => {
        $(#[inline(never)] pub fn $name(x: $type, behind: u32) -> $type { LAST.store(stringify!($name).as_ptr() as usize, Relaxed); if behind != 7 { std::process::abort() } x })*
        fn main() { $({ let value: $type = $value; println!(concat!(stringify!($name), " {}"), $text); let function: fn($type, u32) -> $type = $name; if opaque(function)(opaque(value.clone()), opaque(7)) != value { std::process::abort() } })* if opaque(LAST.load(Relaxed)) == 0 { std::process::abort() } }
    };
}
functions! {
    pass_number u16, 513, "513";
    pass_float f32, 2.5, "2.5";
    pass_wide i128, -5, "-5";
    pass_two_numbers TwoNumbers, TwoNumbers { a: 3, b: 4 }, "{.a=3, .b=4}";
    pass_two_words TwoWords, TwoWords { a: 11, b: 12 }, "{.a=11, .b=12}";
    pass_mixed Mixed, Mixed { a: 3, b: 2.5 }, "{.a=3, .b=2.5}";
    pass_two_floats TwoFloats, TwoFloats { a: 1.5, b: -2.5 }, "{.a=1.5, .b=-2.5}";
    pass_tiny Tiny, Tiny { a: 1, b: 2, c: 3 }, "{.a=1, .b=2, .c=3}";
    pass_big Big, Big { a: 21, b: 22, c: 23 }, "{.a=21, .b=22, .c=23}";
    pass_wrapped Wrapped, Wrapped(0.5), "(0.5)";
    pass_pair (u8, u32), (3, 30), "(3, 30)";
    pass_texts (u32, &'static str), (9, "text"), "(9, \"text\")";
    pass_few [u32; 2], [3, 4], "[3, 4]";
    pass_several [u32; 4], [3, 4, 5, 6], "[3, 4, 5, 6]";
    pass_many [u64; 5], [7; 5], "[7, 7, 7, 7, 7]";
    pass_text &'static str, "slice", "\"slice\"";
    pass_string String, "own".to_string(), "\"own\"";
    pass_list Vec<u32>, vec![1, 2, 3], "[1, 2, 3]";
    pass_some Option<u32>, Some(42), "Some(42)";
    pass_none Option<u32>, None, "None";
    pass_small Option<u8>, Some(8), "Some(8)";
    pass_word Option<u64>, Some(64), "Some(64)";
    pass_letter Option<char>, Some('k'), "Some('k')";
    pass_no_letter Option<char>, None, "None";
    pass_nested Option<Option<u32>>, Some(None), "Some(None)";
    pass_some_text Option<&'static str>, Some("s"), "Some(\"s\")";
    pass_some_string Option<String>, Some("s".to_string()), "Some(\"s\")";
    pass_no_string Option<String>, None, "None";
    pass_ok Result<u32, u8>, Ok(5), "Ok(5)";
    pass_error Result<u32, String>, Err("bad".to_string()), "Err(\"bad\")";
    pass_dot Shape, Shape::Dot, "Dot";
    pass_circle Shape, Shape::Circle(1.5), "Circle(1.5)";
    pass_rectangle Shape, Shape::Rectangle { w: 2, h: 3 }, "Rectangle{.w=2, .h=3}";
    pass_red Color, Color::Red, "Red";
    pass_duration std::time::Duration, std::time::Duration::new(3, 5), "3s 5ns";
}
