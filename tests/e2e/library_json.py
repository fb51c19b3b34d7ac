# Metrics as JSON: what is described, and what values give; and the macros for Prometheus's text format.
import json

from spiletest import *

out = spile("-e", r"""probe begin {
  printdln(" ", json_set_prefix("p"), json_add_numeric_metric("n", "a \"number\"", "bytes"), json_add_numeric_metric("n", "", ""),
           json_add_string_metric("s", ""), json_add_array("a", "all"), json_add_array("a", ""),
           json_add_array_numeric_metric("a", "x", "", ""), json_add_array_numeric_metric("b", "x", "", ""),
           json_add_array_string_metric("a", "y", "why"))
  print(__json_metadata())
  print(__json_start() . __json_value("n", "5") . __json_array_value("a", "i", "x", "1") .
        __json_array_value("a", "i", "y", "\"q\"") . __json_array_value("a", "j", "x", "2") . __json_value("s", "\"t\"") .
        __json_end())
  print(__json_start() . __json_array_value("a", "i", "x", "1") . __json_end())
  print(__json_start() . __json_end())
  exit()
}""").expect(status=0).out.splitlines()
expect(out[0], "0 0 -22 0 0 -22 0 -22 0")
expect(json.loads(out[1]), {
    "prefix": "p", "metrics": [
        {"name": "n", "type": "integer", "pointer": "/n", "description": 'a "number"', "units": "bytes"},
        {"name": "s", "type": "string", "pointer": "/s"},
        {"name": "a", "type": "array", "pointer": "/a", "index": "/__id", "description": "all", "metrics": [
            {"name": "x", "type": "integer", "pointer": "/x"},
            {"name": "y", "type": "string", "pointer": "/y", "description": "why"}]}]})
expect(json.loads(out[2]), {"n": 5, "a": [{"__id": "i", "x": 1, "y": "q"}, {"__id": "j", "x": 2}], "s": "t"})
expect(json.loads(out[3]), {"a": [{"__id": "i", "x": 1}]})
expect(json.loads(out[4]), {})


def pointed(document, pointer):
    """What a JSON pointer (RFC 6901) leads to."""
    for part in pointer.split("/")[1:]:
        document = document[part.replace("~1", "/").replace("~0", "~")]
    return document


# The pointers of the description lead to the values.
metrics, values = json.loads(out[1])["metrics"], json.loads(out[2])
expect([pointed(values, metric["pointer"]) for metric in metrics[:2]], [5, "t"])
elements = {pointed(element, metrics[2]["index"]): element for element in pointed(values, metrics[2]["pointer"])}
expect([pointed(elements["i"], metric["pointer"]) for metric in metrics[2]["metrics"]], [1, "q"])
out = spile("-e", 'probe begin { json_add_string_metric("~s/~1", "") print(__json_metadata(), __json_start(), '
            '__json_value("~s/~1", "5"), __json_end()) exit() }').expect(status=0).out.splitlines()
expect(json.loads(out[0]), {"prefix": "", "metrics": [{"name": "~s/~1", "type": "string", "pointer": "/~0s~1~01"}]})
expect(pointed(json.loads(out[1]), json.loads(out[0])["metrics"][0]["pointer"]), 5)

spile("-p1", "-e", 'global a probe prometheus { @prometheus_dump_array2(a, "m", "x", "y") }').expect(
    status=0, out_match=r'\$value \.= sprintf\("%s\{%s=\\"%s\\",%s=\\"%s\\"\} %s\\n", "m", "x", text_str')
spile("-p1", "-e", 'probe json_data { @json_output_data_start() @json_output_numeric_value("n", 1) @json_output_data_end() }'
      ).expect(status=0, out_match=r'\$value \.= __json_value\("n", sprintf\("%d", 1\)\)')
