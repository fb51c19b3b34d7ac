# Scripts of so many handlers that their code is made quickly: they show what small ones show, and are not refused. Numbers that
# the program chooses are lengths, positions, widths, keys and shifts.
import subprocess

from spiletest import *

PROGRAM = r"""
struct text { const char *at; long length; unsigned short width; };
__attribute__((noipa)) long show(struct text *text, int number, unsigned char from) { return text->length * number + from; }
int main(void) {
  static struct text text = {"a line of text", 6, 9};
  long sum = 0;
  for (int i = 0; i < 5; i++) sum += show(&text, i, 2);
  return sum != 70;
}
"""
HANDLERS = r"""
probe process.function("show") {
  if (@WHICH == which) {
    counts[$number, user_string_n($text->at, $text->length)]++
    sums[$from] <<< $number << $from
    printf("%d %s|%s|%*d|%.*s\n", $number, user_string_n($text->at, $text->length),
           substr(user_string($text->at), $from, $text->length), $text->width, $number, $from, "precise")
    println(stringat(user_string($text->at), $from), " ", str_replace(user_string($text->at), "e", "E"), " ",
            user_string_n($text->at, @WHICH % 5), " ", user_string_n_quoted($text->at, $number), " ", $$parms)
    println(text_strn(user_string($text->at), $text->length, 1), " ",
            user_buffer_quoted($text->at, $text->length, 34), " ", $text$)
  }
}
probe process.function("show").return {
  if (@WHICH == which) println(@entry($text->length) << @entry($from), " ", user_string_n(@entry($text->at), $return % 7))
}
"""
END = """
global counts, sums, which = 7
probe end {
  foreach ([n, s] in counts+) println(n, " ", s, " ", counts[n, s])
  foreach (n in sums) println(n, " ", @count(sums[n]), " ", @sum(sums[n]))
}
"""
binary = temporary_directory() / "texts"
subprocess.run(["gcc", "-g", "-O1", "-no-pie", "-x", "c", "-o", binary, "-"], input=PROGRAM.encode(), check=True)


def output(numbers):
    handlers = "".join(HANDLERS.replace("@WHICH", str(number)) for number in numbers)
    return spile("--disable-cache", "-e", handlers + END, "-c", binary).expect().out


small = output([7])
expect(small.count("\n"), 5 * 4 + 5 + 1, "lines of the small script")
expect(output(range(40)), small, "output of the large script")
