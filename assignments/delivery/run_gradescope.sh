#!/usr/bin/env bash
# Gradescope runs this for each submission. The container is the outer fence, hence --weak-fence: where the inner
# one cannot be closed the results say so.
set -uo pipefail
base=${AUTOGRADER:-/autograder}
results=$base/results/results.json
mkdir -p "$base/results"
cd "$base/source" || exit 1
chmod 600 specification.json  # the tests; answers run as another user than root
notebook=$(find "$base/submission" -name '*.ipynb' -not -path '*/.*' | sort | head -n 1)
if [ -z "$notebook" ]; then
  echo '{"score": 0, "output": "No notebook was found in the submission."}' > "$results"
  exit 0
fi
.venv/bin/python -m pytest . --weak-fence --submission "$notebook" --results "$results"
[ -s "$results" ] || { echo "run_autograder: the grader itself failed; see above." >&2; exit 1; }
