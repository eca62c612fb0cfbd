# Sourced by scripts that say nothing unless something fails: `quietly COMMAND…` keeps the output in
# the file $log, and prints it and ends the script where the command fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT

quietly() {
    "$@" >"$log" 2>&1 || {
        cat "$log"
        exit 1
    }
}
