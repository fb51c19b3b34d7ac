# Containers, counted pointers, cells and locks of Rust's standard library are printed as what is in them, whatever the
# optimization.
# long
from spiletest import *

rustc = installed("rustc")
folder = temporary_directory()
(folder / "kept.rs").write_text("""use std::{cell::*, collections::*, rc::*, sync::*, time::Duration};
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)] pub struct P { x: i32, y: u8 }
pub struct Kept { map: HashMap<String, i32>, set: HashSet<P>, none: HashMap<u8, u8>, tree: BTreeMap<i32, String>, large: BTreeMap<u64, u8>, ordered: BTreeSet<P>, bare: BTreeMap<u8, u8>,
    ring: VecDeque<i32>, list: LinkedList<i16>, heap: BinaryHeap<u8>, rc: Rc<P>, text: Rc<str>, arc: Arc<[i32]>, weak: std::rc::Weak<P>, dangling: std::rc::Weak<P>, cell: Cell<i32>, read: RefCell<i32>,
    written: RefCell<P>, mutex: Mutex<String>, held: Mutex<i32>, lock: RwLock<i32>, reading: RwLock<i32>, writing: RwLock<i32>, atomic: atomic::AtomicU32, whole: Duration, part: Duration,
    path: std::path::PathBuf, c: std::ffi::CString, wide: i128, unit: (), nonzero: std::num::NonZeroU16, nested: HashMap<u8, Vec<BTreeMap<u8, Option<Rc<str>>>>>, many: HashSet<u32> }
#[inline(never)] fn work(kept: &Kept, path: &std::path::Path) { std::hint::black_box((kept, path)); }
fn main() {
    let rc = Rc::new(P { x: 1, y: 2 });
    let mut ring: VecDeque<i32> = (0..4).collect(); ring.pop_front(); ring.pop_front(); ring.push_back(4); ring.push_back(5);
    let k = Kept { map: [("only".to_string(), 7)].into(), set: [P { x: 3, y: 4 }].into(), none: HashMap::new(), tree: [(2, "two".to_string()), (1, "one".to_string())].into(),
        large: (0..3000).map(|i| (i, (i % 7) as u8)).collect(), ordered: [P { x: 9, y: 0 }, P { x: 8, y: 1 }].into(), bare: BTreeMap::new(), ring, list: [1, 2].into(), heap: [3].into(),
        weak: Rc::downgrade(&rc), dangling: std::rc::Weak::new(), rc, text: "shared".into(), arc: vec![5, 6].into(), cell: Cell::new(7), read: RefCell::new(8), written: RefCell::new(P { x: 9, y: 9 }),
        mutex: Mutex::new("free".into()), held: Mutex::new(1), lock: RwLock::new(2), reading: RwLock::new(3), writing: RwLock::new(4), atomic: 6.into(), whole: Duration::from_secs(2),
        part: Duration::from_millis(1500), path: "/usr/lib".into(), c: std::ffi::CString::new("c").unwrap(), wide: -(1i128 << 90), unit: (), nonzero: std::num::NonZeroU16::new(3).unwrap(),
        nested: [(1, vec![[(2, Some("deep".into())), (3, None)].into()])].into(), many: (0..1000).collect() };
    let (_a, _b, _c, _d, _e) = (k.read.borrow(), k.written.borrow_mut(), k.held.lock().unwrap(), k.reading.read().unwrap(), k.writing.write().unwrap());
    work(&k, std::hint::black_box(std::path::Path::new("/etc/hosts")));
}
""")
LARGE = ", ".join(f"{i}: {i % 7}" for i in range(32))
WANTED = {"map": '{"only": 7}', "set": "{{.x=3, .y=4}}", "none": "{}", "tree": '{1: "one", 2: "two"}', "large": "{" + LARGE + ", ...}", "ordered": "{{.x=8, .y=1}, {.x=9, .y=0}}", "bare": "{}",
          "ring": "[2, 3, 4, 5]", "list": "[1, 2]", "heap": "[3]", "text": '"shared" (use 1)', "arc": "[5, 6] (use 1)", "dangling": "dangling", "cell": "7", "read": "8 (borrowed 1)",
          "written": "{.x=9, .y=9} (borrowed mutably)", "mutex": '"free"', "held": "1 (locked)", "lock": "2", "reading": "3 (read-locked)", "writing": "4 (write-locked)", "atomic": "6", "whole": "2s",
          "part": "1s 500000000ns", "path": '"/usr/lib"', "c": '"c"', "wide": "-1237940039285380274899124224", "unit": "()", "nonzero": "3",
          "nested": '{1: [{2: Some("deep" (use 1)), 3: None}]}'}
for level in "02":
    subprocess.run([rustc, "-g", "-C", f"opt-level={level}", "-o", folder / "kept", folder / "kept.rs"], check=True, capture_output=True)
    script = " ".join(f'println("{name}=", $kept->{name}$$)' for name in [*WANTED, "rc", "weak"])
    script = f'probe process.function("kept::work") {{ {script} println("passed=", $path$) println("brief=", $kept$) }} probe process.end {{ println("ended") }}'
    out = dict(line.split("=", 1) for line in spile("-D", "MAXSTRINGLEN=2000", "-e", script, "-c", str(folder / "kept"), "-o", "/dev/stderr").expect(status=0).err.splitlines() if "=" in line)
    for name, wanted in WANTED.items():
        expect_true(out[name] == wanted, f"{name} at -O{level}: {out[name]}, not {wanted}")
    for name in ("rc", "weak"):
        expect_match(r"^0x[0-9a-f]{16} -> \{\.x=1, \.y=2\} \(use 1\)$", out[name])
    expect_true(out["passed"] == "\"/etc/hosts\"", out["passed"])
    expect_true("{.map={...}, .set={...}, " in out["brief"] and ".ring=[...], " in out["brief"], out["brief"])
    # A table that is nowhere near full: all of its elements are found, each once.
    many = spile("-D", "MAXSTRINGLEN=8000", "-D", "MAXPRETTYELEMENTS=2000", "-e", 'probe process.function("kept::work") { println($kept->many$) }', "-c", str(folder / "kept"), "-o", "/dev/stderr").expect(status=0).err
    expect_true(sorted(int(x) for x in many.strip("{}\n").split(", ")) == list(range(1000)), many)
