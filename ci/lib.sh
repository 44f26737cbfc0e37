# Common to the scripts in ci/: quiet steps that show their log only when they fail.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
logs=$root/build/logs
mkdir -p "$logs"
jobs=$(nproc)
interactive=0
[[ -t 1 ]] && interactive=1

# step NAME COMMAND...: runs the command with its output in build/logs/NAME.log. Shows that it is
# running, how long it took, and the end of the log when it fails.
step() {
  local name=$1 start=$SECONDS
  shift
  local log=$logs/${name// /-}.log
  [[ $interactive -eq 1 ]] && printf '\r\033[K%s ...' "$name"
  if "$@" >"$log" 2>&1 </dev/null; then
    [[ $interactive -eq 1 ]] && printf '\r\033[K'
    printf '%-44s %4d s\n' "$name" $((SECONDS - start))
    return 0
  fi
  [[ $interactive -eq 1 ]] && printf '\r\033[K'
  printf '%-44s FAILED after %d s\n' "$name" $((SECONDS - start))
  grep -E 'error:|FAILED|\*\*\*|Assertion|ERROR:' "$log" | head -n 30 || true
  tail -n 40 "$log"
  echo "the whole log: $log"
  return 1
}

# build PRESET [TARGET...]: configures and builds.
configure() { step "configure $1" cmake --preset "$1"; }
build() {
  local preset=$1
  shift
  local targets=()
  [[ $# -gt 0 ]] && targets=(--target "$@")
  step "build $preset" cmake --build --preset "$preset" -j "$jobs" "${targets[@]}"
}
