# Variables of Fortran: arguments by reference, arrays by descriptor with bounds and strides of their own, elements in
# column-major order, arrays whose size is an argument, and CHARACTER, have the values that the program itself prints.
# variants: O0 O2
from spiletest import *

SOURCE = """
module shop
  implicit none
  integer :: total = 7
  integer, allocatable, target :: stock(:)
  integer, allocatable :: nothing(:), grid(:,:)
  character(len=12) :: title = 'a "title"'
  real(8) :: rates(3) = (/ 1.5d0, 2.5d0, 3.5d0 /)
  integer, target :: board(3,4)
  integer :: cube(2,3,4)
  type item
    integer :: id
    real(8) :: price
    character(len=8) :: name
    integer, allocatable :: sizes(:)
    integer, pointer :: link(:)
  end type
  type(item) :: best
  type(item) :: goods(-2:2)
contains
  subroutine work(n, x, a, m, s, it, b, e)
    integer, intent(in) :: n
    real(8), intent(in) :: x
    integer, intent(in) :: a(:), m(n, *)
    character(len=*), intent(in) :: s
    type(item), intent(in) :: it
    integer, intent(in) :: b(2:4, 5:6), e(n)
    print '(a,i0,1x,f0.2)', 'numbers ', n, x
    print '(a,10(1x,i0))', 'arrays', a(1), a(2), b(3, 6), b(4, 5), e(2)
    print '(a,10(1x,i0))', 'matrix', m(1, 2), m(3, 4)
    print '(a)', 'text ' // s
    print '(a,10(1x,i0))', 'item', it%id, it%sizes(2), it%link(3)
    call inside(n, s)
  end subroutine
  subroutine inside(n, s)
    integer, intent(in) :: n
    character(len=*), intent(in) :: s
    integer, allocatable :: own(:)
    integer, pointer :: view(:)
    character(len=:), allocatable :: joined
    integer :: sized(n), plane(n, 2*n)
    integer :: i, j
    allocate(own(-1:1))
    own = (/ 100, 101, 102 /)
    view => board(2, 1:4:2)
    joined = s // '+' // s
    do i = 1, n
      sized(i) = i * 11
      do j = 1, 2 * n
        plane(i, j) = i * 100 + j
      end do
    end do
    print '(a,10(1x,i0))', 'locals', own(-1), own(1), view(1), view(2), sized(n), plane(2, 5)
    print '(a)', 'joined ' // joined
    call here(sized, plane, view, joined)
  end subroutine
  subroutine here(sized, plane, view, joined)
    integer :: sized(*), plane(:, :)
    integer, pointer :: view(:)
    character(len=*) :: joined
    total = total + sized(1) + plane(2, 3) + view(1) + len(joined)
  end subroutine
end module
program main
  use shop
  implicit none
  integer :: i, j, k
  integer :: mm(3,5), bb(2:4,5:6)
  allocate(stock(5)); stock = (/ 10, 20, 30, 40, 50 /)
  allocate(grid(0:1, 10:12))
  grid = reshape((/ ((i * 100 + j, i = 0, 1), j = 10, 12) /), (/ 2, 3 /))
  board = reshape((/ ((i * 10 + j, i = 1, 3), j = 1, 4) /), (/ 3, 4 /))
  mm = reshape((/ ((i * 1000 + j, i = 1, 3), j = 1, 5) /), (/ 3, 5 /))
  bb = reshape((/ ((i * 10 + j, i = 2, 4), j = 5, 6) /), (/ 3, 2 /))
  cube = reshape((/ (((i * 100 + j * 10 + k, i = 1, 2), j = 1, 3), k = 1, 4) /), (/ 2, 3, 4 /))
  best%id = 42; best%price = 9.75d0; best%name = 'pencil'
  allocate(best%sizes(2)); best%sizes = (/ 8, 9 /)
  best%link => stock
  do i = -2, 2
    goods(i) = best
    goods(i)%id = i
    goods(i)%sizes(2) = i * 7
  end do
  call work(3, 2.25d0, stock(2:5:2), mm, 'text arg', best, bb, stock)
  print '(a,10(1x,i0))', 'globals', stock(2), grid(1, 11), board(2, 3), cube(2, 1, 3), goods(-1)%id, goods(1)%sizes(2)
  print '(a,i0)', 'total ', total
end program
"""
folder = temporary_directory()
(folder / "f.f90").write_text(SOURCE)
subprocess.run([installed("gfortran"), "-g", f"-{VARIANT}", "-fno-inline", "-o", "f", "f.f90"], cwd=folder, check=True)

WORK = """
probe process.function("__shop_MOD_work") {
  printf("> numbers %d %s\\n", $n, fp_to_string($x, 2))
  i = 2  j = 4
  printf("> arrays %d %d %d %d %d\\n", $a[1], $a[i], $b[3, 6], $b[j, 5], $e[i])
  printf("> text %s\\n", $s$)
  printf("> item %d %d %d\\n", $it->id, $it->sizes[i], $it->link[3])
  println($it$$) println($a$)
  printf("> globals %d %d %d %d %d %d\\n", $stock[i], $grid[1, 11], $board[i, 3], @var("cube")[i, 1, 3],
    $goods[-1]->id, $goods[1]->sizes[i])
  println($title$) println($rates$) println($stock$) println($nothing$) println($board$$)
  try { println($nothing[i]) } catch { println("none") }
}
probe process.function("__shop_MOD_here").return { println("total ", @var("total")) }"""
# Sizes that the function works out for itself are there once it has begun; optimized code does not keep them.
line = {text: 1 + next(i for i, l in enumerate(SOURCE.splitlines()) if text in l) for text in ["call inside", "call here"]}
INSIDE = """
probe process.statement("*@f.f90:%d") { i = 3  printf("> matrix %%d %%d\\n", $m[1, 2], $m[i, 4]) }
probe process.statement("*@f.f90:%d") {
  i = 1
  printf("> locals %%d %%d %%d %%d %%d %%d\\n", $own[-1], $own[i], $view[i], $view[2], $sized[$n], $plane[2, 5])
  printf("> joined %%s\\n", $joined$)
  println($own$) println($view$) println($sized$) println($s$)
}""" % (line["call inside"], line["call here"])
run = spile("-e", WORK + (INSIDE if VARIANT == "O0" else ""), "-c", folder / "f").expect(status=0)
lines = run.out.splitlines()
said = [line.replace('"', "") for line in lines if line.startswith("> ")]
inside = ["matrix", "locals", "joined"] if VARIANT == "O0" else []
for line in ["numbers", "arrays", "text", "item", "globals"] + inside:
    own = next(l for l in lines if l.startswith(line + " "))
    expect([l for l in said if l.startswith(f"> {line} ")], [f"> {own}"], line)
shown = [line for line in lines if line[:1] in '{["N' or line == "none"]
expect(shown, ['{.id=42, .price=9.75, .name="pencil  ", .sizes=[8, 9], .link=[10, 20, 30, 40, 50]}',
               "[20, 40]", '"a \\"title\\"   "', "[1.5, 2.5, 3.5]", "[10, 20, 30, 40, 50]", "NULL",
               "[[11, 21, 31], [12, 22, 32], [13, 23, 33], [14, 24, 34]]", "none"]
       + (["[100, 101, 102]", "[21, 23]", "[11, 22, 33]", '"text arg"'] if VARIANT == "O0" else []), "printed")
expect([line for line in lines if line.startswith("total")][:1], [line for line in lines if line.startswith("total")][1:],
       "total")
