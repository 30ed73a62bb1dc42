#!/usr/bin/env bash
# launch/to-wandb and launch/to-mlflow: what they hand on, with stand-ins for the two packages that write down what they get.
source "$(dirname "$0")/expect.sh"
launch="$SKEIN_TEST_SOURCE_DIR/launch"

mkdir -p run stand-ins none/wandb none/mlflow
echo 'raise ImportError("not here")' | tee none/wandb/__init__.py >none/mlflow/__init__.py
printf '[lr]\nlr = 0.001  # flag\n[data]\ntrain = "a # b"  # a.ini:3\nvalidation = "a \\"b\\"  # \\\\"  # flag\npath = back\\slash"  # flag\n' >run/config.ini
printf '{"step":1,"loss":2.5,"odd<name>":1}\n{"step":2,"loss":2.25}\n{"step":2,"validation_loss":3,"bad":null}\n{"step":3,"lo' >run/metrics.jsonl

cat >stand-ins/wandb.py <<'PY'
import json, os
class Run:
    def __init__(self):
        self.step = json.load(open("wandb.step")) if os.path.exists("wandb.step") else 0
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def log(self, numbers, step):
        print("log", step, json.dumps(numbers))
        json.dump(step + 1, open("wandb.step", "w"))
def init(project, name, id, resume, config):
    print("init", project, name, resume, json.dumps(config))
    return Run()
PY
mkdir -p stand-ins/mlflow
cat >stand-ins/mlflow/__init__.py <<'PY'
import json, os
from mlflow.exceptions import MlflowException
class Of: pass
class Page(list): token = None
class MlflowClient:
    tags = json.load(open("mlflow.tags")) if os.path.exists("mlflow.tags") else None
    def run(self):
        made = Of()
        made.data, made.info = Of(), Of()
        made.data.tags, made.info.run_id = self.tags, "r"
        return made
    def get_experiment_by_name(self, name):
        if name == "down": raise MlflowException("no server")
        if name != "gone": return None
        made = Of()
        made.lifecycle_stage = "deleted"
        return made
    def create_experiment(self, name): return "e-" + name
    def search_runs(self, of, page_token=None):
        page = Page([self.run()] if self.tags and page_token else [])
        if not page_token: page.token = "second page"
        return page
    def create_run(self, experiment, run_name, tags):
        print("run", experiment, run_name)
        MlflowClient.tags = dict(tags)
        return self.run()
    def log_batch(self, run, metrics=(), params=()):
        for one in params: print("param", one.key, one.value)
        for one in metrics: print("metric", one.key, one.value, one.step)
    def set_tag(self, run, name, value):
        self.tags[name] = value
        json.dump(self.tags, open("mlflow.tags", "w"))
    def set_terminated(self, run): print("terminated")
PY
cat >stand-ins/mlflow/entities.py <<'PY'
class Metric:
    def __init__(self, key, value, timestamp, step): self.key, self.value, self.step = key, value, step
class Param:
    def __init__(self, key, value): self.key, self.value = key, value
PY
echo 'class MlflowException(Exception): pass' >stand-ins/mlflow/exceptions.py

with="env PYTHONPATH=$PWD/stand-ins"
expect 0 "run: 2 steps" $with "$launch/to-wandb" run
grep -qxF 'init skein run allow {"lr.lr": "0.001", "data.train": "a # b", "data.validation": "a \"b\"  # \\", "data.path": "back\\slash\""}' output || die "options: $(cat output)"
grep -qxF 'log 1 {"loss": 2.5, "odd<name>": 1}' output || die "the first step: $(cat output)"
grep -qxF 'log 2 {"loss": 2.25, "validation_loss": 3}' output || die "the second step, of two lines: $(cat output)"
expect 0 "run: 2 steps" $with "$launch/to-mlflow" --experiment=mine run
for line in "run e-mine run" "param data.train a # b" "metric loss 2.5 1" "metric odd_name_ 1.0 1" "metric validation_loss 3.0 2" terminated; do
  grep -qxF "$line" output || die "no \"$line\": $(cat output)"
done
echo 'ss":1}' >>run/metrics.jsonl
for script in to-wandb to-mlflow; do
  expect 0 "run: 1 steps" $with "$launch/$script" run
done

expect 2 "to-wandb: the Python package wandb is not installed; pip install wandb" env PYTHONPATH="$PWD/none" "$launch/to-wandb" run
expect 2 "to-mlflow: the Python package mlflow is not installed; pip install mlflow" env PYTHONPATH="$PWD/none" "$launch/to-mlflow" run
expect 2 "to-mlflow: the experiment gone was deleted; restore it, or name another" $with "$launch/to-mlflow" --experiment=gone run
expect 2 "to-mlflow: MLflow cannot be used as MLFLOW_TRACKING_URI says: no server" $with "$launch/to-mlflow" --experiment=down run
expect 2 "none/metrics.jsonl is missing" $with "$launch/to-wandb" none
echo '[1]' >>run/metrics.jsonl
for script in to-wandb to-mlflow; do
  expect 2 "run/metrics.jsonl:5 is no line of a run's numbers" $with "$launch/$script" run
done
