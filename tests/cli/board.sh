#!/usr/bin/env bash
# A board that follows runs: what it answers to whom, what a browser makes of it, hostile names, and 500 runs of 10,000 steps.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"

expect 2 "0 folders are named" "$skein" board
expect 2 "nowhere is no folder" "$skein" board nowhere
mkdir runs
expect 2 "board.port=70000 must be 0 to 65535" "$skein" board runs --board.port=70000

command -v chromium >/dev/null || die "chromium, in which the page is looked at, is not installed; run launch/install-packages launch/packages-tests.txt"

# Of 500 runs the files are one: what it takes to read them is the same, and the disk is spared.
python3 - <<'PY'
import json, os
os.makedirs("many/run0")
with open("many/run0/metrics.jsonl", "w") as file:
    for step in range(1, 10001):
        file.write(json.dumps({"step": step, "loss": 3.123456789 + 1 / step, "grad_norm": 0.87654321, "lr": 1.2345e-4, "seconds": 0.123456,
                               "tokens_per_second": 123456.789, "model_flops_per_second": 1.23e10, "peak_memory_bytes": 123456789,
                               "peak_tensor_bytes": 23456789, "tokens": step * 1024}, separators=(",", ":")) + "\n")
        if step % 500 == 0:
            file.write(json.dumps({"step": step, "validation_loss": 3.2, "validation_perplexity": 24.5}, separators=(",", ":")) + "\n")
for i in range(1, 500):
    os.makedirs(f"many/run{i}")
    os.link("many/run0/metrics.jsonl", f"many/run{i}/metrics.jsonl")
PY

python3 - "$skein" "$SKEIN_TEST_SOURCE_DIR/tests/cli" "$scratch" <<'PY'
import json, os, signal, subprocess, sys, time, urllib.error, urllib.parse, urllib.request
skein, helpers, scratch = sys.argv[1:]
sys.path.insert(0, helpers)
from browser import Browser

def begin(folder, *flags):
    board = subprocess.Popen([skein, "board", folder, *flags], stdout=subprocess.PIPE, stderr=open("board.log", "w"), text=True)
    address = board.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:"), open("board.log").read()
    return board, address

def get(address):
    with urllib.request.urlopen(address, timeout=60) as answer:
        return answer.status, answer.headers, answer.read()

def status(address, **more):
    try:
        return urllib.request.urlopen(urllib.request.Request(address, **more), timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code

nasty = "<img src=x onerror=\"document.title='hurt'\">"
metric = "</script><script>document.title='hurt'</script>"
def write(run, lines, mode="a"):
    os.makedirs("runs/" + run, exist_ok=True)
    with open(f"runs/{run}/metrics.jsonl", mode) as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
write("group/live", [{"step": step, "loss": 5.0 - step / 10} for step in range(1, 11)])
write(nasty, [{"step": 1, "loss": 3.5, metric: 7}, {"step": 2, "loss": None, metric: 1e300}])
write("damaged", [{"step": 1, "loss": 1}])
open("runs/damaged/metrics.jsonl", "a").write("{]\n")
os.symlink("/", "runs/elsewhere")

board, address = begin("runs")
try:
    # Who does not know the token is told nothing, and no name leads out of the folder.
    root = address[:address.index("/", 8)]
    for path in ("/", "/runs", "/" + 32 * "0" + "/", address[len(root):-2] + "/", "//", "/%2e%2e/", address[len(root):] + "nothing"):
        assert status(root + path) == 404, path
    assert status(address + "runs", data=b"x", method="POST") in (404, 405)
    code, headers, page = get(address)
    assert code == 200 and "default-src 'none'" in headers["Content-Security-Policy"], headers
    port = int(root.rsplit(":", 1)[1])
    assert f"0100007F:{port:04X}" in open("/proc/net/tcp").read(), "it does not listen on loopback alone"
    assert f"00000000:{port:04X}" not in open("/proc/net/tcp").read(), "it listens on all addresses"
    names = [run["name"] for run in json.loads(get(address + "runs")[2])["runs"]]
    assert sorted(names) == sorted(["group/live", nasty, "damaged"]), names
    for path in ("../../etc", "/etc", "elsewhere/etc", "group"):
        answer = json.loads(get(address + "figures?run=" + urllib.parse.quote(path))[2])
        assert answer["runs"] == [] and answer["faults"] == [[path, "there is no run called so any more"]], answer
    shown = json.loads(get(address + "figures?run=group/live")[2])
    assert status(address + "figures?run=group/live&seen=" + shown["version"]) == 204
    taken = subprocess.run([skein, "board", "runs", f"--board.port={port}"], stderr=subprocess.PIPE, text=True, timeout=60)
    assert taken.returncode == 2 and f"board.port={port} cannot be had" in taken.stderr, taken

    browser = Browser(scratch + "/profile")
    page = browser.open(address)
    page.wait("document.querySelectorAll('figure').length >= 2")
    assert page.value("document.title") != "hurt" and page.value("document.images.length") == 0
    assert page.value("document.querySelectorAll('#table-runs tbody tr').length") == 3
    assert nasty in page.value("Array.from(document.querySelectorAll('#table-runs tbody th')).map(e => e.textContent)")
    assert metric in page.value("Array.from(document.querySelectorAll('#table-last tbody th')).map(e => e.textContent)")
    assert "metrics.jsonl:2 is no line of a run's numbers" in page.value("document.getElementById('notes').textContent")
    step = "Array.from(document.querySelectorAll('#table-runs tbody tr')).find(r => r.cells[1].textContent === 'group/live').cells[2].textContent"
    last = "document.querySelector('#table-last').textContent.includes('0.2500')"
    assert page.value(step) == "10" and not page.value(last)
    # New points come by themselves; a new run is in the list; a start that goes back takes its lines away.
    write("group/live", [{"step": 11, "loss": 0.25}])
    page.wait(last)
    page.wait(step + " === '11'")
    write("new", [{"step": 1, "loss": 9}])
    page.wait("document.querySelectorAll('#table-runs tbody tr').length === 4")
    write("group/live2", [{"step": 4, "loss": 4.5}])
    os.rename("runs/group/live2/metrics.jsonl", "runs/group/live/metrics.jsonl")
    page.wait(step + " === '4'")
    page.wait("!" + last)
    # What is chosen is drawn, and stays in the address.
    page.value("document.querySelector('input[aria-label=\"show damaged\"]').click()")
    page.wait("!document.getElementById('notes')")
    assert "damaged" not in page.value("location.hash") and "group%2Flive" in page.value("location.hash")
    page.value("(w => { w.value = 'NEW'; w.dispatchEvent(new Event('input')); })(document.getElementById('wanted'))")
    page.wait("document.querySelectorAll('#table-runs tbody tr').length === 1")
    assert all(url.startswith((root + "/", "about:", "data:")) for url in page.requests()), page.requests()
    assert not [one for one in page.complaints() if "favicon" not in json.dumps(one)], page.complaints()
    board.send_signal(signal.SIGINT)
    board.wait(20)
    page.wait("document.getElementById('state').textContent.includes('does not answer')")
    browser.close()
finally:
    board.kill()

board, address = begin("many")
try:
    get(address)
    # Seconds of the processor: other work on this machine may take most of it.
    def used():
        return sum(int(part) for part in open(f"/proc/{board.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")
    def seconds(path):
        begun, wall = used(), time.monotonic()
        made = json.loads(get(address + path)[2])
        return used() - begun, time.monotonic() - wall, made
    listed, waited, runs = seconds("runs")
    assert len(runs["runs"]) == 500 and runs["runs"][7]["step"] == 10000 and runs["runs"][7]["last"]["validation_loss"] == 3.2, runs["runs"][7]
    all = [(listed, waited)]
    for first in range(0, 500, 12):
        took, waited, shown = seconds("figures?" + "&".join(f"run=run{i}" for i in range(first, min(500, first + 12))))
        assert len(shown["runs"]) == min(12, 500 - first) and shown["runs"][0]["step"] == 10000
        all.append((took, waited))
    most = [line for line in open(f"/proc/{board.pid}/status") if line.startswith("VmHWM")][0].split()[1]
    drawn = max(took for took, _ in all[1:])
    print(f"500 runs: listed in {listed:.3f} s of a core, twelve of them read and drawn in {drawn:.3f} s at worst "
          f"({max(waited for _, waited in all):.3f} s with all waiting), {int(most) / 1024:.0f} MiB")
    assert int(most) < 200 * 1024, most
    assert listed < 1 and drawn < 1, all
finally:
    board.kill()
PY
