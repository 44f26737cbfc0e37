# Common to the scripts in ci/: quiet steps that show their log only when they fail.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
logs=$root/build/logs
mkdir -p "$logs"
jobs=$(nproc)
interactive=0
[[ -t 1 ]] && interactive=1

# What is still to come, as plan NAME SECONDS for each step: a rough estimate for two idle cores with cold caches.
declare -A planned=()
plan_count=0 plan_left=0 plan_done=0
plan() {
  planned[$1]=$2
  plan_count=$((plan_count + 1))
  plan_left=$((plan_left + $2))
}
minutes() { echo "$((($1 + 30) / 60)) min"; }

# step NAME COMMAND...: runs the command with its output in build/logs/NAME.log. Shows that it is running and, of planned
# steps, how many there are and about how long the rest takes; then how long it took, and the end of the log when it fails.
step() {
  local name=$1 start=$SECONDS position=
  shift
  if [[ -n ${planned[$name]:-} ]]; then
    plan_done=$((plan_done + 1))
    position="[$plan_done/$plan_count] "
    [[ $interactive -eq 1 ]] || printf '%s%s: begins, about %s left\n' "$position" "$name" "$(minutes "$plan_left")"
  fi
  local log=$logs/${name//[ \/]/-}.log
  [[ $interactive -eq 1 ]] && printf '\r\033[K%s%s ... about %s left' "$position" "$name" "$(minutes "$plan_left")"
  plan_left=$((plan_left - ${planned[$name]:-0}))
  if "$@" >"$log" 2>&1 </dev/null; then
    [[ $interactive -eq 1 ]] && printf '\r\033[K'
    printf '%s%-44s %4d s\n' "$position" "$name" $((SECONDS - start))
    return 0
  fi
  [[ $interactive -eq 1 ]] && printf '\r\033[K'
  printf '%s%-44s FAILED after %d s\n' "$position" "$name" $((SECONDS - start))
  grep -E 'error:|FAILED|\*\*\*|Assertion|ERROR:' "$log" | head -n 30 || true
  tail -n 40 "$log"
  echo "the whole log: $log"
  return 1
}

# configure PRESET [OPTION...], build PRESET [TARGET...]
configure() { step "configure $1" cmake --preset "$1" "${@:2}"; }
build() {
  local preset=$1
  shift
  local targets=()
  [[ $# -gt 0 ]] && targets=(--target "$@")
  step "build $preset" cmake --build --preset "$preset" -j "$jobs" "${targets[@]}"
}
