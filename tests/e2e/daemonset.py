# examples/fleet/daemonset.yaml: its command, with its capabilities and no others, in a read-only file system, sends the numbers
# of a redis-server of another user to the collector; with one capability less it says what it can't do. The manifest has the
# fields that Kubernetes documents, with their types, and those that it requires.
import json
from otlptest import *

if os.geteuid() != 0:
    skip("giving capabilities away needs root")
text = (ROOT / "examples/fleet/daemonset.yaml").read_text()
words = json.loads(re.search(r"^ +command: (\[.*\])$", text, re.M)[1])
capabilities = json.loads(re.search(r"^ +add: (\[.*\])$", text, re.M)[1])
# The fields that the manifest may have, with their types, as the reference of Kubernetes documents them (apps/v1 DaemonSet,
# core/v1 ConfigMap, PodSpec, Container): a name with ! is required.
# https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/daemon-set-v1/
NAMES = {"*": str}
SELECTOR = {"matchLabels": NAMES, "matchExpressions": [{"key!": str, "operator!": str, "values": [str]}]}
METADATA = {"name": str, "namespace": str, "labels": NAMES, "annotations": NAMES}
PROFILE = {"type!": str, "localhostProfile": str}
SECURITY = {"runAsUser": int, "runAsGroup": int, "runAsNonRoot": bool, "privileged": bool, "procMount": str,
            "allowPrivilegeEscalation": bool, "readOnlyRootFilesystem": bool,
            "capabilities": {"add": [str], "drop": [str]}, "appArmorProfile": PROFILE, "seccompProfile": PROFILE}
CONTAINER = {"name!": str, "image": str, "imagePullPolicy": str, "command": [str], "args": [str], "workingDir": str,
             "env": [{"name!": str, "value": str, "valueFrom": dict}],
             "ports": [dict], "resources": {"requests": {"*": (str, int)}, "limits": {"*": (str, int)}},
             "securityContext": SECURITY,
             "volumeMounts": [{"name!": str, "mountPath!": str, "readOnly": bool, "subPath": str}]}
VOLUME = {"name!": str, "configMap": {"name": str, "defaultMode": int, "optional": bool},
          "emptyDir": {"medium": str, "sizeLimit": str}, "hostPath": {"path!": str, "type": str}}
POD = {"containers!": [CONTAINER], "initContainers": [CONTAINER], "volumes": [VOLUME], "hostPID": bool, "hostNetwork": bool,
       "hostIPC": bool, "dnsPolicy": str, "nodeSelector": NAMES, "tolerations": [dict],
       "serviceAccountName": str, "automountServiceAccountToken": bool, "priorityClassName": str,
       "terminationGracePeriodSeconds": int, "restartPolicy": str, "securityContext": dict}
SPEC = {"selector!": SELECTOR, "template!": {"metadata": METADATA, "spec": POD}, "minReadySeconds": int,
        "revisionHistoryLimit": int, "updateStrategy": dict}
KINDS = {("apps/v1", "DaemonSet"): {"apiVersion": str, "kind": str, "metadata": METADATA, "spec": SPEC},
         ("v1", "ConfigMap"): {"apiVersion": str, "kind": str, "metadata": METADATA, "data": NAMES, "binaryData": NAMES,
                               "immutable": bool}}


def faults(value, schema, where=""):
    """What a value has against a schema: a type, a list of one, or a dict of fields."""
    if isinstance(schema, list):
        return [f"{where}: not a list"] if not isinstance(value, list) else [
            fault for i, each in enumerate(value) for fault in faults(each, schema[0], f"{where}[{i}]")]
    if not isinstance(schema, dict):
        return [] if isinstance(value, schema) and (schema is bool or not isinstance(value, bool)) else [
            f"{where}: {value!r} is not of the type"]
    if not isinstance(value, dict):
        return [f"{where}: not an object"]
    fields = {name.rstrip("!"): type for name, type in schema.items()}
    found = [f"{where}.{name.rstrip('!')}: missing" for name in schema if name.endswith("!") and name.rstrip("!") not in value]
    for name, each in value.items():
        found += faults(each, fields.get(name, fields.get("*")),
                        f"{where}.{name}") if name in fields or "*" in fields else [f"{where}.{name}: no such field"]
    return found


def faults_of(document):
    kind = (document.get("apiVersion"), document.get("kind"))
    found = faults(document, KINDS[kind], kind[1]) if kind in KINDS else [f"{kind}: not known"]
    if found or kind[1] != "DaemonSet":
        return found
    # What the server checks across fields.
    spec = document["spec"]
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"].get("labels", {})
    if not spec["selector"]["matchLabels"].items() <= labels.items():
        found.append("the selector does not match the template's labels")
    if pod.get("restartPolicy", "Always") != "Always":
        found.append("restartPolicy of a DaemonSet is Always")
    volumes = {volume["name"] for volume in pod.get("volumes", [])}
    found += [f"volumeMounts: no volume {mount['name']}" for container in pod["containers"]
              for mount in container.get("volumeMounts", []) if mount["name"] not in volumes]
    return found


try:
    import yaml
    documents = list(yaml.safe_load_all(text))
    expect([fault for document in documents for fault in faults_of(document)], [], "against the documented schema")
    maps = {document["metadata"]["name"] for document in documents if document["kind"] == "ConfigMap"}
    expect({volume["configMap"]["name"] for volume in documents[1]["spec"]["template"]["spec"]["volumes"]
            if "configMap" in volume} <= maps, True, "ConfigMaps of volumes")
    # Mistakes are seen: a field of another level, a type, a required field, a label.
    for before, after, fault in [("hostPID: true", "hostPid: true", "spec.hostPid: no such field"),
                                 ("runAsUser: 0", "runAsUser: '0'", "runAsUser: '0' is not of the type"),
                                 ("      - name: spile\n", "      - title: spile\n", "containers[0].name: missing"),
                                 ("matchLabels: {app: spile}", "matchLabels: {app: x}", "does not match"),
                                 ("{name: tmp, emptyDir: {}}", "{name: temp, emptyDir: {}}", "no volume tmp")]:
        expect_true(before in text, before)
        expect_match(re.escape(fault),
                     "\n".join(fault for document in yaml.safe_load_all(text.replace(before, after))
                               for fault in faults_of(document)))
    container = documents[1]["spec"]["template"]["spec"]["containers"][0]
    expect((documents[0]["kind"], documents[1]["kind"], container["command"], container["securityContext"]["capabilities"]),
           ("ConfigMap", "DaemonSet", words, {"drop": ["ALL"], "add": capabilities}))
except ImportError:
    print("python3-yaml is not installed: the manifest is not checked against the schema")
folder = temporary_directory()
folder.chmod(0o755)
script = folder / "commands.stp"
script.write_text(re.sub(r"^    ", "", re.search(r"^  commands.stp: \|\n((?:    .*\n)+)", text, re.M)[1], flags=re.M))

# A server in a folder that only its user may enter. A link gives it a name that no other process has.
private = temporary_directory("nobody")
binary = f"redis{os.getpid()}"
shutil.copy(os.path.realpath(installed("redis-server")), private / binary)
shutil.chown(private / binary, "nobody")
redis = Redis(private / binary)
port = free_port()
server_of_test = serve(port)
expect(words[0], "spile")
words = [str(SPILE),
         *(word.replace("redis-server", binary).replace("http://127.0.0.1:4318", f"http://127.0.0.1:{port},0.2").replace(
             "/etc/spile/commands.stp", str(script)) for word in words[1:])]
cache = temporary_directory()
READ_ONLY = 'mount -o remount,bind,ro / && mount -t tmpfs none "$XDG_CACHE_HOME" && exec "$@"'


def begin(names):
    granted = ",".join(["-all"] + ["+" + name.lower() for name in names])
    return start("unshare", "-m", "sh", "-c", READ_ONLY, "sh", "setpriv", f"--bounding-set={granted}", f"--inh-caps={granted}",
                 "--no-new-privs", *words, env={**os.environ, "XDG_CACHE_HOME": str(cache)})


def commands():
    for message in reversed(list(Collector.taken)):
        resource, found = metrics(message)
        if "spile.global.commands" in found:
            return resource["host.name"], signed(fields(fields(found["spile.global.commands"][5][0])[1][0])[6][0])
    return "", 0


session = begin(capabilities)
wait_until(lambda: session.poll() is not None or (redis.command("PING") and commands()[1] >= 5), 60, "commands at the collector",
           lambda: str(commands()))
expect_true(session.poll() is None, session.poll() is not None and session.stdout.read())
expect(commands()[0], os.uname().nodename, "the host")
expect_match(r"\Acommands=\d+$", finish(session))
expect(session.returncode, 0)
for missing in capabilities:
    session = begin([name for name in capabilities if name != missing])
    output = session.communicate(timeout=300)[0].decode()
    expect((session.returncode, f"CAP_{missing}" in output), (1, True), f"without {missing}: {output}")
