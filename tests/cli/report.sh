#!/usr/bin/env bash
# From a table of runs to the report, and what a browser makes of it: on a phone and on a desk, in the light and in the dark.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"

python3 - <<'PY'
import csv, math
law = lambda n, d: 1.7 + 400 / n ** .34 + 1200 / d ** .37
with open("results.csv", "w", newline="") as table, open("curves.csv", "w", newline="") as points:
    rows, curves = csv.writer(table), csv.writer(points)
    rows.writerow("run status reason n_params tokens flops loss lr".split())
    curves.writerow("run tokens loss".split())
    for b in range(5):
        c = 1e17 * 4 ** b
        for s in range(7):
            k = 7 * b + s
            n = round(8e7 * 2 ** b * 2 ** (s - 3))
            d = c / 6 / n
            name = "<b>\"q'&`x`" if k == 17 else f"run{k}"
            loss = law(n, d) * math.exp(.004 * math.sin(12.9898 * k) + (.06 if k == 17 else 0))
            rows.writerow([name, "done", "", n, d, c, loss, 1e-3])
            for share in (.05, .1, .2, .4, .7):
                curves.writerow([name, share * d, 1.01 * law(n, share * d)])
            curves.writerow([name, d, loss])
    rows.writerow(["wild", "diverged", "its loss rose to <nan>", 1e8, 1e9, 6e17, "nan", 1e-1])
PY

cat >bench.json <<'JSON'
{"figures": [{"group": "coordinates", "name": "muP", "widths": [64, 128], "steps": 1, "losses": [3, 2.9], "layers": [
  {"name": "embedding", "grows": false, "exponents": [0, 0.05], "sizes": [[0.1, 0.1], [0.1, 0.103]]},
  {"name": "logits", "grows": true, "exponents": [-0.5, 1], "sizes": [[0.4, 0.28], [0.4, 0.8]]}]}]}
JSON
report=("$skein" report results.csv --data.curves=curves.csv --output.path=out --fit.resamples=200 --report.coordinates=bench.json)
expect 0 "report in out/report.html" "${report[@]}"
tail -1 output | grep -q "report in out/report.html" || die "the log speaks before the conclusions are shown"
grep -q "parametric law proposes" output || die "no conclusions are printed"
grep -q "left out: Learning rates by size" output || die "it does not say what is left out"
grep -q "muP: 1 of 2 layers grow with the width (logits)" out/report.html || die "the coordinate check is not told"
for name in loss isoflop allocation contour residuals extrapolation bootstrap coordinates; do
  [ "$(head -c 4 "out/$name.png" | tail -c 3)" = PNG ] || die "no out/$name.png"
  python3 -c "import sys, xml.etree.ElementTree as x; assert x.parse(sys.argv[1]).getroot().tag.endswith('svg')" "out/$name.svg" || die "no out/$name.svg"
  head -1 "out/$name.csv" | grep -qx "panel,series,x,y,low,high,run" || die "no out/$name.csv"
done
[ ! -e out/learning-rate.png ] || die "a plot without data is drawn"
cp out/report.html first.html
expect 0 "report in out/report.html" "${report[@]}"
cmp out/report.html first.html || die "the same table gives another page"
mkdir sweep && cp results.csv curves.csv sweep
expect 0 "report in again/report.html" "$skein" report sweep --output.path=again --fit.resamples=0
grep -q "with their learning curves" again/report.html || die "a sweep's curves are not found"

head -4 results.csv >few.csv
expect 0 "Nothing is fitted. few.csv: none of the three approaches" "$skein" report few.csv --data.curves=curves.csv --output.path=few
grep -q "report in few/report.html" output || die "a table that cannot be fitted is not drawn"
[ -s few/loss.png ] || die "no losses are drawn of a table that cannot be fitted"

expect 2 "0 tables are named" "$skein" report
expect 2 "2 tables are named" "$skein" report results.csv curves.csv
expect 2 "results.csv is no coordinate check" "$skein" report results.csv --output.path=none --report.coordinates=results.csv
expect 2 "output.path is empty" "$skein" report results.csv --output.path=
expect 2 "nowhere.csv" "$skein" report nowhere.csv
expect 1 "gnuplot-nox" env PATH=/nowhere "$skein" report results.csv --output.path=none --fit.resamples=0
[ ! -e none/report.html ] || die "a report without plots is written"
touch file
mkdir -p taken/report.html
expect 2 "taken/report.html is a directory" "$skein" report results.csv --output.path=taken --fit.resamples=0
expect 2 "the folder output.path=file cannot be made" "$skein" report results.csv --output.path=file --fit.resamples=0

command -v chromium >/dev/null || die "chromium, in which the page is looked at, is not installed; run launch/install-packages launch/packages-tests.txt"

# A frame as wide as a phone, one as wide as a desk, and a script that looks at the elements in them.
# The page has caveats of its own: a short one, and one that lists many cases.
python3 - <<'PY'
import html, json, re
page = open("out/report.html").read()
begin, data, end = re.fullmatch(r'(.*<script id="report" type="application/json">)([^<]*)(</script>.*)', page, re.S).groups()
report = json.loads(data)
report["caveats"] = ["short: a", "approach 2, <few> runs at 30 budgets: " + 300 * "x"]
page = html.escape(begin + json.dumps(report).replace("<", "\\u003c") + end, quote=True)
script = """
const found = {}, seen = e => e.getClientRects().length > 0;
function look(frame) {
  const d = frame.contentDocument, w = frame.contentWindow, all = (s, o = d) => Array.from(o.querySelectorAll(s));
  const svgs = all('.plot svg').filter(seen), texts = svgs.flatMap(s => all('text', s)), style = e => w.getComputedStyle(e);
  const scale = svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const rows = () => all('#table-runs tbody tr').map(r => Number(r.cells[2].getAttribute('data-v')));
  const made = {width: w.innerWidth, content: d.documentElement.scrollWidth, figures: svgs.length,
    drawn: Math.min(...svgs.map(s => all('path, text', s).filter(e => e.getBoundingClientRect().width + e.getBoundingClientRect().height > 0).length)),
    coloured: Math.min(...svgs.map(s => new Set(all('path', s).map(e => style(e).stroke + style(e).fill)).size)),
    alert: style(d.documentElement).getPropertyValue('--ink-alert'), title: d.title, ids: all('[id]').map(e => e.id),
    raised: all('#figure-contour figcaption sup').map(e => e.textContent), caveats: all('#caveats li').map(e => e.firstChild.firstChild?.textContent ?? e.textContent),
    law: all('#table-laws tbody tr')[3].textContent,
    outside: svgs.filter(s => s.getBoundingClientRect().right > w.innerWidth).length,
    font: Math.min(...svgs.flatMap(s => all('text', s).map(t => parseFloat(style(t).fontSize) * scale(s)))),
    named: texts.filter(t => t.textContent === "<b>\\"q'&`x`").length, convention: svgs.every(s => s.textContent.includes('counted: ')),
    injected: all('b').filter(e => e.textContent.includes('q')).length, tables: all('.table table').length, tiles: all('.tile b').map(e => e.textContent),
    reason: all('#table-excluded td').some(e => e.textContent.includes('<nan>')), ground: style(d.body).backgroundColor, ink: style(d.body).color};
  all('#table-runs details')[0].open = true;
  all('#table-runs th')[2].click();
  made.up = rows();
  all('#table-runs th')[2].click();
  made.down = rows();
  made.opened = d.documentElement.scrollWidth;
  d.getElementById('theme').click();
  made.other_ground = style(d.body).backgroundColor;
  return made;
}
window.onload = () => {
  for (const name of ['phone', 'desk']) {
    try { found[name] = look(document.getElementById(name)); } catch (error) { found.error = String(error); }
  }
  document.getElementById('result').textContent = JSON.stringify(found);
};
"""
frames = "".join(f'<iframe id="{name}" style="width:{width}px;height:900px;border:0" srcdoc="{page}"></iframe>' for name, width in (("phone", 390), ("desk", 1280)))
open("check.html", "w").write(f'<!doctype html><meta charset="utf-8"><body style="margin:0">{frames}<pre id="result">nothing</pre><script>{script}</script>')
open("phone.html", "w").write(f'<!doctype html><meta charset="utf-8"><body style="margin:0"><iframe style="width:390px;height:844px;border:0" srcdoc="{page}"></iframe>')
PY

browse() { timeout 200 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/profile" "$@" 2>>browser.log; }
browse --dump-dom "file://$scratch/check.html" >light.html || die "chromium fails: $(tail -3 browser.log)"
browse --blink-settings=preferredColorScheme=0 --dump-dom "file://$scratch/check.html" >dark.html || die "chromium fails: $(tail -3 browser.log)"
browse --window-size=1280,1600 --screenshot="$scratch/desk.png" "file://$scratch/out/report.html" || die "no screenshot"
browse --blink-settings=preferredColorScheme=0 --window-size=500,844 --screenshot="$scratch/phone.png" "file://$scratch/phone.html" || die "no screenshot"

python3 - <<'PY' || die "the page is not as it should be"
import csv, html, json, re, struct, zlib

def found(path):
    text = open(path).read()
    return json.loads(html.unescape(re.search(r'<pre id="result">(.*?)</pre>', text[text.rfind('<pre id="result">'):], re.S).group(1)))

def brightness(colour):
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 3

sizes = sorted(float(row["n_params"]) for row in csv.DictReader(open("results.csv")))
for mode in ("light", "dark"):
    look = found(mode + ".html")
    assert "error" not in look, look["error"]
    for width, one in ((390, look["phone"]), (1280, look["desk"])):
        where = f"{mode}, {width} pixels: {one}"
        assert one["width"] == width, where
        assert one["content"] <= width and one["opened"] <= width and one["outside"] == 0, "it is wider than the screen; " + where
        assert one["figures"] == 9 and one["drawn"] >= 10 and one["coloured"] >= 4, where
        assert one["alert"] == ("#ff7aa8" if mode == "dark" else "#c01f5b"), where
        assert one["title"] == "Scaling laws of results.csv" and len(set(one["ids"])) == len(one["ids"]), where
        assert one["raised"] == ["α", "β"] and one["caveats"] == ["short: a", "approach 2, <few> runs at 30 budgets"], where
        assert re.fullmatch(r"E \+ A/Nα \+ B/Dβα0\.\d{4} \(0\.\d{4} to 0\.\d{4}\).+", one["law"]), where
        assert one["font"] >= 9.5, "text too small; " + where
        assert one["named"] >= 2 and one["injected"] == 0 and one["convention"] and one["reason"], where
        assert one["tables"] >= 7 and len(one["tiles"]) == 4 and all(re.match(r"\d", tile) for tile in one["tiles"]), where
        assert one["up"] == sizes and one["down"] == sizes[::-1], where
        dark = mode == "dark"
        assert (brightness(one["ground"]) < 60) == dark and (brightness(one["ink"]) > 180) == dark, "colours; " + where
        assert (brightness(one["other_ground"]) > 180) == dark, "the toggle does nothing; " + where

def pixels(path):
    data = open(path, "rb").read()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    at, parts = 8, b""
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        if name == b"IDAT":
            parts += data[at + 8:at + 8 + size]
        at += 12 + size
    return width, height, zlib.decompress(parts)

for path, width, height in (("desk.png", 1280, 1600), ("phone.png", 500, 844)):
    w, h, raw = pixels(path)
    assert (w, h) == (width, height) and len(set(raw)) > 100 and len(zlib.compress(raw)) > 20000, f"{path} shows nothing"
PY
