# Sourced by checks: `run_samples BUILD HOW` runs every sample of a build on the software device,
# and `lode info`. Needs quietly.sh.

run_samples() {
    local build=$1 how=$2 folder sample program status ran=0 failed=0
    for folder in samples/*/; do
        sample=$(basename "$folder")
        program="$build/samples/$sample"
        # The host application uses the CUDA runtime, which needs the real driver.
        if [[ ! -x $program || $sample == 04_host_app ]]; then continue; fi
        ran=$((ran + 1))
        status=0
        LODE_DRIVER=emulator LODE_CACHE=off timeout 120 "$program" >"$log" 2>&1 || status=$?
        if ((status != 0)); then
            failed=1
            echo "The sample $sample ends with $status $how:"
            cat "$log"
        fi
    done
    quietly env LODE_DRIVER=emulator LODE_CACHE=off "$build/tools/lode/lode" info
    echo "$ran samples ran $how."
    ((ran >= 5 && failed == 0))
}
