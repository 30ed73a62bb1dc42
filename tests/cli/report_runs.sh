#!/usr/bin/env bash
# From runs to the page that compares them, and what a browser makes of it; hostile names and numbers among them.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"

make_stores
for lr in 1e-3 3e-3; do
  expect 0 "done: 12 steps" "$skein" pretrain $small --run.dir="runs/lr-$lr" --lr.lr=$lr --train.steps=12 --data.validation=valid.h5 \
    --validation.every=4 --run.tensorboard=false
done
python3 - <<'PY'
import json, math, os
nasty = "a<\\b>\"q'&`x`</script><script>document.title='hurt'</script>"
os.makedirs("runs/ppo")
os.makedirs("runs/<img src=x onerror=\"document.title='hurt'\">")
with open("runs/ppo/metrics.jsonl", "w") as file:
    for step in range(1, 3001):
        file.write(json.dumps({"step": step, "reward": math.sin(step / 100), "score": step / 3000, "kl": step / 100,
                               "entropy": 2, "grad_norm": 1e300 if step == 7 else 1, nasty: step}) + "\n")
with open("runs/ppo/rollouts.jsonl", "w") as file:
    file.write(json.dumps({"step": 3000, "prompt": nasty, "answer": "fine", "score": 1.5}) + "\n")
with open("runs/<img src=x onerror=\"document.title='hurt'\">/metrics.jsonl", "w") as file:
    file.write('{"step":1,"loss":null}\n{"step":2,"loss":1e999}\n'.replace("1e999", "1e308") + '{"step":3,"lo')
PY

expect 0 "report in out/report.html" "$skein" report runs/* --output.path=out
grep -q "lr-3e-3: step 12, loss " output || die "no summary is printed"
for name in loss learning rewards scores speed; do
  [ "$(head -c 4 "out/$name.png" | tail -c 3)" = PNG ] || die "no out/$name.png"
  [ -s "out/$name.svg" ] || die "no out/$name.svg"
done
grep -q ',"lr-1e-3, validation",12,' out/loss.csv || die "no validation loss in out/loss.csv"
expect 0 "report in alone/report.html" env PATH=/nowhere "$skein" report runs/ppo --output.path=alone --report.figures=false
[ "$(ls alone)" = report.html ] || die "more than the page is written"
expect 1 "gnuplot-nox" env PATH=/nowhere "$skein" report runs/ppo --output.path=none
[ ! -e none/report.html ] || die "a report without plots is written"

expect 2 "runs is no run, for it has no metrics.jsonl, but runs/ppo is one" "$skein" report runs/ppo runs
expect 2 "runs/ppo/metrics.jsonl is a file of a run; give the run's folder: runs/ppo" "$skein" report runs/ppo/metrics.jsonl
mkdir new
: >new/metrics.jsonl
expect 0 "new: It has no line yet." "$skein" report new --output.path=nothing --report.figures=false
expect 2 "runs has neither metrics.jsonl nor results.csv" "$skein" report runs
expect 2 "fit.resamples=9 is for a table of scaling runs, but runs/ppo is a run" "$skein" report runs/ppo --fit.resamples=9
mkdir bad
printf '{"step":1,"loss":1}\n{"step":2,"loss\n{"step":3,"loss":1}\n' >bad/metrics.jsonl
expect 2 "bad/metrics.jsonl:2 is no line of a run's numbers" "$skein" report runs/ppo bad

command -v chromium >/dev/null || die "chromium, in which the page is looked at, is not installed; run launch/install-packages launch/packages-tests.txt"
python3 - <<'PY'
page = open("out/report.html").read()
script = """
window.addEventListener('load', () => {
  const all = (s, o = document) => Array.from(o.querySelectorAll(s)), text = s => all(s).map(e => e.textContent);
  const found = {title: document.title, hurt: all('img').length, scripts: all('script').length, width: document.documentElement.scrollWidth,
    figures: all('figure').map(e => e.id), legend: text('#figure-loss .legend li'), runs: text('#runs li b'),
    paths: all('.plot svg').map(s => all('path', s).filter(p => p.getBoundingClientRect().width > 0).length),
    options: text('#table-options tbody th'), last: text('#table-last tbody th'), notes: text('#notes li'), answers: text('#samples .answer'),
    labels: text('#figure-scores text')};
  document.body.append(Object.assign(document.createElement('pre'), {id: 'result', textContent: JSON.stringify(found)}));
});
"""
open("check.html", "w").write(page.replace("</body>", "<script>" + script + "</script></body>"))
PY
timeout 200 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" --window-size=1280,900 --dump-dom "file://$scratch/check.html" \
  >dom.html 2>browser.log || die "chromium fails: $(tail -3 browser.log)"
python3 - <<'PY' || die "the page is not as it should be"
import html, json, re
text = open("dom.html").read()
found = json.loads(html.unescape(re.search(r'<pre id="result">(.*?)</pre>', text, re.S).group(1)))
nasty = "a<\\b>\"q'&`x`</script><script>document.title='hurt'</script>"
assert found["title"] != "hurt" and found["hurt"] == 0 and found["scripts"] == 4, found
assert found["figures"] == ["figure-loss", "figure-learning", "figure-rewards", "figure-scores", "figure-speed"], found
assert "lr-1e-3" in found["legend"] and "lr-3e-3, validation" in found["legend"], found
assert len(found["runs"]) == 4 and found["width"] <= 1280, found
assert all(count >= 3 for count in found["paths"]), found
assert "lr.lr" in found["options"] and "run.dir" not in found["options"] and "model.context" in found["options"], found
assert "validation_loss" in found["last"] and nasty in found["last"], found
assert len(found["notes"]) == 1 and "Line 3" in found["notes"][0], found
assert found["answers"] == [nasty, "fine"] and nasty in found["labels"], found
PY
