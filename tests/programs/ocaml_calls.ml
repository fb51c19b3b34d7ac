(* Says how often its functions were called. Its stack overflows once, which it catches. *)
let inserts = ref 0 and sums = ref 0 and tries = ref 0 and failures = ref 0

type tree = Leaf | Node of tree * int * tree

let rec insert tree x =
  incr inserts;
  match tree with
  | Leaf -> Node (Leaf, x, Leaf)
  | Node (l, y, r) -> if x < y then Node (insert l x, y, r) else Node (l, y, insert r x)

let rec sum tree =
  incr sums;
  match tree with Leaf -> 0 | Node (l, y, r) -> sum l + y + sum r

let[@inline never] fails n =
  incr tries;
  if n land 1 = 1 then failwith "odd" else n

let[@inline never] guarded n = try fails n with Failure _ -> incr failures; -n

(* Never tells how deep it was, which the size of the stack decides. *)
let rec deep n = if n = 0 then 0 else 1 + deep (n - 1)

let () =
  let rounds = int_of_string Sys.argv.(1) in
  let total = ref 0 in
  for i = 1 to rounds do
    let tree = ref Leaf in
    for j = 1 to 200 do tree := insert !tree (j * 7919 mod 1009) done;
    total := !total + sum !tree + guarded i + String.length (String.concat "," (List.init 50 string_of_int))
  done;
  Gc.full_major ();
  Printf.printf "total %d\n" !total;
  print_endline (try string_of_int (deep 100_000_000) with Stack_overflow -> "overflow");
  Printf.printf "insert %d\nsum %d\nfails %d\nguarded %d\nfailures %d\n" !inserts !sums !tries rounds !failures
