// Values of Rust's types, which e2e.language_values compares with what is known of them.
use std::collections::HashMap;

#[derive(Debug)]
pub struct Point {
    pub x: i32,
    pub y: i32,
}
#[derive(Debug)]
pub enum Shape {
    Empty,
    Circle(f64),
    Rectangle { width: u32, height: u32 },
}

#[no_mangle]
#[inline(never)]
pub fn texts(owned: &String, slice: &str, empty: &str) -> usize {
    owned.len() + slice.len() + empty.len()
}
#[no_mangle]
#[inline(never)]
pub fn vectors(numbers: &Vec<i32>, words: &Vec<String>, none: &Vec<u8>, part: &[i32]) -> usize {
    numbers.len() + words.len() + none.len() + part.len()
}
#[no_mangle]
#[inline(never)]
pub fn options(some: &Option<i32>, none: &Option<i32>, text: &Option<String>, nothing: &Option<Box<Point>>) -> bool {
    some.is_some() && none.is_none() && text.is_some() && nothing.is_none()
}
#[no_mangle]
#[inline(never)]
pub fn results(good: &Result<u64, String>, bad: &Result<u64, String>) -> bool {
    good.is_ok() && bad.is_err()
}
#[no_mangle]
#[inline(never)]
pub fn shapes(a: &Shape, b: &Shape, c: &Shape, p: &Point) -> i32 {
    match (a, b, c) {
        (Shape::Empty, Shape::Circle(_), Shape::Rectangle { .. }) => p.x + p.y,
        _ => 0,
    }
}
#[no_mangle]
#[inline(never)]
pub fn maps(ages: &HashMap<String, i32>, flag: bool, letter: char) -> usize {
    ages.len() + flag as usize + letter as usize
}

fn main() {
    println!("{}", texts(&String::from("hello, \"world\"\n"), "slice \u{e4}", ""));
    println!("{}", vectors(&vec![1, -2, 3], &vec!["a".to_string(), "bc".to_string()], &vec![], &[7, 8]));
    println!("{}", options(&Some(5), &None, &Some("text".to_string()), &None));
    println!("{}", results(&Ok(42), &Err("no such thing".to_string())));
    println!("{}", shapes(&Shape::Empty, &Shape::Circle(2.5), &Shape::Rectangle { width: 3, height: 4 }, &Point { x: 1, y: -2 }));
    let mut ages = HashMap::new();
    ages.insert("ann".to_string(), 31);
    println!("{}", maps(&ages, true, 'x'));
}
