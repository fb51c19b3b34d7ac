# At the entry of an unoptimized Rust function, parameters are where rustc passes them, also behind objects that lie in memory.
# Those of a closure, behind what it has captured, are not known, rather than wrong.
from spiletest import *

rustc = installed("rustc")
if not rustc:
    skip("rustc is not installed")
folder = temporary_directory()
(folder / "shapes.rs").write_text("""pub enum Shape { Dot, Circle(f64), Rectangle { w: i32, h: i32 } }
#[inline(never)] fn work(number: i32, text: &str, list: &Vec<i32>, shape: Shape, behind: &Vec<i32>) -> usize {
    number as usize + text.len() + list.len() + behind.len() + match shape { Shape::Circle(f) => f as usize, Shape::Rectangle { w,
      h } => (w + h) as usize, Shape::Dot => 0 }
}
fn main() { let (a, b) = (vec![1, 2], vec![3]);
  println!("{}", work(7, "text", &a, Shape::Rectangle { w: 1, h: 2 }, &b) + work(0, "", &b, Shape::Circle(2.0), &a) + work(0, "",
    &b, Shape::Dot, &a)); }
""")
subprocess.run([rustc, "-g", "-o", folder / "shapes", folder / "shapes.rs"], check=True, capture_output=True)
out = spile("-e", 'probe process.function("shapes::work") { println($$parms$$) }', "-c", str(folder / "shapes"), "-o",
            "/dev/stderr").expect(status=0).err
expect_true(out.splitlines()[0] == 'number=7 text="text" list=[1, 2] shape=Rectangle{.w=1, .h=2} behind=[3]', out)
spile("-e", 'probe process.function("shapes::work") { println($behind->len) }', "-c", str(folder / "shapes"), "-o",
      "/dev/stderr").expect(status=0, err="1\n2\n2\n")
(folder / "closures.rs").write_text("""#[inline(never)] fn twice<F: Fn(i32, i32) -> i32>(f: F) -> i32 { f(1, 2) + f(3, 4) }
fn main() { let base = std::env::args().count() as i32; println!("{}", twice(|x, y| x + y + base)); }
""")
subprocess.run([rustc, "-g", "-o", folder / "closures", folder / "closures.rs"], check=True, capture_output=True)
spile("-e", 'probe process.function("closures::main::*") { println($x) }', "-c",
      str(folder / "closures")).expect(status=1, err_match=r"'\$x' is passed in a compiler-specific way")
# An object behind a trait is named by a function of its type.
(folder / "traits.rs").write_text("""pub trait Speak { fn speak(&self) -> usize; }
pub struct Dog { name: String }
impl Speak for Dog { fn speak(&self) -> usize { self.name.len() } }
#[inline(never)] fn hear(own: Box<dyn Speak>, other: &dyn Speak, behind: u32) -> usize { own.speak() + other.speak() + behind as usize }
fn main() { println!("{}", hear(Box::new(Dog { name: "a".to_string() }), &Dog { name: "b".to_string() }, 7)); }
""")
subprocess.run([rustc, "-g", "-o", folder / "traits", folder / "traits.rs"], check=True, capture_output=True)
out = spile("-e", 'probe process.function("traits::hear") { println($$parms$$) }', "-c", str(folder / "traits"), "-o",
            "/dev/stderr").expect(status=0).err
names = r"\((<traits::Dog as traits::Speak>::speak|core::ptr::drop_in_place<traits::Dog>)\)"
expect_match(rf"^own=0x[0-9a-f]{{16}} {names} other=0x[0-9a-f]{{16}} {names} behind=7$", out)
