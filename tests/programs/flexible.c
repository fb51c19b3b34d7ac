// A structure with a member of no size, passed by value: compilers differ in whether it travels in a register.
struct flexible {
  int number;
  char rest[];
};
struct zero {
  int number;
  char rest[0];
};

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((noinline)) int taken(struct flexible f, struct zero z, int n, long last) { return f.number + z.number + n + (int)last; }
__attribute__((noinline)) struct flexible given(int n) {
  struct flexible f = {0};
  f.number = n;
  return f;
}
#ifdef __cplusplus
}
#endif

int main(void) {
  struct zero z = {2};
  taken(given(1), z, 3, 4);
  return 0;
}
