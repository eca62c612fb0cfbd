# Sourced by scripts that print nothing unless something fails: `quietly COMMAND…` keeps the output
# in the file $log; if the command fails, it prints the output and ends the script.
log=$(mktemp)
trap 'rm -f "$log"' EXIT

quietly() {
    "$@" >"$log" 2>&1 || {
        cat "$log"
        exit 1
    }
}
